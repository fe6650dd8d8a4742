"""What a course has before anybody wrote a recipe for it: the starter, the solution, the public tests; and other right
solutions, to see whether a draft accepts them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.course_shapes import module
from support.course import CourseOnDisk

Changes = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class ShapeToDraft:
    """`solutions` are files by their path in the assignment's folder, `written` the parts that students write of each;
    `right` are changes to a solution's file that leave it right, by name, `wrong` those that do not."""

    assignment: str
    solutions: Mapping[str, str]
    written: Mapping[str, Sequence[str]]
    tests: Mapping[str, str]
    right: Mapping[str, tuple[str, Changes]]
    wrong: Mapping[str, tuple[str, Changes]]
    provided: Mapping[str, str]

    def write(self, root: Path) -> CourseOnDisk:
        """Write the course, arranged as `goldsmith new` would."""
        course = CourseOnDisk(root)
        starters = {name: stubbed(text, self.written[name]) for name, text in self.solutions.items()}
        home = f"src/assignments/{self.assignment}"
        course.write({f"{home}/{name}": text for name, text in {**starters, **self.provided}.items()})
        course.write({f"private/solutions/{self.assignment}/{name}": text for name, text in self.solutions.items()})
        course.write({f"tests/public/{name}": text for name, text in self.tests.items()})
        return course

    def changed(self, change: tuple[str, Changes]) -> dict[str, str]:
        """Return the solution's files with a change in one."""
        name, replacements = change
        text = self.solutions[name]
        for old, new in replacements:
            assert text.count(old) == 1, f"the solution does not say this exactly once: {old}"
            text = text.replace(old, new)
        return {**self.solutions, name: text}


def stubbed(source: str, names: Sequence[str]) -> str:
    """Return a source in which students have to write the functions and methods of these names."""
    lines = source.split("\n")
    places: list[tuple[int, int, int]] = []
    for node in ast.parse(source).body:
        for prefix, item in [
            ("", node),
            *((f"{node.name}.", it) for it in getattr(node, "body", []) if isinstance(node, ast.ClassDef)),
        ]:
            if isinstance(item, ast.FunctionDef) and f"{prefix}{item.name}" in names:
                first = item.body[1 if ast.get_docstring(item) and len(item.body) > 1 else 0]
                places.append((first.lineno, item.end_lineno or 0, first.col_offset))
    assert len(places) == len(names), f"{names} are not all there"
    for start, end, indent in sorted(places, reverse=True):
        lines[start - 1 : end] = [f"{' ' * indent}# TODO", f"{' ' * indent}raise NotImplementedError"]
    return "\n".join(lines)


__all__ = ["ShapeToDraft", "module"]
