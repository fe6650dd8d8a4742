"""What skills tell an agent is true: their commands parse, their fields exist, their words are goldsmith's."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from structures import every_error

from goldsmith.cli.app import commands
from goldsmith.courses.skills.bundled import ANYWHERE, skill_files, skill_names
from goldsmith.generate.ensure_recipe import KINDS
from support.check_course import checked_course, hand_in
from support.course import COMMAND, RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, Run, copy_of_example, numpy_course, recipe

ALL = [*skill_names(), *ANYWHERE]
SKILLS = {file.skill: file.text for file in skill_files(ALL) if file.place.name == "SKILL.md"}
SHORTCUTS = {file.skill: file.text for file in skill_files(ALL) if file.place.name != "SKILL.md"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
TABLE = re.compile(r"^\| (?P<head>[^\n]*?) \|[^\n]*\n\|[-|]+\|\n(?P<rows>(?:\|[^\n]*\n)+)", re.M)


# --- reading a skill ------------------------------------------------------------------------------------------------


def command_lines(text: str) -> Iterator[str]:
    """Every goldsmith command: lines of shell blocks, and code between backticks."""
    for language, block in FENCE.findall(text):
        if language == "bash":
            yield from (line for line in block.splitlines() if line.strip())
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        if code.startswith("goldsmith "):
            yield code


def documented_fields(text: str) -> Iterator[tuple[str, str]]:
    """A command, and a field that its JSON is said to have: tables that are headed "in `command`"."""
    for table in TABLE.finditer(text):
        command = re.match(r"in `(goldsmith [^`]+)`", table["head"])
        if command:
            for row in table["rows"].splitlines():
                (field,) = re.findall(r"^\| `([^`]+)`", row)
                yield command[1], field


def error_kinds(text: str) -> Iterator[str]:
    for table in TABLE.finditer(text):
        if table["head"].startswith("`error.kind`"):
            for row in table["rows"].splitlines():
                yield from re.findall(r"`([a-z-]+)`", row.split("|")[1])
    yield from re.findall(r"kind`?(?:\s+is)?\s+`([a-z-]+)`", text)


def everything(kind: Callable[[str], Iterator[Any]]) -> list[tuple[str, Any]]:
    return sorted({(name, item) for name, text in SKILLS.items() for item in kind(text)})


# --- commands -------------------------------------------------------------------------------------------------------


def parse(line: str) -> None:
    """As the real command line would, up to where the command itself would begin."""
    program, *words = shlex.split(line)
    assert program == "goldsmith"
    known = dict(commands())
    length = 1 if words[0] in known else 2
    known[" ".join(words[:length])].make_context("goldsmith", words[length:])


@pytest.mark.parametrize(("skill", "line"), everything(command_lines))
def test_every_command_of_a_skill_parses(skill: str, line: str) -> None:
    parse(line)


@pytest.mark.parametrize(
    "line", ["goldsmith generat x", "goldsmith generate x --kid both", "goldsmith init a b", "pytest"]
)
def test_what_the_command_line_does_not_know_does_not_parse(line: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        parse(line)


@pytest.mark.parametrize("skill", ALL)
def test_each_skill_has_the_commands_it_is_about(skill: str) -> None:
    wanted = {
        "generate-fixtures": {
            "goldsmith status --json",
            "goldsmith diff <assignment> --json",
            "goldsmith generate <assignment> --yes --json",
            *(f"goldsmith generate <assignment> --kind {kind} --yes --json" for kind in KINDS),
        },
        "test-rigor": {"goldsmith test <assignment> --json", "goldsmith rigor <assignment> --json"},
        "grade": {"goldsmith grade <assignment> <submissions> --json", "goldsmith doctor --json"},
        "port": {PARITY, "goldsmith parity --with <file> --json"},
    }
    assert wanted[skill] <= set(command_lines(SKILLS[skill]))


def test_no_command_opens_what_must_stay_shut() -> None:
    lines = [line for _, line in everything(command_lines)]
    assert len(lines) > 20
    for line in lines:
        assert not re.search(r"--(allow-unsandboxed|reveal|allow-stale|allow-large|no-calibrate)", line), line
        assert not ("--force" in line and "--yes" in line), line


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skill", ALL)
def test_front_matter_says_what_the_skill_is_and_that_people_may_call_it(skill: str) -> None:
    head = yaml.safe_load(SKILLS[skill].split("---\n")[1])
    assert head.keys() == {"name", "description", "user-invocable"}
    assert head["name"] == skill
    assert head["user-invocable"] is True
    assert 80 < len(head["description"]) < 500


@pytest.mark.parametrize("skill", ALL)
def test_a_shortcut_leads_to_its_skill(skill: str) -> None:
    _, head, body = SHORTCUTS[skill].split("---\n")
    assert yaml.safe_load(head)["description"] == yaml.safe_load(SKILLS[skill].split("---\n")[1])["description"]
    assert f"`.claude/skills/{skill}/SKILL.md`" in body
    assert "$ARGUMENTS" in body


@pytest.mark.parametrize("skill", skill_names())
def test_each_skill_states_the_rules_of_safety(skill: str) -> None:
    text = " ".join(SKILLS[skill].split()).lower()
    assert "never commit while a solution is injected" in text
    assert "never show gold to students" in text
    assert "is data" in text


def test_the_skill_for_porting_never_bends_the_reference_or_the_comparison() -> None:
    text = " ".join(SKILLS["port"].split()).lower()
    assert "the reference is right" in text
    assert "only `agrees` is agreement" in text
    assert "is data" in text


def test_other_skills_that_are_named_exist() -> None:
    for text in (*SKILLS.values(), *SHORTCUTS.values()):
        assert set(re.findall(r"`/([a-z-]+)", text)) <= set(ALL)


def test_every_kind_of_error_that_is_named_exists() -> None:
    known = {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower() for name in (kind.__name__ for kind in every_error())}
    named = {kind for _, kind in everything(error_kinds)}
    assert {"gold-refused", "not-a-course", "no-sandbox"} <= named
    assert named <= known


def test_the_questions_are_those_that_the_terminal_asks() -> None:
    text = " ".join(SKILLS["generate-fixtures"].split())
    asked = Path("src/goldsmith/cli/prompts.py")
    source = (Path(__file__).parents[2] / asked).read_text(encoding="utf-8")
    for question in re.findall(r'Question: "([^"]+)"', text):
        assert question.replace("<assignment>", "{assignment.name}") in source
    assert 'Header: "Assignment"' in text
    for kind, (label, description) in KINDS.items():
        assert f'label "{label}", description "{description}"' in text
        assert f"--kind {kind}" in text


def test_the_nine_steps_are_all_there() -> None:
    text = SKILLS["generate-fixtures"]
    for number in (1, 2, 9):
        assert f"\n## Step {number}: " in text
    for number, step in enumerate(("inject", "seed", "generate", "verify", "document", "reset"), start=3):
        assert f"\n| {number} {step} |" in text


# --- fields ---------------------------------------------------------------------------------------------------------


def has(body: Any, field: str) -> bool:
    """Whether `body` has `assignments[].files[].path`: a list must have an item that does."""
    key, _, rest = field.partition(".")
    name = key.removesuffix("[]")
    if not isinstance(body, dict) or name not in body:
        return False
    found = body[name]
    if key.endswith("[]"):
        return isinstance(found, list) and any(not rest or has(item, rest) for item in found)
    return not rest or has(found, rest)


INTERNAL = """
    import pytest

    pytestmark = pytest.mark.rigor


    def test_wrong():
        assert False, "on purpose"


    def test_blind():
        pass


    def test_away():
        pytest.skip("not today")
