"""What a starter gives is known, whatever kind of code it is, and can be put back; what students add is theirs."""

from __future__ import annotations

import sys
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.source_code.provided import added_at_import, changed_provided, missing_values
from goldsmith.source_code.provided_edits import UNUSABLE, with_provided, without_parts

STARTER = textwrap.dedent('''
    """A lab."""

    import math
    from dataclasses import dataclass

    import numpy as np
    from os import path as place

    EPS = 1e-6
    LOW, HIGH = 0.1, 0.9
    SIZES = [3, 4]
    # TODO: choose one
    RATE = 1.0
    BEST = None


    @dataclass(frozen=True)
    class Config:
        """Given."""

        width: int
        depth: int = 2
        rate: float = 0.5


    class Base:
        steps = 3

        def run(self):
            return self.steps


    class Layer(Base):
        scale = 2.0
        limits = (0, 1)

        def __init__(self, width, eps=EPS, *, bias=True):
            self.width, self.eps, self.bias = width, eps, bias

        def forward(self, x, gain=1.5):
            # TODO
            raise NotImplementedError


    @np.vectorize
    def clamp(x):
        return min(max(x, LOW), HIGH)


    def train(layer, rate=0.1, steps=7):
        # TODO
        raise NotImplementedError
''')
NAMES = ["EPS", "LOW", "SIZES", "Config.rate", "Base.steps", "Layer.scale", "class Layer", "class Config", "place"]
NAMES += ["Layer.forward(gain)", "train(steps)", "clamp", "Layer.__init__"]
CHANGES = {
    "EPS": ("EPS = 1e-6", "EPS = 1e-5"),
    "LOW": ("LOW, HIGH = 0.1, 0.9", "LOW, HIGH = 0.2, 0.9"),
    "SIZES": ("SIZES = [3, 4]", "SIZES = [3, 4, 5]"),
    "Config.rate": ("rate: float = 0.5", "rate: float = 0.25"),
    "Base.steps": ("steps = 3", "steps = 4"),
    "Layer.scale": ("scale = 2.0", "scale = 3.0"),
    "class Layer": ("class Layer(Base)", "class Layer"),
    "class Config": ("@dataclass(frozen=True)", "@dataclass"),
    "place": ("from os import path as place", "import math as place"),
    "Layer.forward(gain)": ("gain=1.5", "gain=2.5"),
    "train(steps)": ("steps=7", "steps=8"),
    "clamp": ("@np.vectorize\ndef clamp", "def clamp"),
    "Layer.__init__": ("bias=True):", "bias=False):"),
}
HARMLESS = {
    "imports": ("import math", "import math\nimport json, os.path\nfrom math import tau"),
    "an import in other words": ("from os import path as place", "import os.path as place"),
    "an import that is not needed": ("import math\n", ""),
    "formatting": ("EPS = 1e-6", "EPS = (\n    0.000001  # small\n)"),
    "annotations": ("EPS = 1e-6", "EPS: float = 1e-6"),
    "one at a time": ("LOW, HIGH = 0.1, 0.9", "LOW = 0.1\nHIGH = 0.9"),
    "constants of their own": ("BEST = None", "BEST = None\nMINE = 4"),
    "what is theirs to choose": ("RATE = 1.0", "RATE = 0.01"),
    "what is theirs to fill in": ("BEST = None", "BEST = 17"),
    "helpers": ("class Base:", "def helper(x):\n    return x\n\n\nclass Base:"),
    "comments": ("    steps = 3", "    steps = 3  # TODO: more?"),
    "attributes": ("scale = 2.0", "scale = 2.0\n    offset = 1.0"),
    "more arguments": ("rate=0.1, steps=7", "rate=0.1, steps=7, verbose=False"),
    "more bases": ("class Layer(Base)", "class Layer(Base, Printed)"),
    "a docstring": ('"""Given."""', '"""What was given."""'),
    "a method of their own": ("    def run(self):", "    def print(self):\n        pass\n\n    def run(self):"),
}


def changed(other: str, *beside: str) -> list[str]:
    return changed_provided(STARTER.encode(), other.encode(), [text.encode() for text in beside])


