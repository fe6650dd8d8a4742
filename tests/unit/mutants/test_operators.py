"""Mutation operators: what each makes of a line, and what every mutant of any file has in common."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from corpora.operator_examples import AROUND, EXAMPLES, NUMPY, TORCH
from goldsmith import mutation
from goldsmith.mutants import operators
from goldsmith.mutants.mutants import Mutant, mutants_of
from goldsmith.mutants.registry import REGISTERED, Operator, operator

BUILT_IN = [item for item in REGISTERED.values() if item.mutate.__module__.startswith(operators.__name__)]
SOLUTIONS = sorted((Path(__file__).parents[3] / "examples/vla-course/private/solutions").rglob("*.py"))
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def mutants(code: str | bytes, *chosen: Operator, starter: bytes | None = None) -> list[Mutant]:
    content = code.encode() if isinstance(code, str) else code
    return mutants_of(Path("model.py"), content, starter, chosen or BUILT_IN)


# --- each operator ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "around", "before", "after"), EXAMPLES)
def test_what_an_operator_makes_of_a_line(name: str, around: str, before: str, after: str | None) -> None:
    line = AROUND[around].index("{}")
    number = AROUND[around][:line].count("\n") + 1
    found = [
        item.after for item in mutants(AROUND[around].replace("{}", before), REGISTERED[name]) if item.line == number
    ]
    assert found == [] if after is None else after in found


def test_every_operator_has_an_example() -> None:
    shown = {name for name, _, _, after in EXAMPLES if after is not None}
    assert {item.name for item in BUILT_IN} - shown == set()


@pytest.mark.parametrize("item", BUILT_IN, ids=lambda item: item.name)
def test_names_and_descriptions_read_well(item: Operator) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", item.name)
    assert "\n" not in item.description
    assert 10 < len(item.description) <= 80
    assert item.description[0].islower()
    assert not item.description.endswith(".")
    assert item.looks_at


def test_a_name_can_be_taken_once() -> None:
    with pytest.raises(ValueError, match="mask-missing"):
        operator("mask-missing", "another one", "masks", ast.Call)(lambda site: iter(()))


def test_a_course_can_write_its_own_operator() -> None:
    @mutation.operator("test-own-operator", "open and closed are exchanged", "robots", ast.Name)
    def opened(site: mutation.Site):  # type: ignore[no-untyped-def]
        if site.node.id == "closed":
            yield site.rename("opened")

    try:
        (made,) = mutants("def f(closed):\n    return closed\n", REGISTERED["test-own-operator"])
    finally:
        del REGISTERED["test-own-operator"]
    assert (made.name, made.after) == ("f/test-own-operator", "return opened")


# --- together ---------------------------------------------------------------------------------------------------------


def test_the_most_telling_operator_owns_a_mutant() -> None:
    line = "scores = q @ k.mT / math.sqrt(head_dim)"
    owners = {item.after: item.operator for item in mutants(AROUND["attention"].replace("{}", line))}
    assert owners["scores = q @ k.mT"] == "attention-scale-missing"
    line = "x = x + self.out(x)"
    owners = {item.after: item.operator for item in mutants(AROUND["block"].replace("{}", line))}
    assert owners["x = x - self.out(x)"] == "residual-sign"
    assert owners["pass"] == "branch-dropped"


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_example_course_gets_plenty_of_mutants(path: Path) -> None:
    starter = next((path.parents[3] / "src/assignments").rglob(path.name.replace("_solution", "")))
    found = mutants(path.read_bytes(), starter=starter.read_bytes())
    assert 65 <= len(found) <= 160
    assert len({item.operator for item in found}) >= 35
    assert len({item.name for item in found}) == len(found)


NUMPY_COURSE = (
    NUMPY
    + """def softmax(z):
    z = z - z.max(axis=1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)


def fit(X, y, classes, lr=0.1, steps=100):
    n, d = X.shape
    W = np.zeros((d, classes))
    for _ in range(steps):
        p = softmax(X @ W)
        p[np.arange(n), y] -= 1
        W -= lr * X.T @ p / n
    return W


def kmeans(X, centers, rounds):
    centers = centers.copy()
    for _ in range(rounds):
        nearest = ((X[:, None] - centers[None]) ** 2).sum(axis=-1).argmin(axis=1)
        for k in range(len(centers)):
            centers[k] = X[nearest == k].mean(axis=0)
    return centers


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def covariance(X):
    centred = X - X.mean(axis=0)
    return centred.T @ centred / (len(X) - 1)
"""
)
ADAMW = (
    TORCH
    + """class AdamW(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                grad, state = p.grad, self.state[p]
                state["step"] += 1
                m = beta1 * state["m"] + (1 - beta1) * grad
                v = beta2 * state["v"] + (1 - beta2) * grad**2
                m_hat = m / (1 - beta1 ** state["step"])
                v_hat = v / (1 - beta2 ** state["step"])
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p -= group["lr"] * m_hat / (v_hat.sqrt() + group["eps"])
                state["m"], state["v"] = m, v
"""
)


def test_plain_numpy_code_gets_plenty_of_mutants() -> None:
    found = mutants(NUMPY_COURSE)
    assert len(found) >= 50
    wanted = {"axis-changed", "spread-of-other-kind", "copy-missing", "extremes-exchanged", "kept-axis-dropped"}
    assert wanted <= {item.operator for item in found}


def test_an_optimiser_written_by_hand_gets_the_mistakes_of_optimisers() -> None:
    owned = {item.operator for item in mutants(ADAMW) if item.family == "optimisers"}
    wanted = {"betas-exchanged", "bias-correction-missing", "step-counter-off", "eps-inside-root", "step-uphill"}
    assert wanted | {"weight-decay-missing", "weight-decay-coupled", "gradient-not-weighted"} <= owned


# --- any file ---------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["x", "q", "k", "mask", "noise", "größe", "self.weight", "x.shape[-1]", "group['lr']", "名"])
NUMBERS = st.sampled_from(["0", "1", "-1", "2", "0.5", "1e-6", "10000.0", "True", "None", 'float("-inf")'])
FUNCTIONS = st.sampled_from(
    [
        "torch.sqrt",
        "F.silu",
        "self.norm",
        "np.log",
        "rope",
        "x.mean",
        "(x + k).softmax",
        "range",
        "transpose",
        "masked_fill",
    ]
)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sign = st.sampled_from(["+", "-", "*", "/", "@", "**", "//", "<", "==", "and", "&"])
    word = st.sampled_from(["dim=-1", "axis=0", "keepdim=True", "reduction='mean'", "ddof=1", "unbiased=False"])
    return st.one_of(
        st.tuples(inner, sign, inner).map(lambda part: f"({part[0]} {part[1]} {part[2]})"),
        st.tuples(inner, sign, inner).map(
            lambda part: f"{part[0]}{part[1]}  {part[2]}" if part[1] != "and" else part[0]
        ),
        st.tuples(FUNCTIONS, inner).map(lambda part: f"{part[0]}({part[1]})"),
        st.tuples(FUNCTIONS, inner, word).map(lambda part: f"{part[0]}({part[1]}, {part[2]})"),
        st.tuples(inner, inner).map(lambda part: f"torch.cat([{part[0]}, {part[1]}], dim=-1)"),
        st.tuples(inner, inner).map(lambda part: f"F.cross_entropy({part[0]}[:, :-1], {part[1]}[:, 1:])"),
        st.tuples(inner, inner, inner).map(lambda part: f"({part[0]} if {part[1]} else {part[2]})"),
        st.tuples(inner, inner).map(lambda part: f"x.masked_fill({part[0]}, {part[1]})"),
        st.tuples(FUNCTIONS, inner, inner).map(lambda part: f"{part[0]}({part[1]}, {part[2]}).reshape(-1)"),
        inner.map(lambda part: f"-{part}"),
        inner.map(lambda part: f"x[{part} :, ::-1]"),
        inner.map(lambda part: f'f"{{x}} é" and {part}'),
        inner.map(lambda part: f"print('ä', {part})"),
    )


EXPRESSIONS = st.recursive(st.one_of(NAMES, NUMBERS), _joined, max_leaves=8)
STATEMENTS = st.one_of(
    EXPRESSIONS.map(lambda part: f"x = {part}"),
    EXPRESSIONS.map(lambda part: f"x += {part}"),
    EXPRESSIONS.map(lambda part: f"a, b = {part}"),
    EXPRESSIONS.map(lambda part: f"return {part}  # größer als üblich"),
    EXPRESSIONS.map(lambda part: f"text = 'ünïcode – 日本'; x = {part}"),
    EXPRESSIONS.map(lambda part: f"assert {part}"),
    EXPRESSIONS.map(lambda part: f"if {part}: x = 1"),
    st.sampled_from(
        ["optimizer.step()", "x = block(x)", "model.eval()", '"""Words."""', "for i in range(3): x = x + i"]
    ),
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A small program, indented and ended in some way."""
    indent = draw(st.sampled_from(["    ", "\t", "  "]))
    body = [f"{indent}{line}" for line in draw(st.lists(STATEMENTS, min_size=1, max_size=4))]
    lines = [
        "# Prüfung — 試験",
        "import torch, numpy as np",
        "import torch.nn.functional as F",
        "def f(self, x, k, q):",
        *body,
    ]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@QUICK
@given(files())
@example(b"def f(x):\n    x = (\n        x + 1\n    ) * 2\n    return x - \\\n        1\n")
@example("def f(größe, x):\r\n\tü = 'é'; return x - größe  # ö".encode())
@example(NUMPY_COURSE.encode())
@example(ADAMW.encode())
def test_a_mutant_of_any_file_is_python_with_one_line_changed_that_neither_speaks_nor_guards(content: bytes) -> None:
    found = mutants(content)
    lines = content.split(b"\n")
    for item in found:
        ast.parse(item.content)
        theirs = item.content.split(b"\n")
        assert len(theirs) == len(lines)
        different = [number for number, pair in enumerate(zip(lines, theirs, strict=True), 1) if pair[0] != pair[1]]
        assert different == [item.line]
        assert lines[item.line - 1].endswith(b"\r") == theirs[item.line - 1].endswith(b"\r")
        assert item.before == lines[item.line - 1].decode().strip()
        assert item.lines[0] <= item.line <= item.lines[1]
    assert len({item.content for item in found} | {content}) == len(found) + 1
    assert len({item.name for item in found}) == len(found)
    for item in found:  # what speaks or guards is left alone
        assert not item.before.startswith(("assert", '"""', "import", "#"))
        assert item.after.count(" é") == item.after.count('f"{x} é"')
