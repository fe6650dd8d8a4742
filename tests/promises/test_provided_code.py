"""Everything that a starter gives is provided code: what goes wrong because it was changed is told as that, with credit
for what was written; a change that no case runs is told and marked; what students may change is not."""

from __future__ import annotations

import textwrap

import pytest

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import Grade, grade
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.packs.contents import course_files
from goldsmith.judge import words
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import RECIPE_FILE, CourseOnDisk, edited, numpy_course

SOLUTION = '''
    """Exercise: layers with settings."""

    from dataclasses import dataclass

    import numpy as np
    from tables import bend

    EPS = 0.25
    UNUSED = 3
    RATE = 0.125
    WIDTHS = (3, 5)


    @dataclass
    class Config:
        power: float = 2.0
        size: int = 4


    class Base:
        gain = 1.5

        def scaled(self, x):
            return self.gain * x

        def shown(self):
            return f"gain {self.gain}"


    class Layer(Base):
        shift = 0.5
        label = "mine"

        def forward(self, x, config):
            # YOUR CODE HERE
            return self.scaled(np.abs(x) ** config.power) + self.shift


    def norm(x, keep=True):
        # YOUR CODE HERE
        return bend(x) / np.sqrt((x**2).mean(axis=-1, keepdims=keep) + EPS)


    def step(x, rate=0.5, verbose=False):
        # YOUR CODE HERE
        return x - rate * norm(x)
'''
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Config, Layer, norm, step


    @gs.case
    def normed(case):
        case.record("y", norm(case.input("x", lambda: np.random.randn(3, 7))))


    @gs.case
    def stepped(case):
        case.record("y", step(case.input("x", lambda: np.random.randn(4, 5)), verbose=False))


    @gs.case
    def layered(case):
        case.record("y", Layer().forward(case.input("x", lambda: np.random.randn(2, 6)), Config(size=8)))


    if __name__ == "__main__":
        gs.main()
"""
TABLES = "import numpy as np\n\n\ndef bend(x):\n    return np.tanh(x)\n"
PARTS = {"Layer", "norm", "step"}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    starter = textwrap.dedent(SOLUTION).replace("RATE = 0.125", "RATE = 1.0  # TODO: choose")
    lines = starter.replace('label = "mine"', 'label = "a name"').split("\n")
    for number, line in enumerate(lines):
        if "YOUR CODE" in line:
            lines[number + 1] = f"{line.partition('#')[0]}raise NotImplementedError"
    files = {
        "src/assignments/hw1/ops.py": "\n".join(lines),
        "src/assignments/hw1/tables.py": TABLES,
        "private/solutions/hw1/ops_solution.py": SOLUTION,
        RECIPE_FILE: RECIPE,
    }
    return numpy_course(tmp_path_factory.mktemp("provided")).write(files).with_gold()


def judged(course: CourseOnDisk, warm: ForkClient, *changes: tuple[str, str]) -> tuple[Verdict, Grade]:
    folder = course.root.parent / "submissions" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    verdict = judge(course, str(folder), warm)
    return verdict, grade(verdict, rubric_for(find_course(course.root).assignment("hw1"), allow_stale=False))


@pytest.mark.parametrize(
    ("change", "name", "cases"),
    [
        (("EPS = 0.25", "EPS = 0.5"), "EPS", {"normed", "stepped"}),
        (("power: float = 2.0", "power: float = 3.0"), "Config.power", {"layered"}),
        pytest.param(("gain = 1.5", "gain = 2.5"), "Base.gain", {"layered"}, marks=pytest.mark.long),
        pytest.param(("shift = 0.5", "shift = 0.75"), "Layer.shift", {"layered"}, marks=pytest.mark.long),
        (("rate=0.5", "rate=0.25"), "step(rate)", {"stepped"}),
        pytest.param(("keep=True", "keep=False"), "norm(keep)", {"normed", "stepped"}, marks=pytest.mark.long),
        (("class Layer(Base)", "class Layer"), "class Layer", {"layered"}),
        (("from tables import bend", "from numpy import sinh as bend"), "bend", {"normed", "stepped"}),
        pytest.param(("EPS = 0.25\n", ""), "EPS", {"normed", "stepped"}, marks=pytest.mark.long),
        pytest.param(("@dataclass\n", ""), "class Config", {"layered"}, marks=pytest.mark.long),
    ],
)
def test_what_was_given_is_provided_code_of_whatever_kind(
    course: CourseOnDisk, warm: ForkClient, change: tuple[str, str], name: str, cases: set[str]
) -> None:
    verdict, made = judged(course, warm, change)
    assert (verdict.outcome, verdict.provided, verdict.untried) == ("provided-changed", (name,), ())
    assert {case.name for case in verdict.cases if case.outcome == "provided-changed"} == cases
    assert {part.name for part in verdict.parts if part.outcome in ("agrees", "provided-changed")} == PARTS
    assert made.score == made.points
    assert f"Restore {name} as it was given to you" in feedback_markdown(made, verdict).replace("`", "")


UNRUN = [
    (("UNUSED = 3", "UNUSED = 4"), "UNUSED"),
    (("size: int = 4", "size: int = 5"), "Config.size"),
    (("gain {self.gain}", "gain: {self.gain}"), "Base.shown"),
    (("verbose=False", "verbose=True"), "step(verbose)"),
    (('    def shown(self):\n        return f"gain {self.gain}"\n', ""), "Base.shown"),
]


@pytest.mark.parametrize(("change", "name"), [UNRUN[1], *(pytest.param(*it, marks=pytest.mark.long) for it in UNRUN)])
def test_a_change_that_no_case_runs_is_told_and_marked(
    course: CourseOnDisk, warm: ForkClient, change: tuple[str, str], name: str
) -> None:
    verdict, made = judged(course, warm, change)
    assert (verdict.outcome, verdict.untried) == ("agrees", (name,))
    assert words.headline(verdict).endswith(f"all 3 cases; provided code that no case runs was changed, too: {name}")
    assert (made.score, made.review) == (made.points, (name,))
    text = feedback_markdown(made, verdict).replace("`", "")
    assert "everything is right" not in text
    assert f"Restore {name} as it was given to you: no case runs that." in text
    assert f"Marked for review by staff: {name}." in text


@pytest.mark.long
def test_of_several_changes_each_is_told_as_what_it_is(course: CourseOnDisk, warm: ForkClient) -> None:
    run = ("return self.gain * x", "return x * self.gain")
    verdict, _ = judged(course, warm, run, *(change for change, _ in UNRUN[:2]))
    assert (verdict.outcome, verdict.untried) == ("agrees", ("UNUSED", "Config.size"))
    assert "provided code is not as it was given: Base.scaled" in words.notes_of(verdict)
    verdict, _ = judged(course, warm, run, ("EPS = 0.25", "EPS = 0.5"), UNRUN[0][0])
    assert (verdict.outcome, verdict.provided) == ("provided-changed", ("EPS",))
    assert verdict.untried == ("UNUSED",)


@pytest.mark.parametrize(
    "changes",
    [
        [
            ("RATE = 0.125", "RATE = 0.5"),
            ('label = "mine"', 'label = "ada"'),
            ("import numpy as np", "import json\n\nimport numpy as np"),
            ("UNUSED = 3", "UNUSED: int = 3  # never used\nMINE = 4"),
            ("WIDTHS = (3, 5)\n", ""),
            ("verbose=False", "verbose=False, more=None"),
            ("size: int = 4", "size: int = 4\n    mine: int = 7"),
        ]
    ],
)
def test_what_students_may_change_is_no_ones_business(
    course: CourseOnDisk, warm: ForkClient, changes: list[tuple[str, str]]
) -> None:
    verdict, made = judged(course, warm, *changes)
    assert (verdict.outcome, verdict.provided, verdict.untried, made.review) == ("agrees", (), (), ())
    assert words.notes_of(verdict) == ["tables.py is not in it; the starter's was used"]


@pytest.mark.long
def test_what_the_solution_changes_is_known_without_it(course: CourseOnDisk, warm: ForkClient) -> None:
    assignment = find_course(course.root).assignment("hw1")
    private = course.root / "private/solutions"
    records = course_files(assignment)
    private.rename(course.root / "elsewhere")
    try:
        change = ('label = "mine"', 'label = "ada"')
        assert judged(course, warm, change)[0].untried == ("Layer.label",)
        course.write({name: text.decode() for name, text in records.items() if ".goldsmith/" in name})
        assert judged(course, warm, change)[0].untried == ()
    finally:
        (course.root / "elsewhere").rename(private)


def test_a_mistake_of_ones_own_stays_one(course: CourseOnDisk, warm: ForkClient) -> None:
    verdict, _ = judged(course, warm, ("EPS = 0.25", "EPS = 0.5"), ("+ self.shift", "- self.shift"))
    assert (verdict.outcome, verdict.first_part) == ("differs", "Layer")
    outcomes = {part.name: part.outcome for part in verdict.parts}
    assert outcomes == {"Layer": "differs", "norm": "provided-changed", "step": "provided-changed"}
