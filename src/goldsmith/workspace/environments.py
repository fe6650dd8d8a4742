"""Environments for packages of other versions than are installed: each its own, kept, and found by what is in it.

What an environment lacks it takes from the one that goldsmith runs in, such as torch, and goldsmith itself."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import filelock

from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.parity import EnvironmentFailed
from goldsmith.foundation.ownership import is_marked, is_unfinished, make_marked, remove_made

_PINNED = re.compile(r"([A-Za-z0-9][\w.-]*)(\[[\w.,-]+\])?==[A-Za-z0-9][\w.+!-]*")
_PACKAGE_FILES = (".whl", ".tar.gz", ".zip")
_FINISHED, _AROUND = "finished", "around_goldsmith.pth"
_TIMEOUT_S = 1800.0
_KEY_CHARS = 20


def requirements_in(text: str) -> list[str]:
    """Return the packages of fixed versions that a text names, as `name==1.2` or as files; none if it names others."""
    found = [str(Path(item).resolve()) if _is_file(item) else item for item in text.replace(",", " ").split()]
    return found if all(_PINNED.fullmatch(item) or _is_file(item) for item in found) else []


def package_name(requirement: str) -> str:
    """Return the name of a package of a fixed version."""
    named = _PINNED.fullmatch(requirement)
    return named[1] if named else Path(requirement).name.partition("-")[0]


def make_environment(requirements: Sequence[str], folder: Path) -> Path:
    """Return the interpreter of an environment with these packages, which is made in `folder` unless it is there."""
    around = _paths_around()
    known = "\n".join([sys.version, sys.executable, *around, *map(_identity, requirements)])
    home = folder / hashlib.sha256(known.encode()).hexdigest()[:_KEY_CHARS]
    interpreter = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / f"{home.name}.lock"):
            if not (home / _FINISHED).is_file():
                _clear(home)
                make_marked(home, _mark_of(home))
                try:
                    _make(requirements, home, interpreter, around)
                    (home / _FINISHED).write_text(" ".join(requirements), encoding="utf-8")
                except BaseException:
                    remove_made(home)
                    raise
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    return interpreter


def _clear(home: Path) -> None:
    """Remove what a killed process left; refuse what goldsmith did not make."""
    if is_marked(home, _mark_of(home)) or is_unfinished(home):
        remove_made(home)
    if os.path.lexists(home):
        raise CannotWrite(home, "goldsmith did not make what stands there; move it away")


def _mark_of(home: Path) -> str:
    return f"{home.name}, an environment with packages of other versions"


def _make(requirements: Sequence[str], home: Path, interpreter: Path, around: Sequence[str]) -> None:
    has_pip = importlib.util.find_spec("pip") is not None  # making a second one takes seconds
    name = " and ".join(requirements)
    _run(name, [sys.executable, "-m", "venv", *(["--without-pip"] if has_pip else []), str(home)])
    (site,) = home.glob("[Ll]ib/**/site-packages")
    (site / _AROUND).write_text("".join(f"{path}\n" for path in around), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter)] if has_pip else [str(interpreter), "-m", "pip"]
    quiet = ["--disable-pip-version-check", "--no-input", "--quiet", "--retries", "1"]
    _run(name, [*pip, *quiet, "install", *requirements])


def _run(name: str, command: Sequence[str]) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(name, f"pip took longer than {_TIMEOUT_S:g} s") from None
    if ran.returncode:
        lines = [line.strip() for line in ran.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines or ["pip failed"]
        raise EnvironmentFailed(name, told[-1].rstrip("."))


def _paths_around() -> list[str]:
    """Return where modules are found here, but for the standard library."""
    own = {Path(path) for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))}
    found = [Path(path) for path in sys.path if path]
    return [str(path) for path in found if path.is_dir() and path not in own and path.name != "lib-dynload"]


def _identity(requirement: str) -> str:
    """Return what a requirement is, whatever may be in a file of that name later."""
    return hashlib.sha256(Path(requirement).read_bytes()).hexdigest() if _is_file(requirement) else requirement


def _is_file(text: str) -> bool:
    return text.endswith(_PACKAGE_FILES) and Path(text).is_file()
