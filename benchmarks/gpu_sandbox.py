"""Which files and system calls CUDA needs in the sandbox: what a process was seen to ask for, then each taken away.

python benchmarks/gpu_sandbox.py [--device cuda]

Children are forked from a process that has imported torch and not started CUDA, as the zygote of `grade` does; each is
confined and computes. A shim written in C notes what libraries open, ask of files and map. `benchmarks/grade_on_gpu.py`
runs this, too. With `OUT` in the environment, all that was noted is written there.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_S = 60.0


def compute(device: str) -> None:
    """Do what a submission does: products, convolutions, gradients, random numbers, copies to and from the device."""
    import torch

    x = torch.randn(64, 3, 16, 16, device=device, requires_grad=True)
    layer = torch.nn.Conv2d(3, 8, 3).to(device)
    (layer(x).relu().flatten(1) @ torch.randn(8 * 14 * 14, 32, device=device)).square().mean().backward()
    torch.linalg.solve(torch.eye(8, device=device), torch.randn(8, 2, device=device))
    pinned = torch.ones(1000).pin_memory() if device.startswith("cuda") else torch.ones(1000)
    assert float(pinned.to(device).sum()) == 1000
    assert x.grad is not None
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def begin(device: str) -> None:
    """Do the least that takes a context, which is quicker."""
    import torch

    assert torch.zeros(1, device=device).item() == 0


def forked(action: Callable[[int], None]) -> tuple[int, int, float]:
    """Start an action in a fork; return its pid, a pipe with why it failed, and when it began."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.setsid()
            action(writer)
            code = 0
        except BaseException as error:
            os.write(writer, " ".join(f"{type(error).__name__}: {error}".split()).encode()[:300])
        finally:
            os._exit(code)
    os.close(writer)
    return pid, reader, time.monotonic()


def outcomes(actions: dict[str, Callable[[int], None]], at_once: int = 6) -> dict[str, str]:
    """Run actions, some at once; return for each why it failed, empty if it did not."""
    left, running, found = dict(actions), dict[str, tuple[int, int, float]](), dict[str, str]()
    while left or running:
        while left and len(running) < at_once:
            name = next(iter(left))
            running[name] = forked(left.pop(name))
        for name, (pid, reader, began) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() - began > TIMEOUT_S
            if late and not done:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
            if done or late:
                said = "" if late else os.read(reader, 300).decode("utf-8", "replace").strip()
                os.close(reader)
                ended = "never ended" if late else f"exit code {os.waitstatus_to_exitcode(status)}"
                found[name] = said or ("" if done and not status else ended)
                del running[name]
        time.sleep(0.01)
    return found


LAYERS = (
    "environment", "descriptors", "session", "no new privileges", "capabilities", "small limits", "limits", "Landlock",
    "seccomp",
)  # fmt: skip


def take_away(layers: Iterable[str]) -> None:
    """Make layers of the sandbox do nothing, in this process."""
    from goldsmith.sandbox import confinement

    def nothing(*_: Any, **__: Any) -> None:
        return None

    sandbox: Any = confinement
    places: dict[str, list[tuple[Any, str]]] = {
        "environment": [(sandbox.limits, "settle_in")],
        "descriptors": [(sandbox.limits, "close_descriptors")],
        "session": [(sandbox.privileges, "own_session"), (sandbox.privileges, "end_with_parent")],
        "no new privileges": [(sandbox.privileges, "no_new_privileges")],
        "capabilities": [(sandbox.privileges, "drop_capabilities")],
        "small limits": [(sandbox.limits, "forbid_extras")],
        "limits": [(sandbox.limits, "limit")],
        "Landlock": [(sandbox, "_landlock")],
        "seccomp": [(sandbox.seccomp, "install")],
    }
    for layer in layers:
        for owner, name in places[layer]:
            setattr(owner, name, nothing)


