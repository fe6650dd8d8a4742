"""Cases for code that works on parameters and gradients: an optimiser that students write takes several steps on two
groups of parameters; a function that clips gradients gets some."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import re
from collections.abc import Sequence

from goldsmith.drafts import variations
from goldsmith.drafts.guess_arguments import Known, guess
from goldsmith.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.drafts.specs import Arguments
from goldsmith.drafts.targets import Target

_LINES = """\
first = case.input("first", lambda: [torch.randn(5, 7), torch.randn(11)])
second = case.input("second", lambda: [torch.randn(3, 13)])
shapes = ((5, 7), (11,), (3, 13))
gradients = case.input("gradients", lambda: [[torch.randn(shape) for shape in shapes] for _ in range(4)])
groups = [{{"params": [torch.nn.Parameter(item.clone()) for item in items]}} for items in (first, second)]
parameters = [item for group in groups for item in group["params"]]
optimizer = {name}(groups{settings})
for step in gradients:
    for parameter, gradient in zip(parameters, step):
        parameter.grad = gradient.clone()
    optimizer.step()
case.record("{record}", [parameter.detach() for parameter in parameters])"""


_CLIPPED = """\
values = case.input("values", lambda: [torch.randn(5, 7), torch.randn(11), torch.randn(3, 13)])
gradients = case.input("gradients", lambda: [torch.randn(5, 7), torch.randn(11), torch.randn(3, 13)])
for limit, kept in {limits}:
    parameters = [torch.nn.Parameter(value.clone()) for value in values]
    for parameter, gradient in zip(parameters[:2], gradients):
        parameter.grad = gradient.clone()
    {name}(parameters{settings})
    case.record(kept, [2 * parameter.grad for parameter in parameters[:2]])"""


def takes_parameters(target: Target) -> bool:
    """Say whether a function takes parameters to change, by the name of its first argument."""
    try:
        names = list(inspect.signature(target.object).parameters)
    except (TypeError, ValueError):
        return False
    return bool(names) and re.fullmatch(r"(model_)?(param(eter)?s|params_list)", names[0]) is not None


def draft_over_parameters(target: Target) -> list[DraftCase]:
    """Draft a case that records what a function does to gradients below and above a limit, one of which is missing."""
    parameters = list(inspect.signature(target.object).parameters.values())[1:]
    needed = [item.name for item in parameters if item.default is item.empty]
    settings = "".join(f", {name}=limit" for name in needed[:1])
    limits = '((0.7, "clipped"), (1e3, "not_clipped"))' if needed else '((0.0, "changed"),)'
    scope = Scope()
    name = scope.use(target.module, target.name)
    text = _CLIPPED.format(name=name, settings=settings, limits=limits)
    block = Block("gradients", tuple(text.split("\n")), frozenset(scope.imports))
    title = f"What {target.name} makes of gradients, one of which is missing."
    return [DraftCase(snake(target.name), title, Block("setup", ()), (block,), part=target.name)]


def draft_optimiser(target: Target, seen: list[Arguments]) -> list[DraftCase]:
    """Draft a case with settings that were observed or guessed, and one with options that are not the default."""
    parameters = list(inspect.signature(target.object).parameters)
    settings = [{key: spec for key, spec in item.items() if key not in parameters[:1]} for item in seen]
    with contextlib.suppress(Exception):
        guessed = guess(target.object, Known(library="torch"), skip=1)
        settings += [dict(item) for item in itertools.islice(guessed, 3)]
    settings = settings or [{}]
    name = snake(target.name)
    found = [_case(target, name, "Four steps on two groups of parameters.", settings)]
    others = [{**settings[0], **options} for options in variations.other_options(target.object, settings[0], skip=1)]
    if others:
        found.append(_case(target, f"{name}_options", "The same with options that are not the default.", others))
    return found


def _case(target: Target, name: str, title: str, settings: Sequence[Arguments]) -> DraftCase:
    blocks = []
    for item in settings:
        scope = Scope()
        inside = "".join(f", {key}={scope.source(spec)}" for key, spec in item.items())
        text = _LINES.format(name=scope.use(target.module, target.name), settings=inside, record="parameters")
        blocks.append(Block("parameters", tuple(text.split("\n")), frozenset(scope.imports)))
    return DraftCase(
        name, f"{target.name}: {title[0].lower()}{title[1:]}", Block("setup", ()), tuple(blocks), part=target.name
    )
