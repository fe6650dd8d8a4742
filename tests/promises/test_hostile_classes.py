"""Entries of a class folder that are out to be everybody's, or to keep others from being graded: nobody is lost,
nobody's work counts for another, and grading never fails in place of an author.

Each is a file in `hostile/classes/` that adds itself to a class of three honest students.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.grade import OneOrClass
from support import check_course as checking
from support.hostile_class import HONEST, HOSTILE, OF_ANOTHER, Scene, attacks, is_safe_here, make_scene

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_safe_here(), reason="nothing here is ever run on a machine without Landlock and seccomp"),
]

STUDENTS = ("ada", "ben", "cleo_7_1_ops")
ATTACKS = attacks("classes")
ASKED_ABOUT = {
    "has_the_path_of_the_assignment", "is_a_notebook_called_like_the_starters_file", "is_called_like_the_assignment",
    "is_called_like_the_starters_file",
}  # fmt: skip
"""Those with which the class may be read as one submission: staff are asked which it is."""
SAYS = {
    "breaks_its_own_archive": "it cannot be read",
    "has_a_file_without_a_name": "a file without a name",
    "hides_a_notebook_further_down": "is not where ops.py would be",
    "links_a_neighbours_folder": "points outside it",
    "lists_a_folder_a_million_times": "lists more than 10000 files and folders",
}
"""Why they could not even be opened."""
RIGHT = {"ends_its_import_half_way"}
"""Work that is right by itself, and told to be what it is."""


def made(scene: Scene, name: str) -> Path:
    spec = importlib.util.spec_from_file_location(f"class_{name}", HOSTILE / "classes" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    maker: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    source = f"{textwrap.dedent(checking.SOLUTION)}\n# {OF_ANOTHER}\n"
    folder = scene.folder / "classes" / name
    (folder / "ada").mkdir(parents=True)
    (folder / "ada/ops.py").write_text(source)
    shutil.make_archive(str(folder / "ben"), "zip", folder / "ada")
    (folder / "cleo_7_1_ops.py").write_text(source)
    maker.make(folder, {"ops.py": textwrap.dedent(checking.SOLUTION)}, scene.target)
    return folder


@dataclasses.dataclass
class GradedClass:
    """What became of a class: whether staff were asked, its entries, and the grades by the names of submissions."""

    asked: bool
    entries: list[str]
    items: list[SubmissionRef]
    grades: dict[str, Grade]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, GradedClass]]:
    scene = make_scene(tmp_path_factory.mktemp("classes"))
    assignment = find_course(scene.course.root).assignment("hw1")
    found = {}
    for name in ATTACKS:
        folder = made(scene, name)
        try:
            asked, items = False, collect(assignment, [str(folder)], []).items
        except OneOrClass:
            asked, items = True, collect(assignment, [str(folder)], [], reading="class").items
        found[name] = GradedClass(asked, os.listdir(folder), items, {})
    all_items = {(name, item.name): item for name, one in found.items() for item in one.items}
    refs = {f"{name} {who}": dataclasses.replace(item, name=f"{name} {who}") for (name, who), item in all_items.items()}
    result = scene.grade(refs, "graded")
    for (name, who), grade in zip(all_items, result.grades.values(), strict=True):
        found[name].grades[who] = grade
    yield found
    scene.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_everybody_beside_it_is_graded_for_their_own_work(classes: dict[str, GradedClass], name: str) -> None:
    one = classes[name]
    assert one.asked == (name in ASKED_ABOUT)
    assert sorted(Path(what).name for item in one.items for what in item.together or (item.what,)) == sorted(
        one.entries
    )
    assert {who: one.grades[who].score for who in STUDENTS} == dict.fromkeys(STUDENTS, HONEST["right"][2])


@pytest.mark.parametrize("name", ATTACKS)
def test_it_earns_nothing_by_others_and_blames_nobody(classes: dict[str, GradedClass], name: str) -> None:
    own = [grade for who, grade in classes[name].grades.items() if who not in STUDENTS]
    assert own
    for grade in own:
        assert grade.outcome != "error", "nobody but its author is at fault"
        assert grade.score == (HONEST["right"][2] if name in RIGHT else 0.0)
        assert SAYS.get(name, "") in grade.reason
        assert grade.seconds < 20
        assert bool(grade.unfinished) == (name in RIGHT)
        assert OF_ANOTHER not in repr(grade)
