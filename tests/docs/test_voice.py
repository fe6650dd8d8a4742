"""One voice: what a machine can see of it, in every error's sentence and in every text of the program."""

from __future__ import annotations

import ast
import itertools
import pickle
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from structures import every_error

from goldsmith.cli.app import commands
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import SubmissionIsLink
from goldsmith.errors.scaffold import OBSTACLES
from support.course import CourseOnDisk

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "goldsmith"
ANYTHING = "scratch-1"
"""What stands for a value in a text that is filled in later."""

UNKIND = re.compile(
    r"\b(please|sorry|oops|invalid|illegal|fatal|abort(ed)?|unable to|failed to|successfully|simply|obviously)\b", re.I
)
SECOND_WORDS = re.compile(r"\b(golden|ground truth|homework|student code|teacher|gold standard data|blueprint)\b", re.I)
VERBS = (
    "add|allow|change|check|choose|draw|fix|free|give|grade|have|install|keep|look|make|mark|merge|move|name|put|remove|"
    "rename|replace|run|say|see|submit|take|unset|upgrade|use|wait|write"
)
"""What a reader can be told to do."""
NEXT_STEP = re.compile(
    rf"`[^`]+`|there (is|are) (?!no)|did you mean|--list shows|\b(so|or|and|first,|then|there,|that,?) ({VERBS})\b|"
    rf"(^|[;:.,] )({VERBS})\b",
    re.I,
)
USUAL_WORDS = {
    "again, regenerate": r"\banew\b",
    "fix": r"\bmend(s|ed)?\b",
    "submit, submitted": r"\bhand(s|ed)? in\b(?! the)",
    "sandboxed, layers": r"\blocked in\b|\bwalls\b",
    "needs review": r"\bfor a person\b",
    "default": r"\bcustomary\b",
    "out of tolerance": r"\bbeyond tolerance\b",
    "next to, compared with": r"\bbeside\b",
    "anyone, those who": r"\bwhoever\b",
    "this many": r"\bso many\b",
    "is not a": r"(?<!there )\bis no (?!longer|more)",
}
"""The word that a colleague would use, and what it replaces."""
NOT_A_VERB = re.compile(r"A|An|The|What|Whether|Where|Which|Who|How|No|Not|Only|One|All|From|It|This|That|These|Those")
THIRD_PERSON = re.compile(r"[A-Z][a-z]+[^s]s")

ENDS_IN_ANOTHERS_WORDS = {"Failed", "NoFreshGold", "NotRecorded", "RecipeRaised", "RecipeSyntax"}
NOTHING_IS_WRONG = {"MenuLeft", "Interrupted"}
"""What a person did on purpose needs no next step."""
SAYS_IT_IN_ITS_PROBLEM = ENDS_IN_ANOTHERS_WORDS | {"BadConfig", "BadNotebook", "RecipeMisused"}
"""The next step is part of what they are given, or is plain from it."""


def samples(kind: type[GoldsmithError]) -> Iterator[GoldsmithError]:
    """The error with each way of filling its fields: something or nothing, one or several."""
    hints = typing.get_type_hints(kind)
    for values in itertools.product(*(values_for(hints[name], name) for name in kind.fields)):
        yield kind(*values)


def values_for(hint: object, name: str) -> list[object]:
    text = str(hint)
    if name == "command":
        return ["goldsmith", "goldsmith generate"] if "usage" in text else ["generate", "rigor", "inject"]
    if "Sequence" in text or "tuple" in text:
        one = Path("src/one.py") if "Path" in text else "one"
        required = name in ("problems", "reasons", "known", "available", "paths", "assignments")
        return [[one], [one, one]] if required else [[], [one], [one, one]]
    if name == "obstacle":
        return [*OBSTACLES]
    if "Path" in text:
        return [Path("src/hw1/ops.py")]
    if "bool" in text:
        return [True, False]
    if "int" in text:
        return [1, 3] if "None" not in text else [None, 3]
    if "float" in text:
        return [2.5]
    return ["thing", None] if "None" in text else ["thing"]


ERRORS = every_error()


@pytest.mark.parametrize("kind", ERRORS, ids=lambda item: item.__name__)
def test_every_error_is_said_in_one_voice(kind: type[GoldsmithError]) -> None:
    for error in samples(kind):
        said = str(error)
        assert "\n" not in said
        assert len(said) < 520, said
        assert not UNKIND.search(said), said
        assert "!" not in said
        assert "error:" not in said.lower()
        assert said.count("`") % 2 == 0, said
        assert not re.match(r"[A-Z](?!YTHON|UTF)", said), f"begins after a colon, so in small letters: {said}"
        assert ".." not in said.replace("…", "").replace("../", ""), said
        assert "None" not in said, said
        if kind.__name__ not in ENDS_IN_ANOTHERS_WORDS:
            assert said.endswith((".", "?")), said
        if kind.__name__ not in NOTHING_IS_WRONG | SAYS_IT_IN_ITS_PROBLEM:
            assert NEXT_STEP.search(re.split(r"(?=[;:.?] )", said, maxsplit=1)[-1]), f"no next step: {said}"
        assert_commands_are_real(said)


def test_every_error_can_be_sent_to_another_process() -> None:
    for kind in ERRORS:
        error = next(samples(kind))
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (kind, str(error))


def test_an_error_takes_its_own_facts_and_no_others() -> None:
    for values, by_name in (([], {}), (["x"], {"name": "x"}), (["x", "y"], {}), ([], {"nome": "x"})):
        with pytest.raises((TypeError, AttributeError)):
            SubmissionIsLink(*values, **by_name)


def test_every_error_lives_among_the_errors() -> None:
    assert not [item for item in ERRORS if not item.__module__.startswith("goldsmith.errors.")]


