"""Name what is to blame for a case, by the evidence of all cases together: a call, or a part by elimination.

The rules, in their order, are at `Blame.attributed`. To find out why a part was blamed, look at a case's `modules` in
what `goldsmith check --json` prints. One with `source` is blamed; `inferred` says by any rule but the first, `alone`
that it was called on gold's own inputs, `why` what was found. Where parts of the solution were tried in place of
suspects, `judge/corrections.py` has decided (`corrected`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from goldsmith.gold.payload import item_name
from goldsmith.judge.coverage import PartCoverage, part_of
from goldsmith.judge.localisation import overwriting, with_extra_weights
from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    CUT_OFF,
    DIFFERS,
    OWN_WEIGHTS,
    CaseVerdict,
    ModuleVerdict,
    sources,
)

OUTPUT_NOT_FOUND = "what gold's returned is nowhere to be found"
"""The reason given for a module that has no partner, inside one that has: that one goes wrong there."""
KINDS_WITHOUT_CULPRIT = ("weights", OWN_WEIGHTS, "import", "package")
"""Kinds of failure that say nothing about the code of any one part."""


@dataclass
class Blame:
    """All verdicts of one submission; finds for each failing case what goes wrong first."""

    verdicts: Mapping[str, CaseVerdict]
    shown: PartCoverage
    pairs: Mapping[str, TracePair]
    extra: Mapping[str, Mapping[str, Sequence[str]]]

    @functools.cached_property
    def seen(self) -> dict[str, list[ModuleVerdict]]:
        """Return, by case, what was seen to go wrong by itself. A call that contains one of which nothing is known
        here, and which goes wrong in another case, is left out: that one may be the cause."""
        found = {name: [it for it in sources(case.modules) if not it.inferred] for name, case in self.verdicts.items()}
        caught = {item.callable for items in found.values() for item in items if item.outcome == DIFFERS}
        return {
            name: [item for item in items if not self._held_by(item, name) & caught] for name, items in found.items()
        }

    def _held_by(self, source: ModuleVerdict, case: str) -> set[str]:
        """Return what a source calls and is not seen to be right."""
        pair = self.pairs.get(case)
        outer = [call for call in _calls(pair) if call.name == source.callable]
        right = {item.callable for item in self.verdicts[case].modules if item.outcome == AGREES}
        return {call.name for call in _calls(pair) if any(item.encloses(call) for item in outer)} - right

    def attributed(self, verdict: CaseVerdict) -> CaseVerdict:
        """Name what is to blame for a case, by the first of these that names anything:

        1. what was seen to go wrong here, on right inputs: nobody argues with that;
        2. what was seen to go wrong in another case, and runs in this one: the same code;
        3. a clue: a call that overwrites its input, or has weights that gold lacks. It is harmless by itself, so it
           counts only where nothing was seen, and before anybody is inferred;
        4. who calls a part in another way than gold, if a case of the part's own shows the part to be right;
        5. what the trace makes likely, if no case of its own clears it;
        6. whoever is left, beginning with what the recipe itself calls: somebody is wrong, for the case differs.

        From 4 on, a case of a part's own that agrees speaks for the part. With gold of sketches only, 5 and 6 would be
        guesses where everybody is cleared: then nobody is named.
        """
        if not is_against(verdict):
            return verdict
        seen = self.seen.get(verdict.name, [])
        source = seen[0] if seen else self._caught_elsewhere(verdict) or self._clue(verdict)
        source = source or self._caller_of_shared(verdict)
        if source is None and not self._is_partial(verdict):
            likely = [it for it in sources(verdict.modules) if it.inferred and not self._is_cleared(it.callable)]
            source = next(iter(likely), None) or self._by_elimination(verdict)
        blamed = seen or ([source] if source else [])
        modules = [
            msgspec.structs.replace(item, source=False) if item.source and item not in blamed else item
            for item in verdict.modules
        ]
        modules += [item for item in blamed if item not in modules]
        if source is None:
            return msgspec.structs.replace(verdict, modules=tuple(modules))
        inside = next((item for item in verdict.modules if item.why == OUTPUT_NOT_FOUND), source)
        return msgspec.structs.replace(
            verdict, modules=tuple(modules), first_divergence=inside.label, first_part=source.kind
        )

    def _caught_elsewhere(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        if verdict.outcome != DIFFERS:
            return None
        inside = self._inside(verdict.name, self._roots(verdict))
        others = [item for case, items in self.seen.items() if case != verdict.name for item in items]
        caught = {item.callable for item in others if item.outcome == DIFFERS} | self._alone_in_a_case(verdict.name)
        name = next((name for name in inside if name in caught), None)
        return self._infer(verdict, name) if name else None

    def _alone_in_a_case(self, but: str) -> set[str]:
        """Return functions that are all that another failing case runs: nothing else can be to blame there."""
        wrong = [name for name, case in self.verdicts.items() if case.outcome == DIFFERS and name != but]
        return {self.shown.runs[name][0] for name in wrong if len(self.shown.runs.get(name, ())) == 1}

    def _caller_of_shared(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Return the caller that passes different arguments than gold's to a function which its own case shows to be
        right."""
        calls = list(_calls(self.pairs.get(verdict.name)))
        wrong = {_place(item): item for item in verdict.modules if item.outcome != AGREES and not item.alone}
        for item in sources(verdict.modules):
            if not item.shared or not self._is_cleared(item.callable):
                continue
            inner = [call for call in calls if (call.model, call.module, call.function) == _place(item)]
            around = [call for call in calls if call.own and any(call.encloses(it) for it in inner)]
            for call in reversed(around):
                found = wrong.get((call.model, call.module, call.function))
                if found is not None:
                    return msgspec.structs.replace(found, source=True, inferred=True, shared=False)
        return None

    def _clue(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Return a call with a flaw that is harmless by itself: an input overwritten, weights that gold does not
        have."""
        pair = self.pairs.get(verdict.name)
        if pair is None or verdict.outcome != DIFFERS:
            return None
        return overwriting(pair) or with_extra_weights(pair, self.extra.get(verdict.name, {}))

    def _is_cleared(self, callable_name: str) -> bool:
        narrowest = self.shown.narrowest(callable_name)
        judged = [self.verdicts[case].outcome for case in narrowest if case in self.verdicts]
        return bool(judged) and all(outcome == AGREES for outcome in judged)

    def _by_elimination(self, verdict: CaseVerdict) -> ModuleVerdict | None:
        """Blame what the recipe called to make the first wrong record, unless something in it is less well tested. Used
        where no call was caught in this case."""
        if verdict.outcome == COULD_NOT_RUN:
            called = self.shown.roots(verdict.name)
            if verdict.kind not in CUT_OFF:
                called = tuple(name for name in called if not self._is_cleared(name)) or called
            only = called[0] if len({part_of(name) for name in called}) == 1 else ""
            raising = self._raising(verdict) or only
            return self._infer(verdict, raising) if raising else None
        roots = self._roots(verdict)
        inside = self._inside(verdict.name, roots)
        right = {item.callable for item in verdict.modules if item.outcome == AGREES}
        suspects = [name for name in inside if name not in right]
        candidates = [
            *(name for name in roots if name not in right and not self._is_cleared(name)),
            *(name for name in suspects if not self._is_cleared(name)),
            *roots[-1:],
        ]
        return self._infer(verdict, candidates[0]) if candidates else None

    def _is_partial(self, verdict: CaseVerdict) -> bool:
        """Return whether nothing can be inferred: gold has only sketches of a case's calls, so that they cannot be made
        alone, and all that the recipe calls is shown to be right, or a smaller case goes wrong without it, nobody knows
        why."""
        if verdict.outcome != DIFFERS or not is_sketched(self.pairs.get(verdict.name)):
            return False
        runs = self.shown.runs
        unexplained = [
            runs[name]
            for name, case in self.verdicts.items()
            if case.outcome == DIFFERS and not self.seen[name] and set(runs[name]) < set(runs[verdict.name])
        ]
        roots = self._roots(verdict)
        return all(self._is_cleared(name) or any(name not in other for other in unexplained) for name in roots)

    def _raising(self, verdict: CaseVerdict) -> str:
        """Return the last function of the students' in the traceback of a case that could not run, or the constructor
        of one of their classes."""
        names = {
            *self.shown.runs.get(verdict.name, ()),
            *(f"{part}.__init__" for part in self.shown.parts(verdict.name)),
        }
        frames = verdict.failure.frames if verdict.failure else ()
        return next((frame.function for frame in reversed(frames) if frame.function in names), "")

    def _roots(self, verdict: CaseVerdict) -> Sequence[str]:
        """Return what the recipe called to make the first wrong record."""
        origins = self.shown.origins.get(verdict.name, {})
        wrong = {
            item_name(leaf.path, origins)
            for leaf in (*verdict.leaves, *verdict.natural)
            if not leaf.agrees and leaf.path.partition(".")[0] == "output"
        }
        for record, made_by in origins.items():
            if record in wrong and made_by:
                return made_by
        return self.shown.runs.get(verdict.name, ())[:1]

    def _inside(self, case: str, roots: Sequence[str]) -> list[str]:
        """List what runs inside `roots`, as far as gold's trace shows; else all that runs in the case."""
        pair = self.pairs.get(case)
        runs = self.shown.runs.get(case, ())
        if pair is None or not roots:
            return list(runs)
        outer = [call for call in pair.gold if call.name in roots]
        inner = {call.name for call in pair.gold if any(item.encloses(call) for item in outer)}
        traced = {call.name for call in pair.gold}
        return [name for name in runs if name in inner or name in roots or name not in traced]

    def _infer(self, verdict: CaseVerdict, callable_name: str) -> ModuleVerdict:
        """Blame a part, at its first call in gold's trace where there is one."""
        pair = self.pairs.get(verdict.name)
        call = next((call for call in _calls(pair) if call.name == callable_name), None)
        part, _, function = callable_name.partition(".")
        return ModuleVerdict(
            case=verdict.name,
            model=call.model if call else "",
            name=call.module if call else "",
            theirs=pair.names.get(call.model, {}).get(call.module, "") if pair and call else "",
            kind=part,
            function=function or part if function != "forward" else "",
            outcome=verdict.outcome,
            source=True,
            inferred=True,
        )


def _place(module: ModuleVerdict) -> tuple[str, str, str]:
    return module.model, module.name, module.function


def is_sketched(pair: TracePair | None) -> bool:
    return any(call.own and call.is_sketched for call in _calls(pair))


def _calls(pair: TracePair | None) -> Iterator[Call]:
    return iter(pair.gold if pair else ())


def is_against(verdict: CaseVerdict) -> bool:
    return verdict.outcome == DIFFERS or (
        verdict.outcome == COULD_NOT_RUN and verdict.kind not in KINDS_WITHOUT_CULPRIT
    )
