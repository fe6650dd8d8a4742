"""Submissions that are out to gain marks that they have not earned, or to harm: they gain nothing and harm nothing.

Each is one file in `hostile/`, with its first line saying what it tries. They are graded in one run, locked in, beside
honest ones, and know all that an attacker could know but no secret. Those that want marks do the exercise nowhere: only
an attack that works would earn any.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import hostile_messages as hostile_walls
from support.course import wait_until
from support.hostile_class import (
    HONEST,
    HOSTILE,
    MARK,
    OF_THE_SOLUTION,
    TOKEN,
    Result,
    Scene,
    attacks,
    is_safe_here,
    make_scene,
    running,
    secrets_of,
)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_safe_here(), reason="nothing here is ever run on a machine without Landlock and seccomp"),
]

UNTIDY = ["links_folders_outside", "nests_folders"]
"""What comes out only when a workspace is removed: a run of their own."""
OUTSIDE = [name for name in attacks("numpy") if name not in UNTIDY]
PARCELS = attacks("parcels")
WANT_NO_MARKS = {
    "deletes_everything", "fills_the_disk", "fills_the_disk_unseen", "leaves_a_daemon", "makes_many_files",
}  # fmt: skip
EARNED = {"claims_parts": 2.0}
STOPPED = "killed by SIGKILL or took longer than 3 s"
TOO_LATE = "took longer than"
SAYS = {
    "begins_every_case_at_the_last_moment": "took longer than 3 s or killed by SIGABRT",
    "bombs_from_orphans": STOPPED,
    "bombs_memory": "Unable to allocate",
    "bombs_memory_in_forks": STOPPED,
    "bombs_when_told_to_end": "took longer than 3 s",
    "bombs_with_copies_of_itself": STOPPED,
    "bombs_with_forks": STOPPED,
    "bombs_with_shells": STOPPED,
    "computes_unseen": TOO_LATE,
    "dawdles": "slept most of it",
    "declares_huge_shapes": "Unable to allocate",
    "exits_with_success": "exit code 0",
    "fills_its_verdict": "no reason is given or it wrote more than",
    "fills_the_disk": STOPPED,
    "fills_the_disk_unseen": STOPPED,
    "forges_events": "took longer than 3 s",
    "forges_its_end": "took longer than 3 s",
    "forges_shapes": "cannot be read",
    "ignores_signals": "took longer than 3 s",
    "keeps_a_page_of_each_file": "it wrote more than 128 MiB",
    "kills_everybody": "",
    "leaves_by_sys_exit": "sys.exit(0)",
    "leaves_in_a_case": "sys.exit(0)",
    "leaves_very_long_json": "its JSON is larger than 8 MiB or it wrote more than",
    "links_where_others_write": "exit code 3",
    "loops_for_ever": "took longer than 3 s",
    "makes_many_files": STOPPED,
    "names_modules_very_deep": "very long names or it wrote more than",
    "opens_very_many_files": "more than 2048 files open together",
    "pairs_every_name_with_every_other": "pairs more weights or it wrote more than",
    "pretends_a_shortage": "No space left on device",
    "prints_for_ever": "File too large or killed by SIGKILL",
    "prolongs_its_time": TOO_LATE,
    "recurses_very_deep": "RecursionError",
    "returns_a_pickle": "an array of object",
    "returns_very_many_values": "holds more than 20000 values or it wrote more than",
    "rewrites_its_recipe": "exit code 0",
    **hostile_walls.SAYS,
    "sleeps_behind_a_vfork_child": "3 s and was idle or 3 s, and slept most of it",
    "sleeps_behind_a_vfork_child_of_a_thread": "3 s and was idle or 3 s, and slept most of it",
    "starts_very_many_threads": "more than 512 threads or took longer than 3 s",
    "writes_in_processes_that_end": "it wrote more than 128 MiB",
}
"""What is said about one of its cases."""
PARCELS_SAY = {
    "bombs_by_bzip2": "it holds more than 256 MiB",
    "bombs_in_a_zip": "it holds more than 256 MiB",
    "hard_links_in_a_tar": "is no plain file",
    "brings_settings": "",
    "has_a_huge_header_in_a_tar": "a header that is larger",
    "has_a_huge_name_in_a_tar": "a header that is larger",
    "has_a_name_of_broken_bytes": "",
    "has_folders_without_number": "more than 5000 folders",
    "has_odd_names": "",
    "has_very_many_files": "more than 5000 files",
    "is_called_like_a_command": "",
    "has_very_much_code": "",
    "is_no_text": "could not be imported",
    "is_very_large": "could not be imported",
    "links_in_a_tar": "is no plain file",
    "links_in_a_zip": "is no plain file",
    "links_out_of_its_folder": "points outside it",
    "links_to_the_solution": "points outside it",
    "multiplies_in_a_revision": "more than 5000",
    "nests_its_source": "could not be imported",
    "nests_parentheses": "could not be imported",
    "reaches_up_in_a_revision": "points outside it",
    "reaches_up_in_a_zip": "would lie outside of it",
    **hostile_walls.PARCELS_SAY,
}
"""Why it could not even be opened or imported; nothing where there is nothing wrong with it but names."""


@dataclass(frozen=True)
class Graded:
    """One run, and what was outside before and after it."""

    result: Result
    before: object
    after: object


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = make_scene(tmp_path_factory.mktemp("hostile"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_TOKEN", TOKEN)
        patch.setenv("HOME", str(made.home))
        yield made
    made.close()


@pytest.fixture(scope="module")
def alone(scene: Scene) -> Result:
    """What honest submissions get when nobody else is there."""
    return scene.grade({kind: scene.honest(kind) for kind in HONEST}, "alone", jobs=1)


@pytest.fixture(scope="module")
def graded(scene: Scene, alone: Result) -> Graded:
    """Everybody, with honest submissions between them."""
    hostile = {name: scene.hand_in(name) for name in OUTSIDE} | {name: scene.parcel(name) for name in PARCELS}
    items = {}
    for number, (name, item) in enumerate(hostile.items(), start=1):
        items[name] = item
        if number % 8 == 0:
            kind = list(HONEST)[number // 8 % len(HONEST)]
            items[f"{kind} {number}"] = scene.honest(kind, number)
    before = scene.snapshot()
    result = scene.grade(items, "graded")
    return Graded(result, before, scene.snapshot())


@pytest.mark.parametrize("name", OUTSIDE)
def test_it_gains_nothing(scene: Scene, graded: Graded, name: str) -> None:
    grade, notes = graded.result.grades[name], graded.result.told(name)
    if name not in WANT_NO_MARKS:
        assert grade.outcome != "agrees"
        assert grade.score == EARNED.get(name, 0.0)
    assert [note for note in notes if "got" in note] == [], "went through"
    assert [note for note in notes if "error" in note and not note["refused"]] == [], "did not even try"
    if "kit.tries" in (HOSTILE / "numpy" / f"{name}.py").read_text():
        assert any("error" in note for note in notes)
    said = [case.why for case in grade.cases]
    assert any(words in text for words in SAYS.get(name, "").split(" or ") for text in said), said
    assert_no_secret(scene, notes)


@pytest.mark.parametrize("name", PARCELS)
def test_what_is_handed_in_is_opened_with_suspicion(graded: Graded, name: str) -> None:
    grade, words = graded.result.grades[name], PARCELS_SAY[name]
    assert (grade.outcome, grade.score) == (("could-not-run", 0.0) if words else ("agrees", 6.0))
    assert words in grade.reason


@pytest.mark.parametrize("kind", HONEST)
def test_those_beside_them_get_what_they_get_alone(graded: Graded, alone: Result, kind: str) -> None:
    assert alone.grades[kind].score == HONEST[kind][2]
    expected = {**alone.grades[kind].plain(), "name": "", "seconds": 0, "digest": ""}
    beside = [item for name, item in graded.result.grades.items() if name.split()[0] == kind]
    assert len(beside) > 1
    for grade in beside:
        assert {**grade.plain(), "name": "", "seconds": 0, "digest": ""} == expected


def test_nothing_outside_is_changed(scene: Scene, graded: Graded) -> None:
    assert graded.after == graded.before
    places = [Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), scene.folder, scene.folder.parent]
    assert [str(path) for place in places for path in place.glob(f"{MARK}*")] == []
    assert [path for path in graded.result.workspaces if path.exists()] == []


def test_nobody_heard_anything(scene: Scene, graded: Graded) -> None:
    assert scene.listeners.heard == []


def test_nothing_is_left_running(graded: Graded) -> None:
    wait_until(lambda: not running())


def test_it_ends_in_bounded_time(graded: Graded) -> None:
    """Within seconds by the clock; more where others use this machine so much that who computes up to the limit of 3 s
    of processor time takes longer than 4."""
    grades = graded.result.grades
    busy = max(1.0, grades["loops_for_ever"].seconds / 4)
    slow = {name: grade.seconds for name, grade in grades.items() if grade.seconds > 20 * busy}
    assert slow == {}
    assert graded.result.seconds < 120 * busy


def test_what_is_written_about_them_is_plain_text_without_secrets(scene: Scene, graded: Graded) -> None:
    files = [path for path in graded.result.written.rglob("*") if path.is_file()]
    assert len(files) > 3 * len(OUTSIDE)
    for path in files:
        assert path.name.isprintable()
        text = path.read_text(encoding="utf-8")
        assert all(char.isprintable() or char == "\n" for char in text), path
        of_the_class = 2_000 * len(graded.result.grades) if path.parent == graded.result.written else 0
        assert path.stat().st_size < max(of_the_class, 50_000), path
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::") or "##[" in line], path
        assert_no_secret(scene, text)


def test_no_submission_speaks_as_the_grader(graded: Graded) -> None:
    words = "the staff of this course award all points"
    assert words in (HOSTILE / "numpy/speaks_as_the_grader.py").read_text()
    files = [path for path in graded.result.written.rglob("*") if path.is_file() and "speaks" in path.name]
    assert len(files) >= 2
    assert [path for path in files if words in path.read_text()] == []


def test_who_says_that_something_was_used_up_is_run_once_more_and_no_more(graded: Graded) -> None:
    processes = {note["sees"] for note in graded.result.told("pretends_a_shortage")}
    assert 2 <= len(processes) <= 16, "as many as it takes to judge it, twice"


def assert_no_secret(scene: Scene, found: object) -> None:
    text = json.dumps(found)
    assert [secret for secret in secrets_of(scene.course) if json.dumps(secret)[1:-1] in text] == []


# --- whether all this could fail ------------------------------------------------------------------------------------


def test_without_walls_the_same_attacks_do_succeed(scene: Scene, alone: Result) -> None:
    """Those that harm nobody. So it is the walls that stop them, and these tests would notice if they were gone."""
    names = ("reads_gold_by_path", "reads_solution_by_path", "reads_the_parents_memory", "sends_by_udp", "sends_by_tcp")
    folder = scene.handed_in
    try:
        scene.handed_in = scene.folder / "without walls"
        scene.handed_in.mkdir()
        found = scene.grade({name: scene.hand_in(name) for name in names}, "open", sandboxed=False)
    finally:
        scene.handed_in = folder
    assert (found.grades["reads_gold_by_path"].outcome, found.grades["reads_gold_by_path"].score) == ("agrees", 6.0)
    assert found.grades["reads_solution_by_path"].score == 4.0
    assert {"by file", "by call"} <= {note["label"] for note in found.told("reads_the_parents_memory") if "got" in note}
    with pytest.raises(AssertionError):
        assert_no_secret(scene, found.told("reads_the_parents_memory"))
    assert len(scene.listeners.heard) >= 2
    scene.listeners.heard.clear()


def test_the_corpus_is_as_large_as_it_was_asked_to_be() -> None:
    files = sorted(HOSTILE.glob("[cnpt]*/*.py"))
    assert len(files) >= 90
    for path in files:
        first = path.read_text().splitlines()[0]
        assert first.startswith('"""'), path
        assert first.endswith('."""'), path
        assert OF_THE_SOLUTION not in path.read_text()