class Variant:
    """A sandbox as grading makes it, with something taken away from it, or added."""

    def __init__(self, device: str, folder: str) -> None:
        from goldsmith.sandbox.accelerator import accelerator
        from goldsmith.sandbox.limits import Limits
        from goldsmith.sandbox.readable_paths import reach

        self.device, self.folder = device, folder
        self.act: Callable[[str], None] = compute
        self.given, self.reach, self.limits = accelerator(device), reach([]), Limits(processes=600, open_files=512)

    def __call__(
        self,
        without: Iterable[str] = (),
        more: Sequence[str] = (),
        policy: Callable[[list[Any]], list[Any]] = list,
        off: Iterable[str] = (),
        before: Callable[[], None] = lambda: None,
        read: Sequence[str] = (),
        write: Sequence[str] = (),
        abi: int = 0,
    ) -> Callable[[int], None]:
        def action(report: int) -> None:
            from goldsmith.sandbox import confinement
            from goldsmith.sandbox.capabilities import Level

            sandboxing: Any = confinement
            rules = sandboxing.rules
            sandboxing.rules = lambda *args, **options: policy(rules(*args, **options))
            take_away(off)
            before()
            home = tempfile.mkdtemp(dir=self.folder)
            gone = set(without)
            confinement.confine(
                confinement.Confinement(
                    home=home,
                    readable=tuple(
                        item for item in (*self.reach.readable, *self.given.readable, *read) if item not in gone
                    ),
                    listable=self.reach.listable,
                    writable=(*filter(None, [os.environ.get("SHIM_LOG")]), *self.given.writable, *write),
                    descriptors=(report,),
                    devices=tuple(item for item in (*self.given.devices, *more) if item not in gone),
                    variables=("SHIM_LOG",),
                    limits=self.limits,
                ),
                Level(landlock=abi, seccomp=True) if abi else None,
            )
            self.act(self.device)

        return action


def without_rules(calls: Iterable[str]) -> Callable[[list[Any]], list[Any]]:
    gone = set(calls)
    return lambda rules: [rule for rule in rules if rule.call not in gone]


def without_ioctl(numbers: Iterable[int]) -> Callable[[list[Any]], list[Any]]:
    """Return a policy that refuses these, as the first rule that looks at `ioctl`."""
    from errno import EPERM

    from goldsmith.sandbox.seccomp import Among, Rule

    return lambda rules: [Rule("ioctl", EPERM, (Among(1, tuple(numbers)),)), *rules]


def needed(title: str, actions: dict[str, Callable[[int], None]], *, says: bool = True) -> list[str]:
    """Print which of what was taken away is missed, and return those."""
    found = outcomes(actions)
    missed = [name for name, why in found.items() if why]
    print(f"\n{title}: {len(missed)} of {len(found)} are needed")
    for name in found if says else missed:
        print(f"  {'needed    ' if found[name] else 'not needed'}  {name:40} {found[name][:100]}".rstrip())
    sys.stdout.flush()
    return missed


def observed(log: Path) -> dict[str, collections.Counter[str]]:
    """Read what the shim has noted, by kind: how often each was asked for, and what errors it got."""
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        parts = line.split(" ", 3)
        if len(parts) == 4:
            kind, error, number, name = parts
            words = f"{name} {number}" if kind != "open" else name
            found[kind][words if error == "0" else f"{words} (error {error})"] += 1
    return found


