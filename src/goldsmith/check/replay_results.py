"""Read results that a child may have forged, and believe only what can be checked.

The child may still be running, with any code in it: what is judged is a copy that it cannot reach.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import mmap
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from goldsmith.check.notebook_places import in_cells
from goldsmith.errors.gold import CannotWrite
from goldsmith.gold.safetensors_reader import parse_bytes
from goldsmith.judge import bounds
from goldsmith.process.messages import ALONE, OF_THE_PARENT, Attempt, Failure, FailureKind, Frame, RunName
from goldsmith.process.notes import is_name
from goldsmith.process.result_log import entries_in
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.workspace.copies import Workspace

_MAX_BYTES_IN_MEMORY = 16 * 2**20


@dataclass(frozen=True)
class CaseRuns:
    """The results of one case, by run; a run that never ended has a failure and no arrays."""

    attempts: Mapping[str, Attempt]
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    trace: memoryview | None = None

    @property
    def first(self) -> Attempt:
        return self.attempts["plain"]

    def joined(self, other: CaseRuns) -> CaseRuns:
        """Add the results of other runs of the case."""
        return CaseRuns({**self.attempts, **other.attempts}, {**self.arrays, **other.arrays}, other.trace or self.trace)

    def with_failure(self, attempt: Attempt, trace: memoryview | None) -> CaseRuns:
        """Replace the failure of the first run by that of another attempt, which was traced."""
        return dataclasses.replace(self, attempts={**self.attempts, "plain": attempt}, trace=trace)

    def in_float64(self, strict: CaseRuns) -> CaseRuns:
        """Replace the run in float64 by one in a fresh process, in which every operation was watched."""
        arrays = strict.arrays.get("float64_strict", {})
        attempt = strict.attempts["float64_strict"]
        return self.joined(
            CaseRuns({"float64": attempt, "float64_strict": attempt}, {"float64": arrays, "float64_strict": arrays})
        )

    def leaves(self, run: str) -> dict[str, Any]:
        """Return everything that was recorded in a run, by path."""
        attempt = self.attempts[run]
        found = {**attempt.plain, **self.arrays.get(run, {})}
        return {path: found[path] for path in dict.fromkeys([*attempt.paths, *found]) if path in found}


@dataclass
class ReadBudget:
    """Bytes read from all runs of one submission: JSON, arrays in memory, and arrays on disk, of which there may be
    `most`."""

    text: int = 0
    memory: int = 0
    disk: int = 0
    most: float = math.inf


@dataclass
class ResultReader:
    """Reads the file to which a child writes all results of one batch of requests. Nothing in it is believed
    unchecked."""

    left: UntrustedFolder
    name: str
    workspace: Workspace
    taken: ReadBudget = field(default_factory=ReadBudget)
    _read: int = 0
    _found: dict[tuple[str, str], list[memoryview]] = field(default_factory=dict)
    _damage: str = ""

    def of(self, case: str, runs: Sequence[RunName], otherwise: Failure) -> CaseRuns:
        """Return the results of a case in each of these runs."""
        self._read_on()
        attempts: dict[str, Attempt] = {}
        arrays: dict[str, Mapping[str, Any]] = {}
        trace = None
        for run in runs:
            attempts[run], arrays[run], its = self._attempt(case, run, otherwise)
            trace = its or trace
            if (case, run) not in self._found or (run == "plain" and attempts[run].failure is not None):
                break
        return CaseRuns(attempts, arrays, trace)

    def alone(self, case: str, otherwise: Failure) -> CaseRuns:
        """Return the result of a module of a case that ran alone."""
        self._read_on()
        attempt, arrays, _ = self._attempt(case, ALONE, otherwise)
        return CaseRuns({"plain": attempt}, {"plain": arrays})

    def _read_on(self) -> None:
        """Read what has been added to the file."""
        try:
            content = self._taken()
        except OSError:
            return
        begin = self._read
        try:
            left = bounds.MAX_ENTRIES - len(self._found)
            for entry, parts, place in itertools.islice(entries_in(content), left):
                if max(len(entry.case), len(entry.run)) > bounds.MAX_NAME_CHARS:
                    raise ValueError("a case has a very long name")
                self._found[entry.case, entry.run] = parts
                self._read = begin + place
        except (ValueError, RecursionError) as error:
            self._damage = str(error)

    def _taken(self) -> memoryview:
        """Copy what has been added to the file out of the child's reach: into memory, or to disk if it is large."""
        import numpy as np

        with self.left.open(self.name) as content:
            size = os.fstat(content.fileno()).st_size - self._read
            content.seek(self._read)
            if size <= 0:
                return memoryview(b"")
            if size <= min(_MAX_BYTES_IN_MEMORY, bounds.MAX_ARRAY_BYTES_IN_ALL - self.taken.memory):
                self.taken.memory += size
                pages = mmap.mmap(-1, size)  # pages are freed as a whole, while the heap would fragment
                content.readinto(pages)  # type: ignore[attr-defined]
                return memoryview(pages).toreadonly()
            if self.taken.disk + size > self.taken.most:
                self._damage = f"all its runs together left more than {self.taken.most / 2**20:.4g} MiB"
                return memoryview(b"")
            self.taken.disk += size
            copy = self.workspace.scratch / secrets.token_hex(8)
            try:
                _copy(content, copy, size)
                return np.memmap(copy, dtype=np.uint8, mode="r").data
            except OSError as error:
                raise CannotWrite(copy.parent, error.strerror or str(error)) from None
            finally:
                copy.unlink(missing_ok=True)  # the mapped pages stay until they are unmapped

    def _attempt(self, case: str, run: str, otherwise: Failure) -> tuple[Attempt, Mapping[str, Any], memoryview | None]:
        if (case, run) not in self._found:
            return Attempt(failure=_unreadable(self._damage) if self._damage else otherwise), {}, None
        text, content, trace = self._found[case, run]
        self.taken.text += len(text)
        if len(text) > bounds.MAX_JSON_BYTES or self.taken.text > bounds.MAX_JSON_BYTES_IN_ALL:
            most = bounds.MAX_JSON_BYTES if len(text) > bounds.MAX_JSON_BYTES else bounds.MAX_JSON_BYTES_IN_ALL
            return Attempt(failure=_unreadable(f"its JSON is larger than {most // 2**20} MiB")), {}, None
        try:
            attempt = _truncate(msgspec.json.decode(text, type=Attempt), self.workspace)
            if attempt.failure is not None or not content:
                return attempt, {}, trace or None
            arrays = dict(parse_bytes(content, Path(f"{run}.safetensors"), bounds.MAX_HEADER_BYTES))
            if len(arrays) > bounds.MAX_VALUES:
                raise ValueError(f"it holds more than {bounds.MAX_VALUES} values")
            pairs = {path: _as_complex(arrays[path]) for path in dict.fromkeys(attempt.complex)}
            return attempt, arrays | pairs, trace or None
        except (ValueError, KeyError, RecursionError) as error:
            return Attempt(failure=_unreadable(str(error))), {}, None


