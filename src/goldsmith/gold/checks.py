"""The named checks that recorded files must pass before they become gold.

The checks only judge facts: nothing is loaded and nothing is run here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from goldsmith.foundation.wording import count_of
from goldsmith.gold.facts import CaseFacts, LeafFacts
from goldsmith.gold.files import CHECKPOINT_KEYS, OUTPUT_KEYS
from goldsmith.gold.manifest import CaseEntry, FileEntry
from goldsmith.gold.tolerances import UNSEEN

PASSED, WARNED, FAILED = "passed", "warned", "failed"
SIZE_WARNING = 10 * 10**6
SIZE_LIMIT = 100 * 10**6
LARGEST = 1e6
SMALLEST = 1e-12
_ALLOWABLE = ("nan", "inf", "constant", "range", "reproducible")
_SETTINGS = ("model_config", "training_config")
_NOT_OUTPUTS = (*_SETTINGS, "input", "state_dict", "model_state_dict", "seed", "epoch", "loss")


class Problem(NamedTuple):
    """What is wrong with a case, in words."""

    case: str
    text: str


class Check(msgspec.Struct, frozen=True):
    """One check: its stable name, one line on what was found, and each problem in words."""

    name: str
    """Its stable name, such as `reproducible`."""
    title: str
    """Its name for people."""
    outcome: str
    """`passed`, `warned` or `failed`."""
    detail: str
    """What was found, in one line."""
    problems: tuple[str, ...] = ()
    """Each problem in words."""
    cases: tuple[str, ...] = ()
    """The cases that have them; empty where they concern everything."""
    accepted_by: tuple[str, ...] = ()
    """The keys by which they can be accepted, of `allow` in the recipe or of `allow-drift` in the configuration."""

    @property
    def ok(self) -> bool:
        return self.outcome != FAILED


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The input of all checks: facts of the run, `files` as they are about to be published, and one sentence for each
    case in which a second run disagreed."""

    mode: str
    seed: int
    cases: Sequence[CaseFacts]
    files: Mapping[str, FileEntry]
    disagreements: Mapping[str, str]
    allow_large: bool = False


def verify(evidence: Evidence) -> list[Check]:
    found = [check(evidence) for check in _CHECKS]
    if evidence.mode == "cases":
        return found
    return [
        msgspec.structs.replace(check, accepted_by=()) for check in found
    ]  # a script has no case that could allow it


def check_tolerances(cases: Sequence[CaseEntry], unmeasured: Container[str] = ()) -> Check:
    """Say how the tolerances were measured, and what the customary ones would have done.

    Those of `unmeasured` cases are measured by a run that is not dry.
    """
    if any(case.name in unmeasured for case in cases):
        counts = [sum(item.tolerance is not None for item in case.tensors) for case in cases if case.name in unmeasured]
        return Check(
            "tolerances", "Tolerances", PASSED, f"{count_of(sum(counts), 'tensor')} would be measured, others as before"
        )
    found = [item.tolerance for case in cases for item in case.tensors if item.tolerance is not None]
    inexact = [item for item in found if item.kind != "exact"]
    customary = [item for item in inexact if item.kind == "customary"]
    noise = [item.noise for item in inexact if item.noise is not None]
    if customary:
        detail = f"{len(customary)} of {len(inexact)} {customary[0].reason}"
        return Check("tolerances", "Tolerances", WARNED, detail)
    pinned = sum(item.kind == "pinned" for item in inexact)
    parts = [f"{count_of(len(inexact) - pinned, 'tensor')} measured" if noise or not pinned else "none measured"]
    parts += [f"{pinned} pinned"] if pinned else []
    wrong = sum(item.customary > 1 for item in noise)
    blind = sum(item.customary <= 1 and item.unseen > UNSEEN for item in noise)
    if wrong or blind:
        parts.append(f"1e-4/1e-5 too tight in {wrong}, blind in {blind}")
    return Check("tolerances", "Tolerances", PASSED, "; ".join(parts))


def _loads(evidence: Evidence) -> Check:
    problems = [
        Problem(case.name, f"{case.file.name} does not load: {case.file.error}")
        for case in evidence.cases
        if case.file.error
    ]
    problems += [
        Problem(case.name, f"{case.file.name} was changed after its case had written it")
        for case in _readable(evidence)
        if case.file.sha256 != evidence.files[case.file.name].sha256
    ]
    numpy_only = all(case.file.name.endswith(".npz") for case in evidence.cases)
    title = "Loads with allow_pickle=False" if numpy_only else "Loads with weights_only=True"
    return _check("loads", title, problems, count_of(len(evidence.cases), "file"))