def main(device: str) -> int:
    import torch  # noqa: F401

    from goldsmith.sandbox.capabilities import probe

    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    variant = Variant(device, folder)
    level = probe()
    print(f"level: {level.name}; devices {variant.given.devices}; read {variant.given.readable}")
    first = outcomes({"free": lambda report: compute(device), "in the sandbox": variant()})
    for name, why in first.items():
        print(f"{name}: {why or 'computes'}")
    log = Path(os.environ.get("SHIM_LOG", "/nonexistent"))
    seen = observed(log)
    for kind in ("ioctl", "shared", "socket", "memfd_create", "open"):
        rows = [
            f"{count:6} {name}"
            for name, count in sorted(seen[kind].items())
            if kind != "open" or name.startswith(("/dev", "/proc", "/sys", "/etc")) or "(error 13)" in name
        ]
        if rows:
            print(f"\n{kind}:")
            print("\n".join(rows[:120]))
    sys.stdout.flush()
    if not variant.given.devices:
        return int(bool(first["in the sandbox"]))
    cpu_in_sandbox(folder)
    if first["in the sandbox"]:
        best = find_what_is_missing(variant)
        print(f"to be let in: {best}")
        return 1
    needed("files of devices", {item: variant(without=[item]) for item in variant.given.devices})
    needed("what is read", {item: variant(without=[item]) for item in variant.given.readable})
    uvm = sorted({int(name.split()[-1], 16) for name in seen["ioctl"] if name.startswith("/dev/nvidia-uvm ")})
    own = sorted({int(name.split()[-1], 16) for name in seen["ioctl"] if "/dev/nvidia" in name} - set(uvm))
    needed("requests to the driver (ioctl)", {hex(number): variant(policy=without_ioctl([number])) for number in own})
    needed(
        "requests to unified memory (ioctl)", {hex(n): variant(policy=without_ioctl([n])) for n in uvm or range(1, 81)}
    )
    needed("shared anonymous memory", {"below 16 MiB": variant(policy=_nothing_shared)})
    return 0


def _nothing_shared(rules: list[Any]) -> list[Any]:
    from errno import EPERM

    from goldsmith.sandbox.seccomp import Among, Rule

    return [Rule("mmap", EPERM, (Among(3, (0x21, 0x23), 0x2F),)), *rules]


PROC = """self self/task self/fd self/fdinfo self/ns self/mounts self/mountinfo self/environ self/cmdline self/exe
    self/comm
    self/smaps self/pagemap self/numa_maps self/oom_score_adj self/limits self/mem sys sys/kernel sys/vm modules mounts
    driver bus version_signature sys/kernel/cap_last_cap"""
DEV = "shm nvidia-caps nvidia-uvm-tools nvidia-modeset char zero pts infiniband mqueue hugepages"
SYS = "bus class module devices fs kernel dev"
OTHERS = "/tmp /run /var /etc /root /home /opt /usr /work /lib /bin /mnt /srv"


def _last_of(why: str) -> str:
    return why[-90:] if why else "computes"