def _copy(content: IO[bytes], copy: Path, size: int) -> None:
    """Copy `size` bytes and no more, however much is added meanwhile."""
    with copy.open("xb") as target:
        while size > 0 and (some := content.read(min(size, _MAX_BYTES_IN_MEMORY))):
            target.write(some)
            size -= len(some)


def _truncate(attempt: Attempt, workspace: Workspace) -> Attempt:
    """Shorten an attempt to what people would read, and name files as the submission's author does."""
    why = _why_unbearable(attempt)
    if why:
        return Attempt(failure=_unreadable(why))
    return msgspec.structs.replace(
        attempt,
        failure=None if attempt.failure is None else as_told(attempt.failure, workspace),
        unfinished=tuple(as_told(item, workspace) for item in attempt.unfinished[: bounds.MAX_NOTES]),
        notes=tuple(note for note in attempt.notes[: bounds.MAX_NOTES] if note.is_credible),
        overwrote=tuple(filter(is_name, attempt.overwrote[: bounds.MAX_VALUES])),
        rounded_to=tuple(filter(_is_dtype, attempt.rounded_to[: bounds.MAX_NOTES])),
        modules={model: tuple(filter(str.isprintable, names)) for model, names in attempt.modules.items()},
        extra={model: tuple(filter(is_name, names)) for model, names in attempt.extra.items()},
    )


