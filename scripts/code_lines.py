"""Count lines of code, folder by folder: without blank lines, comments and docstrings; of tests, all lines.

python scripts/code_lines.py
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str) -> int:
    """Return how many lines hold code; a string that stands by itself, as a docstring does, is none."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - told)


def source_lines(source: Path = ROOT / "src" / "goldsmith") -> Counter[str]:
    """Return lines of code by folder of the source; what lies in none is `.`."""
    found: Counter[str] = Counter()
    for path in source.rglob("*.py"):
        folder = path.relative_to(source).parts[0] if path.parent != source else "."
        found[folder] += code_lines(path.read_text(encoding="utf-8"))
    return found


def lines_of_tests(tests: Path = ROOT / "tests") -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in tests.rglob("*.py"))


if __name__ == "__main__":
    folders = source_lines()
    for folder, count in folders.most_common():
        print(f"{count:7,}  {folder}")
    print(f"{folders.total():7,}  lines of code in src\n{lines_of_tests():7,}  lines in tests")
