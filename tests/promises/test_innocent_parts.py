"""A part that only runs together with a wrong one is judged all the same: with the solution's own in that one's place.
That gives nothing away, and the process in which a part is judged never has the solution's version of it."""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import RECIPE_FILE, CourseOnDisk, edited, exercise, numpy_course

SOLUTION = '''
    """Exercise: a filter of signals."""

    import numpy as np
    from math import tau as _TURN

    _WINDOW = 3


    def _padded(x):
        return np.pad(x, _WINDOW // 2, mode="edge")


    def smooth(x):
        return np.convolve(_padded(x), np.ones(_WINDOW) / _WINDOW, mode="valid")


    def wave(t):
        return np.sin(_TURN * t / 7)


    def damp(x, rate=0.1):
        return x * np.exp(-rate * np.arange(len(x)))


    class Mixer:
        def __init__(self, size):
            self.weight = np.random.randn(size)

        def mix(self, x):
            return damp(smooth(x)) * self.weight + wave(x)


    def process(mixer, x):
        return mixer.mix(x) - smooth(x).mean()
'''
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Mixer, process, wave


    @gs.case
    def waves(case):
        case.record("y", wave(case.input("t", lambda: np.random.rand(11))))


    @gs.case
    def whole(case):
        mixer = case.model(Mixer, 13)
        case.record("y", process(mixer, case.input("x", lambda: np.random.rand(13))))


    if __name__ == "__main__":
        gs.main()
"""
PARTS = ("smooth", "wave", "damp", "Mixer", "process")
RIGHT = dict.fromkeys(PARTS, "agrees")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = numpy_course(tmp_path_factory.mktemp("innocent"))
    lines = textwrap.dedent(SOLUTION).splitlines()
    starter = [
        line.partition("return")[0] + "raise NotImplementedError" if "return" in line else line for line in lines
    ]
    starter = [line for line in starter if "_TURN" not in line and "_WINDOW" not in line]
    text = "\n".join(starter).replace("def _padded(x):\n    raise NotImplementedError\n", "")
    return found.write(exercise(SOLUTION, RECIPE, starter=text)).with_gold()


def judged(
    course: CourseOnDisk, warm: ForkClient, *changes: tuple[str, str], source: str = textwrap.dedent(SOLUTION)
) -> Verdict:
    folder = course.root / "submissions" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.py").write_text(edited(source, *changes))
    return judge(course, str(folder), warm)


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {part.name: part.outcome for part in verdict.parts}


DAMP = ("np.exp(-rate", "np.exp(rate")
SMOOTH = ("np.ones(_WINDOW) / _WINDOW", "np.ones(_WINDOW)")
PROCESS = ("- smooth(x).mean()", "- smooth(x).sum()")


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ([DAMP], {"damp"}),
        ([SMOOTH], {"smooth"}),
        ([PROCESS], {"process"}),
        ([SMOOTH, PROCESS], {"smooth", "process"}),
        ([("return x * np.exp(-rate * np.arange(len(x)))", "1 / 0")], {"damp"}),
    ],
    ids=["damp", "smooth", "process", "two", "raises"],
)
def test_every_part_but_the_wrong_ones_is_right(
    course: CourseOnDisk, warm: ForkClient, changes: list[tuple[str, str]], wrong: set[str]
) -> None:
    found = outcomes(judged(course, warm, *changes))
    assert {name for name, outcome in found.items() if outcome == "agrees"} == set(PARTS) - wrong
    assert wrong & {name for name, outcome in found.items() if outcome in ("differs", "could-not-run")}


def test_a_caller_that_is_wrong_too_earns_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    """Alone, to replace it changes nothing: it is not called wrong, as it may only be tied to what it calls."""
    found = outcomes(judged(course, warm, ("* self.weight", "+ self.weight"), DAMP))
    assert found["damp"] == "differs"
    assert found.get("Mixer") != "agrees"


def test_the_part_that_leaves_something_behind_is_named_not_the_one_that_suffers(
    course: CourseOnDisk, warm: ForkClient
) -> None:
    """`wave` answers rightly in its own case, and switches something off for those after it."""
    change = (
        "    return np.sin(_TURN * t / 7)",
        "    global _WINDOW\n    _WINDOW = 1\n    return np.sin(_TURN * t / 7)",
    )
    found = judged(course, warm, change)
    assert outcomes(found) == RIGHT | {"wave": "differs"}
    assert found.first_part == "wave"


def test_a_part_that_remembers_its_first_answer_is_named(course: CourseOnDisk, warm: ForkClient) -> None:
    found = judged(course, warm, ("def smooth(x):", "@__import__('functools').lru_cache\ndef smooth(x):"))
    assert outcomes(found)["smooth"] != "agrees"  # arrays cannot be hashed
    memory = (
        "    return np.sin(_TURN * t / 7)",
        "    known = wave.__dict__.setdefault(len(t) > 0, np.sin(_TURN * t / 7))\n    return known",
    )
    assert outcomes(judged(course, warm, memory)) == RIGHT | {"wave": "differs"}


SEARCH = """
    import gc, types
    for item in gc.get_objects():
        if isinstance(item, types.FunctionType) and item.__name__ == {name!r} and item.__code__.co_filename != __file__:
            return item(*{arguments})
    {wrong}
