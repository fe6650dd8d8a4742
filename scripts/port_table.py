"""Ten models of transformers beside right and wrong ports of them (examples/porting/models), by goldsmith and by hooks.

PYTHONPATH=tests python scripts/port_table.py [--seeds N] [--only NAME] [--write]

Prints a table, and says which mistakes were not named exactly; exits with 1 if a right port does not agree or a wrong
one does. goldsmith gets no adapter. Hooks are told by hand where weights go and which modules correspond, but for those
that return something else in a right port. `--write` puts the table into measurements/ports.md. Needs transformers
(`make test-port` installs it); nothing is downloaded.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/contributing/measurements/ports.md"
BEGIN, END = "<!-- begin: printed by scripts/port_table.py -->", "<!-- end of ten models -->"
AGREES = "agrees"


@dataclass
class Row:
    """What was found out about one model: right ports by seed, and its mistakes by how near they were named."""

    name: str
    style: str
    agreeing: int = 0
    seeds: int = 0
    by_goldsmith: Counter[str] = field(default_factory=Counter)
    by_hooks: Counter[str] = field(default_factory=Counter)

    @property
    def false_passes(self) -> int:
        return self.by_goldsmith[AGREES]


def examine(name: str, seeds: int) -> Row:
    """Compare a right port on several seeds and every wrong one, by goldsmith and by hooks."""
    from support.ports.models import STYLES, pair
    from support.ports.pairs import EXACTLY

    ports = pair(name)
    row = Row(name, STYLES[name], seeds=seeds)
    for seed in range(seeds):
        found = ports.compare(seed=seed)
        row.agreeing += found.outcome == AGREES
        if found.outcome != AGREES:
            _tell(f"{name}, seed {seed}: a right port {str(found).splitlines()[0]}")
    comparable = _comparable(name)
    for mistake in ports.mistakes:
        found = ports.compare(mistake)
        named = found.first_divergence or ""
        how = AGREES if found.outcome == AGREES else ports.nearness(mistake, named)
        row.by_goldsmith[how] += 1
        if how != EXACTLY:
            _tell(f"{name}, {mistake}: {how}: {named or found.outcome}, not {ports.mistakes[mistake][0]}")
        by_hooks = _first_by_hooks(name, mistake, comparable)
        row.by_hooks[ports.nearness(mistake, by_hooks) if by_hooks else AGREES] += 1
    return row


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _comparable(name: str) -> dict[str, str]:
    """Return the names of modules that return the same in a right port."""
    from support.ports.models import by_hand

    names = {"": "", **by_hand(name).names}
    for other in _mismatches(name, "", names):
        names.pop(other, None)
    return names


def _first_by_hooks(name: str, mistake: str, names: dict[str, str]) -> str:
    return next(iter(_mismatches(name, mistake, names)), "")


def _mismatches(name: str, mistake: str, names: dict[str, str]) -> list[str]:
    from support.ports.models import EXAMPLE, by_hand, pair

    reference, candidate, inputs = pair(name).drawn(mistake)
    candidate.load_state_dict(by_hand(name).convert(reference.state_dict()), strict=False)
    given = inputs if isinstance(inputs, tuple | dict) else (inputs,)
    return list(_hooks(EXAMPLE).mismatches(reference, candidate.eval(), given, names))


def _hooks(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("porting_hooks", folder / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(rows: Sequence[Row]) -> str:
    """Return the rows in Markdown, with a line of sums."""
    from support.ports.pairs import EXACTLY, NEARBY

    heads = ["model", "in the style of", "right: agrees", "wrong", "named exactly", "within one level", "agrees"]
    heads += ["hooks: exactly", "within one level", "nothing"]
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for row in [*rows, _sum(rows)]:
        found = [row.by_goldsmith[key] for key in (EXACTLY, NEARBY, AGREES)]
        by_hooks = [row.by_hooks[key] for key in (EXACTLY, NEARBY, AGREES)]
        cells = [row.name, row.style, f"{row.agreeing} of {row.seeds}", row.by_goldsmith.total(), *found, *by_hooks]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _sum(rows: Sequence[Row]) -> Row:
    found = Row("all", "", sum(row.agreeing for row in rows), sum(row.seeds for row in rows))
    for row in rows:
        found.by_goldsmith += row.by_goldsmith
        found.by_hooks += row.by_hooks
    return found


def main(arguments: Sequence[str]) -> int:
    import torch

    from support.ports.models import STYLES

    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=tuple(STYLES), action="append")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = [examine(name, asked.seeds) for name in asked.only or STYLES]
    print(table(rows))
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{table(rows)}\n{END}{page.partition(END)[2]}")
    return int(any(row.agreeing < row.seeds or row.false_passes for row in rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
