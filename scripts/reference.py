"""Write docs/reference from the code: commands, settings, the manifest, JSON output, exit codes, mutation operators.
Nothing there is written by hand."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import json_forms
import msgspec
import structures

from goldsmith.cli.app import commands
from goldsmith.courses.grade.hints import KIND_WORDS, Hint
from goldsmith.courses.grade.hints import SCHEMA as HINT_SCHEMA
from goldsmith.courses.layout.command_config import GradeConfig, GuardConfig, HandoutConfig, RigorConfig
from goldsmith.courses.layout.config import AssignmentConfig, Config, ItemConfig, RubricConfig
from goldsmith.errors.base import AGAINST, COULD_NOT_RUN, INTERRUPTED, USAGE
from goldsmith.gold.manifest import SCHEMA, Manifest
from goldsmith.mutants.load_operators import built_in_operators
from goldsmith.render.json_output import Envelope, Error

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Written by `make reference`; change the code it is made from. -->"
EVERYWHERE = ("course", "json", "no_color", "debug")


COMMANDS: dict[str, Any] = {f"goldsmith {name}": command for name, command in commands()}


def command_page() -> str:
    found = list(COMMANDS.items())
    shared = {option.name: option for _, command in found for option in command.params if option.name in EVERYWHERE}
    lines = [
        "# Commands",
        "",
        "Every command answers `--help`, and with `--json` prints [one object](json.md). [Exit codes](exit-codes.md)",
        "are the same everywhere.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`{name}`](#{name.replace(' ', '-')}) | {_sentence(command.help)} |" for name, command in found),
        "",
        "Most commands take these, which are not repeated below:",
        "",
        *_options([shared[name] for name in EVERYWHERE]),
        "",
    ]
    for name, command in found:
        own = [item for item in command.params if item.name not in EVERYWHERE and item.name != "help"]
        arguments = [item for item in own if item.param_type_name == "argument"]
        options = [item for item in own if item.param_type_name == "option"]
        lines += [f"## {name}", "", _help(command.help), "", "```text", _usage(name, arguments, options), "```", ""]
        if arguments:
            lines += ["| argument | meaning |", "|---|---|"]
            lines += [f"| `{_cell(item.metavar or item.name)}` | {_cell(item.help)} |" for item in arguments] + [""]
        if options:
            lines += [*_options(options), ""]
    return _page(lines)


def _usage(name: str, arguments: list[Any], options: list[Any]) -> str:
    said = [item.metavar or item.name.upper() for item in arguments]
    shown = [text if item.required else f"[{text}]" for item, text in zip(arguments, said, strict=True)]
    return " ".join([name, *shown, *(["[options]"] if options else [])])


def _options(options: list[Any]) -> list[str]:
    rows = ["| option | meaning |", "|---|---|"]
    for item in options:
        names = ", ".join(f"`{name}`" for name in (*item.opts, *item.secondary_opts))
        value = "" if item.is_flag else f" `{_cell(item.metavar or _choices(item))}`"
        rows.append(f"| {names}{value} | {_cell(item.help)}{_default(item)} |")
    return rows


def _choices(item: Any) -> str:
    choices = getattr(item.type, "choices", None)
    return "|".join(choices) if choices else str(item.name).upper()


def _default(item: Any) -> str:
    if isinstance(item.show_default, str):
        return f" Default: {item.show_default}."
    return f" Default: {item.default}." if item.show_default and isinstance(item.default, str | float) else ""


def _help(text: str) -> str:
    """A command's own help, its examples fenced as the commands that they are."""
    said = re.sub(r"\n\n((?:    .*\n?)+)", lambda found: f"\n\n```text\n{_dedent(found[1])}\n```\n", f"{text}\n")
    return said.strip()


def _dedent(text: str) -> str:
    return inspect.cleandoc(f"\n{text}")


def _sentence(text: str) -> str:
    first = " ".join(text.split("\n\n")[0].split())
    return _cell(f"{re.split(r'[.:] ', first)[0].rstrip('.')}.")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


# --- settings ---------------------------------------------------------------------------------------------------------

TABLES = (
    ("The course", "", Config),
    ("Grade", "[grade]", GradeConfig),
    ("Guard", "[guard]", GuardConfig),
    ("Rigor", "[rigor]", RigorConfig),
    ("One assignment", "[assignment.NAME]", AssignmentConfig),
    ("A kit for students", "[assignment.NAME.handout]", HandoutConfig),
    ("A rubric", "[assignment.NAME.rubric]", RubricConfig),
    ("An item of a rubric", "a table in place of points", ItemConfig),
)


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        "In `goldsmith.toml` at the root of the course, or in `[tool.goldsmith]` of its `pyproject.toml`. Everything",
        "may be left out. A setting that does not exist is refused, with the nearest one that does.",
        "",
    ]
    own = {kind.__name__: title for title, _, kind in TABLES}
    for title, header, kind in TABLES:
        lines += [f"## {title}", "", *([f"`{header}`", ""] if header.startswith("[") else [])]
        lines += ["| setting | type | default | meaning |", "|---|---|---|---|"]
        for name, inner, text, info in structures.fields_of(kind):
            said = structures.in_words(inner)
            for struct, section in own.items():
                said = said.replace(f"[{struct}](#{struct.lower()})", f"[{section}](#{_anchor(section)})")
            lines.append(f"| `{name}` | {said} | {_toml(info)} | {text} |")
        lines.append("")
    return _page(lines)


