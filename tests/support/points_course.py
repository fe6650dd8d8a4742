"""A torch course whose cases show its parts once alone and several times together, and submissions that want points for
parts that they have not written, or have wrong: `hostile/points`, each with what it may earn at most."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import replace
from pathlib import Path

from goldsmith.check.check import check
from goldsmith.check.request import Request
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import Grade, grade
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course

FOLDER = Path(__file__).parents[1] / "corpora" / "hostile" / "points"
FULL = 12.0
BODIES = {
    "Norm": "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight",
    "Mix": "return self.line(self.norm(x)) + x",
    "gap": "return (y - target).pow(2).mean()",
    "train": """
        loss = gap(model(x), target)
        loss.backward()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.requires_grad:
                    weight -= 0.1 * weight.grad
        return loss.detach()
    """,
}
_STUB = "raise NotImplementedError"
_RECIPE = """
    import torch

    import goldsmith as gs
    from net import Mix, Norm, gap, train


    def drawn(case, name, *shape):
        return case.input(name, lambda: torch.randn(*shape))


    @gs.case
    def normed(case):
        case.record("y", case.model(Norm, 8, weights="stress")(drawn(case, "x", 2, 3, 8)))


    @gs.case
    def gapped(case):
        case.record("loss", gap(drawn(case, "y", 4, 8), drawn(case, "target", 4, 8)))


    @gs.case
    def mixed(case):
        case.record("y", case.model(Mix, 8, weights="stress")(drawn(case, "x", 2, 4, 8)))


    @gs.case
    def mixed_long(case):
        case.record("y", case.model(Mix, 8, weights="stress")(drawn(case, "x", 1, 7, 8)))


    @gs.case
    def trained(case):
        model = case.model(Mix, 8, weights="stress")
        model.line.weight.requires_grad_(False)
        loss = train(model, drawn(case, "x", 2, 5, 8), drawn(case, "target", 2, 5, 8))
        case.record("loss", loss)
        case.record("weights", dict(model.state_dict()), allow={"hollow": "the line's weight is frozen"})


    if __name__ == "__main__":
        gs.main()
"""
_RUBRIC = """
    [assignment.hw1.rubric.cases]
    normed = 1
    gapped = 1
    mixed = 1
    mixed_long = 1
    trained = {points = 2, partial = true}

    [assignment.hw1.rubric.parts]
    Norm = 3
    Mix = 1
    gap = 1
    train = 1
"""


def source(**bodies: str) -> str:
    """`net.py` with these bodies, the solution's where none is given."""
    found = {
        name: textwrap.indent(textwrap.dedent(body).strip(), " " * (8 if name[0].isupper() else 4)).strip()
        for name, body in (BODIES | bodies).items()
    }
    return (
        '"""Exercise: a norm, a layer around it, a loss, a step of training."""\n\n'
        "import torch\nfrom torch import nn\n\n\n"
        "class Norm(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
        "        self.weight = nn.Parameter(torch.ones(width))\n\n"
        f"    def forward(self, x):\n        {found['Norm']}\n\n\n"
        "class Mix(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
        "        self.norm = Norm(width)\n        self.line = nn.Linear(width, width)\n\n"
        f"    def forward(self, x):\n        {found['Mix']}\n\n\n"
        f"def gap(y, target):\n    {found['gap']}\n\n\n"
        f"def train(model, x, target):\n    {found['train']}\n"
    )


def crediting_course(folder: Path) -> CourseOnDisk:
    """The course with its gold, calibrated: how sharp a tolerance is decides what passes unseen."""
    course = numpy_course(folder)
    course.write(
        {
            "src/assignments/hw1/ops.py": "",
            SOLUTION_FILE: "",
            "src/assignments/hw1/net.py": source(**dict.fromkeys(BODIES, _STUB)),
            "private/solutions/hw1/net_solution.py": source(),
            RECIPE_FILE: _RECIPE,
            "goldsmith.toml": _RUBRIC,
        }
    )
    return course.with_gold(calibrate=True)


def judged(course: CourseOnDisk, files: dict[str, str], warm: ForkClient) -> tuple[Verdict, Grade]:
    """What becomes of these files, handed in."""
    folder = course.root.parent / "handed in"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_text(content)
    assignment = find_course(course.root).assignment("hw1")
    with open_submission(assignment, str(folder)) as submission:
        target = replace(resolve(assignment), timeout=60.0, case_timeout=20.0)
        verdict = check(target, submission, Request(fork_server=warm))
    return verdict, grade(verdict, rubric_for(assignment, allow_stale=False))


def attack(name: str) -> tuple[dict[str, str], float]:
    """The files of an attack, with the solution's parts where it has none of its own, and what it may earn at most."""
    text = (FOLDER / f"{name}.py").read_text()
    found = re.search(r"^MOST = ([\d.]+)", text, re.M)
    assert found, name
    own = {getattr(node, "name", "") for node in ast.parse(text).body}
    others = [
        ast.unparse(node) for node in ast.parse(source()).body if getattr(node, "name", "") in BODIES.keys() - own
    ]
    return {"net.py": "\n\n\n".join([text, *others]) + "\n"}, float(found[1])


def attacks() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py"))
