"""`forbid`: what submissions must not use is found in the code and as it runs, and told to staff and to the student."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.overview import overview_markdown, overview_of
from goldsmith.courses.grade.rubric import make_rubric
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.judge.verdicts import ForbiddenUse, Verdict
from goldsmith.process.fork_client import ForkClient
from goldsmith.source_code.forbidden import forbidden_uses
from support.check_course import STARTER, checked_course, hand_in, judge, outcomes
from support.course import CourseOnDisk
from support.made_verdicts import case, verdict

ATTENTION = "torch.nn.MultiheadAttention"


@pytest.mark.parametrize(
    "code",
    [
        "import torch\ntorch.nn.MultiheadAttention(8, 2)",
        "import torch.nn as n\nn.MultiheadAttention",
        "from torch import nn\nclass A(nn.MultiheadAttention): pass",
        "from torch.nn import MultiheadAttention as M\nM(8, 2)",
        "from torch.nn import *\nMultiheadAttention(8, 2)",
        "from torch.nn.modules.activation import MultiheadAttention",
        "import torch\nnn = torch.nn\nthing = nn\nthing.MultiheadAttention",
        "import torch\ngetattr(torch.nn, 'MultiheadAttention')(8, 2)",
        "import importlib\nimportlib.import_module('torch.nn').MultiheadAttention",
        "__import__('torch').nn.MultiheadAttention",
        "def f():\n    import torch.nn\n    return torch.nn.MultiheadAttention",
    ],
)
def test_a_use_is_found_in_the_code(code: str) -> None:
    found = list(forbidden_uses({"net.py": code.encode()}, [ATTENTION]))
    assert {name for name, *_ in found} == {ATTENTION}


@pytest.mark.parametrize(
    "code",
    [
        "class MultiheadAttention: pass\nMultiheadAttention()",
        "import torch\ntorch.nn.Linear(1, 2)",
        "# torch.nn.MultiheadAttention\nx = 'torch.nn.MultiheadAttention'",
        "from mine import MultiheadAttention\nMultiheadAttention()",
        "import torch\nself.MultiheadAttention",
        "def broken(",
    ],
)
def test_what_only_looks_like_it_is_no_use(code: str) -> None:
    assert list(forbidden_uses({"net.py": code.encode()}, [ATTENTION])) == []


def test_a_name_that_another_file_passes_on_is_followed() -> None:
    files = {"a.py": b"from b import layers\nlayers.MultiheadAttention(8, 2)", "b.py": b"import torch.nn as layers"}
    assert [(file, line) for _, file, line, _ in forbidden_uses(files, [ATTENTION])] == [("a.py", 2)]


def test_code_that_multiplies_its_names_is_read_in_bounded_time() -> None:
    code = "import torch\na = b = torch\n" + "a = a.b\nb = b.a\na = b\n" * 3000
    assert list(forbidden_uses({"net.py": code.encode()}, [ATTENTION])) == []


def test_long_chains_of_names_are_read_in_bounded_time() -> None:
    code = "import torch\n" + ("torch" + ".b" * 200 + "\n") * 100
    assert list(forbidden_uses({"net.py": code.encode()}, [ATTENTION])) == []


@pytest.mark.parametrize("depth", [300, 900, 2500])
def test_deep_chains_of_names_are_no_error_of_ours(depth: int) -> None:
    code = f"import torch\nx = torch{'.b' * depth}\nlayer = torch.nn.MultiheadAttention(8, 2)\n"
    found = [line for _, _, line, _ in forbidden_uses({"net.py": code.encode()}, [ATTENTION])]
    assert found in ([3], []), "nothing where it is nested deeper than can be parsed"


@pytest.fixture(scope="module")
def forbidding(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = checked_course(tmp_path_factory.mktemp("forbidding") / "course")
    return made.write({"goldsmith.toml": 'forbid = ["numpy.linalg"]\n[assignment.hw1]\nforbid = ["numpy.cumsum"]\n'})


def judged(course: CourseOnDisk, warm: ForkClient, code: str) -> Verdict:
    found = judge(course, hand_in(course, ("return x * factor", f"{code}\nreturn x * factor")), warm)
    assert set(outcomes(found).values()) == {"agrees"}
    return found


def test_where_it_is_used_is_told(forbidding: CourseOnDisk, warm: ForkClient) -> None:
    found = judged(forbidding, warm, "np.linalg.norm(x)")
    assert [(use.name, use.in_code) for use in found.forbidden] == [("numpy.linalg", True)]
    assert found.forbidden[0].place.startswith("ops.py:")


def test_what_the_code_hides_is_seen_as_it_runs(forbidding: CourseOnDisk, warm: ForkClient) -> None:
    found = judged(forbidding, warm, "getattr(np, 'cum' + 'sum')(x)")
    assert [(use.name, use.in_code) for use in found.forbidden] == [("numpy.cumsum", False)]


def test_what_the_starter_uses_itself_is_nobodys_fault(tmp_path: Path, warm: ForkClient) -> None:
    line = "TABLE = np.cumsum(np.ones(3))"
    course = checked_course(tmp_path / "course")
    starter = textwrap.dedent(STARTER)
    course.write(
        {"src/assignments/hw1/ops.py": f"{starter}\n\n{line}\n", "goldsmith.toml": 'forbid = ["numpy.cumsum"]\n'}
    )
    handed_in = Path(hand_in(course))
    (handed_in / "ops.py").write_text(f"{(handed_in / 'ops.py').read_text()}\n\n{line}\n")
    from goldsmith.check.forbidden_use import find_forbidden
    from goldsmith.courses.layout.layout import find_course
    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.courses.submissions.open_submission import open_submission

    assignment = find_course(course.root).assignment("hw1")
    with open_submission(assignment, str(handed_in)) as submission:
        assert find_forbidden(resolve(assignment), submission, []) == ()
        assert (
            find_forbidden(
                resolve(assignment), submission, [("numpy.cumsum", "made_up.py:3"), ("os.system", "ops.py:1")]
            )
            == ()
        )


def test_no_use_is_hidden_by_much_code_beside_it_and_a_file_that_is_too_long_is_told(
    forbidding: CourseOnDisk, warm: ForkClient
) -> None:
    much = "# x\n" * 2**16
    use = ("return x * factor", "np.linalg.norm(x)\nreturn x * factor")
    found = judge(forbidding, hand_in(forbidding, use, name="much", a=much, b=much, c=much), warm)
    assert [(use.name, use.in_code) for use in found.forbidden] == [("numpy.linalg", True)]
    folder = Path(hand_in(forbidding, name="long"))
    (folder / "ops.py").write_text(2 * much + (folder / "ops.py").read_text())
    found = judge(forbidding, str(folder), warm)
    assert set(outcomes(found).values()) == {"agrees"}
    assert "ops.py was run and not read: there are more than 512 KiB of code" in found.notes


def test_staff_and_student_are_told_and_only_code_costs_points() -> None:
    rubric = make_rubric(RubricConfig(cases={"whole": 4.0}), ("whole",))
    for in_code, score in ((True, 3.0), (False, 4.0)):
        use = ForbiddenUse(ATTENTION, "net.py:3", in_code)
        found = verdict(case("whole"), forbidden=(use,))
        made = grade(found, rubric, forbidden_costs=1.0)
        assert (made.score, made.review) == (score, (ATTENTION,))
        text = feedback_markdown(made, found)
        assert "`net.py`:3" in text
        assert ("costs 1 points" in text) == in_code
        overview = overview_of("hw1", [made])
        assert overview.review == (made.name,)
        assert "MultiheadAttention" in overview_markdown(overview)
