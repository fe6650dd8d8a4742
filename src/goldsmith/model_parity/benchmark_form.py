"""The form that public benchmarks of kernels share: a file with a `Model`, `get_inputs()` and `get_init_inputs()`, and
one with a `ModelNew`. Files are read here, and not run."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec

from goldsmith.foundation.syntax import syntax_tree

INPUTS, INIT = "get_inputs", "get_init_inputs"
MODEL, NEW_MODEL = "Model", "ModelNew"


class BenchmarkForm(msgspec.Struct, frozen=True, kw_only=True):
    """Where both models are, and the functions of the reference's file that say what they are built and called with."""

    reference: str
    candidate: str
    init_from: str = ""
    inputs_from: str = ""

    @property
    def file(self) -> str:
        return self.reference.rpartition(":")[0]

    @property
    def note(self) -> str:
        """Say what was taken from the file."""
        built = f", both are built with its {self.init_from}()" if self.init_from else ""
        return f"{self.file} is a kernel benchmark's: inputs come from its {self.inputs_from}(){built}"


def benchmark_form(
    reference: str, candidate: str, *, init_from: str, inputs_from: str, root: Path
) -> BenchmarkForm | None:
    """Return the form that two targets have, by what their files define and what was said of it; None if they have
    another."""
    known = _names_in(reference, root)
    inputs_from = inputs_from or (INPUTS if INPUTS in known else "")
    if not inputs_from:
        return None
    theirs = _names_in(candidate, root)
    return BenchmarkForm(
        reference=_with_name(reference, MODEL),
        candidate=_with_name(candidate, NEW_MODEL if NEW_MODEL in theirs else MODEL),
        init_from=init_from or (INIT if INIT in known else ""),
        inputs_from=inputs_from,
    )


def _with_name(target: str, name: str) -> str:
    return f"{target}:{name}" if target.endswith(".py") else target


def _names_in(target: str, root: Path) -> set[str]:
    """Return the functions and classes that a target's file defines; none where it is no file that can be read."""
    name = target if target.endswith(".py") else target.rpartition(":")[0]
    try:
        tree = syntax_tree((root / name).read_bytes()) if name.endswith(".py") else ast.Module([], [])
    except (OSError, SyntaxError, ValueError):
        return set()
    return {item.name for item in tree.body if isinstance(item, ast.FunctionDef | ast.ClassDef)}
