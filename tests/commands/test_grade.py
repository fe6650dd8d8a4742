"""A class graded by one command: what counts as a submission, what is kept, what is refused, what is written."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.parse import unquote

import pytest

from goldsmith.courses.grade.archives import unpack
from goldsmith.courses.grade.collection import collect
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.grade import BadArchive, NothingHandedIn
from goldsmith.sandbox.bubblewrap import why_not as why_no_bubblewrap
from goldsmith.sandbox.capabilities import probe
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk, Run

WRONG = ("x - mean_of(x)", "x + mean_of(x)")
RAISES = ("return x * factor", "raise ValueError('not today')")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("grading") / "a course")


@pytest.fixture(scope="module")
def handed_in(course: CourseOnDisk) -> Path:
    """Four submissions, one of them a zip file, one a tar file with a folder in it."""
    right, wrong, raises = (
        hand_in(course, name="ada"),
        hand_in(course, WRONG, name="bob"),
        hand_in(course, RAISES, name="cy"),
    )
    folder = Path(right).parent
    with zipfile.ZipFile(folder / "dee.zip", "w") as archive:
        archive.write(Path(wrong, "ops.py"), "ops.py")
    with tarfile.open(folder / "eve.tar.gz", "w:gz") as archive:
        archive.add(raises, "eve-hw1")
    return folder


def grade(course: CourseOnDisk, *arguments: str, **options: str) -> Run:
    return course.run("grade", "hw1", *arguments, **options)


def outcomes(run: Run) -> dict[str, str]:
    return {item["name"]: item["outcome"] for item in run.json["submissions"]}


TRUTH = {"ada": "agrees", "bob": "differs", "cy": "could-not-run", "dee": "differs", "eve": "could-not-run"}


@pytest.fixture(scope="module")
def graded(course: CourseOnDisk, handed_in: Path) -> Run:
    return grade(course, str(handed_in), "--json")


def test_a_folder_of_folders_and_archives_is_a_class(graded: Run) -> None:
    assert outcomes(graded) == TRUTH
    assert graded.code == 1, "a submission could not be run"


def test_the_sandbox_is_recorded(graded: Run) -> None:
    assert {item["sandbox"] for item in graded.json["submissions"]} == {probe().name}
    assert "seccomp" in probe().name


def test_scores_and_files_are_there(course: CourseOnDisk, graded: Run) -> None:
    folder = course.root / "private/grades/hw1"
    rows = {row["name"]: row for row in csv.DictReader((folder / "grades.csv").open(encoding="utf-8"))}
    assert [rows[name]["score"] for name in TRUTH] == ["3", "2", "2", "2", "2"]
    feedback = (folder / "feedback/bob.md").read_text()
    assert "centre" in feedback
    assert str(course.root) not in feedback
    results = json.loads((folder / "gradescope/ada/results.json").read_text())
    assert results["score"] == 3
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_second_run_runs_nothing_and_says_the_same(course: CourseOnDisk, handed_in: Path, graded: Run) -> None:
    again = grade(course, str(handed_in), "--json")
    assert _timeless(again) == _timeless(graded)
    kept = list((course.root / ".goldsmith/grades/hw1").iterdir())
    assert len(kept) == 3, "the archives hold the same files as two of the folders"


def test_pages_of_the_class_and_of_each_submission_are_written(
    course: CourseOnDisk, handed_in: Path, graded: Run, tmp_path: Path
) -> None:
    run = grade(course, str(handed_in), "--html", "--output", str(tmp_path / "grades"))
    assert "class.html" in run.out
    page = (tmp_path / "grades/class.html").read_text()
    assert all(f'href="feedback/{name}.html"' in page for name in TRUTH)
    assert "hw1: " in (tmp_path / "grades/feedback/bob.html").read_text()


def test_the_class_s_page_goes_where_html_says_as_check_s_does(
    course: CourseOnDisk, handed_in: Path, graded: Run, tmp_path: Path
) -> None:
    out, page = tmp_path / "the grades", tmp_path / "pages/class 1.html"
    page.parent.mkdir()
    run = grade(course, str(handed_in), "--html", str(page), "--output", str(out))
    assert f"Wrote {page}" in run.err
    (link,) = set(re.findall(r'href="([^"]*bob\.html)"', page.read_text()))
    assert (page.parent / unquote(link)).samefile(out / "feedback/bob.html")
    assert not (out / "class.html").exists()
    mine = tmp_path / "mine.html"
    mine.write_text("my own")
    assert grade(course, str(handed_in), "--html", str(mine)).code == 2
    assert mine.read_text() == "my own"
    # without FILE, what follows the option is what is graded
    assert grade(course, "--html", str(handed_in), "--output", str(out)).code == graded.code
    assert (out / "class.html").is_file()


def test_pages_of_two_students_who_are_nearly_as_far_off_are_the_same(course: CourseOnDisk, tmp_path: Path) -> None:
    """So that nobody can compute gold from a page and an own answer."""
    found = []
    for name, factor in (("gil", "1.6"), ("hal", "1.61")):
        path = hand_in(course, WRONG, ("x * factor", f"x * factor * {factor}"), name=name)
        grade(course, path, "--html", "--output", str(tmp_path / name))
        found.append((tmp_path / name / f"feedback/{name}.html").read_text())
        shutil.rmtree(path)
    assert found[0] == found[1]
    assert "Where it goes wrong" in found[0]


def test_other_files_are_another_submission(course: CourseOnDisk, graded: Run) -> None:
    before = len(list((course.root / ".goldsmith/grades/hw1").iterdir()))
    other = hand_in(course, WRONG, ("x * factor", "x * factor * 1.5"), name="fay")
    assert outcomes(grade(course, other, "--json")) == {"fay": "differs"}
    assert len(list((course.root / ".goldsmith/grades/hw1").iterdir())) == before + 1
    shutil.rmtree(other)


def test_what_was_kept_holds_only_for_the_files_as_they_stand(
    course: CourseOnDisk, handed_in: Path, graded: Run
) -> None:
    starter = course.root / "src/assignments/hw1/ops.py"
    before = starter.read_text()
    kept = len(list((course.root / ".goldsmith/grades/hw1").iterdir()))
    starter.write_text(before.replace('"""Provided."""', '"""Provided, and reworded."""\n        x = x'))
    run = grade(course, str(handed_in / "ada"), "--allow-stale", "--json")
    starter.write_text(before)
    assert run.code == 0, run.err
    assert len(list((course.root / ".goldsmith/grades/hw1").iterdir())) == kept + 1, "judged again, not remembered"


def test_nothing_in_the_course_is_touched(course: CourseOnDisk, handed_in: Path) -> None:
    before = course.snapshot("src", "private/solutions", "tests")
    grade(course, str(handed_in / "bob"), "--again", "--json")
    assert course.snapshot("src", "private/solutions", "tests") == before


def test_branches_are_submissions(course: CourseOnDisk) -> None:
    course.git("init", "-q")
    course.git("add", "src")
    course.git("commit", "-qm", "starter")
    for name, change in (("hw1-ada", None), ("hw1-bob", WRONG)):
        course.git("checkout", "-q", "-b", name)
        text = Path(hand_in(course, *([change] if change else []), name=name), "ops.py").read_text()
        (course.root / "src/assignments/hw1/ops.py").write_text(text)
        course.git("commit", "-qam", name)
        course.git("checkout", "-q", "-")
    run = grade(course, "--refs", "hw1-*", "--json")
    assert outcomes(run) == {"hw1-ada": "agrees", "hw1-bob": "differs"}


def test_an_import_that_grading_does_not_need_can_have_a_stand_in(course: CourseOnDisk, handed_in: Path) -> None:
    plots = "import numpy as np\nimport plotly.express as px\n\npx.line()"
    plotting = hand_in(course, ("import numpy as np", plots), name="gil")
    assert outcomes(grade(course, plotting, "--json")) == {"gil": "could-not-run"}
    course.write({"goldsmith.toml": 'stand-ins = ["plotly"]\n'})
    run = grade(course, plotting, "--json")
    (course.root / "goldsmith.toml").unlink()
    (item,) = run.json["submissions"]
    assert (item["outcome"], item["stand_ins"]) == ("agrees", ["plotly"])


def test_gold_from_a_secret_seed_judges_the_same(course: CourseOnDisk, handed_in: Path) -> None:
    gold = course.gold_bytes()
    run = grade(course, str(handed_in / "ada"), str(handed_in / "bob"), "--fresh", "--json")
    assert outcomes(run) == {"ada": "agrees", "bob": "differs"}
    assert course.gold_bytes() == gold


def test_without_a_sandbox_only_if_told(course: CourseOnDisk, handed_in: Path) -> None:
    run = grade(course, str(handed_in / "ada"), "--allow-unsandboxed", "--json")
    (item,) = run.json["submissions"]
    assert (item["outcome"], item["sandbox"]) == ("agrees", "none")


WITHOUT_LANDLOCK = """
import os, sys
from goldsmith.foundation import kernel
from goldsmith.sandbox import privileges, seccomp, syscall_numbers

