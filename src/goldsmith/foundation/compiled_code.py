"""Where compiled code is kept for later processes: by machine, for code that was compiled for other instructions may
compute other bits, or crash."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path


def compiled_code_folder() -> Path | None:
    """Return a folder of this user's own, which exists; None where there cannot be one.

    Sandboxed code neither reads nor writes there: whoever writes compiled code has it run by all who read it.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "goldsmith" / f"compiled-{_instructions()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_own = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):  # there is no home, or it cannot be written to
        return None
    return folder if is_own and os.access(folder, os.W_OK) else None


def _instructions() -> str:
    """Name the instructions that this machine has, and those that a process may use of them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    kinds = {line for line in lines if line.startswith(("flags", "Features", "model name"))}
    known = [platform.machine(), platform.processor(), os.environ.get("XLA_FLAGS", ""), *sorted(kinds)]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
