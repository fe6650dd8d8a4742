"""How many submissions change their points by other gold, as far as verdicts on them are known; nothing is run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from goldsmith.courses.grade.grader import METHOD, Grader, cached_verdicts, rubric_for
from goldsmith.courses.grade.grades import score_of
from goldsmith.courses.grade.ingredients import gold_hashes, ingredients_of
from goldsmith.courses.grade.redaction import Redaction, redact
from goldsmith.courses.grade.run_record import Entry, RunRecord, read_record
from goldsmith.courses.grade.scoring import score
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.sealed_files import NotSealed
from goldsmith.generate.cache_key import content_key
from goldsmith.generate.gold_difference import PointsChange
from goldsmith.generate.options import options_of
from goldsmith.gold.manifest import Manifest, read_manifest
from goldsmith.judge.verdicts import Verdict


def points_change(assignment: Assignment, one: Path, other: Path) -> PointsChange | None:
    """Compare the points of the class that was graded last, by the present rubric, under the golds in two folders; None
    where it was not graded, or nobody's verdicts are known for both."""
    try:
        record = read_record(assignment.course.grades_folder / assignment.name)
        if record.assignment != assignment.name:
            return None
        sides = [_Side(assignment, record, read_manifest(gold)) for gold in (one, other)]
        found = [(sides[0].points(entry), sides[1].points(entry)) for entry in record.entries]
    except (GoldsmithError, NotSealed, OSError):  # only a remark
        return None
    known = [pair for pair in found if None not in pair]
    if not known:
        return None
    return PointsChange(changed=sum(a != b for a, b in known), known=len(known), submissions=len(found))


class _Side:
    """What is known of a class under one gold: by the record of the last run, or by cached verdicts."""

    def __init__(self, assignment: Assignment, record: RunRecord, manifest: Manifest) -> None:
        self._assignment, self._record = assignment, record
        self._rubric = rubric_for(assignment, allow_stale=True)
        made = record.ingredients
        self._is_recorded = gold_hashes(manifest) == (made.values, made.tolerances)
        grader = Grader(assignment, self._rubric, options_of(resolve(assignment)), 0.0, 0.0, allow_stale=True)
        present = ingredients_of(grader, METHOD, manifest)
        self._key = msgspec.structs.replace(present, options=made.options).key
        self._cache = cached_verdicts(assignment)

    def points(self, entry: Entry) -> float | None:
        """Return what a submission earns; None where no verdict is known."""
        if not entry.is_judged or not entry.digest:
            return None
        verdict = self._verdict(entry)
        if verdict is None:
            return None
        items = score(redact(verdict, Redaction()), self._rubric)
        return score_of(items, verdict, self._assignment.config.forbid_costs)[0]

    def _verdict(self, entry: Entry) -> Verdict | None:
        recorded = self._record.judged(entry).verdict
        if self._is_recorded:
            return recorded
        found = self._cache.get(content_key([self._key, entry.digest, recorded.choices]))
        return None if found is None else found.verdict
