"""An interpreter that imports only from named folders: no `.pth` files, no `PYTHONPATH`, no `sitecustomize`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

_START_CODE = """
import json, runpy, site, sys
site.addpackage = site.execsitecustomize = site.execusercustomize = lambda *_: None
site.ENABLE_USER_SITE = False
site.main()
folders, packages, absent, module = json.loads(sys.argv.pop(1))
sys.path += [folder for folder in folders if folder not in sys.path]
from goldsmith.sandbox import interpreter
interpreter.limit_imports(folders, packages, absent)
del folders, packages, absent
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def command(module: str, folders: Sequence[str], packages: Mapping[str, str], absent: Sequence[str]) -> list[str]:
    """Return the command that runs `module` with imports from `folders`, and `packages` by name from elsewhere; modules
    that are `absent` cannot be imported although they are in those folders."""
    facts = json.dumps([list(folders), dict(packages), list(absent), module])
    return [sys.executable, "-P", "-S", "-c", _START_CODE, facts]


def limit_imports(folders: Sequence[str], packages: Mapping[str, str], absent: Sequence[str]) -> None:
    """Make imports find `packages` at their own places, and report `absent` modules in `folders` as not found: an
    unreadable file would raise a permission error instead."""
    sys.meta_path.insert(0, _Limited(folders, packages, absent))


class _Limited(importlib.abc.MetaPathFinder):
    def __init__(self, folders: Sequence[str], packages: Mapping[str, str], absent: Sequence[str]) -> None:
        self._folders, self._packages, self._absent = tuple(folders), dict(packages), frozenset(absent)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        place = self._packages.get(fullname)
        if place is None:
            others = [entry for entry in sys.path if entry not in self._folders]
            finder = importlib.machinery.PathFinder
            if fullname in self._absent and finder.find_spec(fullname, others) is None:
                raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
            return None
        if os.path.isfile(place):
            return importlib.util.spec_from_file_location(fullname, place)
        init = os.path.join(place, "__init__.py")
        if os.path.isfile(init):
            return importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=[place])
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec
