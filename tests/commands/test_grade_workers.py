"""Submissions on workers of a cluster: what was sent is hidden from them, and an answer is data that is checked."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import msgspec
import pytest

from goldsmith.courses.grade.grader import Grader, Judged, Outcome, rubric_for
from goldsmith.courses.grade.rounds import Round, SentSubmission
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.generate.options import Options
from goldsmith.judge.verdicts import CaseVerdict, Verdict
from goldsmith.sandbox.capabilities import probe
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk

pytest.importorskip("distributed")
pytest.importorskip("cryptography")

_SEARCH = """
def _search():
    import os, sys
    own = os.path.abspath(__file__).partition("/run-")[0]
    python = tuple(path for path in (sys.prefix, sys.base_prefix, *sys.path, "/proc", "/sys", "/usr", "/lib") if path)
    found = []
    tops = {"/tmp/goldsmith-%d" % os.getuid(), "/dev/shm"}
    for top in tops:
        for current, folders, files in os.walk(top):
            if current.startswith(python):
                folders[:] = []
                continue
            for name in files:
                path = os.path.join(current, name)
                if path.startswith(own) or not os.path.isfile(path):  # a pipe would keep it waiting
                    continue
                try:
                    content = open(path, "rb").read(10**6)
                except OSError:
                    continue
                if name == "manifest.json" or b"factor" in content or b"SECRET" in content:
                    found.append(path)
    words = " ".join([*os.environ.values(), *sys.argv]).split()
    told = [word for word in words if ("dask" in word or "/course" in word) and not word.startswith(own)]
    return [*found, *told]

FOUND = _search()
if FOUND:
    def scale(x, factor=3.0):
        raise RuntimeError("FOUND " + " ".join(FOUND).replace("/", "+"))
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("workers") / "course")


@pytest.mark.long
@pytest.mark.skipif(not probe().bubblewrap, reason="bubblewrap does not work here")
def test_a_submission_on_a_worker_finds_nothing_of_what_was_sent_there(course: CourseOnDisk, tmp_path: Path) -> None:
    spy, other = hand_in(course, name="spy"), hand_in(course, ("x * factor", "x @ factor"), name="other")
    for folder, text in ((spy, _SEARCH), (other, "\n# SECRET\n")):
        with (Path(folder) / "ops.py").open("a") as file:
            file.write(text)
    output = tmp_path / "output"
    arguments = ["grade", "hw1", spy, other, "--again", "--json", "--engine", "dask", "--output", str(output)]
    found = {item["name"]: item for item in course.run(*arguments).json["submissions"]}
    assert found["spy"]["outcome"] == "agrees", found["spy"]
    assert "bubblewrap" in found["spy"]["sandbox"]
    assert found["other"]["outcome"] == "could-not-run"
    told = "".join(path.read_text() for path in output.rglob("*") if path.suffix in (".md", ".json", ".csv"))
    assert "goldsmith-" not in told, "no private path of a worker is told to anybody"
    (bare,) = course.run(*arguments[:3], *arguments[4:], "--allow-unsandboxed").json["submissions"]
    assert "FOUND" in json.dumps(bare), "without a sandbox it would have"


def test_an_answer_is_checked_before_it_counts(course: CourseOnDisk) -> None:
    assignment = find_course(course.root).assignment("hw1")
    rubric = rubric_for(assignment, allow_stale=False)
    grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), 20, 4, keep=False)
    with Round(grader, "judge").sending(SubmissionRef("ada", hand_in(course, name="ada"))) as sent:
        assert isinstance(sent, SentSubmission)

        def received(verdict: Verdict | None) -> Judged:
            return sent.received(msgspec.msgpack.encode(Outcome(verdict=verdict)))

        case = CaseVerdict(name=rubric.cases[0], title="", outcome="agrees")
        right = Verdict(name="bob", assignment="other", outcome="agrees", cases=(case,))
        assert received(right).verdict.name == "ada", "a worker cannot say whose verdict it is"
        assert received(right).verdict.assignment == "hw1"
        stranger = msgspec.structs.replace(right, cases=(msgspec.structs.replace(case, name="none"),))
        for content in (None, stranger):
            with pytest.raises(msgspec.ValidationError):
                received(content)
        for forged in (b"", b"\x80", b"cos\nsystem\n", msgspec.msgpack.encode({"verdict": 1})):
            with pytest.raises(msgspec.DecodeError):
                sent.received(forged)
        with contextlib.suppress(AttributeError):
            assert sent.failed("a bug").verdict.outcome == "error"