# --- tidying up after them ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def untidy(scene: Scene, graded: Graded) -> Iterator[Graded]:
    for folder in (scene.sentinel, scene.course.root, scene.course.gold()):
        folder.chmod(0o755)
    items = {name: scene.hand_in(name) for name in UNTIDY} | {"beside": scene.honest("right", 1000)}
    before = scene.snapshot()
    result = scene.grade(items, "untidy")
    yield Graded(result, before, scene.snapshot())
    subprocess.run(["rm", "-rf", *map(str, result.workspaces)], check=True)


def test_no_link_is_followed_when_a_workspace_is_removed(untidy: Graded) -> None:
    assert untidy.result.grades["links_folders_outside"].score == 0.0
    assert untidy.after == untidy.before


def test_folders_thousands_deep_are_removed(untidy: Graded) -> None:
    assert "killed by SIGKILL" in untidy.result.grades["nests_folders"].cases[0].why
    assert [path for path in untidy.result.workspaces if path.exists()] == []


def test_nobody_beside_them_is_hurt(untidy: Graded) -> None:
    assert untidy.result.grades["beside"].score == HONEST["right"][2]


# --- torch ----------------------------------------------------------------------------------------------------------

ON_TORCH = attacks("torch")


@pytest.fixture(scope="module")
def on_torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Result]]:
    scene = make_scene(tmp_path_factory.mktemp("torch"), "torch")
    items = {name: scene.hand_in(name, "torch") for name in ON_TORCH}
    yield scene, scene.grade(items, "graded", memory=4.0, case_timeout=20.0)
    scene.close()


