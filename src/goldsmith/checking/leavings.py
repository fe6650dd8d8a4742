"""What a child left behind about a case, taken from it, and believed as far as it can be checked.

The child may still be running, and anybody's code in it: what is judged is a copy that it cannot reach.
"""

from __future__ import annotations

import dataclasses
import itertools
import mmap
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from goldsmith.errors import CannotWrite
from goldsmith.gold import unpacked
from goldsmith.recording import ALONE, Attempt, Failure, RunName, UntrustedFolder, entries_in
from goldsmith.workspace import Workspace

_MOST_VALUES, _MOST_FRAMES, _MOST_NOTES, _LONGEST = 20_000, 50, 50, 10_000
_MOST_IN_MEMORY = _LONGEST_JSON = 16 * 2**20
_MOST_ENTRIES = 10_000


@dataclass(frozen=True)
class Replayed:
    """What one case left behind, by run; a run that never ended has a failure and no arrays."""

    attempts: Mapping[str, Attempt]
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    trace: memoryview | None = None

    @property
    def once(self) -> Attempt:
        return self.attempts["once"]

    def joined(self, other: Replayed) -> Replayed:
        """With what the case did in other runs."""
        return Replayed({**self.attempts, **other.attempts}, {**self.arrays, **other.arrays}, other.trace or self.trace)

    def failed_as(self, attempt: Attempt, trace: memoryview | None) -> Replayed:
        """The same, with what another attempt, which was traced, says about why it failed."""
        return dataclasses.replace(self, attempts={**self.attempts, "once": attempt}, trace=trace)

    def in_float64(self, watched: Replayed) -> Replayed:
        """The same, with what a run in float64 has shown in a process of its own, with every operation watched."""
        arrays = watched.arrays.get("watched", {})
        attempt = watched.attempts["watched"]
        return self.joined(Replayed({"float64": attempt, "watched": attempt}, {"float64": arrays, "watched": arrays}))

    def leaves(self, run: str) -> dict[str, Any]:
        """Everything that was recorded in that run, by path."""
        attempt = self.attempts[run]
        found = {**attempt.plain, **self.arrays.get(run, {})}
        return {path: found[path] for path in dict.fromkeys([*attempt.paths, *found]) if path in found}


