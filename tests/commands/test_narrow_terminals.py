"""What people read fits their window: 80 columns or 120, and no word is cut."""

from __future__ import annotations

import io
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.overview import overview_of
from goldsmith.courses.guard.similarity import Similarity
from goldsmith.gold.diff import TensorChange
from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.render.columns import shortened, wrapped
from goldsmith.render.gold_diff import show_changes
from goldsmith.render.grades import show_grades
from goldsmith.render.verdict import show_verdict
from support.made_verdicts import case, rubric, verdict

LONG = (
    "ImportError: cannot import name 'scaled_dot_product' from 'attention' (unknown location), asked for by the recipe"
)


def shown(width: int, show: object, *arguments: object) -> list[str]:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, no_color=True, width=width, height=200, legacy_windows=False)
    show(console, *arguments)  # type: ignore[operator]
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in text.getvalue().splitlines()]


def words_of(lines: list[str]) -> list[str]:
    return " ".join(lines).split()


@pytest.mark.parametrize("width", [80, 120])
def test_grades_fit(width: int) -> None:
    names = ("ada", "a-student-with-a-very-long-name-and-a-number-20231234567-who-came-late")
    grades = [
        msgspec.structs.replace(
            grade(verdict(case("whole", "could-not-run"), case("norm"), name=name), rubric()),
            reason=LONG,
            first_part="",
            similarity={"attention.CausalSelfAttention.forward": Similarity(11, 12, "attend.py:9", "attend.py:31")},
            stand_ins=("wandb", "transformers"),
        )
        for name in names
    ]
    lines = shown(width, show_grades, grades, overview_of("hw1", grades))
    rows = [line for line in lines if names[1] not in line]
    assert max(map(cell_len, rows)) <= max(width, len(names[1]) + 30)
    found = " ".join(words_of(lines))
    assert LONG in found or "…" in found
    for word in LONG.split()[:8]:
        assert word in words_of(lines)
    assert all(name in found for name in names), "names are what submissions are told apart by"


@pytest.mark.parametrize("width", [80, 120])
def test_a_verdict_fits(width: int) -> None:
    cases = tuple(
        CaseVerdict(name=name, title="", outcome="could-not-run", kind="import", reason=LONG)
        for name in ("attention_with_a_very_long_name_for_a_case_that_nobody_would_give", "norm")
    )
    found = verdict(*cases, name="/home/staff/course/submissions/ada")
    lines = shown(width, show_verdict, found)
    assert max(map(cell_len, lines)) <= width, "\n".join(lines)
    assert "(unknown" in words_of(lines)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("below", [0, 10])
def test_changes_fit(width: int, below: int) -> None:
    path = "output.gradients.transformer.blocks.11.self_attention.query_key_value_projection.weight"
    changes = [
        TensorChange(case="three_steps", path=path, change="values", largest=1e-3, relative=0.1, excess=12345.0),
        TensorChange(
            case="gold_output", path="output", change="shape", before="float32 (3, 11)", after="float32 (11, 3)"
        ),
    ]
    lines = shown(width, lambda console, rows: show_changes(console, rows, below=below), changes)
    assert max(map(cell_len, lines)) <= width, "\n".join(lines)
    assert "1.2e+04 x" in " ".join(lines)
    pieces = set(re.split(r"[._]", path))
    cells = [word for line in lines[2:] for word in re.split(r"[._…\s]+", line) if word.isalpha()]
    known = pieces | {"three", "steps", "gold", "output", "values", "shape", "float32", "x"}
    assert set(cells) <= known, "a name is divided between its parts"


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), max_size=12), st.integers(12, 40))
def test_wrapping_keeps_every_word(words: list[str], width: int) -> None:
    lines = wrapped(" ".join(words), width)
    assert all(len(line) <= width for line in lines)
    assert words_of(lines) == words


@given(st.text("ab._/-", max_size=60), st.integers(8, 20))
def test_a_long_name_is_divided_and_loses_nothing(name: str, width: int) -> None:
    lines = wrapped(name, width)
    assert all(len(line) <= width for line in lines)
    assert "".join(lines) == name


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=7), min_size=1, max_size=12), st.integers(12, 40))
def test_what_is_shortened_ends_with_a_word(words: list[str], width: int) -> None:
    text = shortened(" ".join(words), width)
    assert len(text) <= width
    assert text.removesuffix(" …").split() == words[: len(text.removesuffix(" …").split())]
