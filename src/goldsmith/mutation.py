"""Write mutation operators, mistakes that `goldsmith rigor` imitates: the public names for it.

    import ast

    from goldsmith.mutation import operator


    @operator("gripper-open", "the gripper's sign is the other way round", "robots", ast.Call)
    def gripper_open(site):
        if site.text(site.node.func) == "close_gripper":
            yield site.replace(site.node.func, "open_gripper")

Such a file is named in `goldsmith.toml`: `[rigor]`, `operators = "private/operators.py"`.
`goldsmith help rigor` tells more.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.mutants.registry import REGISTERED, Site, operator
from goldsmith.mutants.source import Edit

if TYPE_CHECKING:
    from goldsmith.mutants.mutants import Mutant

__all__ = ["Edit", "Site", "mutate", "operator"]


def mutate(code: str, *operators: str) -> list[Mutant]:
    """List the mutants that operators, given by their names, make of some code: to try an operator."""
    from goldsmith.mutants.mutants import mutants_of

    return mutants_of(Path("code.py"), code.encode(), None, [REGISTERED[name] for name in operators])
