"""The reference is made from the code, and what commands print with --json has the form that it says."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from goldsmith.courses.grade.scoring import ItemOutcome
from goldsmith.judge.verdicts import Outcome as ImplementationOutcome
from goldsmith.mutants.results import OUTCOMES as MUTANT_OUTCOMES
from goldsmith.render.json_output import Envelope
from support.check_course import hand_in, sketched_course
from support.course import CourseOnDisk

ROOT = Path(__file__).parents[2]

import reference  # noqa: E402
from json_forms import FORMS, OUTCOMES, Form  # noqa: E402

INTERNAL_TESTS = """
    import pytest

    pytestmark = pytest.mark.rigor


    @pytest.mark.gold("hw1")
    def test_case(gold_case):
        gold_case.assert_agrees()


    def test_blind():
        pass
"""


RECIPE_BY_ITSELF = """
    import numpy as np

    import goldsmith as gs


    @gs.case
    def twice(case):
        case.record("y", 2 * case.input("x", lambda: np.random.randn(3, 5)))
"""


@pytest.mark.parametrize("name", list(reference.pages()))
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert written == reference.pages()[name], f"docs/reference/{name} is out of date; run `make reference`"


def test_every_command_has_its_form() -> None:
    names = {name.removeprefix("goldsmith ") for name, _ in reference.commands()}
    assert names == {form.command for form in FORMS}


def test_every_outcome_has_its_meaning() -> None:
    implementation = set(OUTCOMES["an implementation, a case, a part"])
    assert implementation == set(get_args(ImplementationOutcome))
    assert implementation | set(OUTCOMES["an item of a rubric, besides"]) == set(get_args(ItemOutcome))
    assert set(OUTCOMES["a mutant"]) == set(MUTANT_OUTCOMES)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with gold, internal tests, and a leak."""
    course = sketched_course(tmp_path_factory.mktemp("forms") / "course")
    solution = (course.root / "private/solutions/hw1/ops_solution.py").read_text()
    settings = '[tool.pytest.ini_options]\nmarkers = ["rigor: internal tests"]\n'
    ways = "import sys\nsys.path.insert(0, 'src/assignments/hw1')\n"
    course.write(
        {
            "tests/internal/test_hw1.py": INTERNAL_TESTS,
            "tests/conftest.py": ways,
            "pyproject.toml": settings,
            "handout/answers.py": solution,
            "cases.py": RECIPE_BY_ITSELF,
        }
    )
    course.git("init", "-q")
    return course


@pytest.fixture(scope="module")
def handed_in(course: CourseOnDisk) -> Path:
    hand_in(course, ("x - mean_of(x)", "x + mean_of(x)"), name="bob")
    hand_in(course, ("return x * factor", "raise ValueError('no')"), name="cy")
    return Path(hand_in(course, name="ada")).parent


QUICK = [
    ("init --example", "init --example ../bundled", 0),
    ("handout", "handout hw1 --output ../kit", 0),
    ("init", "init --yes", 0),
    ("status", "status", 0),
    ("completion", "completion bash", 0),
    ("help", "help", 0),
    ("help", "help adapters", 0),
    ("verify", "verify", 0),
    ("check", "check hw1 {}/bob", 1),
    ("check", "check hw1 {}/cy", 3),
    ("rigor --list", "rigor hw1 --list", 0),
    ("grade", "grade hw1 {}/bob", 0),
    ("pack gradescope", "pack gradescope hw1", 0),
    ("pack autolab", "pack autolab hw1", 0),
    ("pack classroom50", "pack classroom50 hw1", 0),
    ("inject", "inject hw1", 0),
    ("reset", "reset hw1", 0),
    ("guard", "guard", 1),
    ("skills install", "skills install", 0),
    ("generate", "generate hw1 --force", 0),
    ("new", "new hw2 --kind numpy", 0),
    ("record", "record cases.py", 0),
    ("parity", "parity cases.py:np.mean cases.py:np.sum --input np.arange(3.0)", 1),
    ("parity --brief", "parity cases.py:np.mean cases.py:np.sum --input np.arange(3.0) --brief", 1),
    ("calibrate", "calibrate hw1 --dtype float32", 0),
]
DEAR = [
    ("verify", "verify hw1 --reproduce", 0),
    ("test", "test hw1", 0),
    ("rigor", "rigor hw1 --max 4", 0),
    ("grade", "grade hw1 {}", 1),
    ("doctor", "doctor", None),
    ("generate", "generate hw1 --seed 7 --check", 1),
    ("diff", "diff hw1", 0),
]


