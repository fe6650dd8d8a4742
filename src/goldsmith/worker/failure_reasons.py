"""Find out why a replayed case did not finish, by *where* the error arose."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from pathlib import Path
from types import FrameType, TracebackType

import msgspec

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.framework import CannotCompile, active
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import Job, ReplayJob
from goldsmith.recipe.missing_parts import MissingPartUsed, unfinished
from goldsmith.runs.run import Failure, FailureKind, Frame
from goldsmith.weights.crossing import NeedsOwnForm
from goldsmith.weights.transplant import CannotPlace

_DEVICES = re.compile(
    r"not compiled with (CUDA|MPS|XPU)|NVIDIA driver|CUDA error|no CUDA|CUDA is not available|No CUDA GPUs|"
    r"on a CUDA device|requires CUDA|CUDA generator|PyTorch is not linked with support for \w+ devices|MPS backend|"
    r"from the '(CUDA|MPS|XPU|HPU|PrivateUse\d)' backend|accelerator device when none|No module named 'torch\.[hn]pu'",
    re.I,
)
_CALLS = re.compile(
    r"missing \d+ required|takes \d+ positional|takes from|unexpected keyword|multiple values for argument"
)


def cause_of(error: BaseException, job: ReplayJob, case: str | None, returned_none: str | None = None) -> Failure:
    """Return why `case` did not finish. `returned_none` names the last module that returned None."""
    if isinstance(error, MissingPartUsed):
        return _missing_part(error, job, case)
    frames = frames_of(error, job)
    kind, message = _kind_of(error, job, frames, returned_none)
    if job.adapter and frames and frames[-1].file == job.adapter:
        message = f"in the course's adapter: {message}"
    text = message.encode("utf-8", "replace").decode()
    package = _missing_package(error, job) if kind == "package" else ""
    return Failure(kind=kind, message=text[:2000], case=case, frames=frames, package=package)


def unfinished_imports(job: Job) -> tuple[Failure, ...]:
    """Return where each module stopped that raised an error while the recipe imported it, and the kind of error: a
    class of Python's own, since the name of any other is the submission's word."""
    return tuple(
        Failure(kind="import", message=_python_name(error), frames=frames_of(error, job)[:1])
        for error in unfinished.values()
    )


def _python_name(error: BaseException) -> str:
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def _missing_part(error: MissingPartUsed, job: ReplayJob, case: str | None) -> Failure:
    if error.cause is None:
        return Failure(kind="import", message=f"{error.part} is not in the submission", case=case)
    why = cause_of(error.cause, job, case)
    kind: FailureKind = why.kind if why.kind in ("exit", "device", "package") else "import"
    return msgspec.structs.replace(why, kind=kind)


def _kind_of(
    error: BaseException, job: Job, frames: tuple[Frame, ...], returned_none: str | None
) -> tuple[FailureKind, str]:
    words = in_words(error)
    if isinstance(error, CannotPlace):
        return "weights", str(error)
    if isinstance(error, CannotCompile):
        return "compiler", str(error)
    if isinstance(error, NeedsOwnForm):
        others = [item.name for item in active() if item.models.TYPES and item.name != getattr(job, "library", "")]
        return "form", f"this case needs a {' or '.join(others)} form: {error}"
    if isinstance(error, RecipeMisuse):
        return "raised", str(error)
    if isinstance(error, SystemExit):
        return "exit", f"sys.exit({error.code!r})"
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "out of memory" in str(error):
        return "memory", words
    if isinstance(error, NotImplementedError) and frames and _raises(frames[-1]):
        return "stub", f"{_qualified(error)} is not written yet"
    if _lacks_device(error, job.device):
        return "device", words
    if _missing_package(error, job):
        return "package", words
    if isinstance(error, TypeError | AttributeError) and "NoneType" in str(error):
        name = returned_none or _nothing_at(error, job)
        if name:
            return "none", f"{name} returned None; is a `return` missing?"
    if isinstance(error, TypeError) and _CALLS.search(str(error)) and frames and frames[-1].file == job.recipe:
        return "call", words
    return "raised", words


def _missing_package(error: BaseException, job: Job) -> str:
    """Return the package that an import did not find, unless a file or folder of the assignment has that name."""
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return ""
    name = error.name.partition(".")[0]
    own = any(Path(place, other).exists() for place in (job.folder, job.root) for other in (name, f"{name}.py"))
    return "" if own else name


def frames_of(error: BaseException, job: Job) -> tuple[Frame, ...]:
    """Return the frames in the workspace: those of torch and of goldsmith do not help its author."""
    own_files = OwnFiles.of(job)

    def is_shown(file: str) -> bool:
        return file == job.recipe or file in own_files if job.search_path else file.startswith(job.root)

    return tuple(
        Frame(code.co_filename, line, code.co_qualname, linecache.getline(code.co_filename, line).strip())
        for code, line in ((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__))
        if is_shown(code.co_filename)
    )


def _raises(frame: Frame) -> bool:
    """Say whether the line is itself a `raise`: torch, too, raises NotImplementedError for what a device lacks."""
    try:
        (statement,) = syntax_tree(linecache.getline(frame.file, frame.line).strip()).body
    except (SyntaxError, ValueError):
        return frame.text.strip().startswith("raise")
    return isinstance(statement, ast.Raise)


def _qualified(error: BaseException) -> str:
    """Return the name of the function that raised, with its class."""
    frame = _last_frame(error.__traceback__)
    return frame.f_code.co_qualname if frame is not None else "a part"


def _lacks_device(error: BaseException, device: str) -> bool:
    """Say whether an error is about a device that is not here, and not about the one that is computed on: an illegal
    address there is the code's own."""
    kind, text = device.partition(":")[0], str(error)
    if kind != "cpu" and kind in text.lower():
        return False
    return _DEVICES.search(text) is not None or (kind == "cpu" and _in_torch_cuda(error))


def _in_torch_cuda(error: BaseException) -> bool:
    last = [frame.filename for frame in traceback.extract_tb(error.__traceback__)][-1:]
    return bool(last) and any(f"/torch/{kind}/" in last[0] for kind in ("cuda", "mps", "xpu"))


def _nothing_at(error: BaseException, job: Job) -> str | None:
    """Return the recipe's variable that is None on the line where the recipe itself raised."""
    frame = _last_frame(error.__traceback__)
    if frame is None or frame.f_code.co_filename != job.recipe:
        return None
    line = linecache.getline(job.recipe, frame.f_lineno)
    nothing = [name for name, value in frame.f_locals.items() if value is None and re.search(rf"\b{name}\b", line)]
    return f"what the recipe calls `{nothing[0]}`: the part it came from" if nothing else None


def _last_frame(trace: TracebackType | None) -> FrameType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame if trace else None
