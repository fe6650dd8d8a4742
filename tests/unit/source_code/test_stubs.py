"""What is a stub in a starter is one in a submission; marks count in any spelling, and ordinary words are none."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.source_code.parts import written_by_students
from goldsmith.source_code.unwritten import left_as_given, unwritten_functions

NOTHING = [
    "pass",
    "...",
    '"""What it should do."""',
    "return",
    "return None",
    "return ...",
    "return NotImplemented",
    "raise NotImplementedError",
    "raise NotImplementedError('later')",
    "raise NotImplemented",
    "raise Exception('Not implemented yet!')",
    "assert False, 'write me'",
    "out = None\nreturn out",
    "dx, dw = None, None\nreturn dx, dw",
    "out: object = None\npass\nreturn (out, None)",
]
SOMETHING = [
    "return x",
    "return 0",
    "return False",
    "out = None\nreturn out or x",
    "x += 1",
    "raise ValueError('x is empty')",
    "if x is None:\n    return None\nreturn x",
    "self.cache = None",
]


def function(body: str, name: str = "f") -> str:
    return f"def {name}(x):\n{textwrap.indent(body, '    ')}\n"


@given(st.lists(st.sampled_from(NOTHING), min_size=1, max_size=3), st.sampled_from(NOTHING))
def test_a_stub_is_a_stub_on_both_sides(bodies: list[str], other: str) -> None:
    starter = function("\n".join(bodies)).encode()
    assert written_by_students(starter) == {"f"}
    assert unwritten_functions(starter, function(other).encode()) == {"f": True}


@pytest.mark.parametrize("body", SOMETHING)
def test_what_does_anything_is_none(body: str) -> None:
    assert written_by_students(function(body).encode()) == set()
    assert unwritten_functions(function("pass").encode(), function(body).encode()) == {"f": False}


@pytest.mark.parametrize(
    "body", ["return x  # later", "x = x + 1\nraise NotImplementedError", "x = x + 1\nreturn None"]
)
def test_what_the_starter_had_is_still_unwritten_with_another_ending(body: str) -> None:
    starter = function("# TODO\n" + body).encode()
    for ending in ("pass", "return None", "raise NotImplementedError"):
        kept = body.rpartition("\n")[0]
        assert unwritten_functions(starter, function(f"{kept}\n{ending}".strip()).encode()) == {"f": True}
    assert unwritten_functions(starter, function(f"x = x * 3\n{body}").encode()) == {"f": False}


@pytest.mark.parametrize(
    "mark",
    [
        "# TODO",
        "# todo: the mean",
        "# Todo(ada)",
        "# FINISH ME",
        "# finish me!",
        "# Your code here",
        "# YOUR CODE",
        "# *****START OF YOUR CODE*****",
        "### START CODE HERE ###",
        "# YOUR_CODE_HERE",
        "# IMPLEMENT",
        "# implement",
        "# Implement this function.",
        "# implement me",
        "# Implement: the update",
        "# YOUR SOLUTION",
        "# your answer here",
        "# fill in here",
        "# complete this method",
        '"""TODO: everything."""',
        "out = TODO",
        "out = YOUR_CODE_HERE",
        "mean = ...",
        "return ...",
        "if x.ndim > 3:\n    raise NotImplementedError",
    ],
)
def test_marks_count_in_any_spelling(mark: str) -> None:
    assert written_by_students(function(f"{mark}\nx = x.float()\nreturn x").encode()) == {"f"}


@pytest.mark.parametrize(
    "line",
    [
        "todo = [x]",
        "# implement the mask by adding -inf",
        "# implements the gate",
        '"""Implement the gate: x times its sigmoid."""',
        '"""Compare your implementation with ours."""',
        "# finish this epoch before the next",
        "# fill in the diagonal",
        "# dropout is not implemented here",
        "x = x[..., 0]",
        "# the end of the code path",
    ],
)
def test_ordinary_words_are_no_marks(line: str) -> None:
    assert written_by_students(function(f"{line}\nreturn x").encode()) == set()


def test_a_mark_in_another_function_is_not_this_ones() -> None:
    source = function("return x") + "\n# TODO\n" + function("# TODO\nreturn x", "g")
    assert written_by_students(source.encode()) == {"g"}


@pytest.mark.parametrize("body", NOTHING)
def test_where_the_solution_does_nothing_nobody_has_to_write_anything(body: str) -> None:
    assert left_as_given(function("raise NotImplementedError").encode(), function(body).encode()) == ["f"]


def test_a_decorator_may_be_all_that_there_is_to_write() -> None:
    starter = b"@register\ndef f(x):\n    raise NotImplementedError\n"
    assert unwritten_functions(starter, b"@register\ndef f(x):\n    pass\n") == {"f": True}
    assert unwritten_functions(starter, b"@register\n@implemented_by(g)\ndef f(x):\n    pass\n") == {"f": False}
