"""Read results that a child may have forged, and believe only what can be checked.

The child may still be running, with any code in it: what is judged is a copy that it cannot reach.
"""

from __future__ import annotations

import itertools
import math
import mmap
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from goldsmith.check.places import in_cells
from goldsmith.errors.gold import CannotWrite
from goldsmith.gold.safetensors_reader import parse_bytes
from goldsmith.judge import bounds
from goldsmith.process.result_log import RecordedRun, entries_in
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.runs.conditions import Conditions
from goldsmith.runs.notes import is_name
from goldsmith.runs.requests import ALONE
from goldsmith.runs.run import OF_THE_PARENT, CaseRuns, Failure, FailureKind, Frame, Run, RunFacts
from goldsmith.workspace.copies import Workspace

_MAX_BYTES_IN_MEMORY = 16 * 2**20


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

    def of(self, case: str, wanted: Sequence[Conditions], otherwise: Failure) -> CaseRuns:
        """Return the runs of a case under each of these conditions."""
        self._read_on()
        runs: dict[str, Run] = {}
        for name in (item.name for item in wanted):
            runs[name] = self._run(case, name, otherwise)
            if (case, name) not in self._found or (name == "plain" and runs[name].failure is not None):
                break
        return CaseRuns(runs)

    def isolated(self, case: str, otherwise: Failure) -> Run:
        """Return what came of a module of a case that ran alone."""
        self._read_on()
        return self._run(case, ALONE, otherwise)

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

    def _run(self, case: str, name: str, otherwise: Failure) -> Run:
        if (case, name) not in self._found:
            return _failed(_unreadable(self._damage) if self._damage else otherwise)
        text, content, trace = self._found[case, name]
        self.taken.text += len(text)
        if len(text) > bounds.MAX_JSON_BYTES or self.taken.text > bounds.MAX_JSON_BYTES_IN_ALL:
            most = bounds.MAX_JSON_BYTES if len(text) > bounds.MAX_JSON_BYTES else bounds.MAX_JSON_BYTES_IN_ALL
            return _failed(_unreadable(f"its JSON is larger than {most // 2**20} MiB"))
        try:
            recorded = msgspec.json.decode(text, type=RecordedRun)
            why = _why_unbearable(recorded)
            if why:
                raise ValueError(why)
            arrays: dict[str, Any] = {}
            if recorded.failure is None and content:
                arrays = dict(parse_bytes(content, Path(f"{name}.safetensors"), bounds.MAX_HEADER_BYTES))
                if len(arrays) > bounds.MAX_VALUES:
                    raise ValueError(f"it holds more than {bounds.MAX_VALUES} values")
                arrays |= {path: _as_complex(arrays[path]) for path in dict.fromkeys(recorded.complex)}
            return Run(_credible(recorded, self.workspace), recorded.values(arrays), trace or None)
        except (ValueError, KeyError, RecursionError) as error:
            return _failed(_unreadable(str(error)))


def _copy(content: IO[bytes], copy: Path, size: int) -> None:
    """Copy `size` bytes and no more, however much is added meanwhile."""
    with copy.open("xb") as target:
        while size > 0 and (some := content.read(min(size, _MAX_BYTES_IN_MEMORY))):
            target.write(some)
            size -= len(some)


def _failed(failure: Failure) -> Run:
    return Run(RunFacts(failure=failure))


def _credible(found: RecordedRun, workspace: Workspace) -> RunFacts:
    """Return the facts that a submission may tell, shortened to what people would read, with files named as its author
    does."""
    return RunFacts(
        failure=None if found.failure is None else as_told(found.failure, workspace),
        unfinished=tuple(as_told(item, workspace) for item in found.unfinished[: bounds.MAX_NOTES]),
        notes=tuple(note for note in found.notes[: bounds.MAX_NOTES] if note.is_credible),
        overwrote=tuple(filter(is_name, found.overwrote[: bounds.MAX_VALUES])),
        rounded_to=tuple(filter(_is_dtype, found.rounded_to[: bounds.MAX_NOTES])),
        modules={model: tuple(filter(str.isprintable, names)) for model, names in found.modules.items()},
        extra={model: tuple(filter(is_name, names)) for model, names in found.extra.items()},
        pure=found.pure,
        graphs=found.graphs,
        applied=found.applied,
        coverage=found.coverage,
        seconds=found.seconds,
        created=found.created,
        weight_map=found.weight_map,
        used=found.used,
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


def _why_unbearable(found: RecordedRun) -> str:
    """Say what a run has more of, or longer names for, than any honest one; checked before anything is made of
    it."""
    weights = [name for group in found.weight_map.values() for pair in group for names in pair for name in names]
    groups = [
        [*found.paths],
        [*found.plain, *found.complex, *found.created],
        weights,
        [name for names in found.modules.values() for name in names],
        [name for names in found.extra.values() for name in names],
        [*found.weight_map, *found.modules, *found.extra],
    ]
    if any(len(group) > bounds.MAX_VALUES for group in groups):
        return f"it holds more than {bounds.MAX_VALUES} values"
    for name in itertools.chain.from_iterable(groups):
        if len(name) > bounds.MAX_NAME_CHARS or name.count(".") > bounds.MAX_NAME_LEVELS:
            return "it holds very long names"
    pairs = (pair for group in found.weight_map.values() for pair in group)
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
