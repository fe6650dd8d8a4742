"""Measure what may only get better, and compare it with `scripts/ratchets.toml`: part of `make lint`.

python scripts/ratchets.py [--write]

Which files outside of frameworks/ say torch other than in strings and comments, how many files import it, how many
modules a judge imports with all that they import, how often a command changes from folder to folder. What is worse
than the file says fails, and so does what is better: then `--write` takes the better numbers, so that they are kept.
It never takes worse ones.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import grimp
from trace_walk import walks

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".toml")
SOURCE = ROOT / "src" / "goldsmith"
JUDGES = ("judge.attribution", "judge.case", "model_parity.judge", "pytest_support.check_values")
"""Modules that decide; a judge runs nothing, so it should not import what does."""
_IMPORT = re.compile(r"^\s*(import|from) torch\b", re.MULTILINE)
WALK_SLACK = 4
"""Two walks of the same source were seen to differ by 2: which of two threads first calls a function is chance."""


def measured() -> dict[str, dict[str, int]]:
    """Return, for each kind of number, what it is now."""
    graph = grimp.build_graph("goldsmith", exclude_type_checking_imports=True, cache_dir=None)
    return {
        "torch": {path.relative_to(SOURCE).as_posix(): 1 for path in _outside_frameworks() if _says_torch(path)},
        "imports": {"torch": sum(bool(_IMPORT.search(path.read_text("utf-8"))) for path in SOURCE.rglob("*.py"))},
        "closures": {module: len(graph.find_upstream_modules(f"goldsmith.{module}")) for module in JUDGES},
        "walk": {", ".join(name): walk.changes for name, walk in walks(ROOT / "src").items()},
    }


def _outside_frameworks() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] != "frameworks"]


def _says_torch(path: Path) -> bool:
    with io.StringIO(path.read_text(encoding="utf-8")) as lines:
        return any(
            (item.type, item.string) == (tokenize.NAME, "torch") for item in tokenize.generate_tokens(lines.readline)
        )


def worse(kept: Mapping[str, Mapping[str, int]], found: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for file in found["torch"].keys() - kept["torch"].keys():
        yield f"src/goldsmith/{file} says torch; what knows frameworks is to become fewer files, not more"
    for kind, slack in (("imports", 0), ("closures", 0), ("walk", WALK_SLACK)):
        for name, number in found[kind].items():
            if number > kept[kind][name] + slack:
                yield f"{kind} of {name}: {number}, and it was {kept[kind][name]}"


def is_better(kept: Mapping[str, Mapping[str, int]], found: Mapping[str, Mapping[str, int]]) -> bool:
    fewer = any(number < kept["walk"][name] - WALK_SLACK for name, number in found["walk"].items())
    return fewer or any(kept[kind] != found[kind] for kind in ("torch", "imports", "closures"))


def main(arguments: list[str]) -> int:
    found = measured()
    kept: dict[str, Any] = tomllib.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else found
    problems = sorted(worse(kept, found))
    if not problems and "--write" in arguments:
        found["walk"] = {name: min(number, kept["walk"][name]) for name, number in found["walk"].items()}
        lines = ["# Written by scripts/ratchets.py --write; nothing here may grow."]
        for kind, numbers in found.items():
            lines += ["", f"[{kind}]", *(f'"{name}" = {number}' for name, number in numbers.items())]
        KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif not problems and is_better(kept, found):
        problems = ["better than scripts/ratchets.toml says: run python scripts/ratchets.py --write, and commit it"]
    closures, walk = (", ".join(map(str, found[kind].values())) for kind in ("closures", "walk"))
    print(
        *problems,
        f"{len(found['torch'])} files outside of frameworks/ say torch, {found['imports']['torch']} in all import it; "
        f"closures {closures}; folder changes {walk}",
        sep="\n",
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
