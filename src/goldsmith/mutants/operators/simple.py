"""Makers of simple operators, which rename a call or leave it out.

Each registers itself where it is written, as `@operator` does, so that precedence follows the order in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

from goldsmith.mutants.operators.patterns import called, keep, subject
from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

Condition = Callable[[Site], bool]


def always(site: Site) -> bool:
    return True


def both_ways(names: Mapping[str, str]) -> dict[str, str]:
    """Map each name to its partner, in both directions."""
    return {**names, **{new: old for old, new in names.items()}}


def rename_call(
    name: str, description: str, family: str, names: Mapping[str, str], *, where: Condition = always
) -> None:
    """Register an operator that calls another method or library function: `x.sum()` for `x.mean()`."""

    @operator(name, description, family, ast.Attribute)
    def mutate(site: Site) -> Iterator[Edit | None]:
        if site.is_called and site.node.attr in names and where(site):
            yield site.rename(names[site.node.attr])


def drop_call(name: str, description: str, family: str, function: str, *, where: Condition = always) -> None:
    """Register an operator that leaves out a statement that only calls `function`: `optimizer.step()`."""

    @operator(name, description, family, ast.Expr)
    def mutate(site: Site) -> Iterator[Edit | None]:
        if called(site.node.value) == function and where(site):
            yield site.drop(site.node)


def unwrap_call(name: str, description: str, family: str, functions: Collection[str]) -> None:
    """Register an operator that replaces a call by what it works on: `x` for `softmax(x)`."""

    @operator(name, description, family, ast.Call)
    def mutate(site: Site) -> Iterator[Edit | None]:
        if called(site.node) in functions and (inner := subject(site, site.node)) is not None:
            yield keep(site, site.node, inner)
