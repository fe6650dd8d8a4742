"""A course with everything that makes putting a solution in place hard, and the doing of it in this process."""

from __future__ import annotations

from goldsmith.courses.injection.inject import inject, reset
from goldsmith.courses.layout.journal import read_journal
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.solutions import placements
from support.course import CourseOnDisk
from support.kill import Tree, whole_tree

STARTER = "src/assignments/hw1"
SOLUTION = "private/solutions/hw1"


def make_rich(course: CourseOnDisk) -> CourseOnDisk:
    """A solution that replaces a file with uncommitted edits, a link, an empty file and one with another mode, adds
    files in new folders, and removes one."""
    course.write(
        {
            f"{STARTER}/linked.py": "",
            f"{STARTER}/empty.py": "",
            f"{STARTER}/tool.py": "print('starter')\n",
            f"{STARTER}/gone.py": "print('a decoy')\n",
            "src/shared/real.py": "SHARED = 1\n",
            f"{SOLUTION}/linked_solution.py": "LINKED = 'secret'\n",
            f"{SOLUTION}/empty_solution.py": "EMPTY = 'secret'\n",
            f"{SOLUTION}/tool_solution.py": "",
            f"{SOLUTION}/parts/deep/more.py": "MORE = 'secret'\n",
            f"{SOLUTION}/data table.csv": "1,2\n",
            "goldsmith.toml": '[assignment.hw1]\nremoves = ["gone.py"]\n',
        }
    )
    (course.root / STARTER / "linked.py").unlink()
    (course.root / STARTER / "linked.py").symlink_to("../../shared/real.py")
    (course.root / STARTER / "tool.py").chmod(0o755)
    course.git("init", "--quiet")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "all")
    with (course.root / STARTER / "ops.py").open("a") as file:
        file.write("# my uncommitted work\n")
    return course


def do_inject(course: CourseOnDisk) -> None:
    assignment = find_course(course.root).assignment("hw1")
    inject(assignment, placements(assignment))


def do_reset(course: CourseOnDisk) -> None:
    reset(find_course(course.root), "hw1")


def state(course: CourseOnDisk) -> str | None:
    journal = read_journal(find_course(course.root), "hw1")
    return journal.state if journal else None


def assert_clean(course: CourseOnDisk, before: Tree) -> None:
    assert whole_tree(course.root) == before
    assert not (course.root / ".goldsmith/injected").exists()
