"""Call git and wait for it, or stream bounded records from it. No other module starts git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldsmith.course.subject import Project

_ANSWER_TIMEOUT_S = 60.0
_CHUNK_BYTES = 2**16


class RecordTooLong(Exception):
    """Git printed a record longer than the caller accepts."""


def git(project: Project, *arguments: str) -> str | None:
    """Return what git prints in the project's folder, or None if git fails or is missing."""
    printed = git_bytes(project, *arguments)
    return None if printed is None else printed.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def git_bytes(project: Project, *arguments: str) -> bytes | None:
    """Return what git prints, undecoded, or None if it fails or is missing."""
    try:
        answer = run_git(project.root, *arguments, timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return None if answer.returncode else answer.stdout


def git_succeeds(project: Project, *arguments: str) -> bool:
    """Say whether git exits with 0, as it does to answer yes."""
    return git_bytes(project, *arguments) is not None


def run_git(folder: Path, *arguments: str, timeout_s: float | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder to its end, whatever its exit code; raise OSError if it cannot be started."""
    return subprocess.run(_command(folder, *arguments), capture_output=True, timeout=timeout_s)


def top_level(folder: Path) -> Path | None:
    """Return the root of the git repository that a folder lies in, or None if it lies in none."""
    try:
        answer = run_git(folder, "rev-parse", "--show-toplevel", timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return None if answer.returncode else Path(answer.stdout.decode("utf-8", "surrogateescape").strip())


def ignored_files(folder: Path, names: Sequence[str]) -> list[str]:
    """List those of the names below a folder that git would not commit, whether they exist or not; none where there is
    no repository."""
    try:
        answer = run_git(folder, "check-ignore", "--", *names, timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.decode("utf-8", "surrogateescape").splitlines()


def error_line(answer: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line in which git says what is wrong."""
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
    return lines[0].removeprefix("fatal: ")


def stream_records(project: Project, *arguments: str, max_bytes: int) -> Iterator[str]:
    """Yield NUL-separated records that git prints, read no faster than they are consumed; kill git when the consumer
    stops.

    An untrusted repository may have endless records: raise `RecordTooLong` for one above `max_bytes`, SubprocessError
    if git fails.
    """
    with subprocess.Popen(
        _command(project.root, *arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        rest = b""
        try:
            while chunk := process.stdout.read1(_CHUNK_BYTES):  # type: ignore[attr-defined]
                *records, rest = (rest + chunk).split(b"\0")
                if max(map(len, [*records, rest])) > max_bytes:
                    raise RecordTooLong
                yield from (record.decode("utf-8", "surrogateescape") for record in records)
            if process.wait(_ANSWER_TIMEOUT_S):
                raise subprocess.SubprocessError("git has no answer")
        finally:
            process.kill()


def read_blob(project: Project, blob: str, size: int) -> bytes:
    """Read a blob that has `size` bytes according to its tree; raise SubprocessError if it has more or fewer."""
    command = _command(project.root, "cat-file", "blob", blob)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        content = process.stdout.read(size + 1)
        process.kill()
    if len(content) != size:
        raise subprocess.SubprocessError(f"{blob} is not as long as its revision says")
    return content


def read_blobs(project: Project, blobs: Iterable[str], max_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield blobs with their contents from a single git process; skip what is larger than `max_bytes` or not a blob."""
    command = _command(project.root, "cat-file", "--batch")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for blob in blobs:
            process.stdin.write(blob.encode() + b"\n")
            process.stdin.flush()
            facts = process.stdout.readline().split()
            if len(facts) != 3 or not facts[2].isdigit():
                continue
            size = int(facts[2])
            content = process.stdout.read(size + 1)[:size]
            if facts[1] == b"blob" and size <= max_bytes:
                yield blob, content
        process.stdin.close()


def _command(folder: Path, *arguments: str) -> list[str]:
    return ["git", "-C", str(folder), *arguments]
