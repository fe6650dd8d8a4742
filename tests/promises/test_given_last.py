"""Values of gold's that a submission is given, because it is wrong, come too late for everybody's cases: nobody is
given any before all have been replayed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.open_contexts import judging_contexts
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.engines.engine import Local
from goldsmith.generate.options import Options
from support.hostile_class import Result, Scene, is_safe_here, make_scene

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not is_safe_here(), reason="nothing here is ever run on a machine without Landlock and seccomp"),
]
ATTACK = "hands_on_what_it_is_given"
WRONG = ("self.norm(x)) + x", "self.norm(x)) - x")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = make_scene(tmp_path_factory.mktemp("given"), "torch")
    (made.temporary / "board").mkdir()
    (made.temporary / "board").chmod(0o777)
    yield made
    made.close()


def hostile(scene: Scene, name: str) -> SubmissionRef:
    folder = scene.handed_in / name
    folder.mkdir(exist_ok=True)
    for file, content in scene.files_of(ATTACK, "torch").items():
        (folder / file).write_text(content.replace(f"NAME = '{ATTACK}'", f"NAME = '{name}'"))
    return SubmissionRef(name, str(folder))


def honest(scene: Scene, name: str, old: str = "", new: str = "") -> SubmissionRef:
    source = (scene.course.root / "private/solutions/hw1/net_solution.py").read_text()
    assert old in source
    folder = scene.handed_in / name
    folder.mkdir(exist_ok=True)
    (folder / "net.py").write_text(source.replace(old, new) + f"# {name}\n")
    return SubmissionRef(name, str(folder))


def clear(scene: Scene) -> list[Path]:
    left = sorted((scene.temporary / "board").iterdir())
    for path in left:
        path.unlink()
    return left


def seen(result: Result, name: str, label: str) -> set[str]:
    return {note["sees"] for note in result.told(name) if note["label"] == label}


def in_its_replays(result: Result, name: str) -> set[str]:
    """Return how much it has found while its cases were replayed, which is done in its first workspace."""
    found = [note["sees"].split(" in ") for note in result.told(name) if note["label"] == "found"]
    return {count for count, workspace in found if workspace == found[0][1]}


def grade(scene: Scene, *names: str, **options: object) -> Result:
    items = {name: hostile(scene, name) for name in names}
    return scene.grade(items, "-".join(names), memory=4.0, case_timeout=20.0, sandboxed=False, jobs=1, **options)


def test_what_one_is_given_comes_too_late_for_the_cases_of_another(scene: Scene) -> None:
    """Without walls, so that there is a way from one to the other."""
    clear(scene)
    found = grade(scene, "ada", "bob")
    assert {seen(found, name, "task") == {"replay", "alone"} for name in ("ada", "bob")} == {True}
    assert [in_its_replays(found, name) for name in ("ada", "bob")] == [{"0"}, {"0"}]
    assert clear(scene), "each was given something in the end"


@pytest.mark.long
def test_what_one_left_is_there_for_another_run(scene: Scene) -> None:
    """So the test above would notice what came too early."""
    clear(scene)
    grade(scene, "ada")
    assert "0" not in in_its_replays(grade(scene, "bob"), "bob")


@pytest.mark.long
def test_everybody_gets_in_a_class_what_they_get_alone(scene: Scene) -> None:
    def plain(result: Result, name: str) -> dict[str, object]:
        return {**result.grades[name].plain(), "seconds": 0}

    def handed_in() -> dict[str, SubmissionRef]:
        return {
            "right": honest(scene, "right"),
            "wrong": honest(scene, "wrong", *WRONG),
            "evil": hostile(scene, "evil"),
        }

    options = {"memory": 4.0, "case_timeout": 20.0}
    together = scene.grade(handed_in(), "together", **options)
    for name, item in handed_in().items():
        assert plain(together, name) == plain(scene.grade({name: item}, f"alone-{name}", **options), name)
    assert [together.grades[name].score for name in ("right", "evil")] == [3.0, 0.0]


@dataclass(frozen=True)
class Recorded(Local):
    """Notes what is asked of whom."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    stop_after: str = ""

    def run(self, work: Any, items: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        for item, judged in super().run(work, items):
            self.asked.append((getattr(work, "name", ""), item.name))
            yield item, judged
        if self.stop_after == getattr(work, "name", ""):
            raise KeyboardInterrupt


def test_an_interrupted_class_goes_on_where_it_stopped(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    assignment = find_course(scene.course.root).assignment("hw1")
    rubric = rubric_for(assignment, allow_stale=False)
    grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), case_timeout=20, memory=4)
    items = [honest(scene, "first", *WRONG), honest(scene, "second", "1e-5", "1e-2")]
    engine = Recorded(stop_after="replay")
    with pytest.raises(KeyboardInterrupt):
        grade_all(GradingOptions(grader, items, scene.folder / "results/stopped", engine))
    stored = list((scene.course.root / ".goldsmith/replayed/hw1").iterdir())
    assert len(stored) == 2
    before = [path.stat().st_mtime_ns for path in stored]
    again = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), case_timeout=20, memory=4)
    with judging_contexts():
        assert [again.replay(item).pending != "" for item in items] == [True, True]
    assert [path.stat().st_mtime_ns for path in stored] == before, "nothing ran again"
    engine = Recorded()
    found = grade_all(GradingOptions(again, items, scene.folder / "results/finished", engine))
    assert engine.asked == [(work, item.name) for work in ("replay", "conclude") for item in items]
    assert [made.outcome for made in found.grades] == ["differs", "differs"]
    assert list((scene.course.root / ".goldsmith/replayed/hw1").iterdir()) == []


@pytest.mark.long
def test_what_cannot_be_stored_is_judged_all_the_same(scene: Scene) -> None:
    assignment = find_course(scene.course.root).assignment("hw1")
    rubric = rubric_for(assignment, allow_stale=False)
    grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), 20, 4, keep=False)
    item = honest(scene, "lost", *WRONG)
    with judging_contexts():
        pending = grader.replay(item).pending
        grader.forget([pending])
        judged = grader.conclude(item)
    assert (judged.verdict.outcome, judged.verdict.first_part, judged.pending) == ("differs", "Mix", "")
