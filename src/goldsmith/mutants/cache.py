"""A cache of findings, keyed by the content of everything they depend on.

A mutant that a case has killed stays killed while that case, its gold and the solution are unchanged: a case that is
added to the recipe costs only a second run of the survivors.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.foundation.content_cache import ContentCache
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.generate.cache_key import content_key, verdict_inputs
from goldsmith.gold.load import Gold
from goldsmith.gold.manifest import CaseEntry
from goldsmith.gold.rulers import ruler_for
from goldsmith.mutants.mutants import Mutant
from goldsmith.mutants.results import COULD_NOT_RUN, Baselines, Finding
from goldsmith.runs.setting import PLAIN_SETTING, Setting
from goldsmith.source_code.points import without_points
from goldsmith.targets.target import Target
from goldsmith.workspace.snapshot import file_hash

METHOD = 10
"""Version of the method; increased whenever a mutant may be judged differently than before."""
_MAX_AGE_S = 30 * 24 * 3600.0
_FOLDER = "rigor"


class _Kept(msgspec.Struct, frozen=True):
    """A cached finding, with the keys of the `case` that caught it, of all `cases`, and of the internal `tests`."""

    finding: Finding
    case: str
    cases: str
    tests: str = ""


@dataclass
class FindingCache:
    """The cached findings of one assignment. `base` covers what every finding depends on, `cases` each case."""

    folder: Path
    base: str
    cases: Mapping[str, str]
    tests: str = ""

    @functools.cached_property
    def _cache(self) -> ContentCache[_Kept]:
        return ContentCache(self.folder, ".json", msgspec.json.encode, msgspec.json.Decoder(_Kept).decode)

    @property
    def _all(self) -> str:
        return content_key(sorted(self.cases.items()))

    def get(self, mutant: Mutant) -> Finding | None:
        """Return a finding that still holds; its internal tests' part only while those are unchanged."""
        kept = self._cache.get(self._key(mutant))
        if kept is None:
            return None
        found = kept.finding
        holds = self.cases.get(found.case) == kept.case if found.caught else self._all == kept.cases
        if not holds or found.name != mutant.name:
            return None
        beside = Baselines(
            tests=found.beside.tests if kept.tests == self.tests else None,
            plain=found.beside.plain if kept.cases == self._all else None,
        )
        return msgspec.structs.replace(found, beside=beside)

    def put(self, mutant: Mutant, found: Finding) -> None:
        """Cache a finding, unless the mutant could not be run."""
        if found.outcome != COULD_NOT_RUN:
            kept = _Kept(found, self.cases.get(found.case, ""), self._all, self.tests)
            self._cache.put(self._key(mutant), kept)

    def evict(self) -> None:
        """Remove findings that no run has asked for in a month; leave any other file there alone."""
        self._cache.evict(_MAX_AGE_S, _is_finding)

    def _key(self, mutant: Mutant) -> str:
        return content_key([self.base, mutant.file.as_posix(), mutant.digest, mutant.operator])


class _AnyFinding(msgspec.Struct):
    """The fields that a cached finding of any version has."""

    finding: msgspec.Raw
    cases: str


def _is_finding(content: bytes) -> bool:
    """Say whether this content can only have come from `FindingCache.put`."""
    try:
        msgspec.json.decode(content, type=_AnyFinding)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def finding_cache(target: Target, gold: Gold, setting: Setting = PLAIN_SETTING) -> FindingCache:
    """Make the cache of an assignment in a setting, with keys for everything that a finding depends on."""
    manifest = gold.manifest
    files = {item.name: item.sha256 for item in manifest.files}
    recipe = without_points(target.recipe.read_bytes())
    ruler = [] if setting.is_plain else [setting, ruler_for(manifest.rulers, setting)]
    base = content_key([METHOD, verdict_inputs(target, manifest), *ruler])
    cases = {
        name: content_key(
            [
                recipe_of(recipe, name, gold),
                [(entry, files.get(entry.file), files.get(entry.reference or "")) for entry in _entries(gold, name)],
            ]
        )
        for name in gold
    }
    return FindingCache(target.project.state_folder / _FOLDER / target.name, base, cases, _tests_key(target))


def _tests_key(target: Target) -> str:
    """Hash the code of all internal tests and of each conftest.py that pytest reads with them."""
    assert target.files is not None
    root, folder = target.project.root, target.files.internal_tests
    files = {*folder.rglob("*.py"), *(parent / "conftest.py" for parent in folder.relative_to(root).parents)}
    paths = sorted(root / file for file in files)
    return content_key(
        [(target.project.relative(path).as_posix(), file_hash(path)) for path in paths if path.is_file()]
    )


def _entries(gold: Gold, name: str) -> list[CaseEntry]:
    case = gold[name]
    return [case.entry, *(item.entry for item in case.variants.values())]


def recipe_of(source: bytes, case: str, others: Iterable[str]) -> str:
    """Return a recipe without the functions of its other cases: the part that one case depends on."""
    lines = source.decode("utf-8", "replace").splitlines()
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError):
        return "\n".join(lines)
    unwanted = set(others) - {case}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in unwanted and node.decorator_list:
            first = min(node.lineno, *(item.lineno for item in node.decorator_list))
            lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    return "\n".join(line for line in lines if line.strip())


prepare_types(_Kept, _AnyFinding)
