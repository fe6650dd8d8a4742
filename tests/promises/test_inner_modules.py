"""A module that no case calls by itself is judged where it stands in the model, and must be the part that students were
to write, if that is still there."""

from __future__ import annotations

import pytest

from goldsmith.process.fork_client import ForkClient
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course
from support.points_course import BODIES, judged, source

pytestmark = pytest.mark.torch
INLINED = f"n = {BODIES['Norm'].removeprefix('return ').replace('self.', 'self.norm.')}\nreturn self.line(n) + x"
RECIPE = """
    import torch

    import goldsmith as gs
    from net import Mix


    @gs.case
    def mixed(case):
        model = case.model(Mix, 8, weights="stress")
        case.record("y", model(case.input("x", lambda: torch.randn(2, 4, 8))))


    if __name__ == "__main__":
        gs.main()
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = numpy_course(tmp_path_factory.mktemp("inner"))
    found.write(
        {
            "src/assignments/hw1/ops.py": "",
            SOLUTION_FILE: "",
            "src/assignments/hw1/net.py": source(**dict.fromkeys(BODIES, "raise NotImplementedError")),
            "private/solutions/hw1/net_solution.py": source(),
            RECIPE_FILE: RECIPE,
            "goldsmith.toml": "[assignment.hw1.rubric.parts]\nNorm = 1\nMix = 1\n",
        }
    )
    return found.with_gold()


def outcome_of_norm(course: CourseOnDisk, warm: ForkClient, text: str) -> tuple[str, float]:
    verdict, grade = judged(course, {"net.py": text}, warm)
    assert [case.outcome for case in verdict.cases] == ["agrees"]
    found = {item.name: item for item in grade.items}
    assert found["Mix"].earned == 1
    return found["Norm"].outcome, found["Norm"].earned


def with_other(text: str) -> str:
    """`net.py` in which a right class of another name stands in the model."""
    other = source().partition("class Norm(nn.Module)")[2].partition("class Mix")[0]
    text = text.replace("class Mix", f"class Other(nn.Module){other}class Mix")
    return text.replace("self.norm = Norm(", "self.norm = Other(")


def test_a_module_that_its_caller_does_without_must_be_right(course: CourseOnDisk, warm: ForkClient) -> None:
    assert outcome_of_norm(course, warm, source(Norm="return x * 2", Mix=INLINED)) == ("differs", 0)
    assert outcome_of_norm(course, warm, source(Mix=INLINED)) == ("agrees", 1)


def test_a_class_whose_place_another_takes_earns_nothing(course: CourseOnDisk, warm: ForkClient) -> None:
    assert outcome_of_norm(course, warm, with_other(source(Norm="return x * 2"))) == ("not-judged", 0)


def test_a_class_that_has_another_name_or_is_derived_from_is_in_use(course: CourseOnDisk, warm: ForkClient) -> None:
    assert outcome_of_norm(course, warm, source().replace("Norm", "RootNorm")) == ("agrees", 1)
    derived = source().replace("class Mix", "class Other(Norm):\n    pass\n\n\nclass Mix")
    assert outcome_of_norm(course, warm, derived.replace("self.norm = Norm(", "self.norm = Other(")) == ("agrees", 1)
