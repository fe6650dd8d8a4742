"""Why parts that machines have brought back cannot be merged."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError

_FEW = 8


class PartUnreadable(GoldsmithError):
    template = "{part} cannot be merged: {problem}; run its share again, then merge all."
    part: str
    problem: str


class ForeignPart(GoldsmithError):
    """A part was made with something else than most: `shown` are that and what another was made with, where both are
    short."""

    part: str
    other: str
    what: str
    shown: Sequence[object] = ()

    def sentence(self) -> str:
        pair = ", there ".join(map(str, self.shown))
        told = f" ({pair})" if pair else ""
        return (
            f"{self.part} does not belong with {self.other}: it was made with {self.what}{told}; run its share again "
            "with the same."
        )


class SharedTwice(GoldsmithError):
    template = "{part} and {other} are both share {share}; name one of them."
    part: str
    other: str
    share: str


class SharesMissing(GoldsmithError):
    shares: Sequence[str]

    def sentence(self) -> str:
        more = f" and {len(self.shares) - _FEW} more" if len(self.shares) > _FEW else ""
        is_one = len(self.shares) == 1
        return (
            f"{'share' if is_one else 'shares'} {', '.join(self.shares[:_FEW])}{more} {'is' if is_one else 'are'} "
            "missing; run what is missing, then merge the folders of all."
        )
