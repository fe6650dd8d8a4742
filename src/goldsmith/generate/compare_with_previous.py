"""Confirmation of existing gold by a new run, case by case: to the bit, or within noise.

If sources have changed, or a tensor moved further than measured noise, float64 decides: it shows no noise.
"""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.generate.options import Options
from goldsmith.generate.previous_gold import PreviousGold
from goldsmith.generate.recording import Recording
from goldsmith.generate.replay_once import replay_in_float64
from goldsmith.gold.drift import Movement, judge_float64
from goldsmith.gold.facts import CaseFacts
from goldsmith.process.launcher import Watcher
from goldsmith.targets.target import Target


def confirm(
    target: Target,
    options: Options,
    previous: PreviousGold,
    recordings: Sequence[Recording],
    *,
    same_sources: bool,
    watcher: Watcher,
) -> dict[str, Movement]:
    """Return how far each case is from the previous gold, by name; a case that is not in it is left out."""
    movements = previous.movements(recordings, same_sources=same_sources)
    for recording in recordings:
        doubtful = [
            case
            for case in recording.cases
            if case.name in movements
            and movements[case.name].outcome != "moved"
            and (movements[case.name].needs_float64 or not same_sources)
        ]
        kept = recording.kept_cases([case for case in doubtful if _has_reference(previous, case)])
        found = replay_in_float64(target, recording.placed, options, kept, watcher)
        for case in doubtful:
            entry = previous.entry(case.name)
            assert entry is not None
            movements[case.name] = judge_float64(
                movements[case.name], entry, previous.folder, found.get(case.definition, {})
            )
    return movements


def _has_reference(previous: PreviousGold, case: CaseFacts) -> bool:
    entry = previous.entry(case.name)
    return entry is not None and entry.reference is not None
