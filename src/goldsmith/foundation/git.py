"""Call git and wait for it, or stream bounded records from it. No other module starts git.

A repository's configuration names programs that git runs. In the course's own repository it is obeyed, as git itself
does; of a repository that was submitted, `commit_time` alone reads anything, and never its configuration. Nor does
`uncommitted`, where one was added to the course's.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldsmith.foundation.beneath import open_beneath, open_folder

_ANSWER_TIMEOUT_S = 60.0
_CHUNK_BYTES = 2**16
_MAX_REFS_BYTES, _MAX_COMMIT_BYTES = 2**24, 2**20
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMMITTED = re.compile(rb"^committer [^\n]*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)


class RecordTooLong(Exception):
    """Git printed a record longer than the caller accepts."""


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints in a folder, or None if git fails or is missing."""
    printed = git_bytes(root, *arguments)
    return None if printed is None else printed.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def git_bytes(root: Path, *arguments: str) -> bytes | None:
    """Return what git prints, undecoded, or None if it fails or is missing."""
    try:
        answer = run_git(root, *arguments, timeout_s=_ANSWER_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return None if answer.returncode else answer.stdout


def git_succeeds(root: Path, *arguments: str) -> bool:
    """Say whether git exits with 0, as it does to answer yes."""
    return git_bytes(root, *arguments) is not None


def uncommitted(root: Path, *paths: str) -> list[str]:
    """List what of the paths is not committed, each as git shows it after two letters. Repositories in this one are not
    looked into, but for the commit that they are at: git would obey the configuration of each, and one that somebody
    submitted with its `.git` may have been added."""
    shown = git(root, "status", "--porcelain", "-z", "--ignore-submodules=dirty", "--", *paths) or ""
    return [entry[3:] for entry in shown.split("\0") if entry]


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


def stream_records(root: Path, *arguments: str, max_bytes: int) -> Iterator[str]:
    """Yield NUL-separated records that git prints, read no faster than they are consumed; kill git when the consumer
    stops.

    An untrusted repository may have endless records: raise `RecordTooLong` for one above `max_bytes`, SubprocessError
    if git fails.
    """
    with subprocess.Popen(_command(root, *arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
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


def read_blob(root: Path, blob: str, size: int) -> bytes:
    """Read a blob that has `size` bytes according to its tree; raise SubprocessError if it has more or fewer."""
    command = _command(root, "cat-file", "blob", blob)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        content = process.stdout.read(size + 1)
        process.kill()
    if len(content) != size:
        raise subprocess.SubprocessError(f"{blob} is not as long as its revision says")
    return content


def read_blobs(root: Path, blobs: Iterable[str], max_bytes: int) -> Iterator[tuple[str, bytes | None]]:
    """Yield blobs with their contents from a single git process, None for what is larger than `max_bytes`; skip what is
    not a blob."""
    command = _command(root, "cat-file", "--batch")
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
            content = process.stdout.read(size + 1)[:size] if size <= max_bytes else None
            for read in range(0, size + 1, _CHUNK_BYTES) if content is None else ():
                process.stdout.read(min(size + 1 - read, _CHUNK_BYTES))
            if facts[1] == b"blob":
                yield blob, content
        process.stdin.close()


def commit_time(checkout: Path, room: Path) -> int | None:
    """Return when the commit at HEAD of a stranger's repository was made, in seconds since 1970; None if that is not
    known.

    Git reads the commit in an empty repository in the private folder `room`, which borrows the objects. HEAD is read
    without git. A `.git` that is a file or a link, and so leads elsewhere, is not followed.
    """
    try:
        head = _stranger_head(checkout / ".git")
        if head is None:
            return None
        own, form = room / "own.git", "sha256" if len(head) == 64 else "sha1"
        _run_apart(room, {}, "init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(own))
        borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(checkout.absolute() / ".git/objects")}
        read = (f"--git-dir={own}", "cat-file")
        if int(_run_apart(room, borrowed, *read, "-s", head)) > _MAX_COMMIT_BYTES:
            return None
        found = _COMMITTED.search(_run_apart(room, borrowed, *read, "commit", head).partition(b"\n\n")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return int(found[1]) if found else None


def _stranger_head(folder: Path) -> str | None:
    """Return the commit that HEAD is, or the branch that it names, from the repository's own files."""
    around = open_folder(folder)
    try:
        head = _bytes_beneath(around, "HEAD").decode("utf-8", "replace").strip()
        if not head.startswith("ref: refs/"):
            return head if _COMMIT.fullmatch(head) else None
        name = head.removeprefix("ref: ")
        try:
            found = _bytes_beneath(around, name).decode("utf-8", "replace").strip()
        except FileNotFoundError:
            packed = _bytes_beneath(around, "packed-refs").decode("utf-8", "replace").splitlines()
            found = next((row.split()[0] for row in packed if row.split()[1:] == [name]), "")
    finally:
        os.close(around)
    return found if _COMMIT.fullmatch(found) else None


def _bytes_beneath(folder: int, name: str) -> bytes:
    with os.fdopen(open_beneath(folder, name, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        return file.read(_MAX_REFS_BYTES)


def _run_apart(room: Path, variables: dict[str, str], *arguments: str) -> bytes:
    """Run git without any configuration, and without what the environment says to it; raise if it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(room),
        "XDG_CONFIG_HOME": str(room),
    }
    run = subprocess.run(
        ["git", *arguments],
        cwd=room,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_ANSWER_TIMEOUT_S,
        check=True,
    )
    return run.stdout


def _quoted(path: Path) -> str:
    """Return a path as one entry of a list of paths that git reads: a colon would end a plain one."""
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _command(folder: Path, *arguments: str) -> list[str]:
    """Return the command; a folder of the course that looks like a bare repository is not taken for one, as its
    configuration came with a commit."""
    return ["git", "-c", "safe.bareRepository=explicit", "-C", str(folder), *arguments]
