"""This goldsmith as a wheel, made of the files that are running, so that a pack grades by the same code."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from goldsmith._version import __version__
from goldsmith.courses.packs.archive import MARK, zipped

_PACKAGE = Path(__file__).resolve().parents[2]
_LEFT_OUT = ("__pycache__", "_example")
"""Compiled code, and the bundled course, which has solutions."""
_WHEEL = "Wheel-Version: 1.0\nGenerator: goldsmith\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_METADATA_FILES = ("METADATA", "entry_points.txt")


def wheel_name() -> str:
    return f"goldsmith-{__version__}-py3-none-any.whl"


def wheel() -> bytes:
    """Return the wheel's bytes, the same for the same files."""
    info = f"goldsmith-{__version__}.dist-info"
    files = dict(_files(info))
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    return zipped(files, comment=MARK)


def _files(info: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(_PACKAGE.rglob("*")):
        inside = path.relative_to(_PACKAGE)
        if path.is_file() and path.suffix != ".pyc" and not set(_LEFT_OUT).intersection(inside.parts):
            yield f"goldsmith/{inside.as_posix()}", path.read_bytes()
    distribution = importlib.metadata.distribution("goldsmith")
    for name in _METADATA_FILES:
        text = distribution.read_text(name)
        if text is not None:
            yield f"{info}/{name}", text.encode()
    yield f"{info}/WHEEL", _WHEEL.encode()


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