"""
NAN = recipe("@gs.case\ndef gold_output(case):\n    case.record('y', np.array([1.0, np.nan]))\n")
RAISES = recipe("@gs.case\ndef gold_output(case):\n    raise ValueError('no')\n")
UNIFORM = recipe("""
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.ones((4, 4)))
        case.record("y", scale(x) * np.arange(4))
""")


PARITY = "goldsmith parity <reference> <candidate> --input '<expression>' --json"


def parity(folder: Path, body: str) -> Run:
    """Two small models, the second with `body` in its forward."""
    model = "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    model += "        self.inner = torch.nn.Linear(3, 3)\n        self.act = torch.nn.SiLU()\n\n"
    model += "    def forward(self, x):\n        x = self.act(self.inner(x))\n        return {}\n"
    (folder / "old_net.py").write_text(model.format("x * 2"))
    (folder / "new_net.py").write_text(model.format(body).replace("self.act", "self.f").replace("self.inner", "self.g"))
    given = ["old_net.py:Net", "new_net.py:Net", "--input", "torch.randn(2, 3)", "--json"]
    done = subprocess.run([*COMMAND, "parity", *given], cwd=folder, capture_output=True, text=True)
    return Run(done.returncode, done.stdout, done.stderr)


def unsure(folder: Path) -> Run:
    """Two models whose weights shapes alone do not place: the second multiplies by another number."""
    old = parity_model(["before = LayerNorm(3)", "after = LayerNorm(3)", "inner = Linear(3, 3)"])
    new = parity_model(["inner = Linear(3, 3)", "before = LayerNorm(3)", "after = LayerNorm(3)"])
    (folder / "old_norm.py").write_text(old)
    names = {
        "self.inner": "self.mix",
        "self.before": "self.norm1",
        "self.after": "self.norm2",
        "2 *": "3 *",
        "factor=2": "factor=3",
    }
    for one, two in names.items():
        new = new.replace(one, two)
    (folder / "new_norm.py").write_text(new)
    given = ["old_norm.py:Net", "new_norm.py:Net", "--input", "torch.randn(2, 3)", "--json"]
    done = subprocess.run([*COMMAND, "parity", *given], cwd=folder, capture_output=True, text=True)
    return Run(done.returncode, done.stdout, done.stderr)


def parity_model(parts: list[str]) -> str:
    made = "".join(f"        self.{part.replace('= ', '= torch.nn.')}\n" for part in parts)
    return (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"{made}        self.config = dict(factor=2)\n\n"
        "    def forward(self, x):\n        return self.after(x + 2 * self.inner(self.before(x)))\n"
    )


def of(command: str, *runs: Run) -> dict[str, list[Any]]:
    return {command: [run.json for run in runs]}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, Run]:
    """A small course with gold, and what was printed when that was made."""
    course = numpy_course(tmp_path_factory.mktemp("small") / "course")
    return course, course.run("generate", "hw1", "--json")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, small: tuple[CourseOnDisk, Run]) -> dict[str, list[Any]]:
    """What each documented command printed, once or several times: on the bundled course what takes little time, on
    small ones the rest, and what goes wrong."""
    folder = tmp_path_factory.mktemp("answers")
    example = copy_of_example(folder / "example")
    stale = example.root / "private/solutions/scratch-1/backbone_solution.py"
    stale.write_text(stale.read_text() + "\n# changed\n")
    small, made = small
    assert made.code == 0
    small.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.0 + 1.5\n"})
    diff = small.run("diff", "hw1", "--json")
    assert diff.code == 1
    bad = []
    for text in (NAN, RAISES, UNIFORM):
        small.write({RECIPE_FILE: text})
        bad.append(small.run("generate", "hw1", "--json"))
    assert [run.code for run in bad] == [3, 3, 0]
    untested = small.run("test", "hw1", "--json")
    small.write({"tests/internal/test_hw1.py": INTERNAL})
    checked = checked_course(folder / "checked")
    for name in ("ada", "bob"):
        handed = hand_in(checked, ("x - mean_of(x)", "x + mean_of(x)"), name=name)
    return {
        **of("goldsmith status --json", example.run("status", "--json")),
        **of("goldsmith diff <assignment> --json", diff, small.run("diff", "nope", "--json")),
        **of(
            "goldsmith generate <assignment> --yes --json",
            example.run("generate", "scratch-3", "--force", "--json"),
            *bad,
        ),
        **of("goldsmith test <assignment> --json", small.run("test", "hw1", "--json"), untested),
        **of(
            "goldsmith rigor <assignment> --json",
            checked.run("rigor", "hw1", "--max", "2", "--json"),
            checked.run("rigor", "nope", "--json"),
        ),
        **of(
            "goldsmith grade <assignment> <submissions> --json",
            checked.run("grade", "hw1", str(Path(handed).parent), "--json"),
            checked.run("grade", "nope", "x", "--json"),
        ),
        **of(PARITY, parity(folder, "x * 2"), parity(folder, "x * 3"), parity(folder, "x +"), unsure(folder)),
        **of("goldsmith doctor --json", example.run("doctor", "--json")),
    }


@pytest.mark.long
def test_every_field_that_a_skill_speaks_of_is_in_what_the_command_prints(answers: dict[str, list[Any]]) -> None:
    fields = everything(documented_fields)
    assert len(fields) > 80
    lacking = [
        (skill, command, field)
        for skill, (command, field) in fields
        if not any(has(body, field) for body in answers[command])
    ]
    assert lacking == []


def test_a_field_that_is_not_there_would_be_noticed(small: tuple[CourseOnDisk, Run]) -> None:
    body = small[1].json
    assert has(body, "assignments[].files[].path")
    for field in ("assignments[].files[].place", "assignments[].error.kind", "assignment[].name", "ok.really"):
        assert not has(body, field)


@pytest.mark.long
@pytest.mark.torch
def test_the_bundled_course_answers_the_longer_commands_in_the_same_way(example: CourseOnDisk) -> None:
    handed = example.root.parent / "handed-in"
    for name in ("ada", "bob"):
        (handed / name).mkdir(parents=True)
        solution = example.root / "private/solutions/scratch-3/policy_solution.py"
        (handed / name / "policy.py").write_text(solution.read_text().replace("angles.sin()", "angles.cos()"))
    runs = {
        "goldsmith test <assignment> --json": example.run("test", "scratch-2", "--json"),
        "goldsmith rigor <assignment> --json": example.run("rigor", "scratch-3", "--max", "2", "--json"),
        "goldsmith grade <assignment> <submissions> --json": example.run("grade", "scratch-3", str(handed), "--json"),
    }
    wrong = re.compile(r"(failures|skipped|blind|advice)\[\]|error\.")  # is there only where something is wrong
    for _, (command, field) in everything(documented_fields):
        if command in runs and not wrong.search(field):
            assert has(runs[command].json, field), (command, field, runs[command].out)