@dataclass
class Leavings:
    """What a child writes down, in one file, of all that it is asked for at once. Nothing in it is believed without
    being checked."""

    left: UntrustedFolder
    name: str
    workspace: Workspace
    _read: int = 0
    _found: dict[tuple[str, str], list[memoryview]] = field(default_factory=dict)
    _damage: str = ""

    def of(self, case: str, runs: Sequence[RunName], otherwise: Failure) -> Replayed:
        """What a case has left behind in every one of these runs."""
        self._read_on()
        attempts: dict[str, Attempt] = {}
        arrays: dict[str, Mapping[str, Any]] = {}
        trace = None
        for run in runs:
            attempts[run], arrays[run], its = self._attempt(case, run, otherwise)
            trace = its or trace
            if (case, run) not in self._found or (run == "once" and attempts[run].failure is not None):
                break
        return Replayed(attempts, arrays, trace)

    def alone(self, case: str, otherwise: Failure) -> Replayed:
        """What a module of a case has left behind that ran alone."""
        self._read_on()
        attempt, arrays, _ = self._attempt(case, ALONE, otherwise)
        return Replayed({"once": attempt}, {"once": arrays})

    def _read_on(self) -> None:
        """Take what has been added."""
        try:
            content = self._taken()
        except OSError:
            return
        begin = self._read
        try:
            for entry, parts, place in itertools.islice(entries_in(content), _MOST_ENTRIES):
                self._found[entry.case, entry.run] = parts
                self._read = begin + place
        except (ValueError, RecursionError) as error:
            self._damage = str(error)

    def _taken(self) -> memoryview:
        """What a file holds from where it was last read to, as it is now; much of it is copied out of the child's
        reach."""
        import numpy as np

        with self.left.open(self.name) as content:
            size = os.fstat(content.fileno()).st_size - self._read
            content.seek(self._read)
            if size <= 0:
                return memoryview(b"")
            if size <= _MOST_IN_MEMORY:
                pages = mmap.mmap(-1, size)  # which go back as a whole, while a heap would be left in pieces
                content.readinto(pages)  # type: ignore[attr-defined]
                return memoryview(pages).toreadonly()
            copy = self.workspace.scratch / secrets.token_hex(8)
            try:
                _copy(content, copy, size)
                return np.memmap(copy, dtype=np.uint8, mode="r").data
            except OSError as error:
                raise CannotWrite(copy.parent, error.strerror or str(error)) from None
            finally:
                copy.unlink(missing_ok=True)  # what is mapped stays as long as it is

    def _attempt(self, case: str, run: str, otherwise: Failure) -> tuple[Attempt, Mapping[str, Any], memoryview | None]:
        if (case, run) not in self._found:
            return Attempt(failure=_unreadable(self._damage) if self._damage else otherwise), {}, None
        text, content, trace = self._found[case, run]
        if len(text) > _LONGEST_JSON:
            return Attempt(failure=_unreadable(f"its JSON is larger than {_LONGEST_JSON // 2**20} MiB")), {}, None
        try:
            attempt = _bearable(msgspec.json.decode(text, type=Attempt), self.workspace)
            if attempt.failure is not None or not content:
                return attempt, {}, trace or None
            arrays = dict(unpacked(content, Path(f"{run}.safetensors")))
            if len(arrays) > _MOST_VALUES:
                raise ValueError(f"it holds more than {_MOST_VALUES} values")
            return attempt, arrays | {path: _as_complex(arrays[path]) for path in attempt.complex}, trace or None
        except (ValueError, KeyError, RecursionError) as error:
            return Attempt(failure=_unreadable(str(error))), {}, None


def _copy(content: IO[bytes], copy: Path, size: int) -> None:
    """So much and no more, however much is added meanwhile."""
    with copy.open("xb") as target:
        while size > 0 and (some := content.read(min(size, _MOST_IN_MEMORY))):
            target.write(some)
            size -= len(some)


def _bearable(attempt: Attempt, workspace: Workspace) -> Attempt:
    """The same, with no more in it than anybody would read, and files named as the submission's author names them."""
    too_long = any(len(name) > _LONGEST for name in attempt.plain)
    if too_long or max(len(attempt.paths), len(attempt.plain)) > _MOST_VALUES:
        return Attempt(failure=_unreadable(f"it holds more than {_MOST_VALUES} values, or very long names"))
    failure = attempt.failure
    if failure is not None:
        frames = failure.frames[-_MOST_FRAMES:]
        failure = msgspec.structs.replace(failure, message=failure.message[:_LONGEST], frames=frames)
        failure = in_their_words(failure, workspace)
    modules = {
        model: tuple(name for name in names[:_MOST_ENTRIES] if name.isprintable() and len(name) <= _LONGEST)
        for model, names in attempt.modules.items()
    }
    return msgspec.structs.replace(attempt, failure=failure, notes=attempt.notes[:_MOST_NOTES], modules=modules)


def in_their_words(failure: Failure, workspace: Workspace) -> Failure:
    """With files not as they lie in the workspace."""

    def short(text: str) -> str:
        return text.replace(f"{workspace.folder}/", "").replace(f"{workspace.root}/", "")

    frames = tuple(msgspec.structs.replace(frame, file=short(frame.file)) for frame in failure.frames)
    return msgspec.structs.replace(failure, message=short(failure.message) or "no reason is given", frames=frames)


def _as_complex(pairs: Any) -> Any:
    import numpy as np

    if not isinstance(pairs, np.ndarray) or pairs.shape[-1:] != (2,) or pairs.dtype.kind != "f":
        raise ValueError("an array is said to be complex and is not stored as pairs")
    return pairs[..., 0] + 1j * pairs[..., 1]


def _unreadable(why: str) -> Failure:
    return Failure(kind="raised", message=f"what its process left behind cannot be read: {why}")