def replaced(*changes: tuple[str, str]) -> str:
    text = STARTER
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_every_kind_has_an_example() -> None:
    assert set(NAMES) == set(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_was_given_is_seen_to_change_and_can_be_put_back(name: str) -> None:
    other = replaced(CHANGES[name])
    assert changed(other) == [name]
    restored = with_provided(STARTER.encode(), other.encode(), [name]).decode()
    assert changed(restored) == []
    exec(compile(restored, "lab.py", "exec"), {"__name__": "lab"} | _fake_module())


@given(st.sets(st.sampled_from(sorted(CHANGES)), min_size=1), st.sets(st.sampled_from(sorted(CHANGES))))
def test_several_at_once_are_put_back_and_no_others(some: set[str], wanted: set[str]) -> None:
    other = replaced(*(CHANGES[name] for name in sorted(some)))
    assert set(changed(other)) == some
    restored = with_provided(STARTER.encode(), other.encode(), sorted(wanted & some))
    assert set(changed(restored.decode())) == some - wanted


@pytest.mark.parametrize("what", HARMLESS)
def test_what_students_add_is_theirs(what: str) -> None:
    assert changed(replaced(HARMLESS[what])) == []


def test_what_moved_to_a_file_of_their_own_counts_there() -> None:
    moved = replaced(("EPS = 1e-6", "from constants import EPS"))
    assert changed(moved, "EPS = 1e-6\n") == []
    assert changed(moved, "EPS = 1e-5\n") == ["EPS"]
    assert changed(moved) == ["EPS"]


def test_what_is_only_left_out_may_not_be_needed_and_can_be_put_back() -> None:
    other = replaced(("EPS = 1e-6\n", ""), ("    scale = 2.0\n", ""), (" = 0.5", ""))
    assert changed(other) == []
    missing = missing_values(STARTER.encode(), other.encode())
    assert missing == ["EPS", "Config.rate", "Layer.scale"]
    restored = with_provided(STARTER.encode(), other.encode(), missing)
    assert missing_values(STARTER.encode(), restored) == []


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ("EPS = 1e-6; EPS = 3\n", "EPS"),
        ("EPS = 1e-6\nEPS *= 10\n", "EPS"),
        ("EPS = OTHER = 4  # both\n", "EPS"),
        ("def EPS():\n    return 3\n", "EPS"),
        ("class Base: steps = 5\n", "Base.steps"),
        ("class Base:\n    def steps(self): return 4\n", "Base.steps"),
        ("import numpy as np\nclamp = lambda x: x\nclass Layer: pass\n", "clamp"),
        ("class Layer:\n    @property\n    def x(self): pass\n", "class Layer"),
    ],
)
def test_however_it_was_changed(other: str, name: str) -> None:
    assert name in changed(other)
    restored = with_provided(STARTER.encode(), other.encode(), [name]).decode()
    assert name not in changed(restored)


@pytest.mark.parametrize(
    "statement", ["torch.set_grad_enabled(False)", "torch.tanh = torch.sigmoid", "torch.backends.flags['a'] = 1"]
)
def test_what_only_has_an_effect_elsewhere_is_found_and_can_be_taken_out(statement: str) -> None:
    name = f"what runs at import ({statement})"
    added = b"import torch\n" + statement.encode() + b"  # why\nx: int = 1\n"
    assert added_at_import(b"import torch\n", added) == [name]
    assert added_at_import(added, added) == []
    assert with_provided(b"import torch\n", added, [name]) == b"import torch\npass  # why\nx: int = 1\n"


def test_files_in_other_letters_and_encodings() -> None:
    other = f"# coding: latin-1\nÄ = 'ä'; EPS = 'ö'  # ü\r\n{replaced(('EPS = 1e-6', 'Ö = 3'))}".encode("latin-1")
    restored = with_provided(STARTER.encode(), other, ["EPS"])
    assert changed_provided(STARTER.encode(), restored) == []
    assert "Ä = 'ä'; EPS = 'ö'; EPS = 1e-06  # ü" in restored.decode("latin-1")


def _fake_module() -> dict[str, Any]:
    class Vectorized:
        vectorize = staticmethod(lambda function: function)

    sys.modules.setdefault("lab", type(sys)("lab"))
    return {"np": Vectorized}


def test_what_is_unusable_does_not_hurt_until_it_is_used() -> None:
    source = replaced(CHANGES["EPS"]).replace("raise NotImplementedError", "return x * gain if x else self.eps")
    names = ["EPS", "Config.rate", "Layer.forward(gain)", "Layer.scale", "Base.run"]
    scope: dict[str, Any] = {"__name__": "lab"} | _fake_module()
    exec(compile(without_parts(source.encode(), names), "lab.py", "exec"), scope)
    layer = scope["Layer"](3)
    assert layer.forward(2, gain=4) == 8
    assert scope["Config"](3, rate=4).rate == 4
    for use in (lambda: layer.forward(2), layer.run, lambda: layer.scale + 1, lambda: bool(layer.forward(0))):
        with pytest.raises((ZeroDivisionError, RuntimeError)):
            use()


@given(
    st.sampled_from(["x + 1", "1 + x", "x > 2", "-x", "x[0]", "x()", "len(x)", "float(x)", "f'{x}'", "x.real", "not x"])
)
def test_every_use_of_it_fails(use: str) -> None:
    with pytest.raises((ZeroDivisionError, TypeError)):
        eval(use, {"x": eval(UNUSABLE)})
