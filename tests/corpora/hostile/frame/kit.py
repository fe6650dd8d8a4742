"""What every attack has at hand: it knows where everything lies (`target.py`), and leaves a note of what it found."""

import ctypes
import json
import os
import sys
from pathlib import Path

import numpy as np
import target

OUT = Path(sys.argv[2])
SCRATCH = OUT.parent
ASKS = SCRATCH.with_name(f"{SCRATCH.name}.asks")
LOOT = os.open(SCRATCH / "loot.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
LIBC = ctypes.CDLL(None, use_errno=True)
CASES = ("centred", "scaled", "counted")
REQUESTS = ("1", "2", "3")
_MOST = 200_000
_done = set()


def guess(case, x, start=None):
    """An answer of the right shape, and wrong."""
    return np.zeros(5) if case == "counted" else np.zeros_like(x)


def right(case, x, start=None):
    """The right answer, for attacks that want to harm and nothing else."""
    if case == "counted":
        return start + x.sum(axis=0)
    return x * 3.0 if case == "scaled" else x - x.mean(axis=-1, keepdims=True)


def note(**facts):
    os.write(LOOT, (json.dumps({"attack": target.NAME, **facts}) + "\n").encode())


def sees(label, value):
    """What nobody minds that it sees, as long as no secret is in it."""
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    note(label=label, sees=text[:_MOST])


def tries(label, action):
    """What must not go through. What it brought, or None."""
    try:
        found = action()
    except BaseException as error:
        walls = isinstance(error, OSError | MemoryError)
        note(label=label, error=f"{type(error).__name__}: {error}"[:300], refused=walls)
        return None
    text = found.decode("latin-1") if isinstance(found, bytes) else str(found)
    note(label=label, got=text[:_MOST])
    return found


def once(name="attack"):
    """Whether this is the first time."""
    return not (name in _done or _done.add(name))


def only_inside():
    """What would hurt this machine is never tried without walls."""
    status = Path("/proc/self/status").read_text()
    if "Seccomp:\t2" not in status or "NoNewPrivs:\t1" not in status:
        raise SystemExit("there are no walls around me")


def mark():
    """Processes that can be told from all others: by the name that the kernel shows."""
    LIBC.prctl(15, target.MARK.encode()[:15], 0, 0, 0)


def call(number, *arguments):
    """A system call, with the kernel's refusal as an OSError."""
    ctypes.set_errno(0)
    words = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    answer = LIBC.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def task():
    """What it is asked for at this moment: a module of a case, alone, or something else."""
    newest = max(ASKS.glob("*.json"), key=lambda path: int(path.stem))
    return "alone" if any("call" in item for item in json.loads(newest.read_text())) else "replay"


def forge(case, attempt, arrays=None, runs=("plain", "repeat", "traced", "float64")):
    """Write what a replay would leave behind, whatever it is asked for, now or later."""
    content = arrays or b""
    if not isinstance(content, bytes):
        from safetensors.numpy import save

        content = save(content)
    text = (attempt if isinstance(attempt, str) else json.dumps(attempt)).encode()
    OUT.mkdir(parents=True, exist_ok=True)
    for number in REQUESTS:
        with (OUT / number).open("ab") as file:
            for run in runs:
                head = {"case": case, "run": run, "attempt": len(text), "arrays": len(content)}
                parts = (json.dumps(head).encode() + b"\n", text, content)
                file.write(b"".join(part + b" " * (-len(part) % 64) for part in parts))
