"""`goldsmith verify`: read the gold back and check all of it again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldsmith.cli.common import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    choose,
    options_of,
    progress_on,
    shown_errors,
)
from goldsmith.errors import AGAINST, COULD_NOT_RUN

if TYPE_CHECKING:
    from goldsmith.course import Assignment


def verify(
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="A…", help="Assignments by name; without, all of them.")
    ] = None,
    reproduce: Annotated[bool, typer.Option("--reproduce", help="Run the recipe again, too, and compare.")] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Read published gold back and repeat every check, hashes included: a flipped bit in any file is found and named.

    With --reproduce the recipe runs again in private copies, and its gold is compared bit for bit; nothing is written.

    Exit codes: 0 all sound, 1 a check failed or bits differ, 3 there is no gold.
    """
    items: list[dict[str, Any]] = []
    with shown_errors("verify", as_json=json, debug=debug, finished=items):
        from goldsmith.course import find_course

        found = find_course(course)
        for assignment in choose(found, assignments or ["all"]):
            items.append(_verify(assignment, reproduce, no_color))
            if not json:
                _show(items[-1], no_color)
        if json:
            from goldsmith.report import report

            print(report("verify", all(item["outcome"] == "unchanged" for item in items), "assignments", items))
    raise typer.Exit(max((item["exit_code"] for item in items), default=0))


def _verify(assignment: Assignment, reproduce: bool, no_color: bool) -> dict[str, Any]:
    import msgspec

    from goldsmith.generation import environment_differences, rehearse
    from goldsmith.gold import inspect_gold, read_manifest

    item: dict[str, Any] = {"name": assignment.name, "outcome": "unchanged", "checks": [], "exit_code": 0}
    if not (assignment.gold / "manifest.json").is_file():
        return item | {"outcome": "missing", "exit_code": COULD_NOT_RUN}
    checks = inspect_gold(assignment.gold)
    item["checks"] = msgspec.to_builtins(checks)
    if checks[0].ok:
        item["advice"] = msgspec.to_builtins(read_manifest(assignment.gold).advice)
    if not all(check.ok for check in checks):
        return item | {"outcome": "refused", "exit_code": AGAINST}
    if reproduce:
        with tempfile.TemporaryDirectory(prefix="gold-verify-") as folder:
            gold = Path(folder, "gold")
            outcome = rehearse(assignment, options_of(assignment), progress_on(no_color), gold)
            item["reproduced"] = not outcome.changes and outcome.outcome in ("unchanged", "stale")
            item["changes"] = msgspec.to_builtins(outcome.changes)
            item["environment"] = environment_differences(assignment.gold, gold) if outcome.changes else []
            item["error"] = msgspec.to_builtins(outcome.error) if outcome.outcome in ("failed", "refused") else None
        if not item["reproduced"]:
            code = COULD_NOT_RUN if item["error"] else AGAINST
            return item | {"outcome": "stale", "exit_code": code}
    return item


def _show(item: dict[str, Any], no_color: bool) -> None:
    import msgspec
    from rich.console import Console

    from goldsmith.gold import Advice, Check, TensorChange
    from goldsmith.report import Summary, show_changes

    console = Console(no_color=no_color or None)
    if item["checks"]:
        Summary(console).show_checks(msgspec.convert(item["checks"], list[Check]), title=item["name"])
    if item.get("advice"):
        Summary(console).show_advice(msgspec.convert(item["advice"], list[Advice]))
    changes = msgspec.convert(item.get("changes", []), list[TensorChange])
    if changes:
        show_changes(console, changes)
    console.print()
    console.print(_last_line(item, changes), style="bold", highlight=False, soft_wrap=True)


def _last_line(item: dict[str, Any], changes: list[Any]) -> str:
    name = item["name"]
    if item["outcome"] == "missing":
        return f"{name}: no gold yet; make it with `goldsmith generate {name}`."
    if item["outcome"] == "refused":
        return f"{name}: not sound; make it anew with `goldsmith generate {name}`, or take it from git."
    if item.get("error"):
        return f"{name}: could not be reproduced: {item['error']['message']}"
    if changes:
        inside = all(change.excess is not None and change.excess <= 1 for change in changes)
        within = "all within tolerance" if inside else "not all within tolerance"
        why = f"; {', '.join(item['environment'])}" if item["environment"] else "; the same environment"
        return f"{name}: {len(changes)} tensors came out with other bits, {within}{why}."
    again = ", and reproduced bit for bit" if item.get("reproduced") else ""
    return f"{name}: sound, all {len(item['checks'])} checks passed{again}."