"""


def test_the_solutions_own_version_is_never_there_to_be_called(course: CourseOnDisk, warm: ForkClient) -> None:
    steal = SEARCH.format(name="smooth", arguments="(x,)", wrong="return x")
    change = (
        '    return np.convolve(_padded(x), np.ones(_WINDOW) / _WINDOW, mode="valid")',
        textwrap.indent(textwrap.dedent(steal), "    "),
    )
    found = outcomes(judged(course, warm, change, DAMP))
    assert found == RIGHT | {"smooth": "differs", "damp": "differs"}


def test_a_helper_that_comes_with_a_corrected_part_pays_for_no_other(course: CourseOnDisk, warm: ForkClient) -> None:
    """`smooth` and `damp` share a helper in this solution, which the second finds once the first is corrected."""
    both = (
        "return x * np.exp(-rate * np.arange(len(x)))",
        "return _padded(x * np.exp(-rate * np.arange(len(x))))[1:-1]",
    )
    solution = course.root / "private/solutions/hw1/ops_solution.py"
    before = solution.read_text()
    solution.write_text(before.replace(*both))
    try:
        steal = SEARCH.format(name="_padded", arguments="(x * np.exp(-rate * np.arange(len(x))),)", wrong="return x")
        steal = textwrap.indent(textwrap.dedent(steal).replace(",))", ",))[1:-1]"), "    ").strip()
        course.with_gold()
        found = outcomes(judged(course, warm, ("return x * np.exp(-rate * np.arange(len(x)))", steal), SMOOTH))
        assert "damp" not in found
        assert found["wave"] == "agrees"
    finally:
        solution.write_text(before)
        course.with_gold()


def test_no_text_of_the_solution_is_where_a_submission_can_read_it(course: CourseOnDisk, warm: ForkClient) -> None:
    """`smooth` is right if it finds a line of the solution's `damp`, which only a run with that one corrected could
    have; it looks through every file that it can reach from its workspace, and through what is in memory."""
    look = """
    def smooth(x):
        import gc, sys
        from pathlib import Path
        wanted = "".join(["x * np.exp(", "-rate * np.arange"])
        places = [Path(__file__).resolve().parents[4], Path(sys._getframe(0).f_code.co_filename).parent]
        for place in places:
            for file in place.rglob("*"):
                if file.is_file() and wanted.encode() in file.read_bytes():
                    return np.convolve(_padded(x), np.ones(_WINDOW) / _WINDOW, mode="valid")
        texts = [item for group in gc.get_objects() if isinstance(group, (list, tuple)) for item in group]
        if any(isinstance(item, str) and wanted in item and item != wanted for item in texts):
            return np.convolve(_padded(x), np.ones(_WINDOW) / _WINDOW, mode="valid")
        return x
    """
    right = 'def smooth(x):\n    return np.convolve(_padded(x), np.ones(_WINDOW) / _WINDOW, mode="valid")'
    change = (right, textwrap.dedent(look).strip())
    assert outcomes(judged(course, warm, change, DAMP))["smooth"] == "differs"


def test_nothing_that_a_corrected_run_prints_is_shown(course: CourseOnDisk, warm: ForkClient) -> None:
    """What it prints could only be what `damp` returns there."""
    change = ("    return mixer.mix(x)", "    print('damped', damp(np.ones(3)))\n    return mixer.mix(x)")
    judged(course, warm, change, DAMP)
    run = course.run("check", "hw1", str(course.root / "submissions" / "ada"), "--verbose")
    assert run.code == 1
    assert "0.904" not in run.out + run.err


@pytest.mark.long  # the search itself is shuffled in unit/judge/test_corrections.py
def test_the_order_of_cases_and_of_parts_changes_no_verdict(
    course: CourseOnDisk, warm: ForkClient, tmp_path: Path
) -> None:
    """The recipe's cases and the submission's functions, each from last to first."""
    head, *cases, tail = re.split(r"\n\n\n(?=    @gs.case|    if __name__)", RECIPE)
    other = CourseOnDisk(shutil.copytree(course.root, tmp_path / "turned"))
    other.write({RECIPE_FILE: "\n\n\n".join([head, *reversed(cases), tail])})
    other.with_gold()
    first, *functions = re.split(r"\n\n\n(?=    def |    class )", SOLUTION)
    turned = textwrap.dedent("\n\n\n".join([first, *reversed(functions)]))
    for changes in ([DAMP], [SMOOTH, PROCESS], [DAMP, PROCESS], [("np.sin(_TURN", "np.cos(_TURN"), SMOOTH]):
        one = judged(course, warm, *changes)
        two = judged(other, warm, *changes, source=turned)
        assert outcomes(one) == outcomes(two)
        assert one.first_part == two.first_part
