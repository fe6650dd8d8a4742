"""An interpreter that imports from named folders only: no `.pth` file, no `PYTHONPATH`, no customisation of a site."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

_START = """
import json, runpy, site, sys
site.addpackage = site.execsitecustomize = site.execusercustomize = lambda *_: None
site.ENABLE_USER_SITE = False
site.main()
folders, packages, module = json.loads(sys.argv.pop(1))
sys.path += [folder for folder in folders if folder not in sys.path]
from goldsmith.sandbox import interpreter
interpreter.add_packages(packages)
del folders, packages
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def command(module: str, folders: Sequence[str], packages: Mapping[str, str]) -> list[str]:
    """What runs `module` with `folders` to import from, and `packages` by name at places of their own."""
    facts = json.dumps([list(folders), dict(packages), module])
    return [sys.executable, "-P", "-S", "-c", _START, facts]


def add_packages(places: Mapping[str, str]) -> None:
    """Make single packages importable from folders that are otherwise not looked into."""
    if places:
        sys.meta_path.append(_Placed(places))


class _Placed(importlib.abc.MetaPathFinder):
    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(places)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        place = self._places.get(fullname)
        if place is None:
            return None
        if os.path.isfile(place):
            return importlib.util.spec_from_file_location(fullname, place)
        init = os.path.join(place, "__init__.py")
        if os.path.isfile(init):
            return importlib.util.spec_from_file_location(fullname, init, submodule_search_locations=[place])
        spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec
