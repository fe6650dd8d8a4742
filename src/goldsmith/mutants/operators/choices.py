"""Mistakes where something is chosen by scores: another candidate, another of equal ones, another rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from goldsmith.mutants.operators.patterns import (
    called,
    is_method,
    keyword,
    number,
    settings,
    subject,
    uses_jax,
    uses_torch,
)
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

_LAST = -1
_CHOOSING = ("max", "min", "sorted", "sort", "nlargest", "nsmallest")


@operator("runner-up-chosen", "the second best is chosen, not the best", "choices", ast.Call)
def runner_up_chosen(site: Site) -> Iterator[Edit | None]:
    yield _by_sorting(site, "argmax", "", "-2:-1", "-2")
    yield _by_sorting(site, "argmin", "", "1:2", "1")


@operator("tie-broken-otherwise", "of equal candidates the last is chosen, not the first", "choices", ast.Call)
def tie_broken_otherwise(site: Site) -> Iterator[Edit | None]:
    stable = "stable=True" if uses_torch(site) or uses_jax(site) else 'kind="stable"'
    yield _by_sorting(site, "argmax", f", {stable}", "-1:", "-1")


@operator("tie-rule-dropped", "what is to decide between equal candidates is left out", "choices", ast.Call)
def tie_rule_dropped(site: Site) -> Iterator[Edit | None]:
    key = keyword(site.node, "key") if called(site.node) in _CHOOSING else None
    if key is not None and isinstance(key.value, ast.Lambda) and isinstance(key.value.body, ast.Tuple):
        items = key.value.body.elts
        if len(items) > 1:
            yield site.replace(key.value.body, site.text(items[0]))


@operator("chosen-from-second-on", "the best of several is left out, and one more is taken", "choices", ast.Attribute)
def chosen_from_second_on(site: Site) -> Iterator[Edit | None]:
    call = site.node.value
    if site.node.attr != "indices" or called(call) != "topk" or not settings(site, call):
        return
    count, *rest = (site.text(item) for item in (*settings(site, call), *call.keywords))
    more = "".join(f", {item}" for item in rest)
    if not rest or rest in (["dim=-1"], ["-1"]):
        head = site.text(call.func) + ("(" if is_method(site, call) else f"({site.text(call.args[0])}, ")
        yield site.write(site.node, f"{head}{{}} + 1{more}).indices[..., 1:]".replace("{}", count, 1))


def _by_sorting(site: Site, name: str, options: str, kept: str, index: str) -> Edit | None:
    """Choose along the last axis by sorting: of the order, what is at `index`, or `kept` with its axis."""
    node = site.node
    if called(node) != name or (inner := subject(site, node)) is None:
        return None
    axis = keyword(node, "dim", "axis")
    given = [number(item) for item in settings(site, node)] + ([number(axis.value)] if axis is not None else [])
    if given != [_LAST] or any(item.arg not in ("dim", "axis", "keepdim", "keepdims") for item in node.keywords):
        return None
    keeping = keyword(node, "keepdim", "keepdims")
    if keeping is not None and not (isinstance(keeping.value, ast.Constant) and keeping.value.value is True):
        return None
    place = kept if keeping is not None else index
    head = site.text(node.func).removesuffix(name) + "argsort"
    said = f"{axis.arg}=-1" if axis is not None else "-1"
    over = "" if is_method(site, node) else f"{site.text(inner)}, "
    return site.write(node, "{}", f"{head}({over}{said}{options})[..., {place}]")
