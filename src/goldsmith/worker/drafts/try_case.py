"""Find out whether a drafted case works: run it as a recipe's case, and judge it as gold."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.gold.arrays import is_array, judged_leaves, leaf_facts, numbers_of
from goldsmith.gold.checks import Evidence, verify
from goldsmith.gold.facts import CaseFacts, LeafFacts
from goldsmith.gold.files import read_payload
from goldsmith.gold.hints import advise
from goldsmith.gold.manifest import FileEntry
from goldsmith.instruments.rounding_noise import rounding_noise
from goldsmith.recipe import decorators as registry
from goldsmith.worker.drafts.recipe_text import Block, DraftCase
from goldsmith.worker.failure_reasons import in_words
from goldsmith.worker.record_session import Session

_TRIAL_TIMEOUT_S = 25.0
_NOISE, _MOST_NOISE = 1e-4, 4e-3
"""How far one draw of rounding noise may move most elements of a record, and any element, relative to its size:
tolerances, made from many draws, are several times as large."""
_ABOUT_ALL = ("identity-weights", "no-gradients")
_SQUARE = "coinciding-sizes"


class Prover:
    """A runner of drafted cases in this process; `head` returns the imports that a case needs."""

    def __init__(self, scratch: Path, seed: int, head: Callable[[DraftCase], str]) -> None:
        self._folder, self._seed, self._head = scratch / "drafts", seed, head
        self._known: set[str] = set()
        """Hashes of what cases before have recorded: one case of the same records would say nothing new."""

    def prove(self, draft: DraftCase) -> tuple[DraftCase | None, str]:
        """Return the case with the blocks that work and add something; None with a reason where none does."""
        kept: list[Block] = []
        squares = True  # only if the first block needs equal sizes may others have them
        reason = "nothing of it could be recorded"
        deadline = time.monotonic() + _TRIAL_TIMEOUT_S
        for block in draft.blocks:
            labels = {item.label for item in kept}
            if block.label in labels or block.unless in labels or (block.needs and block.needs not in labels):
                continue  # another of its kind is kept already, or the one it needs is not
            problem = self.problem(draft.with_blocks([*kept, block]), squares=squares)
            if not problem:
                squares = squares if kept else self.has_coinciding_sizes(draft.with_blocks([block]))
                kept.append(block)
            elif not kept:
                reason = problem
            if time.monotonic() > deadline:
                break
        if not kept:
            return None, reason
        proved = draft.with_blocks(kept)
        self._known |= _outputs(self._run(proved, "kept"))
        return proved, ""

    def problem(self, draft: DraftCase, *, squares: bool = False) -> str:
        """Return why this case would not make good gold; "" where it would. With `squares`, sizes may coincide."""
        shutil.rmtree(self._folder, ignore_errors=True)
        try:
            first, second = self._run(draft, "first"), self._run(draft, "second")
        except (Exception, SystemExit) as error:
            return str(error) if isinstance(error, RecipeMisuse) else in_words(error)
        file = self._folder / "first" / first.file.name
        entry = FileEntry(file.name, file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
        moved = {} if first.file.sha256 == second.file.sha256 else {first.name: "two runs do not give the same"}
        evidence = Evidence(
            mode="cases", seed=self._seed, cases=[first], files={entry.name: entry}, disagreements=moved
        )
        found = [problem for check in verify(evidence) for problem in check.problems]
        ignored = (*_ABOUT_ALL, _SQUARE) if squares else _ABOUT_ALL
        found += [item.text for item in advise([first]) if not item.name.startswith(ignored)]
        found += [note for note in first.notes if "random" in note or "keeps" in note]
        found += _as_before(first)
        found += [f"{one} and {two} are the same" for one, two in _twins(first)]
        if _outputs(first) and _outputs(first) <= self._known:
            found.append("it records what another case records already")
        found += self._noisy(draft) if not found else []
        return found[0] if found else ""

    def _noisy(self, draft: DraftCase) -> list[str]:
        """Return problems of records that depend on rounding alone: sines of large numbers, long training."""
        torch = sys.modules.get("torch")
        if torch is None:
            return []
        try:
            with rounding_noise(torch, self._seed):
                noisy = self._run(draft, "noisy")
        except Exception:  # code that cannot run with noise is not judged by it
            return []
        mine, theirs = (
            judged_leaves(read_payload(self._folder / name / noisy.file.name)) for name in ("first", "noisy")
        )
        return [f"{path} varies so much with rounding that little can be judged by it" for path in _far(mine, theirs)]

    def has_coinciding_sizes(self, draft: DraftCase) -> bool:
        """Say whether an input has two axes of the same length."""
        try:
            facts = self._run(draft, "sizes")
        except (Exception, SystemExit):
            return True
        return any(item.name.startswith(_SQUARE) for item in advise([facts]))

    def _run(self, draft: DraftCase, name: str) -> CaseFacts:
        before = list(registry.registered)
        registry.registered.clear()
        try:
            scope: dict[str, object] = {"__name__": "draft"}
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(f"{self._head(draft)}\n{draft.text(draft.names)}\n", "<draft>", "exec"), scope)
                session = Session(self._folder / name, seed=self._seed)
                session.run(list(registry.registered))
        finally:
            registry.registered[:] = before
        return session.facts[0]


def _far(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """Yield records that rounding moves too far; those that are not floats, if it moves them at all."""
    import numpy as np

    both = {path: leaf for path, leaf in mine.items() if _is_number(leaf) and _is_number(theirs.get(path))}
    numbers = {path: numbers_of(leaf) for path, leaf in both.items()}
    sizes = {path: float(np.sqrt(np.mean(item**2))) if item.size else 0.0 for path, item in numbers.items()}
    largest = max(sizes.values(), default=0.0)
    for path, one in numbers.items():
        two = numbers_of(theirs[path])
        if one.shape != two.shape:
            yield path
            continue
        gap = np.abs(one - two)
        if not leaf_facts(path, both[path]).is_inexact:
            far = bool(gap.any())
        else:
            far = np.mean(gap > _NOISE * sizes[path]) > 0.3 or gap.max(initial=0.0) > _MOST_NOISE * sizes[path]
        if far and sizes[path] > 1e-4 * largest:
            yield path


def _is_number(leaf: Any) -> bool:
    return is_array(leaf) or type(leaf) in (int, float)


def _as_before(facts: CaseFacts) -> list[str]:
    """Return problems of records that are only the weights as they were before anything ran."""
    before = {leaf.path.partition(".")[2]: leaf.sha256 for leaf in facts.file.leaves if leaf.section == "state_dict"}
    groups: dict[str, list[bool]] = {}
    for leaf in facts.file.leaves:
        if leaf.section == "output" and leaf.elements:
            record = leaf.path if len(facts.outputs) == 1 else ".".join(leaf.path.split(".")[:2])
            same = any(leaf.path.endswith(f".{name}") and leaf.sha256 == known for name, known in before.items())
            groups.setdefault(record if len(facts.outputs) > 1 else "output", []).append(same)
    return [f"{name} is what its weights were before" for name, same in groups.items() if all(same)]


def _outputs(facts: CaseFacts) -> set[str]:
    return {leaf.sha256 for leaf in facts.file.leaves if leaf.section == "output" and leaf.elements > 1}


def _twins(facts: CaseFacts) -> list[tuple[str, str]]:
    """Return pairs of records that are the same; single numbers may be."""
    records: dict[str, list[LeafFacts]] = {}
    for leaf in facts.file.leaves:
        if leaf.section == "output":
            records.setdefault(leaf.path.split(".")[min(1, len(facts.outputs) - 1)], []).append(leaf)
    seen: dict[tuple[str, ...], str] = {}
    found = []
    for name, leaves in records.items():
        content = tuple(leaf.sha256 or repr(leaf.value) for leaf in leaves)
        if len(content) > 1 or any(leaf.elements > 1 or leaf.is_text for leaf in leaves):
            if content in seen:
                found.append((seen[content], name))
            seen.setdefault(content, name)
    return found