def _keys(evidence: Evidence) -> Check:
    problems = []
    for case in _readable(evidence):
        missing = [key for key in _wanted_keys(case, evidence.mode) if key not in case.file.keys]
        if missing:
            problems.append(Problem(case.name, f"{case.file.name} lacks {', '.join(missing)}"))
    return _check("keys", "Keys present", problems, "every file has its required keys")


def _no_nan(evidence: Evidence) -> Check:
    problems = [
        _bad_values(case, leaf, leaf.nan, "NaN")
        for case, leaf in _leaves(evidence)
        if leaf.nan and not _allows(case, leaf, "nan")
    ]
    return _check("nan", "No NaN values", problems, _count_values(evidence))


def _no_inf(evidence: Evidence) -> Check:
    """Refuse infinite results and weights; infinite inputs are fine (a mask's -inf)."""
    problems = [
        _bad_values(case, leaf, leaf.inf, "Inf")
        for case, leaf in _leaves(evidence)
        if leaf.inf and leaf.section != "input" and not _allows(case, leaf, "inf")
    ]
    return _check("inf", "No Inf values", problems, _count_values(evidence))


def _as_declared(evidence: Evidence) -> Check:
    problems = [
        Problem(case.name, f"{case.file.name}: {text}") for case in _readable(evidence) for text in _undeclared(case)
    ]
    return _check("declared", "Shapes and dtypes as declared", problems, _count_arrays(evidence))


def _undeclared(case: CaseFacts) -> Iterator[str]:
    found = {leaf.path: leaf for leaf in case.file.leaves}
    for declared in case.declared:
        leaf = found.pop(declared.path, None)
        if leaf is None:
            yield f"{declared.path} was recorded but is not in the file"
        elif (leaf.shape, leaf.dtype) != (declared.shape, declared.dtype):
            yield f"{declared.path} was recorded as {_type(declared)}, the file has {_type(leaf)}"
        elif leaf.sha256 != declared.sha256:
            yield f"{declared.path} reads back with other values than recorded"
    if case.declared and found:
        yield f"{', '.join(found)} was never recorded"


def _not_constant(evidence: Evidence) -> Check:
    """Refuse records in which nothing varies; one constant gradient among many is fine."""
    problems = []
    for case in _readable(evidence):
        for name, leaves in _recorded(case, evidence.mode).items():
            reason = _stillness(leaves)
            if reason and not any(_allows(case, leaf, "constant") for leaf in leaves):
                text = f"{case.label(name)} {reason}; it can tell no implementation from another"
                problems.append(_problem(case, text))
    return _check("constant", "Not constant", problems, "every output varies")


def _stillness(leaves: Sequence[LeafFacts]) -> str | None:
    """Return why what was recorded under one name says nothing, or None. Text counts by itself, unless it is empty."""
    if any(leaf.is_text and leaf.value not in ("", "b''") for leaf in leaves):
        return None
    numbers = [leaf for leaf in leaves if leaf.is_number and leaf.elements]
    if not numbers:
        return "is empty" if any(leaf.is_text for leaf in leaves) else "holds no number and no text"
    wide = [leaf for leaf in numbers if leaf.elements > 1]
    if not wide or not all(leaf.constant and not leaf.inf for leaf in wide):
        return None
    if len(wide) > 1:
        return "is constant in every tensor"
    return f"is constant ({wide[0].min:g} in all {wide[0].elements} elements)"


def _recorded(case: CaseFacts, mode: str) -> dict[str, list[LeafFacts]]:
    """Return the leaves of a case by the name they were recorded under; a script's tensors are judged one by one."""
    found: dict[str, list[LeafFacts]] = {}
    for leaf in case.file.leaves:
        if mode == "script":
            if leaf.section not in _NOT_OUTPUTS and leaf.is_array:
                found[leaf.path] = [leaf]
        elif leaf.section == "output":
            found.setdefault(case.item_path(leaf.path), []).append(leaf)
    texts = [name for name, leaves in found.items() if all(leaf.is_text for leaf in leaves)]
    if len(texts) < len(found):
        for name in texts:
            del found[name]
    return found


def _in_range(evidence: Evidence) -> Check:
    problems = []
    ranges = []
    for case, leaf in _leaves(evidence):
        if leaf.section == "input" or not leaf.is_inexact or leaf.min is None or leaf.max is None:
            continue
        label = case.label(leaf.path)
        size = max(abs(leaf.min), abs(leaf.max))
        if leaf.section == "output":
            ranges.append(size)
        if _allows(case, leaf, "range"):
            continue
        if size > LARGEST:
            problems.append(_problem(case, f"{label} reaches {size:.3g}, beyond {LARGEST:g}"))
        elif leaf.section == "output" and 0 < size < SMALLEST:
            problems.append(_problem(case, f"{label} is at most {size:.3g}, below {SMALLEST:g}"))
    detail = f"outputs at most {max(ranges):.3g} in magnitude" if ranges else "no floating-point outputs"
    return _check("range", "Value range sane", problems, detail)


