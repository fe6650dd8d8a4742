"""Which parts nobody has written is read from the sources; what is put in place in another way is written, too."""

from __future__ import annotations

import textwrap

import pytest

from goldsmith.source_code.unwritten import left_as_given, unwritten_functions, unwritten_parts

STARTER = """
    import torch


    class Norm:
        def __init__(self, width):
            self.width = width

        def forward(self, x):
            # TODO
            raise NotImplementedError

        def reset(self):
            raise NotImplementedError


    def loss(y):
        # TODO: something better than this
        return y.sum()


    def freeze(model):
        pass
"""


def unwritten(*changes: tuple[str, str], more: str = "", solution: str = "") -> list[str]:
    source = textwrap.dedent(STARTER)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new, 1)
    starter = textwrap.dedent(STARTER).encode()
    left = left_as_given(starter, textwrap.dedent(solution).encode())
    return unwritten_parts(unwritten_functions(starter, f"{source}\n\n{more}\n".encode(), left))


def test_what_is_as_it_was_given_is_unwritten() -> None:
    assert unwritten() == ["Norm", "freeze", "loss"]
    assert unwritten(("# TODO\n", "# done!\n"), ("# TODO: something better than this", "# fine")) == [
        "Norm",
        "freeze",
        "loss",
    ]


@pytest.mark.parametrize(
    "body", ["pass", "...", "return", "return None", '"""Done."""', "raise NotImplementedError('x')"]
)
def test_an_empty_body_is_none(body: str) -> None:
    assert "loss" in unwritten(("return y.sum()", body))


@pytest.mark.parametrize("body", ["return y", "return y.mean()", "y += 1", "raise ValueError", "return 0"])
def test_any_other_is_written(body: str) -> None:
    assert "loss" not in unwritten(("return y.sum()", body))


def test_one_method_that_is_written_is_enough() -> None:
    assert "Norm" not in unwritten(("# TODO\n        raise NotImplementedError", "return x"))


@pytest.mark.parametrize(
    "more",
    [
        "Norm.forward = lambda self, x: x",
        "Norm = make()",
        "from other import Norm",
        "from other import *",
        "setattr(Norm, 'forward', print)",
        "for part in (Norm, loss):\n    setattr(part, 'forward', print)",
        "@patch\ndef forward(self: Norm, x):\n    return x",
        "@add_to_class(Norm)\ndef forward(self, x):\n    return x",
    ],
)
def test_what_is_put_in_its_place_in_another_way_is_written(more: str) -> None:
    assert "Norm" not in unwritten(more=more)


def test_what_the_solution_leaves_as_it_is_is_nobodys_to_write() -> None:
    assert "freeze" not in unwritten(solution="def freeze(model):\n    pass\n")


def test_what_does_not_parse_is_not_looked_at() -> None:
    assert unwritten(more="def (") == []
