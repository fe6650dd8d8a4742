"""The calls of a case as a curve. It never says that a call is wrong and draws it as right: where the difference begins
in a call whose output does not show it, or cannot be compared, that is what is drawn and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldsmith.html_report.view import Lane, Point, Role
from goldsmith.judge import words
from goldsmith.judge.evidence import CallEvidence
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, CaseVerdict, ModuleVerdict

_BAND = "the solution's own noise, measured for each"
_LIMIT = "what counts as the same, a fixed limit: ten times the rounding of float32 in a deep model"


@dataclass(frozen=True)
class CallRoles:
    """What the calls of a case are to its difference, in their order."""

    case: CaseVerdict
    calls: Sequence[CallEvidence]

    @property
    def roles(self) -> list[Role]:
        return [self._role(call) for call in self.calls]

    def lane(self) -> Lane | None:
        """Return the curve; None where there is no call."""
        why = {_key(item): item.why for item in self.case.modules if item.why}
        points = tuple(
            Point(
                call.label,
                call.kind,
                role,
                None if role == "hidden" else call.error,
                call.noise,
                why.get(_place(call)) or _absence(call),
                call.limit,
                self._why_hidden(call) if role == "hidden" else call.not_comparable,
            )
            for call, role in zip(self.calls, self.roles, strict=True)
        )
        if not points:
            return None
        return Lane("Calls", "in the order in which they ended", _BAND, points, _LIMIT, self._note(points))

    def _note(self, points: Sequence[Point]) -> str:
        """Say what no point shows: a part that is to blame and not called in this case, or not wrong in any output."""
        hidden = next((point for point in points if point.role == "hidden"), None)
        if hidden is not None:
            return words.ended(f"What {hidden.label} returns is right; {hidden.not_comparable}")
        blamed = [item for item in self.case.modules if item.source]
        unseen = [item for item in blamed if not any(self._is_of(call, item) for call in self.calls)]
        if unseen:
            names = words.joined(list(dict.fromkeys(item.callable.removesuffix(".forward") for item in unseen)))
            return f"The difference begins in {names}, which this chart has no call of."
        if not blamed and all(point.role == "right" for point in points):
            return "No call returns anything wrong here."
        return ""

    def _role(self, call: CallEvidence) -> Role:
        judged = [item for item in self.case.modules if self._is_of(call, item)]
        blamed = [item for item in judged if item.source]
        if blamed and not _is_right(call) and (call.theirs is not None or not any(map(self._is_seen, blamed))):
            return "source"
        if any(item.source and not self._is_seen(item) for item in judged):
            return "hidden"
        if call.theirs is None:
            return "unknown" if call.exists else "unpaired"
        if _is_right(call):
            return "right"
        if any(item.outcome == AGREES and item.alone for item in judged):
            return "victim"
        if any(item.outcome in (DIFFERS, COULD_NOT_RUN) for item in judged):
            return "holds"
        return "unknown"

    def _is_of(self, call: CallEvidence, item: ModuleVerdict) -> bool:
        """Return whether a call is one of a module or function that was judged. Of one that was found by trying, or in
        another case, only its class and method may be the same."""
        if any(_key(item) == _place(other) for other in self.calls):
            return _key(item) == _place(call)
        names = item.methods or (item.function or "forward",)
        return item.kind == call.kind and (call.function or "forward") in names

    def _is_seen(self, source: ModuleVerdict) -> bool:
        """Return whether some call of a part that is to blame is drawn as wrong."""
        calls = [call for call in self.calls if call.theirs is not None and self._is_of(call, source)]
        return any(not _is_right(call) for call in calls)

    def _why_hidden(self, call: CallEvidence) -> str:
        """Say how it is known that the difference begins in a call whose output is right."""
        source = next(item for item in self.case.modules if item.source and self._is_of(call, item))
        if source.why:
            return source.why
        right_in_own = bool(self.case.natural) and all(leaf.agrees for leaf in self.case.natural)
        if self.case.judged_in == "float64" and right_in_own:
            return "it is off by too little to show in its own dtype, and the case was judged in float64"
        if self.case.corrected:
            return words.corrected_sentence(self.case)
        leaf = self.case.first_wrong
        if leaf is not None and "grad" in leaf.path:
            return "gradients are not"
        return "it is to blame because nothing else is left"


def _is_right(call: CallEvidence) -> bool:
    return call.error is not None and call.error <= call.limit


def _key(item: ModuleVerdict) -> tuple[str, str, str, str]:
    return item.model, item.name, item.function, item.kind


def _place(call: CallEvidence) -> tuple[str, str, str, str]:
    return call.model, call.module, call.function, call.kind


def _absence(call: CallEvidence) -> str:
    return "it was not called" if call.theirs is None and call.exists else ""


def shown_first(lanes: Sequence[Lane | None]) -> tuple[Lane, ...]:
    """Return lanes with those first that show what is wrong."""
    return tuple(sorted(filter(None, lanes), key=lambda lane: not lane.shows))
