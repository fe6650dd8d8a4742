"""A NumPy course whose gold is sharp in some places and blind in others, with operators of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.mutants.cache import FindingCache
from goldsmith.mutants.measure import RigorOptions, measure
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.results import Finding, Rigor
from support.course import CourseOnDisk, exercise, numpy_course

SOLUTION = '''
    """Exercise: standardise, centre, and something that no case runs."""

    import numpy as np


    def standardise(x, eps=1e-5):
        return (x - x.mean()) / np.sqrt(x.var() + eps)


    def centre(x):
        shift = x.mean(axis=-1, keepdims=True)
        return np.where(x > -1e9, x - shift, x)


    def unused(x):
        return x * 2.0


    def provided(x):
        return x + 1.0
'''

RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import centre, standardise


    @gs.case
    def standardised(case):
        case.record("y", standardise(case.input("x", lambda: np.random.randn(4, 7) * 1e6)))


    @gs.case
    def centred(case):
        case.record("y", centre(case.input("x", lambda: np.random.randn(3, 5))))


    if __name__ == "__main__":
        gs.main()
"""

OPERATORS = '''
    """Mistakes that only this course's students make."""

    import ast

    from goldsmith.mutation import operator


    def _swap(name, description, old, new):
        @operator(name, description, "own", ast.Constant, ast.Name, ast.Call, ast.BinOp)
        def mutate(site):
            if site.text(site.node) == old:
                yield site.replace(site.node, new)
'''

FILES = exercise(SOLUTION, RECIPE, "provided")


def mutated_course(
    folder: Path, own: dict[str, tuple[str, str]], files: dict[str, str] = FILES, *, calibrate: bool = True
) -> CourseOnDisk:
    """The course with gold, and operators of its own: each by name with what it replaces by what."""
    lines = [f'_swap("{name}", "{name} of its own", {old!r}, {new!r})' for name, (old, new) in own.items()]
    course = numpy_course(folder).write(files)
    operators = textwrap.dedent(OPERATORS) + "\n\n" + "\n".join(lines) + "\n"
    course.write({"goldsmith.toml": 'case-timeout = 3.0\n\n[rigor]\noperators = "private/operators.py"\n'})
    course.with_gold(calibrate=calibrate)  # to which operators are nothing
    (course.root / "private/operators.py").write_text(operators)
    return course


def rigor_of(
    course: CourseOnDisk,
    *names: str,
    keep: bool = False,
    case_timeout: float = 3.0,
    told: Callable[[Finding], None] = lambda found: None,
) -> Rigor:
    """Measured in this process: no command line to start. `told` gets every finding that is new."""

    def put(cache: FindingCache, mutant: Mutant, found: Finding) -> None:
        told(found)
        kept(cache, mutant, found)

    kept = FindingCache.put
    target = replace(resolve(find_course(course.root).assignment("hw1")), timeout=60.0, case_timeout=case_timeout)
    wanted = RigorOptions(names=names, jobs=2, keep=keep)
    with mock.patch.object(FindingCache, "put", put):
        return measure(target, wanted)


def by_name(rigor: Rigor) -> dict[str, Finding]:
    return {item.name: item for item in rigor.findings}
