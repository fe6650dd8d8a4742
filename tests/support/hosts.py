"""Hosts for tests: each has a network and a root of its own, with packages at another path, and nothing of a course.

They are network and mount namespaces of this machine, joined by a switch whose ports can be pulled. The test itself is
one of them, `desk`, with the root that is here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_TOOLS = ("ip", "unshare", "mount", "pivot_root", "umount")
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc")
_NETWORK = "10.86.1"
_IN_NETWORK = ("ip", "netns", "exec")
_AS_A_MACHINE = ("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "sh", "-c")
_SETUP = """
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$ROOT"
cd "$ROOT"
mkdir -p proc dev sys tmp old root run
mount -t tmpfs -o "mode=1777,size=$DISK" none tmp
mount -t proc none proc
mount --rbind /dev dev
mount --rbind /sys sys
echo "$BINDS" | while read -r from to; do
  if [ -L "$from" ]; then mkdir -p "$(dirname "./$to")"; cp -P "$from" "./$to"; continue; fi
  mkdir -p "./$to"
  mount --bind "$from" "./$to"
  mount -o remount,bind,ro "./$to"
done
pivot_root . old
cd /tmp
umount -l /old
exec env -i HOME=/root PATH=/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 OMP_NUM_THREADS=1 "$@"
"""


def why_not() -> str:
    """Say why no hosts can be made here; "" if they can."""
    missing = [name for name in _TOOLS if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} here"
    tried = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    return "" if tried.returncode == 0 and os.getuid() == 0 else f"no network namespaces: {tried.stderr.strip()}"


@dataclass
class Host:
    """One machine: its address, and what was started on it."""

    name: str
    address: str
    namespace: str
    port: str
    home: str = ""
    """Where its packages, goldsmith among them, and its certificates are."""
    folder: Path = Path()
    disk: str = "2g"
    first: Path | None = None
    """A folder that comes first on its Python's path."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Run Python there with these arguments."""
        root = self.folder / "root"
        root.mkdir(parents=True, exist_ok=True)
        log = (self.folder / f"log-{len(self.processes)}").open("wb")
        process = subprocess.Popen(
            [*_IN_NETWORK, self.namespace, *_AS_A_MACHINE, _SETUP, "sh", f"{self.home}/env/bin/python", *arguments],
            env=os.environ | {"ROOT": str(root), "DISK": self.disk, "BINDS": self._binds()},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        self.processes.append(process)
        return process

    def _binds(self) -> str:
        """Say which folders of this machine are where in its root: the system's, and Python under other names."""
        pairs = {place: place for place in _SYSTEM if os.path.lexists(place)}
        pairs[sys.base_prefix] = sys.base_prefix  # a program that finds its library by this path
        own = self.folder / "env"
        packages = [*([str(self.first)] if self.first else []), *_package_folders()]
        inside = [f"{self.home}/packages-{number}" for number in range(len(packages))]
        pairs |= dict(zip(packages, inside, strict=True))
        library = own / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        if not library.is_dir():
            library.mkdir(parents=True)
            (own / "bin").mkdir()
            (own / "bin/python").symlink_to(Path(sys.executable).resolve())
            home = Path(sys.executable).resolve().parent
            (own / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
            (library / "host.pth").write_text("".join(f"{path}\n" for path in inside))
        pairs[str(own)] = f"{self.home}/env"
        pairs[str(self.folder / "tls")] = f"{self.home}/tls"
        return "\n".join(f"{start} {goal}" for start, goal in pairs.items())

    def kill(self) -> None:
        """Switch it off."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("log-*")))

    def listed(self, *, within: str = "/") -> list[str]:
        """List the paths below a folder of its root, as its own processes see them."""
        (init,) = _children_of(self.processes[-1].pid)
        root = f"/proc/{init}/root"
        found = []
        for current, folders, names in os.walk(f"{root}{within}"):
            if current.removeprefix(root) in ("/proc", "/sys", "/dev"):
                folders[:] = []
            found += [os.path.join(current, name).removeprefix(root) for name in (*folders, *names)]
        return found


def _children_of(parent: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _package_folders() -> list[str]:
    """Return the folders on this Python's path that are not its own library, nor the tests'."""
    own = (Path(sysconfig.get_path("stdlib")), Path(__file__).parents[1], Path(__file__).parents[2] / "scripts")
    found = dict.fromkeys(os.path.abspath(path) for path in sys.path if path and os.path.isdir(path))
    return [path for path in found if "-packages" in path or not any(Path(path).is_relative_to(each) for each in own)]


@dataclass
class Hosts:
    """A network of hosts."""

    folder: Path
    tls: Path
    tag: str
    hosts: dict[str, Host] = field(default_factory=dict)

    def add(self, name: str, **settings: object) -> Host:
        """Plug a host into the switch."""
        number = len(self.hosts) + 1
        host = Host(name, f"{_NETWORK}.{number}", f"{self.tag}-{name}", f"p{number}", f"/opt/{name}", **settings)  # type: ignore[arg-type]
        host.folder = self.folder / name
        host.folder.mkdir()
        shutil.copytree(self.tls, host.folder / "tls")
        _ip("netns", "add", host.namespace)
        switch = f"{self.tag}-switch"
        _ip("-n", switch, "link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
        _ip("-n", switch, "link", "set", host.port, "master", "bridge", "up")
        _ip("-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", host.namespace, "link", "set", device, "up")
        self.hosts[name] = host
        return host

    def pull(self, host: Host) -> None:
        """Pull its cable: packets are lost, and nobody is told."""
        _ip("-n", f"{self.tag}-switch", "link", "set", host.port, "down")

    def plug(self, host: Host) -> None:
        _ip("-n", f"{self.tag}-switch", "link", "set", host.port, "up")

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs something at the desk."""
        return [*_IN_NETWORK, f"{self.tag}-desk", *arguments]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def network(folder: Path, tls: Path) -> Iterator[Hosts]:
    """Make a switch with a desk; remove everything afterwards."""
    hosts = Hosts(folder, tls, f"gs{os.getpid()}x{time.monotonic_ns() % 10**6}")
    switch = f"{hosts.tag}-switch"
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        hosts.add("desk")
        yield hosts
    finally:
        for host in hosts.hosts.values():
            host.kill()
        for name in (switch, *(host.namespace for host in hosts.hosts.values())):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", name)