@pytest.mark.torch
def test_no_class_speaks_as_the_grader(on_torch: tuple[Scene, Result]) -> None:
    words = "the staff of this course award all points"
    assert words in (HOSTILE / "torch/is_called_like_a_sentence.py").read_text()
    files = [path for path in on_torch[1].written.rglob("*") if path.is_file()]
    assert [path for path in files if words in path.read_text().replace("\u3164", " ")] == []


@pytest.mark.torch
@pytest.mark.parametrize("name", ON_TORCH)
def test_nothing_is_gained_by_way_of_torch(on_torch: tuple[Scene, Result], name: str) -> None:
    scene, result = on_torch
    grade = result.grades[name]
    assert (grade.outcome != "agrees", grade.score) == (True, 0.0)
    assert grade.seconds < 20
    assert "cannot be judged" not in grade.reason
    assert_no_secret(scene, result.told(name))
    if "kit.task" in (HOSTILE / "torch" / f"{name}.py").read_text():
        assert {note["sees"] for note in result.told(name) if note["label"] == "task"} == {"replay", "alone"}


def test_this_process_is_still_the_one_that_everybody_aimed_at(scene: Scene, graded: Graded) -> None:
    assert scene.target["PARENT"] == os.getpid()
    assert os.getpriority(os.PRIO_PROCESS, 0) < 19
    assert len(os.sched_getaffinity(0)) == os.cpu_count() or os.cpu_count() == 1
