"""The operators that make a course's mutants: its own first, then the built-in ones."""

from __future__ import annotations

import runpy

from goldsmith.errors.mutants import BadOperators
from goldsmith.mutants.registry import REGISTERED, Operator
from goldsmith.targets.target import Target


def built_in_operators() -> list[Operator]:
    import goldsmith.mutants.operators  # noqa: F401  (where they are registered)

    return list(REGISTERED.values())


def operators_of(target: Target) -> list[Operator]:
    built_in = built_in_operators()
    file = target.operators
    if not file:
        return built_in
    common = dict(REGISTERED)
    try:
        runpy.run_path(str(target.project.root / file))
        own = [item for name, item in REGISTERED.items() if name not in common]
    except (Exception, SystemExit) as error:
        text = str(error).strip() or type(error).__name__
        raise BadOperators(file, f"{type(error).__name__}: {text.splitlines()[0]}") from None
    finally:
        REGISTERED.clear()
        REGISTERED.update(common)
    if not own:
        raise BadOperators(file, "it registers none; mark functions with @operator(…) from goldsmith.mutation")
    return [*own, *common.values()]