def _toml(info: msgspec.structs.FieldInfo) -> str:
    value = info.default if info.default is not msgspec.NODEFAULT else None
    if info.default_factory is not msgspec.NODEFAULT:
        value = info.default_factory()
    if info.required:
        return "must be given"
    if value is None or isinstance(value, msgspec.Struct):
        return ""
    return f"`{json.dumps(msgspec.to_builtins(value))}`"


# --- what machines read -----------------------------------------------------------------------------------------------


def manifest_page() -> str:
    return _page(
        [
            "# The manifest",
            "",
            f"`manifest.json` in every gold folder, schema {SCHEMA}: the machine-readable truth about it. Another",
            "schema is refused, and so is a manifest whose digest does not fit its content.",
            "",
            *structures.sections([Manifest], "##"),
        ]
    )


def json_page() -> str:
    lines = [
        "# JSON output",
        "",
        "With `--json`, standard output holds one object and nothing else; progress and prose go to standard error.",
        'Numbers that are not finite are the texts `"inf"`, `"-inf"` and `"nan"`.',
        "",
        "## Every command",
        "",
        *structures.table(Envelope),
        "",
        "Each adds a list of its subjects, whose items have at least `name` and `outcome`. When a command fails,",
        "the list has what was finished before.",
        "",
        "| command | list | items | besides |",
        "|---|---|---|---|",
    ]
    for form in json_forms.FORMS:
        command = f"`{form.command}{f' {form.when}' if form.when else ''}`"
        own = ", ".join(f"`{name}`" for name in form.more.__struct_fields__) if form.more else ""
        more = f"{own}: {structures.in_words(form.more)}" if form.more else ""
        lines.append(f"| {command} | `{form.subjects}` | {structures.in_words(form.item)} | {more} |")
    roots = [kind for form in json_forms.FORMS for kind in (form.item, *filter(None, [form.more]))]
    lines += ["", *structures.sections([Error, *roots], "##")]
    return _page(lines)


def hints_page() -> str:
    kinds = [f"| `{kind}` | {_cell(text)} |" for kind, text in KIND_WORDS.items()]
    return _page(
        [
            "# Hints",
            "",
            f"`feedback/NAME.hint.json` of [`goldsmith grade`](cli.md#goldsmith-grade), schema {HINT_SCHEMA};",
            "[what it is for](../how-to/reports.md#hints-for-a-model-or-a-tutor).",
            "",
            *structures.sections([Hint], "##"),
            "",
            "## Kinds of mistakes",
            "",
            "| kind | words |",
            "|---|---|",
            *kinds,
        ]
    )


def exit_code_page() -> str:
    lines = [
        "# Exit codes, outcomes, errors",
        "",
        "| exit code | meaning |",
        "|---:|---|",
        "| 0 | all well |",
        f"| {AGAINST} | a verdict against: something differs, would change, is not sound, or leaks |",
        f"| {USAGE} | bad usage or configuration, or a question that could not be asked |",
        f"| {COULD_NOT_RUN} | could not run (a crash, a missing part), inconclusive, or gold that was refused |",
        f"| {INTERRUPTED} | interrupted |",
        "",
        "## What each command says",
        "",
        "| command | exit codes |",
        "|---|---|",
    ]
    for name, command in COMMANDS.items():
        said = re.search(r"Exit codes: (.*)", " ".join(command.help.split()))
        lines.append(f"| [`{name}`](cli.md#{name.replace(' ', '-')}) | {_cell(said[1]) if said else '0 all well.'} |")
    lines += ["", "## Outcomes", "", "Spelt the same everywhere, on the terminal with a space for the hyphen.", ""]
    for subject, outcomes in json_forms.OUTCOMES.items():
        lines += [
            f"| {subject} | meaning |",
            "|---|---|",
            *(f"| `{name}` | {text} |" for name, text in outcomes.items()),
            "",
        ]
    lines += [
        "## Errors",
        "",
        "The `kind` of an error in JSON output, and the exit code that follows from it.",
        "",
        "| kind | exit code |",
        "|---|---:|",
    ]
    in_json = [item for item in structures.every_error() if item.__module__ != "goldsmith.errors.pytest"]
    kinds = {item.kind.fget(item.__new__(item)): item for item in in_json}  # type: ignore[attr-defined]
    lines += [f"| `{kind}` | {item.exit_code} |" for kind, item in sorted(kinds.items())]
    return _page(lines)


def operators_page() -> str:
    lines = [
        "# The mistakes that mutants imitate",
        "",
        "`goldsmith rigor` puts each of these into the solution wherever it fits, one at a time, as a change of one",
        "line. Where two operators would make the same mutant, the one further up makes it. [Rigor](../rigor.md)",
        "explains mutants and how a course adds operators of its own.",
    ]
    family = ""
    for item in built_in_operators():
        if item.family != family:
            family = item.family
            lines += ["", f"## {family}", "", "| operator | what is wrong with such a mutant |", "|---|---|"]
        lines.append(f"| `{item.name}` | {item.description} |")
    return _page(lines)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _page(lines: list[str]) -> str:
    title, *rest = lines
    return "\n".join([title, "", NOTE, *rest]).rstrip() + "\n"


def pages() -> dict[str, str]:
    return {
        "cli.md": command_page(),
        "configuration.md": settings_page(),
        "manifest.md": manifest_page(),
        "json.md": json_page(),
        "hints.md": hints_page(),
        "exit-codes.md": exit_code_page(),
        "operators.md": operators_page(),
    }


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {FOLDER / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
