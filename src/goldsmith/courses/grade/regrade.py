"""The ledger of a regrade: whose points moved since an earlier run, and because of what.

Nothing is run. Of several changes each is tried alone where a verdict is known for that: an old verdict is scored by
the new rubric, and a new submission's verdict by old gold, or the other way round, may be in the cache. Where it is
not, these two are named together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise

from msgspec.structs import replace

from goldsmith.courses.grade.grader import Judged
from goldsmith.courses.grade.grades import Grade, score_of
from goldsmith.courses.grade.ingredients import Ingredients
from goldsmith.courses.grade.moves import Because, Cause, ItemMove, Ledger, Moved
from goldsmith.courses.grade.redaction import Redaction, one_line, redact
from goldsmith.courses.grade.run_record import Entry, RunRecord
from goldsmith.courses.grade.scoring import ItemResult, score, total
from goldsmith.generate.cache_key import content_key
from goldsmith.judge.verdicts import ERROR, Verdict

_SAME = 1e-9
"""Points that differ by less are the same: those of items are rounded to six digits."""
_BY_CONFIGURATION = ("items", "provided_changed", "own_dtype", "inconclusive")
"""What of a rubric is written by people; the rest follows from gold."""
_SUBMISSION, _JUDGING, _RUN, _RUBRIC = "submission", "judging", "run", "rubric"
Earned = dict[tuple[str, str], float]
"""Points by kind and name, as they are shown."""
New = frozenset[str]
"""Which of what changed is taken from the new run; all else is from the earlier one."""


@dataclass(frozen=True)
class Since:
    """The earlier run, the place where its record is as people call it, and where verdicts are cached. With
    `never_lower`, points do not fall below what they were, where as many can be earned."""

    record: RunRecord
    place: str
    cached: Callable[[str], Judged | None] = lambda key: None
    never_lower: bool = False


class Regrade:
    """What moved between an earlier run and the one that is being written; `record` is this one's."""

    def __init__(self, since: Since, record: RunRecord) -> None:
        self._since, self._now = since, record
        then = [entry for entry in since.record.entries if entry.is_judged]
        self._by_name = {entry.name: entry for entry in then}
        self._renamed = _renamed(then, record.entries)
        self._not_kept: set[str] = set()

    def with_move(self, made: Grade, entry: Entry, judged: Judged) -> Grade:
        """Return the grade with what became of its points."""
        then = self._by_name.get(entry.name) or self._renamed.get(entry.name)
        if then is None:
            return made
        if then.name != entry.name and then.digest != judged.digest:  # it has changed since it was looked at
            del self._renamed[entry.name]
            return made
        moved = self._moved(made, then, entry.name, judged)
        return made if moved is None else replace(made, score=moved.score, moved=moved)

    def ledger(self, grades: Sequence[Grade]) -> Ledger:
        """Return what is to be said of all, once everybody's grades are made."""
        then, now = self._since.record, self._now
        names = now.names
        moved = [(name, grade.moved) for name, grade in zip(names, grades, strict=True) if grade.moved]
        known = [name for name in names if name in self._by_name or name in self._renamed]
        matched = {*names, *(entry.name for entry in self._renamed.values())}
        return Ledger(
            since=self._since.place,
            changed=(*self._judging, *(("rubric",) if self._is_other_rubric else ())),
            points_were=total([item.points for item in then.rubric.items]),
            points=total([item.points for item in now.rubric.items]),
            compared=len(known),
            moved=_shown(name for name, _ in moved),
            kept=_shown(name for name, item in moved if item.kept),
            joined=_shown(name for name in names if name not in known),
            left=_shown(name for name in self._by_name if name not in matched),
            renamed=tuple(_shown((name, self._renamed[name].name)) for name in names if name in self._renamed),
            not_kept=_shown(name for name in names if name in self._not_kept),
        )

    def _moved(self, made: Grade, then: Entry, name: str, judged: Judged) -> Moved | None:
        """Return how points moved; None if they did not. Points are kept for who had them, under the same name, and
        only where as many could be earned: of another number, nobody knows what they are worth."""
        trial = _Trial(self, self._since.record.judged(then), judged)
        kept_then = then.moved if then.moved is not None and then.moved.kept else None
        if not trial.all and kept_then is None:
            return None
        before, after = trial.score(frozenset()), trial.score(trial.all)
        assert before is not None
        assert after is not None
        was, of = before.points, total([item.points for item in self._since.record.rubric.items])
        if kept_then is not None:
            was, of = kept_then.score, kept_then.of
        is_lower = was > made.score + _SAME
        kept = self._since.never_lower and is_lower and then.name == name and abs(of - made.points) < _SAME
        if self._since.never_lower and is_lower and not kept:
            self._not_kept.add(name)
        earned, because = before.earned, trial.because()
        if kept_then is not None and is_lower and not kept:
            because = (*because, Because(causes=("kept",), points=_rounded(before.points - was)))
        elif kept_then is not None:
            earned, because = _earned_before(earned, kept_then.items), _summed((*kept_then.because, *because))
        items = tuple(_item_moves(earned, after.earned))
        if abs(made.score - was) < _SAME and not items:
            return None
        return Moved(
            was=was,
            of=of,
            now=made.score,
            score=was if kept else made.score,
            kept=kept,
            items=items,
            because=because,
        )

    @cached_property
    def _judging(self) -> tuple[Cause, ...]:
        return tuple(_judging_causes(self._since.record.ingredients, self._now.ingredients))

    @cached_property
    def _is_other_rubric(self) -> bool:
        then, now = self._since.record, self._now
        return _worth(then) != _worth(now)