def as_told(failure: Failure, workspace: Workspace) -> Failure:
    """Return a failure as a child tells it, shortened to what people would read, with files named as its author does.

    What only the parent can know, that a process took too long or was killed, a child cannot say.
    """
    kind: FailureKind = "raised" if failure.kind in OF_THE_PARENT else failure.kind
    frames = tuple(_short_frame(frame) for frame in failure.frames[-bounds.MAX_FRAMES :])
    package = failure.package if is_name(failure.package) else ""
    message = failure.message[: bounds.MAX_TEXT_CHARS]
    failure = msgspec.structs.replace(failure, kind=kind, message=message, frames=frames, package=package)
    return _with_submission_paths(failure, workspace)


def _is_dtype(name: str) -> bool:
    return is_name(name) and name.startswith(("float", "bfloat", "complex"))


def _short_frame(frame: Frame) -> Frame:
    most = bounds.MAX_LINE_CHARS
    return Frame(frame.file[:most], frame.line, frame.function[:most], frame.text[:most])


def _why_unbearable(attempt: Attempt) -> str:
    """Say what an attempt has more of, or longer names for, than any honest one; checked before anything is made of
    it."""
    weights = [name for placed in attempt.placed.values() for pair in placed for names in pair for name in names]
    groups = [
        [*attempt.paths],
        [*attempt.plain, *attempt.complex, *attempt.made],
        weights,
        [name for names in attempt.modules.values() for name in names],
        [name for names in attempt.extra.values() for name in names],
        [*attempt.placed, *attempt.modules, *attempt.extra],
    ]
    if any(len(group) > bounds.MAX_VALUES for group in groups):
        return f"it holds more than {bounds.MAX_VALUES} values"
    for name in itertools.chain.from_iterable(groups):
        if len(name) > bounds.MAX_NAME_CHARS or name.count(".") > bounds.MAX_NAME_LEVELS:
            return "it holds very long names"
    pairs = (pair for placed in attempt.placed.values() for pair in placed)
    if sum(_letters(*pair) for pair in pairs) > bounds.MAX_MODULE_NAME_CHARS:
        return "it pairs more weights with each other than any model has"
    return ""


def _letters(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """Count the characters in the names of all modules around a group of weights, each paired with each."""
    return sum(_around(name) for name in mine) * len(theirs) + sum(_around(name) for name in theirs) * len(mine)


def _around(name: str) -> int:
    return (name.count(".") + 1) * (len(name) + 1)


def _with_submission_paths(failure: Failure, workspace: Workspace) -> Failure:
    """Replace paths in the workspace by paths in the submission."""

    def short(text: str) -> str:
        return text.replace(f"{workspace.folder}/", "").replace(f"{workspace.root}/", "")

    failure = in_cells(failure, workspace.notebooks)
    frames = tuple(msgspec.structs.replace(frame, file=short(frame.file)) for frame in failure.frames)
    return msgspec.structs.replace(failure, message=short(failure.message) or "no reason is given", frames=frames)


def _as_complex(pairs: Any) -> Any:
    import numpy as np

    if not isinstance(pairs, np.ndarray) or pairs.shape[-1:] != (2,) or pairs.dtype.kind != "f":
        raise ValueError("an array is said to be complex and is not stored as pairs")
    return pairs[..., 0] + 1j * pairs[..., 1]


def _unreadable(why: str) -> Failure:
    return Failure(kind="raised", message=f"what its process left behind cannot be read: {why}")
