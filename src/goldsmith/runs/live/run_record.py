"""Records of a run: its trace as a file of it would be read, and why it failed."""

from __future__ import annotations

import json
import linecache
import traceback
from pathlib import Path
from typing import Any

import goldsmith
from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.framework import CannotCompile, arrays_of
from goldsmith.gold.safetensors_reader import Mapped
from goldsmith.instruments.module_traces import Tracer
from goldsmith.runs.run import Failure, FailureKind, Frame

_GOLDSMITH = str(Path(goldsmith.__file__).parent)


def trace_of(tracer: Tracer) -> Mapped:
    """Return a trace as a file of it would be read: arrays of NumPy, and every module judged, a library's too."""
    for entry in tracer.index:
        entry["own"] = True
    arrays = {name: arrays_of(item).to_numpy(item) for name, item in tracer.tensors.items()}
    return Mapped(arrays, {"goldsmith": json.dumps(tracer.index)})


def failure_of(error: BaseException) -> Failure:
    """Return why a call did not finish, with the frames that are neither torch's nor goldsmith's."""
    text = str(error)
    kind: FailureKind = "raised"
    if isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text:
        kind = "memory"
    if isinstance(error, SystemExit):
        kind = "exit"
    if isinstance(error, CannotCompile):
        return Failure(kind="compiler", message=str(error))
    places = ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
    frames = tuple(
        Frame(code.co_filename, line, code.co_qualname, linecache.getline(code.co_filename, line).strip())
        for code, line in places
        if not code.co_filename.startswith((_GOLDSMITH, "<frozen")) and "site-packages" not in code.co_filename
    )
    return Failure(kind=kind, message=in_words(error)[:2000], frames=frames[-4:])


def what_drew(tracer: Tracer, target: Any, working: Any) -> str:
    """Name the first module that drew random numbers, the innermost, where a trace shows it."""
    if working is None:
        return f"{getattr(target, '__name__', type(target).__name__)}()"
    drew = None
    for entry in (entry for entry in tracer.index if entry.get("drew")):
        if drew is not None and entry["depth"] <= drew["depth"]:
            break
        drew = entry
    name = (drew["module"] if drew else "") or "the model"
    return f"{name} ({drew['class'] if drew else type(working.module).__name__})"