def find_what_is_missing(variant: Variant) -> dict[str, list[str]]:
    """Find out which system calls and paths keep it from computing, each layer by itself; then all together."""
    from goldsmith.sandbox import syscall_policy

    calls = sorted({rule.call for rule in syscall_policy.rules(1, 7, accelerator=True)})
    only_seccomp = [layer for layer in LAYERS if layer != "seccomp"]

    def refusing(some: Sequence[str]) -> Callable[[int], None]:
        return variant(policy=without_rules(set(calls) - set(some)), off=only_seccomp)

    variant.act = begin
    groups = [calls[at : at + 12] for at in range(0, len(calls), 12)]
    found = outcomes({"": refusing([])} | {" ".join(group): refusing(group) for group in groups}, at_once=12)
    suspects = [call for name, why in found.items() if why for call in name.split()]
    singles = outcomes({call: refusing([call]) for call in suspects}, at_once=12)
    breaking = [call for call, why in singles.items() if why]
    print(f"\nno call refused: {_last_of(found[''])}; calls whose refusal breaks it: {breaking}")
    fixed = outcomes({"seccomp without these": variant(policy=without_rules(breaking), off=only_seccomp)})
    print(*(f"{name}: {_last_of(why)}" for name, why in fixed.items()), flush=True)

    only_landlock = [layer for layer in LAYERS if layer not in ("Landlock", "no new privileges")]
    paths = [
        *(f"/proc/{item}" for item in PROC.split()),
        *(f"/dev/{item}" for item in DEV.split()),
        *(f"/sys/{item}" for item in SYS.split()),
        *OTHERS.split(),
    ]
    tried = {
        "everything": variant(read=["/"], write=["/"], more=["/dev"], off=only_landlock),
        "reading everything": variant(read=["/"], off=only_landlock),
        "writing everything": variant(write=["/"], more=["/dev"], off=only_landlock),
        "all paths": variant(read=paths, write=paths, more=paths, off=only_landlock),
        "all paths to read": variant(read=paths, off=only_landlock),
        **{f"ABI {abi}": variant(abi=abi, off=only_landlock) for abi in range(1, 7)},
        **{
            f"ABI {abi}, everything": variant(abi=abi, read=["/"], write=["/"], more=["/dev"], off=only_landlock)
            for abi in range(1, 7)
        },
        **{f"reading {path}": variant(read=[path], off=only_landlock) for path in (*paths, "/proc", "/dev", "/sys")},
        **{f"writing {path}": variant(write=[path], off=only_landlock) for path in (*paths, "/proc", "/dev", "/sys")},
    }
    found = outcomes(tried, at_once=12)
    print("\nLandlock alone:")
    for name, why in found.items():
        if not why or not name.startswith(("reading /", "writing /")):
            print(f"  {name}: {_last_of(why)}")
    writes = [name.partition(" ")[2] for name, why in found.items() if not why and name.startswith("writing /")]
    reads = [name.partition(" ")[2] for name, why in found.items() if not why and name.startswith("reading /")]
    if not reads and not writes and not found["all paths"]:
        without = {
            path: variant(
                read=[p for p in paths if p != path],
                write=[p for p in paths if p != path],
                more=[p for p in paths if p != path],
                off=only_landlock,
            )
            for path in paths
        }
        writes = [path for path, why in outcomes(without, at_once=12).items() if why]
        print(f"  of all paths, these are needed: {writes}")
    best = {"calls": breaking, "read": reads[:1] or [], "write": [] if reads else writes}
    variant.act = compute
    both = variant(policy=without_rules(breaking), read=best["read"], write=best["write"], more=best["write"])
    print(f"in the whole sandbox with {best}: {_last_of(outcomes({'all': both})['all'])}", flush=True)
    return best


def cpu_in_sandbox(folder: str) -> None:
    """Print how long it takes to find out, in the sandbox for the processor, that there is no card."""
    import torch

    for name, visible in (("as it is", None), ("with CUDA_VISIBLE_DEVICES empty", "")):

        def ask(_: str, visible: str | None = visible) -> None:
            if visible is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = visible
            began = time.monotonic()
            torch.cuda.is_available()
            first = time.monotonic() - began
            torch.cuda.is_available()
            raise ValueError(f"{first:.2f} s, then {time.monotonic() - began - first:.2f} s")

        variant = Variant("cpu", folder)
        variant.act = ask
        print(f"is there a card, asked in the sandbox for the processor, {name}: {outcomes({'': variant()})['']}")


def rerun_with_shim(device: str) -> int:
    """Run this program again with the shim in every library's way, if there is a compiler."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    source = Path(__file__).with_name("gpu_shim.c")
    library, log = Path(folder, "shim.so"), Path(folder, "log")
    environment = dict(os.environ)
    made = subprocess.run(
        ["cc", "-shared", "-fPIC", "-w", "-o", library, source, "-ldl"], capture_output=True, text=True
    )
    if made.returncode == 0:
        environment |= {"LD_PRELOAD": str(library), "SHIM_LOG": str(log)}
    else:
        print(f"without the shim: {made.stderr[:200]}")
    code = subprocess.run([sys.executable, __file__, "--device", device, "--seen"], env=environment).returncode
    if "OUT" in os.environ and log.exists():
        found = {kind: dict(counts) for kind, counts in observed(log).items()}
        found["open"] = {name: count for name, count in found.get("open", {}).items() if not name.startswith("/opt")}
        Path(os.environ["OUT"], "gpu_sandbox.json").write_text(json.dumps(found, indent=1))
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seen", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    raise SystemExit(main(given.device) if given.seen else rerun_with_shim(given.device))
