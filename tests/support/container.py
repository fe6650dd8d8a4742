"""What is like a container that a pack grades in: a clean folder, no network, a home that nobody can write to; another
user where tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.hostile_ways import way_to_python

IS_ROOT = os.getuid() == 0
USER = "nobody"


@contextmanager
def new_container() -> Iterator[Container]:
    """An empty one, in a folder that other users can reach, as they cannot reach pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "ways").mkdir()
        yield Container(folder)


@dataclass(frozen=True)
class Container:
    """A folder that stands for the whole container. As root, mounts and network are its own."""

    folder: Path

    def unpacked(self, pack: Path) -> Container:
        """Unpack a zip file as Gradescope does, with modes, and let its user own the course, as `setup.sh` does."""
        for name in ("source", "results", "submission"):
            (self.folder / name).mkdir()
        with zipfile.ZipFile(pack) as archive:
            for item in archive.infolist():
                path = Path(archive.extract(item, self.folder / "source"))
                path.chmod(item.external_attr >> 16 & 0o777)
        for path in (self.folder / "source/course", *(self.folder / "source/course").rglob("*")):
            if IS_ROOT:
                shutil.chown(path, USER)
            path.chmod(0o700 if path.is_dir() else 0o600)
        return self

    def run(self, command: list[str], cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside."""
        before: list[str] = []
        if IS_ROOT:
            home = os.path.expanduser("~")
            lines = ["set -e", *way_to_python(self.folder / "ways")]
            lines += [f"mount -o remount,ro,bind {home} 2>/dev/null || mount -t tmpfs -o ro none {home}"]
            script = self.folder / "container.sh"
            script.write_text("\n".join([*lines, 'exec "$@"']))
            before = ["unshare", "--mount", "--net", "--propagation", "private", "bash", str(script)]
        environment = {"PATH": os.environ["PATH"], "HOME": os.path.expanduser("~"), "GOLDSMITH_PYTHON": sys.executable}
        return subprocess.run(
            [*before, *command],
            cwd=cwd or self.folder,
            env=environment | {"GOLDSMITH_AUTOGRADER": str(self.folder), "GOLDSMITH_USER": USER} | env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=200,
        )

    def grade(self, submission: Path, **env: str) -> tuple[subprocess.CompletedProcess[str], bytes]:
        """Run the autograder on what was submitted; return what it printed, and its results.json."""
        shutil.rmtree(self.folder / "submission")
        shutil.copytree(submission, self.folder / "submission", symlinks=True)
        results = self.folder / "results/results.json"
        results.unlink(missing_ok=True)
        done = self.run([str(self.folder / "source/run_autograder")], **env)
        return done, results.read_bytes() if results.exists() else b""
