"""Count the words of the documentation by the reader that it is for.

python scripts/docs_words.py

What users read has a limit; the generated reference and what contributors read have none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
LIMIT = 30_000
OTHERS = {"reference": ("reference/",), "contributors": ("contributing/", "decisions/", "architecture.md")}


def group_of(page: Path) -> str:
    name = page.relative_to(DOCS).as_posix()
    return next((group for group, places in OTHERS.items() if name.startswith(places)), "users")


def counted() -> Iterator[tuple[str, str, int]]:
    """Yield the group, the name and the number of words of each page, as `wc -w` counts them."""
    for page in sorted(DOCS.rglob("*.md")):
        yield group_of(page), page.relative_to(DOCS).as_posix(), len(page.read_text(encoding="utf-8").split())


def words() -> dict[str, int]:
    sums = dict.fromkeys(("users", *OTHERS), 0)
    for group, _, number in counted():
        sums[group] += number
    return sums


def main() -> int:
    for group, name, number in sorted(counted(), key=lambda item: (item[0], -item[2])):
        print(f"{number:7,}  {group:13} {name}")
    found = words()
    for group, number in found.items():
        print(f"{number:7,}  {group}{f', of at most {LIMIT:,}' if group == 'users' else ''}")
    return int(found["users"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
