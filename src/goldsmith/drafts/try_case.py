"""Find out whether a drafted case works: run it as a recipe's case, and judge it as gold."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldsmith.drafts.other_solutions import ENOUGH, OtherSolutions
from goldsmith.drafts.random_draws import watch_draws
from goldsmith.drafts.recipe_text import Block, DraftCase
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.framework import active, conditions
from goldsmith.gold.advice import advise
from goldsmith.gold.arrays import is_array, judged_leaves, leaf_facts, numbers_of
from goldsmith.gold.checks import Evidence, verify
from goldsmith.gold.facts import CaseFacts, LeafFacts
from goldsmith.gold.files import read_payload
from goldsmith.gold.manifest import FileEntry
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.process.messages import Job, KeptCase
from goldsmith.recipe import decorators as registry
from goldsmith.worker.record_session import Session

_TRIAL_TIMEOUT_S, _OTHERS_TIMEOUT_S = 20.0, 12.0
_NOISE, _MOST_NOISE = 1e-4, 4e-3
"""How far one draw of rounding noise may move most elements of a record, and any element, relative to its size:
tolerances, made from many draws, are several times as large."""
_RANDOM = "it depends on random numbers that are drawn inside, which other solutions draw in other ways"
_ABOUT_ALL = ("identity-weights", "no-gradients", "initial-weights")
_SQUARE = "coinciding-sizes"


class Prover:
    """A runner of drafted cases in this process; `head` returns the imports that a case needs."""

    def __init__(
        self, job: Job, own_code: OwnCode | None, head: Callable[[DraftCase], str], others: OtherSolutions | None = None
    ) -> None:
        self._scratch, self._course, self._seed = Path(job.scratch), Path(job.folder), job.seed
        self._own_code, self._head, self._others = own_code, head, others
        self.reasons: dict[str, str] = {}
        """What is against blocks of the case that was tried last, by label."""
        self.refuted = False
        """Whether a right solution disagrees with all of the case that was tried last."""
        self.recorded: set[str] = set()
        """Hashes of what the case that was proved last has recorded."""
        self.so_far: Callable[[DraftCase], None] = lambda draft: None
        """Called with the blocks of a case that work, as they are found: whoever ends this process has these."""
        self._known: set[str] = set()
        """Hashes of what cases before have recorded: one case of the same records would say nothing new."""

    @property
    def _folder(self) -> Path:
        return self._scratch / f"drafts-{os.getpid()}"

    def prove(self, draft: DraftCase) -> tuple[DraftCase | None, str]:
        """Return the case with the blocks that work and add something; None with a reason where none does."""
        deadline = time.process_time() + _TRIAL_TIMEOUT_S
        self.reasons, self.refuted = {}, False
        kept, reason, dropped = self._choose(draft, (), deadline)
        against: list[int] = []
        tried = wanted = 0
        while kept:  # without the blocks on which one variant disagrees, others may
            failing, tried, wanted = self._disagreeing(draft.with_blocks(kept))
            if not failing:
                break
            self.refuted = True
            self.so_far(draft.with_blocks([]))
            if set(failing) <= set(against):
                return None, f"a solution with {self._named(failing[0])} gets something else"
            against += failing
            kept, reason, more = self._choose(draft.with_blocks(kept), against, deadline)
            dropped |= more
        if not kept:
            return None, reason
        remarks = [f"Left out: {label}. {why[0].upper()}{why[1:]}." for label, why in dropped.items()]
        if tried < wanted:
            remarks.append(f"It is slow: tried on {tried} of {wanted} other right solutions.")
        elif self._others is not None and tried < ENOUGH:
            remarks.append(f"Tried on {tried} other right solutions: no more ways to write what it runs are known.")
        proved = dataclasses.replace(draft.with_blocks(kept), remarks=(*draft.remarks, *remarks))
        self.recorded = _outputs(self._run(proved, "kept"))
        self._known |= self.recorded
        return proved, ""

    def _choose(
        self, draft: DraftCase, others: Sequence[int], deadline: float
    ) -> tuple[list[Block], str, dict[str, str]]:
        """Return the blocks that work and on which other solutions agree; why there is none; and what is against those
        that are of no use because of another solution, or for which there was no time."""
        kept: list[Block] = []
        squares = True  # only if the first block needs equal sizes may others have them
        reason, dropped = "nothing of it could be recorded", {}
        for block in draft.blocks:
            labels = {item.label for item in kept}
            if block.label in labels or block.unless in labels or (block.needs and block.needs not in labels):
                continue  # another of its kind is kept already, or the one it needs is not
            if time.process_time() > deadline:
                late = f"there was no time to try it: a case has {_TRIAL_TIMEOUT_S:g} seconds"
                reason = reason if kept or self.reasons else late
                dropped[block.label] = late
                continue
            tried = draft.with_blocks([*kept, block])
            problem = self.problem(tried, squares=squares)
            if not problem and others:
                problem = self._disagreement(tried, others)
                if problem:
                    dropped[block.label] = problem
            if problem:
                self.reasons.setdefault(block.label, problem)
            if not problem:
                squares = squares if kept else self.has_coinciding_sizes(draft.with_blocks([block]))
                kept.append(block)
                self.so_far(draft.with_blocks(kept))
            elif not kept:
                reason = problem
        return kept, reason, dropped

    def problem(self, draft: DraftCase, *, squares: bool = False) -> str:
        """Return why this case would not make good gold; "" where it would. With `squares`, sizes may coincide."""
        shutil.rmtree(self._folder, ignore_errors=True)
        try:
            first = self._run(draft, "first")
            with conditions(marked_memory=True):
                second = self._run(draft, "second")
        except (Exception, SystemExit) as error:
            return str(error) if isinstance(error, RecipeMisuse) else in_words(error)
        file = self._folder / "first" / first.file.name
        entry = FileEntry(file.name, file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
        same = first.file.sha256 == second.file.sha256 and self._trace(first, "first") == self._trace(second, "second")
        moved = {} if same else {first.name: "two runs do not give the same"}
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
        found += self._changed_by_replay(draft, first) if not found else []
        found += self._noisy(draft) if not found else []
        return found[0] if found else ""

    def _trace(self, facts: CaseFacts, name: str) -> bytes:
        return (self._folder / name / facts.trace).read_bytes() if facts.trace else b""

    def _changed_by_replay(self, draft: DraftCase, first: CaseFacts) -> list[str]:
        """Return why the solution does not agree with its own record; other random numbers must not matter, unless
        statistics of them are what is recorded."""
        seed = _seed_of(first, self._seed)
        with watch_draws(self._course) as draws:
            changed = self._is_replayed(draft, first, seed)
        if draws.found and not changed and seed != self._seed and not any(block.may_draw for block in draft.blocks):
            return [_RANDOM]
        if not changed:
            return []
        if seed == self._seed or self._is_replayed(draft, first, self._seed):
            return ["replayed on what it was given, it gives something else: it changes its arguments, or keeps state"]
        return [_RANDOM]

    def _is_replayed(self, draft: DraftCase, first: CaseFacts, seed: int) -> str:
        """Replay a case on its own record; return what differs, "" where nothing does."""
        file = self._folder / "first" / first.file.name
        kept = {first.name: KeptCase.of(first, file)}
        try:
            self._run(draft, "again", seed=seed, kept=kept)
        except (Exception, SystemExit) as error:
            return in_words(error)
        mine, theirs = (
            judged_leaves(read_payload(self._folder / name / first.file.name)) for name in ("first", "again")
        )
        if list(mine) != list(theirs):
            return "it records other things then"
        other = [path for path in mine if not _is_number(mine[path]) and mine[path] != theirs[path]]
        return next(iter([*other, *_far(mine, theirs)]), "")

    def _disagreeing(self, draft: DraftCase) -> tuple[list[int], int, int]:
        """Return the variants of the solution that do not agree with a case, one of each kind of disagreement, how
        many were tried before the time was up, and how many there are."""
        found: dict[str, int] = {}
        if self._others is None:
            return [], 0, 0
        first = self._run(draft, "first")
        deadline = time.process_time() + _OTHERS_TIMEOUT_S
        wanted = self._others.differing_in(first.runs)
        for tried, number in enumerate(wanted):
            if time.process_time() > deadline:
                return list(found.values()), tried, len(wanted)
            with self._others.in_place(number):
                problem = self._is_replayed(draft, first, _seed_of(first, self._seed))
            if problem and self._others.works(number):
                found.setdefault(problem, number)
        return list(found.values()), len(wanted), len(wanted)

    def _named(self, number: int) -> str:
        assert self._others is not None
        return self._others.names[number]

    def _disagreement(self, draft: DraftCase, others: Sequence[int]) -> str:
        """Return how one of these variants differs from the solution in a case."""
        first = self._run(draft, "first")
        for number in others:
            assert self._others is not None
            with self._others.in_place(number):
                problem = self._is_replayed(draft, first, _seed_of(first, self._seed))
            if problem:
                return f"a solution with {self._named(number)} gets something else ({problem})"
        return ""

    def _noisy(self, draft: DraftCase) -> list[str]:
        """Return problems of records that depend on rounding alone: sines of large numbers, long training."""
        if not any(item.numerics.disturbs_operations for item in active()):
            return []
        try:
            with conditions(noise=self._seed):
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

    def _run(
        self, draft: DraftCase, name: str, *, seed: int | None = None, kept: Mapping[str, KeptCase] | None = None
    ) -> CaseFacts:
        before = list(registry.registered)
        registry.registered.clear()
        try:
            scope: dict[str, object] = {"__name__": "draft"}
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(f"{self._head(draft)}\n{draft.text(draft.names)}\n", "<draft>", "exec"), scope)
                session = Session(
                    self._folder / name,
                    seed=self._seed if seed is None else seed,
                    kept=kept,
                    own_code=None if kept else self._own_code,
                )
                session.run(list(registry.registered))
        finally:
            registry.registered[:] = before
        return session.facts[0]


def _seed_of(first: CaseFacts, seed: int) -> int:
    """Return the seed for a replay: another one, unless statistics of random draws are recorded."""
    return seed if any(pin.draws for pin in first.pinned.values()) else seed + 1


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
