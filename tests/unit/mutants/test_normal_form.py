"""Equivalent is only what is shown: two files that are the same program, however they are written."""

from __future__ import annotations

import pytest

from goldsmith.mutants.normal_form import are_same_program


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("y = 2 * 3 + x", "y = 6 + x"),
        ("y = a > b", "y = b < a"),
        ("y = 2.0 * x", "y = x * 2.0"),
        ("y = not (a is b)", "y = a is not b"),
        ("def f(x):\n    return x\n", "def f(x):\n\n    # so\n    return (x)\n"),
        ("if 1 >= n: pass", "if n <= 1: pass"),
    ],
)
def test_the_same_program_written_differently(one: str, two: str) -> None:
    assert are_same_program(one.encode(), two.encode())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("y = a + b", "y = b + a"),  # of texts, not the same
        ("y = 0.0", "y = -0.0"),
        ("y = 1", "y = True"),
        ("y = 1", "y = 1.0"),
        ("y = f() > g()", "y = g() < f()"),  # called in another order
        ("y = not (a < b)", "y = a >= b"),  # of NaN, not the same
        ("y = x * 1", "y = x"),
        ("def f(x=1): pass", "def f(x=2): pass"),
        ("y = x[0]", "y = x[1]"),
        ("y = (", "y = ("),
    ],
)
def test_another_program_or_none(one: str, two: str) -> None:
    assert not are_same_program(one.encode(), two.encode())