def test_every_form_is_held_against_real_output() -> None:
    shown = {name for name, _, _ in QUICK + DEAR}
    assert shown == {f"{form.command} {form.when}".strip() for form in FORMS}


@pytest.mark.parametrize("lines", [QUICK, pytest.param(DEAR, marks=pytest.mark.long)], ids=["quick", "dear"])
def test_every_command_s_output_has_its_form(
    course: CourseOnDisk, handed_in: Path, lines: list[tuple[str, str, int | None]]
) -> None:
    for name, line, code in lines:
        run = course.run(*(word.format(handed_in) for word in line.split()), "--json")
        assert code is None or run.code == code, f"{line}: {run.out}{run.err}"
        (form,) = [item for item in FORMS if f"{item.command} {item.when}".strip() == name]
        problems = list(against(run.json, form))
        assert not problems, f"{line}: {problems[:5]}"
        assert run.json[form.subjects], f"{line} says nothing about any {form.subjects}"


def test_an_error_has_its_form(course: CourseOnDisk) -> None:
    run = course.run("check", "hw9", "--json")
    assert run.code == 2
    (form,) = [item for item in FORMS if item.command == "check"]
    assert not list(against(run.json, form))
    assert run.json["error"]["kind"] == "unknown-assignment"
    assert "| `unknown-assignment` | 2 |" in reference.exit_code_page()


@pytest.mark.parametrize("change", [{"more": 1}, {"outcome": 7}, {"reasons": None}])
def test_another_form_would_be_noticed(change: dict[str, Any]) -> None:
    (form,) = [item for item in FORMS if item.command == "status"]
    item: dict[str, Any] = {"name": "hw1", "outcome": "stale", "reasons": ["the recipe changed"]}
    item |= {"notes": [], "label": "Hw1", "description": "", "recipe": None, "folder": None}
    body = {"schema": 1, "command": "status", "ok": True, "error": None, "assignments": [item]}
    assert not list(against(body, form))
    item |= change
    assert list(against(body, form))


def against(body: dict[str, Any], form: Form) -> Iterator[str]:
    """Where an object is not of its form: fields that are missing, that nobody speaks of, or of another type."""
    common = {field.name for field in msgspec.structs.fields(Envelope)}
    yield from _unlike({key: body.get(key) for key in common & body.keys()}, Envelope, "")
    more = get_type_hints(form.more) if form.more and body["error"] is None else {}
    for name in body.keys() ^ (common | {form.subjects} | set(more)):
        yield f"{name}: missing, or not spoken of"
    yield from _unlike(body[form.subjects], tuple[form.item, ...], form.subjects)
    for name, kind in more.items():
        yield from _unlike(body[name], kind, name)


def _unlike(value: Any, kind: Any, where: str) -> Iterator[str]:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return
    if origin in (Union, types.UnionType):
        if all(list(_unlike(value, one, where)) for one in inner):
            yield f"{where}: {value!r} is none of {kind}"
    elif origin is Literal:
        if value not in inner:
            yield f"{where}: {value!r} is none of {inner}"
    elif origin is tuple:
        items = value if isinstance(value, list) else [None]
        for number, item in enumerate(items):
            yield from _unlike(item, inner[0], f"{where}[{number}]")
    elif origin is dict:
        for key, item in value.items() if isinstance(value, dict) else [("", None)]:
            yield from _unlike(item, inner[1], f"{where}.{key}")
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _unlike_struct(value, kind, where)
    elif kind is float:
        if isinstance(value, bool) or not (isinstance(value, int | float) or value in ("inf", "-inf", "nan")):
            yield f"{where}: {value!r} is no number"
    elif type(value) is not kind and not (kind is type(None) and value is None):
        yield f"{where}: {value!r} is no {kind.__name__}"


def _unlike_struct(value: Any, kind: type[msgspec.Struct], where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no {kind.__name__}"
        return
    hints = get_type_hints(kind)
    fields = {info.encode_name: (hints[info.name], info.required) for info in msgspec.structs.fields(kind)}
    optional = kind.__struct_config__.omit_defaults
    for name in value.keys() - fields.keys():
        yield f"{where}.{name}: not spoken of"
    for name, (inner, required) in fields.items():
        if name in value:
            yield from _unlike(value[name], inner, f"{where}.{name}")
        elif required or not optional:
            yield f"{where}.{name}: missing"
