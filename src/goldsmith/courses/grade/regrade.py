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
New = frozenset[str]
"""Which of what changed is taken from the new run; all else is from the earlier one."""


@dataclass(frozen=True)
class Since:
    """The earlier run, the place where its record is as people call it, and where verdicts are cached. With
    `never_lower`, points do not fall below what they were."""

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
        gone = [entry for entry in then if entry.name not in set(record.names)]
        self._gone_by_digest = {entry.digest: entry for entry in reversed(gone) if entry.digest}
        self._renamed: dict[str, Entry] = {}

    def with_move(self, made: Grade, entry: Entry, judged: Judged) -> Grade:
        """Return the grade with what became of its points."""
        then = self._by_name.get(entry.name) or self._gone_by_digest.get(judged.digest)
        if then is None:
            return made
        if then.name != entry.name:
            self._renamed[entry.name] = then
        moved = self._moved(made, then, judged)
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
            renamed={one_line(name): one_line(self._renamed[name].name) for name in names if name in self._renamed},
        )

    def _moved(self, made: Grade, then: Entry, judged: Judged) -> Moved | None:
        """Return how points moved; None if they did not."""
        trial = _Trial(self, self._since.record.judged(then), judged)
        kept_then = then.moved if then.moved is not None and then.moved.kept else None
        if not trial.all and kept_then is None:
            return None
        before, after = trial.score(frozenset()), trial.score(trial.all)
        assert before is not None
        assert after is not None
        was = kept_then.score if kept_then is not None else before.points
        items, because = tuple(_item_moves(before, after)), trial.because()
        if abs(made.score - was) < _SAME and not items:
            return None
        kept = self._since.never_lower and min(was, made.points) > made.score + _SAME
        if kept_then is not None and kept:
            items, because = items or kept_then.items, (*kept_then.because, *because)
        elif kept_then is not None:
            because = (*because, Because(causes=("kept",), points=_rounded(before.points - was)))
        return Moved(
            was=was,
            of=total([item.points for item in self._since.record.rubric.items]),
            now=made.score,
            score=min(was, made.points) if kept else made.score,
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
        """Return what moved the points: each change by itself or, where these do not add up, one after the other, the
        rubric last: what it is worth that a case is right follows from whether it is."""
        whole = self._by(self.all, frozenset())
        if whole is None or not whole.is_any:
            return ()
        if ERROR in (self._then.verdict.outcome, self._now.verdict.outcome):
            return (Because(causes=("error",), points=whole.points),)
        pieces = self._pieces()
        found = [self._by(piece, frozenset()) for piece in pieces]
        if None in found or abs(sum(item.points for item in found if item) - whole.points) >= _SAME:
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
        return _Effect(_rounded(two.points - one.points), bool(tuple(_item_moves(one, two))))

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


def _item_moves(before: _Score, after: _Score) -> Iterable[ItemMove]:
    """Yield the items that earn something else; what is in one rubric alone earns nothing by the other."""
    then, now = ({(item.kind, item.name): item.earned for item in found.items} for found in (before, after))
    for kind, name in dict.fromkeys((*now, *then)):
        was, earned = then.get((kind, name)), now.get((kind, name))
        if abs((was or 0.0) - (earned or 0.0)) >= _SAME:
            yield ItemMove(name=one_line(name), kind=kind, was=was, now=earned)
    if before.forbidden != after.forbidden:
        yield ItemMove(name="forbidden", kind="forbidden", was=-before.forbidden, now=-after.forbidden)


def _rounded(points: float) -> float:
    return round(points, 6)


def _shown(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(one_line, names))
