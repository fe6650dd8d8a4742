"""The face of a course's own mutation operators: mistakes that `goldsmith rigor` imitates beside the built-in ones.

    import ast

    from goldsmith.mutation import operator


    @operator("gripper-open", "the gripper's sign is the other way round", "robots", ast.Call)
    def gripper_open(site):
        if site.text(site.node.func) == "close_gripper":
            yield site.replace(site.node.func, "open_gripper")

Such a file is named in `goldsmith.toml`: `[rigor]`, `operators = "private/operators.py"`.
`goldsmith help rigor` tells more.
"""

from goldsmith.mutants.registry import Site, operator
from goldsmith.mutants.source import Edit

__all__ = ["Edit", "Site", "operator"]