def _seed_recorded(evidence: Evidence) -> Check:
    problems = []
    for case in _readable(evidence):
        seeds = [leaf.value for leaf in case.file.leaves if leaf.path == "seed" and leaf.value is not None]
        if "seed" not in _wanted_keys(case, evidence.mode):
            continue
        if not seeds or not isinstance(seeds[0], int):
            problems.append(Problem(case.name, f"{case.file.name} does not say its seed as an integer under `seed`"))
        elif evidence.mode == "cases" and seeds[0] != evidence.seed:
            text = f"{case.file.name} says seed {seeds[0]}, the run had {evidence.seed}"
            problems.append(Problem(case.name, text))
    return _check("seed", "Seed recorded", problems, str(evidence.seed))


def _reproducible(evidence: Evidence) -> Check:
    excused = {case.name for case in evidence.cases if "reproducible" in case.allowed.get("*", {})}
    problems = [Problem(name, text) for name, text in evidence.disagreements.items() if name not in excused]
    title = "A second run agrees bit for bit"
    return _check("reproducible", title, problems, "in a fresh process")


def _size(evidence: Evidence) -> Check:
    sizes = {name: entry.size for name, entry in evidence.files.items()}
    total = sum(sizes.values())
    text = f"{total / 10**6:.1f} MB" if total >= 10**5 else f"{total / 10**3:.1f} kB"
    title = "Size within budget"
    largest = max(sizes, key=lambda name: sizes[name], default="")
    if total > SIZE_LIMIT and not evidence.allow_large:
        problem = f"the gold takes {text}, more than 100 MB (most in {largest}); shrink it or say --allow-large"
        return Check("size", title, FAILED, text, (problem,))
    if total > SIZE_WARNING:
        return Check("size", title, WARNED, f"{text}: more than 10 MB, heavy for a git repository; most in {largest}")
    return Check("size", title, PASSED, text)


_CHECKS: tuple[Callable[[Evidence], Check], ...] = (
    _loads,
    _keys,
    _no_nan,
    _no_inf,
    _as_declared,
    _not_constant,
    _in_range,
    _seed_recorded,
    _reproducible,
    _size,
)


def _check(name: str, title: str, problems: Sequence[Problem], detail: str) -> Check:
    if not problems:
        return Check(name, title, PASSED, detail)
    cases, texts = (tuple(dict.fromkeys(items)) for items in zip(*problems, strict=True))
    return Check(name, title, FAILED, texts[0], texts, cases, (name,) if name in _ALLOWABLE else ())


def _wanted_keys(case: CaseFacts, mode: str) -> Sequence[str]:
    """Return the keys that a file needs: of a script, those that tests rely on; of a case, all of its kind."""
    if mode == "cases":
        return CHECKPOINT_KEYS if case.kind == "checkpoint" else OUTPUT_KEYS
    if case.name == "gold_checkpoint":
        return CHECKPOINT_KEYS
    return [key for key in OUTPUT_KEYS if key != "state_dict"] if case.name == "gold_output" else ()


def _readable(evidence: Evidence) -> Iterator[CaseFacts]:
    return (case for case in evidence.cases if not case.file.error)


def _leaves(evidence: Evidence) -> Iterator[tuple[CaseFacts, LeafFacts]]:
    """Yield every number that was computed or fed in, but not settings, which the author chose."""
    for case in _readable(evidence):
        for leaf in case.file.leaves:
            if leaf.is_number and leaf.section not in _SETTINGS:
                yield case, leaf


def _allows(case: CaseFacts, leaf: LeafFacts, check: str) -> bool:
    return case.allows(leaf.path, check)


def _bad_values(case: CaseFacts, leaf: LeafFacts, count: int, what: str) -> Problem:
    where = f", first at index {list(leaf.first_bad)}" if leaf.first_bad else ""
    return _problem(case, f"{case.label(leaf.path)} has {count} {what} of {leaf.elements}{where}")


def _problem(case: CaseFacts, text: str) -> Problem:
    return Problem(case.name, f"case {case.name}: {text}")


def _type(leaf: LeafFacts) -> str:
    return f"{leaf.dtype} {list(leaf.shape)}"


def _count_arrays(evidence: Evidence) -> str:
    return count_of(sum(leaf.is_array for _, leaf in _leaves(evidence)), "tensor")


def _count_values(evidence: Evidence) -> str:
    return f"{sum(leaf.elements for _, leaf in _leaves(evidence)):,} values looked at"