@dataclass(frozen=True)
class _Score:
    points: float
    items: tuple[ItemResult, ...]
    forbidden: float

    @property
    def earned(self) -> Earned:
        """Return what each line of the rubric came to, and what forbidden uses cost."""
        cost = -self.forbidden or 0.0
        return {**{(it.kind, one_line(it.name)): it.earned for it in self.items}, ("forbidden", "forbidden"): cost}


@dataclass(frozen=True)
class _Effect:
    """By how much a change moves the points, and whether it moves any item: two may cancel out."""

    points: float
    is_any: bool


class _Trial:
    """One submission then and now, and what it would earn if only some of what changed had."""

    def __init__(self, regrade: Regrade, then: Judged, now: Judged) -> None:
        self._regrade, self._then, self._now = regrade, then, now
        self._known: dict[New, _Score | None] = {}
        changed = {
            _SUBMISSION: then.digest != now.digest,
            _JUDGING: bool(regrade._judging),
            _RUBRIC: regrade._is_other_rubric,
        }
        is_same = not changed[_SUBMISSION] and not changed[_JUDGING]
        changed[_RUN] = is_same and _content(then.verdict) != _content(now.verdict)
        self.all: New = frozenset(name for name, is_other in changed.items() if is_other)

    def because(self) -> tuple[Because, ...]:
        """Return what moved the points: each change by itself or, where these do not add up or none moves anything
        alone, one after the other, the rubric last: what it is worth that a case is right follows from whether it is.
        """
        whole = self._by(self.all, frozenset())
        if whole is None or not whole.is_any:
            return ()
        if ERROR in (self._then.verdict.outcome, self._now.verdict.outcome):
            return (Because(causes=("error",), points=whole.points),)
        pieces = self._pieces()
        found = [self._by(piece, frozenset()) for piece in pieces]
        alone = [item for item in found if item and item.is_any]
        if None in found or not alone or abs(sum(item.points for item in alone) - whole.points) >= _SAME:
            states = list(accumulate(pieces, frozenset.union, initial=frozenset[str]()))
            found = [self._by(after, before) for before, after in pairwise(states)]
        told = [(piece, item) for piece, item in zip(pieces, found, strict=True) if item and item.is_any]
        return tuple(Because(causes=self._causes(piece), points=item.points) for piece, item in told)

    def _pieces(self) -> list[New]:
        """Return what changed, apart where a verdict is known for one without the other, in the order in which they can
        follow each other."""
        one, two = frozenset({_SUBMISSION}), frozenset({_JUDGING})
        pieces = [frozenset({name}) for name in (_SUBMISSION, _JUDGING, _RUN, _RUBRIC) if name in self.all]
        if not one | two <= self.all or self.score(one) is not None:
            return pieces
        return [*([one | two] if self.score(two) is None else [two, one]), *pieces[2:]]

    def score(self, new: New) -> _Score | None:
        """Return what it earns if only this is `new`; None where no verdict is known for that."""
        if new not in self._known:
            verdict = self._verdict(new - {_RUBRIC})
            self._known[new] = None if verdict is None else self._scored(verdict, new)
        return self._known[new]

    def _by(self, new: New, before: New) -> _Effect | None:
        one, two = self.score(before), self.score(new)
        if one is None or two is None:
            return None
        return _Effect(_rounded(two.points - one.points), any(_item_moves(one.earned, two.earned)))

    def _verdict(self, new: New) -> Verdict | None:
        changed = self.all - {_RUBRIC}
        if new == changed:
            return self._now.verdict
        if not new:
            return self._then.verdict
        records = (self._regrade._now, self._regrade._since.record)
        judging = records[0 if _JUDGING in new else 1].ingredients.key
        submitted = self._now if _SUBMISSION in new else self._then
        if not submitted.digest:
            return None  # it could not be opened
        found = self._regrade._since.cached(content_key([judging, submitted.digest, submitted.verdict.choices]))
        return None if found is None else found.verdict

    def _scored(self, verdict: Verdict, new: New) -> _Score:
        then, now = self._regrade._since.record, self._regrade._now
        by_gold = now.rubric if _JUDGING in new or _JUDGING not in self.all else then.rubric
        said = now if _RUBRIC in new or _RUBRIC not in self.all else then
        rubric = replace(by_gold, **{name: getattr(said.rubric, name) for name in _BY_CONFIGURATION})
        items = score(redact(verdict, Redaction()), rubric)
        points, forbidden = score_of(items, verdict, said.forbidden_costs)
        return _Score(points, items, forbidden)

    def _causes(self, piece: New) -> tuple[Cause, ...]:
        causes: dict[str, tuple[Cause, ...]] = {
            _SUBMISSION: ("submission",),
            _JUDGING: self._regrade._judging,
            _RUN: ("run",),
            _RUBRIC: ("rubric",),
        }
        return tuple(chain(*(found for name, found in causes.items() if name in piece)))