# --- all other texts


@pytest.fixture(scope="module")
def sources() -> dict[Path, list[ast.AST]]:
    """Every node of each of the program's files."""
    return {path: [*ast.walk(ast.parse(path.read_text()))] for path in sorted(SOURCES.rglob("*.py"))}


def texts_in(sources: dict[Path, list[ast.AST]]) -> Iterator[tuple[Path, int, str]]:
    """Every string of the program that holds words, docstrings apart but for those that are a command's help."""
    for path, nodes in sources.items():
        inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        quiet = {id(node.value) for node in nodes if isinstance(node, ast.Expr)} if "cli" not in path.parts else ()
        for node in nodes:
            if id(node) in inner or id(node) in quiet:
                continue
            if isinstance(node, ast.JoinedStr):
                yield path, node.lineno, "".join(_shown(part) for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                yield path, node.lineno, node.value


def _shown(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else ANYTHING


def test_no_text_is_unkind_or_names_a_command_that_is_not_there(sources: dict[Path, list[ast.AST]]) -> None:
    for path, line, text in texts_in(sources):
        if text.startswith(("#!", "(?", "^")) or "\\" in repr(text)[1:-1]:
            continue
        where = f"{path.relative_to(ROOT)}:{line}: {text!r}"
        assert not UNKIND.search(text), where
        assert not SECOND_WORDS.search(text), where
        assert not re.search(r"\w!(\s|$)", text), where
        assert_commands_are_real(text)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda path: path.stem)
def test_pages_use_the_usual_words(page: Path) -> None:
    if page.name in ("operators.md", "changes.md"):
        pytest.skip("made from the code, or what was said at the time")
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for usual, other in USUAL_WORDS.items():
            found = re.search(other, re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", "", line), re.I)
            assert not found, f"{page.relative_to(ROOT)}:{number}: say {usual!r}, not {found and found[0]!r}"


def test_docstrings_of_functions_begin_with_a_verb(sources: dict[Path, list[ast.AST]]) -> None:
    other = []
    for path, nodes in sources.items():
        for node in nodes:
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or not (text := ast.get_docstring(node)):
                continue
            if any(re.match(r"operator|pytest\.fixture", ast.unparse(item)) for item in node.decorator_list):
                continue
            first = re.split(r"[\s,.:;]", text, maxsplit=1)[0]
            if not re.fullmatch(r"[A-Z][a-z]+", first) or NOT_A_VERB.fullmatch(first) or THIRD_PERSON.fullmatch(first):
                other.append(f"{path.relative_to(ROOT)}:{node.lineno}: {first}")
    assert not other


COMMANDS: dict[str, typing.Any] = dict(commands())
OPTIONS = {
    name: {option for item in command.params for option in (*item.opts, *item.secondary_opts)} | {"--help", "-h"}
    for name, command in COMMANDS.items()
}
SHARED = frozenset().union(*OPTIONS.values()) | {"--help", "--version"}


def assert_commands_are_real(text: str) -> None:
    """Whatever is quoted as a command can be run."""
    for quoted in re.findall(r"`goldsmith ([^`]*)`", text):
        words = quoted.split()
        if words[0].startswith(ANYTHING):
            continue
        if words[0].startswith("-"):
            assert words[0] in SHARED, f"there is no option {words[0]}: {text}"
            continue
        if len(words) == 1 and any(item.startswith(f"{words[0]} ") for item in COMMANDS):
            continue
        name = next((item for item in (words[0], " ".join(words[:2])) if item in COMMANDS), None)
        assert name is not None, f"there is no such command: {text}"
        for word in words:
            if word.startswith("-"):
                assert word.partition("=")[0] in OPTIONS[name], f"{name} has no {word}: {text}"
    for page in re.findall(r"\bdocs/[\w-]+\.md", text):
        assert (ROOT / page).is_file(), f"{page} is not there: {text}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_says_what_it_is_for(name: str) -> None:
    command = COMMANDS[name]
    first, _, rest = command.help.partition("\n\n")
    assert first.endswith(".")
    assert len(first) <= 110, first
    assert not re.search(r"(^|\n)- `goldsmith", rest), "examples stand in columns, below `Examples:`"
    for item in command.params:
        assert item.help, f"{name}: {item.name} has no help"
        assert item.help.endswith("."), f"{name}: {item.help}"


# --- command lines that make no sense


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "--forse"], "goldsmith generate: there is no option --forse; did you mean --force?"),
        (["generat"], "goldsmith: there is no command generat; did you mean generate?"),
        (["generate", "--seed"], "goldsmith generate: --seed needs a value; "),
        (["doctor", "hw1"], "goldsmith doctor: hw1 is one argument too many; "),
        (["generate", "hw1", "--kind", "all"], "goldsmith generate: --kind"),
        (["check", "hw1", "--timeout", "-1"], "goldsmith check: --timeout is -1.0; give a number of seconds above 0."),
    ],
)
def test_a_command_line_that_makes_no_sense_gets_a_sentence(
    course: CourseOnDisk, arguments: list[str], said: str
) -> None:
    run = course.run(*arguments, yes=False, calibrate=True)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(said)
    assert len(run.err.splitlines()) == 1
    assert not UNKIND.search(run.err)
    told = course.run(arguments[0], "--json", *arguments[1:], yes=False, calibrate=True)
    assert told.code == 2
    assert told.json["error"]["kind"] in ("bad-usage", "bad-option")


def test_started_as_a_module_it_is_called_goldsmith_too(course: CourseOnDisk) -> None:
    """As it is on Windows, where the script has another name."""
    command = [sys.executable, "-m", "goldsmith", "generate", "--forse"]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True)
    assert done.stderr.startswith("goldsmith generate: there is no option --forse; did you mean --force?"), done.stderr
