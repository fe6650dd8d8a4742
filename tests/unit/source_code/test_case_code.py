"""Which edits to a recipe make a case draw again: those to its own code, and no others."""

from __future__ import annotations

import pytest

from goldsmith.source_code.case_code import case_code

RECIPE = '''"""A recipe."""
import numpy as np
import goldsmith as gs
from layers import Scale, Shift

WIDTH = 5
DEPTH = 3


def batch(count):
    """Draw a batch."""
    return np.random.randn(count, WIDTH)


@gs.case
def first(case):
    """Title."""
    case.record("y", case.model(Scale, WIDTH)(case.input("x", lambda: batch(3))))


@gs.case(name="second-one", points=2)
def second(case):
    case.record("y", case.model(Shift, DEPTH)(case.input("x", np.arange(3.0))))


if __name__ == "__main__":
    gs.main()
'''


def changed(*edit: str) -> list[str]:
    """The cases whose own code an edit changes."""
    assert edit[0] in RECIPE
    before, after = case_code(RECIPE.encode()), case_code(RECIPE.replace(*edit).encode())
    return [name for name in before.cases if before.of(name) != after.of(name)]


@pytest.mark.parametrize(
    ("old", "new", "cases"),
    [
        ('case.input("x", lambda: batch(3))', 'case.input("x", lambda: batch(4))', ["first"]),
        ("WIDTH = 5", "WIDTH = 6", ["first"]),
        ("np.random.randn(count, WIDTH)", "np.random.rand(count, WIDTH)", ["first"]),
        ("DEPTH = 3", "DEPTH = 4", ["second-one"]),
        ("import numpy as np", "import torch as np", ["first", "second-one"]),
        ("DEPTH = 3", "DEPTH = 3\nnp.random.seed(1)", ["first", "second-one"]),
        ("DEPTH = 3", "DEPTH = 3\nfor _ in range(3):\n    np.random.rand()", ["first", "second-one"]),
        ("Scale, Shift", "Scale, Shift, Other", []),
        ("points=2", "points=3", []),
        ("DEPTH = 3", "DEPTH = 3  # layers\nUNUSED = 1", []),
        ("Draw a batch.", "Draw one batch.", []),
        ("Title.", "Another title.", []),
        ("gs.main()", "gs.main()  # at the end", []),
    ],
)
def test_only_the_cases_that_use_what_was_edited(old: str, new: str, cases: list[str]) -> None:
    assert changed(old, new) == cases


def test_a_case_that_the_text_does_not_show_depends_on_the_whole_recipe() -> None:
    code = case_code(b"import goldsmith as gs\nfor n in range(3):\n    gs.case(name=f'c{n}')(lambda case: None)\n")
    assert code.cases == {}
    assert code.of("c1") == code.whole


def test_a_recipe_that_is_no_python_is_known_by_its_bytes() -> None:
    assert case_code(b"def (").whole != case_code(b"def )").whole
