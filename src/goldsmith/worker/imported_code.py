"""What a recipe that ran in place ran on: the modules that it imported, and the packages they are from."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from goldsmith.instruments.file_access import Reads
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.instruments.own_files import OwnFiles, is_installed
from goldsmith.process.messages import ImportedCode, Job
from goldsmith.targets.replacements import imported_modules


def implementation_of(job: Job, reads: Reads, own_code: OwnCode) -> ImportedCode:
    """Describe what the job's recipe imported until now, and what its cases called of that."""
    own_files = OwnFiles.of(job)
    files = {path for path in _module_files() if path in own_files}
    return ImportedCode(
        files=tuple(sorted(files)),
        parts=tuple(sorted(own_code.found)),
        packages=_packages(Path(job.recipe)),
        looks=reads.looks(),
    )


def _module_files() -> Iterable[str]:
    """Yield the files of all modules. Some modules name one that does not exist, as torch's `_classes.py`."""
    for module in list(sys.modules.values()):
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if isinstance(file, str) and os.path.isfile(file):
            yield os.path.abspath(file)


def _packages(recipe: Path) -> dict[str, str]:
    """Return the distributions that the recipe imports itself, where they are installed, with their versions."""
    try:
        names = {name.partition(".")[0] for name in imported_modules(recipe)}
    except (OSError, SyntaxError, ValueError):
        return {}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    installed = [name for name, file in files.items() if isinstance(file, str) and is_installed(file)]
    if not installed:
        return {}
    owners = importlib.metadata.packages_distributions()
    found = sorted({owner for name in installed for owner in owners.get(name, ())})
    return {name: importlib.metadata.version(name) for name in found}
