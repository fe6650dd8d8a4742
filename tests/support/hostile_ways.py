"""The attack corpus at both levels of the sandbox, as root and as an ordinary user: `make hostile`.

Prints the table of measurements/attacks.md and, with --write, puts it there. A way that cannot be tried here says why.
Files of tests that are named are run instead of the whole corpus: `test_hostile_sample.py` is a quick sample of it.
Exit code 1 if an attack did not fail as it must, in any way.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs/contributing/measurements/attacks.md"
BEGIN, END = "<!-- begin: printed by tests/support/hostile_ways.py -->", "<!-- end -->"
_ORDINARY = "nobody"
_SHOWN = 12
_WORKS = "from goldsmith.sandbox.bubblewrap import why_not; print(why_not())"
_ABSENT = "#!/bin/sh\necho 'bwrap: left out of this run' >&2\nexit 1\n"


class NotHere(Exception):
    """This way cannot be tried on this machine."""


@dataclass(frozen=True)
class Way:
    """As which user, and whether bubblewrap stands around what is run."""

    root: bool
    bubblewrap: bool

    def tried(self) -> tuple[int, list[str]]:
        """How many tests of the corpus hold, and which do not."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            run = self._runner(folder)
            if self.bubblewrap and (why := self._output(run, ["-c", _WORKS]).strip()):
                raise NotHere(f"bubblewrap: {why}")
            files = [item for item in sys.argv[1:] if item.endswith(".py")]
            files = files or sorted(map(str, (TESTS / "promises").glob("test_hostile*.py")))
            options = ["-q", "-p", "no:cacheprovider", "--timeout=1800", f"--basetemp={folder / 'own/base'}"]
            self._output(run, ["-m", "pytest", *options, f"--junitxml={folder / 'own/report.xml'}", *files])
            return _read(folder / "own/report.xml")

    def _runner(self, folder: Path) -> tuple[list[str], dict[str, str]]:
        """What stands before a Python command line, and its environment; its files lie in `folder`/own."""
        own = folder / "own"
        own.mkdir()
        environment = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(own), "TMPDIR": str(own)}
        if not self.bubblewrap:
            (folder / "bin").mkdir()
            (folder / "bin/bwrap").write_text(_ABSENT)
            (folder / "bin/bwrap").chmod(0o755)
            environment["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
        if self.root == (os.getuid() == 0):
            return [], environment
        if self.root:
            raise NotHere("needs root")
        user = pwd.getpwnam(_ORDINARY)
        os.chown(own, user.pw_uid, user.pw_gid)
        return _as_ordinary_user(user, folder), environment

    def _output(self, run: tuple[list[str], dict[str, str]], arguments: list[str]) -> str:
        before, environment = run
        command = [*before, sys.executable, *arguments]
        return subprocess.run(
            command, cwd=TESTS.parent, env=os.environ | environment, stdout=subprocess.PIPE, text=True
        ).stdout


def _as_ordinary_user(user: pwd.struct_passwd, folder: Path) -> list[str]:
    """What root starts a command with so that an ordinary user runs it, who may have no way to this Python, as where it
    lies in root's own home. In a mount namespace of its own there is one; outside nothing changes."""
    for program in ("unshare", "setpriv", "mount"):
        if shutil.which(program) is None:
            raise NotHere(f"{program} is not installed")
    lines = ["set -e", *way_to_python(folder)]
    lines.append(f'exec setpriv --reuid={user.pw_uid} --regid={user.pw_gid} --clear-groups "$@"')
    script = folder / "way.sh"
    script.write_text("\n".join(lines))
    before = ["unshare", "--mount", "--propagation", "private", "sh", str(script)]
    tried = subprocess.run([*before, sys.executable, "-c", ""], capture_output=True, text=True)
    if tried.returncode:
        raise NotHere((tried.stderr.strip().splitlines() or ["another user cannot run Python"])[-1])
    return before


def way_to_python(folder: Path) -> list[str]:
    """Lines of a shell script that, in a mount namespace of its own, let every user reach this Python; `folder` is
    empty."""
    needed = list(dict.fromkeys([Path(sys.base_prefix).resolve(), Path(sys.prefix), TESTS.parent]))
    closed = {path: barrier for path in needed if (barrier := _closed(path)) is not None}
    lines = []
    for number, path in enumerate(closed):
        lines += [f"mkdir -p {folder}/{number}", f"mount --bind {shlex.quote(str(path))} {folder}/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(item))}" for item in dict.fromkeys(closed.values())]
    for number, path in enumerate(closed):
        place = shlex.quote(str(path))
        lines += [f"mkdir -p {place}", f"mount --bind {folder}/{number} {place}"]
    return lines


def _closed(path: Path) -> Path | None:
    """The outermost folder on the way to `path` that only its owner may enter."""
    return next((item for item in reversed(path.parents) if not item.stat().st_mode & 0o001), None)


def _read(report: Path) -> tuple[int, list[str]]:
    if not report.exists():
        raise NotHere("pytest left no report")
    held, failed = 0, []
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is not None:
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(case.get("name", ""))
        else:
            held += 1
    return held, failed


def rows() -> Iterator[tuple[str, str, str, str]]:
    for root in (True, False):
        for bubblewrap in (True, False):
            who, what = "root" if root else "an ordinary user", "with bubblewrap" if bubblewrap else "without"
            try:
                held, failed = Way(root, bubblewrap).tried()
            except NotHere as why:
                yield who, what, "", f"not tried: {why}"
                continue
            more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
            yield who, what, str(held), ", ".join(failed[:_SHOWN]) + more or "none"


def main() -> int:
    found = []
    for row in rows():
        found.append(row)
        print(*row, sep="  ", file=sys.stderr, flush=True)
    head = "| graded by | sandbox | tests that hold | tests that do not |\n|---|---|---:|---|"
    text = "\n".join([head, *(f"| {' | '.join(row)} |" for row in found)])
    print(text)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{text}\n{END}{page.partition(END)[2]}")
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    return int(any(row[3] != "none" and not row[3].startswith("not tried") for row in found))


if __name__ == "__main__":
    sys.exit(main())