_FACTS: tuple[tuple[str, Cause], ...] = (
    ("goldsmith", "goldsmith"),
    ("recipe", "recipe"),
    ("values", "gold"),
    ("tolerances", "tolerances"),
    ("solution", "solution"),
    ("starter", "starter"),
    ("adapter", "adapter"),
    ("settings", "settings"),
    ("packages", "packages"),
    ("options", "options"),
)
_FOLLOWS_FROM: dict[Cause, set[Cause]] = {"tolerances": {"gold"}, "solution": {"gold", "tolerances"}}


def _judging_causes(then: Ingredients, now: Ingredients) -> Iterable[Cause]:
    """Name what verdicts depend on besides the submission and is another now. What follows from another is not named
    next to it: tolerances are measured again for other values, and gold is made by the solution."""
    if then.key == now.key:
        return
    is_other = {name for name in now.__struct_fields__ if getattr(then, name) != getattr(now, name)}
    named: set[Cause] = set()
    for fact, cause in _FACTS:
        if fact in is_other and not named & _FOLLOWS_FROM.get(cause, set()):
            named.add(cause)
            yield cause
    if not named:
        yield "gold"  # something that its manifest says, and no value or tolerance


def _content(verdict: Verdict) -> Verdict:
    return replace(verdict, name="", seconds=0.0)


def _worth(record: RunRecord) -> list[object]:
    return [record.forbidden_costs, *(getattr(record.rubric, name) for name in _BY_CONFIGURATION)]


def _item_moves(then: Earned, now: Earned) -> Iterable[ItemMove]:
    """Yield the items that earn something else; what is in one rubric alone earns nothing by the other."""
    for kind, name in dict.fromkeys((*now, *then)):
        was, earned = then.get((kind, name)), now.get((kind, name))
        if abs((was or 0.0) - (earned or 0.0)) >= _SAME:
            yield ItemMove(name=name, kind=kind, was=was, now=earned)


def _earned_before(last: Earned, items: Iterable[ItemMove]) -> Earned:
    """Return what everything earned in the run whose points are kept, from what it does in the last run and which
    `items` had moved by then."""
    found = {**last, **{(item.kind, item.name): item.was for item in items}}
    return {key: earned for key, earned in found.items() if earned is not None}


def _summed(because: Iterable[Because]) -> tuple[Because, ...]:
    """Name each cause once; one that was taken back is none, if there is another."""
    found: dict[tuple[Cause, ...], float] = {}
    for item in because:
        found[item.causes] = _rounded(found.get(item.causes, 0.0) + item.points)
    told = {causes: points for causes, points in found.items() if points} or found
    return tuple(Because(causes=causes, points=points) for causes, points in told.items())


def _renamed(then: Iterable[Entry], now: Iterable[Entry]) -> dict[str, Entry]:
    """Return the earlier entry of who has another name now, by that: of all that are gone and of all that joined, one
    each has these files. What several have is nobody's own."""
    then, now = list(then), list(now)
    names = {entry.name for entry in then}, {entry.name for entry in now}
    gone = _by_own_files(entry for entry in then if entry.name not in names[1])
    joined = _by_own_files(entry for entry in now if entry.name not in names[0])
    return {joined[digest].name: entry for digest, entry in gone.items() if digest in joined}


def _by_own_files(entries: Iterable[Entry]) -> dict[str, Entry]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.digest or entry.seen, []).append(entry)
    return {digest: some[0] for digest, some in found.items() if digest and len(some) == 1}


def _rounded(points: float) -> float:
    return round(points, 6)


def _shown(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(one_line, names))