syscall_numbers.NUMBERS[kernel.machine()]["landlock_create_ruleset"] = 444
privileges.no_new_privileges()
seccomp.install([seccomp.Rule("landlock_create_ruleset", int(sys.argv[1]))])
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Starts a program on a kernel that answers as one without Landlock does: a real one, with a filter of the test's."""


@pytest.mark.parametrize(("number", "words"), [(errno.ENOSYS, "5.13 or later"), (errno.EPERM, "allow the landlock_*")])
def test_without_landlock_nothing_is_graded(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path, number: int, words: str
) -> None:
    prefix = [sys.executable, "-c", WITHOUT_LANDLOCK, str(number)]
    out = tmp_path / "out"
    arguments = ["grade", "hw1", str(handed_in / "ada"), "--output", str(out), "--json"]
    run = course.run(*arguments, prefix=prefix)
    said = run.json
    assert (run.code, said["ok"], said["submissions"]) == (3, False, [])
    assert "submissions cannot be sandboxed on this machine, which offers seccomp, limits" in said["error"]["message"]
    assert words in said["error"]["message"]
    assert "--allow-unsandboxed" in said["error"]["message"]
    assert not out.exists(), "nothing is begun"


def test_without_landlock_it_is_graded_if_told_and_recorded_as_none(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    prefix = [sys.executable, "-c", WITHOUT_LANDLOCK, str(errno.ENOSYS)]
    arguments = ["grade", "hw1", str(handed_in / "ada"), "--output", str(tmp_path), "--again", "--allow-unsandboxed"]
    run = course.run(*arguments, prefix=prefix)
    assert run.code == 0, run.err
    assert "Submissions were not sandboxed (--allow-unsandboxed)." in run.out
    assert "\nSandbox level none: nothing keeps a submission from" in run.out
    said = course.run(*arguments, "--json", prefix=prefix).json
    (item,) = said["submissions"]
    assert (item["outcome"], item["sandbox"], said["sandbox"]["level"]) == ("agrees", "none", "none")


LOOKS = """
    import os
    raise ValueError([os.path.lexists(path) for path in {paths!r}])
"""


@pytest.mark.skipif(not probe().bubblewrap, reason=f"bubblewrap: {why_no_bubblewrap()}")
def test_behind_bubblewrap_what_is_private_is_not_even_there(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    private = [course.gold(), course.root / "private/solutions", course.root, handed_in / "ada", Path(__file__)]
    looks = hand_in(course, ("return x * factor", LOOKS.format(paths=[str(path) for path in private])), name="look")
    shutil.move(looks, tmp_path / "look")
    said = {}
    for path in ("/nowhere", os.environ["PATH"]):
        run = grade(course, str(tmp_path / "look"), "--again", "--json", "--output", str(tmp_path / "out"), PATH=path)
        (item,) = run.json["submissions"]
        (why,) = [case["why"] for case in item["cases"] if case["name"] == "scaled"]
        said[item["sandbox"].endswith("bubblewrap")] = why
    assert f"ValueError: {[True] * 5}" in said[False]
    assert f"ValueError: {[False] * 5}" in said[True]


def test_bubblewrap_that_hides_nothing_is_not_recorded(course: CourseOnDisk, handed_in: Path, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    (tmp_path / "bwrap").chmod(0o755)
    arguments = [str(handed_in / "ada"), "--again", "--json", "--output", str(tmp_path / "out")]
    (item,) = grade(course, *arguments, PATH=f"{tmp_path}:{os.environ['PATH']}").json["submissions"]
    assert (item["outcome"], item["sandbox"]) == ("agrees", f"Landlock (ABI {probe().landlock}), seccomp, limits")


def test_what_names_no_submission_is_bad_usage(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run = grade(course, str(tmp_path / "empty"))
    assert (run.code, "matches no submission" in run.err) == (2, True)
    assert grade(course, "no-such-thing").code == 2
    with pytest.raises(NothingHandedIn):
        collect(find_course(course.root).assignment("hw1"), [], [])


def test_what_cannot_be_opened_is_graded_with_its_reason(course: CourseOnDisk, handed_in: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and then nothing")
    run = grade(course, str(tmp_path / "broken.zip"), str(handed_in / "ada"), "--json")
    assert outcomes(run) == {"broken": "could-not-run", "ada": "agrees"}
    (item,) = [item for item in run.json["submissions"] if item["name"] == "broken"]
    assert any("cannot be read" in case["why"] for case in item["cases"])


# --- archives ---------------------------------------------------------------------------------------------------------


def zipped(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "made.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../ops.py", "/tmp/ops.py", "a/../../ops.py", "..\\ops.py", "C:\\ops.py"])
def test_an_archive_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadArchive, match="outside"):
        unpack(zipped(tmp_path, {name: b"x"}), tmp_path / "out")
    assert not (tmp_path / "ops.py").exists()


def test_a_bomb_is_stopped_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldsmith.courses.submissions.size_limits.MAX_BYTES", 2**20)
    with pytest.raises(BadArchive, match="more than 1 MiB"):
        unpack(zipped(tmp_path, {"zeros.bin": bytes(2**22)}), tmp_path / "out")
    assert sum(file.stat().st_size for file in (tmp_path / "out").rglob("*")) <= 2**20


def test_links_in_an_archive_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("ops.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(BadArchive, match="no plain file"):
        unpack(path, tmp_path / "out")


# --- cut off half-way -------------------------------------------------------------------------------------------------


CUT_OFF = """
import os, sys
from goldsmith.cli import run
from goldsmith.foundation.content_cache import ContentCache

number, done, put = int(sys.argv.pop(1)), [], ContentCache.put

def put_and_end(cache, key, entry):
    put(cache, key, entry)
    done.append(cache.folder.parent.name)
    if done.count("grades") == 2:
        os.kill(os.getpid(), number)

ContentCache.put = put_and_end
run()
"""
"""Goldsmith that gets a signal as soon as two submissions are graded."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_cut_off_loses_nothing_that_was_finished(
    course: CourseOnDisk, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "class"
    for index in range(5):
        shutil.copytree(hand_in(course, WRONG if index % 2 else RAISES, name="tmp"), folder / f"s{index}")
        with (folder / f"s{index}/ops.py").open("a") as file:
            file.write(f"\n# {number} {index}\n")
    kept = course.root / ".goldsmith/grades/hw1"
    before = set(kept.glob("[!.]*"))
    program = [sys.executable, "-c", CUT_OFF, str(int(number)), "grade", "hw1", str(folder), "--jobs", "2"]
    cut = subprocess.run([*program, "--output", str(tmp_path / "out")], cwd=course.root, capture_output=True)
    assert cut.returncode == (130 if number == signal.SIGINT else -number)
    done = set(kept.glob("[!.]*")) - before
    assert 2 <= len(done) < 5
    times = {path: path.stat().st_mtime_ns for path in done}
    resumed = grade(course, str(folder), "--output", str(tmp_path / "out"), "--json")
    assert outcomes(resumed) == {f"s{index}": "differs" if index % 2 else "could-not-run" for index in range(5)}
    assert {path: path.stat().st_mtime_ns for path in done} == times, "what was finished is not run again"
    if number == signal.SIGKILL:
        whole = grade(course, str(folder), "--output", str(tmp_path / "other"), "--again", "--json")
        assert _timeless(whole) == _timeless(resumed)


def _timeless(run: Run) -> list[dict[str, object]]:
    return [{key: value for key, value in item.items() if key != "seconds"} for item in run.json["submissions"]]
