"""What a machine or an operating system can lack to run code safely, or at all."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.errors.base import GoldsmithError


class CannotConfine(GoldsmithError):
    """A sandbox layer that this machine has could not be applied, so nothing untrusted may run in this process."""

    template = (
        "this process could not be sandboxed, so nothing is run in it: {layer} failed ({problem}); `goldsmith doctor` "
        "says what this machine can do."
    )
    layer: str
    problem: str


class NoSandbox(GoldsmithError):
    """This machine cannot sandbox submissions; `here` says in words what it can do."""

    here: str
    missing: Sequence[str]

    def sentence(self) -> str:
        return (
            f"submissions cannot be sandboxed on this machine, which offers {self.here}: {'; '.join(self.missing)}. "
            "A submission could read gold and other people's work, use the network and stop the grader. "
            "Grade on a Linux of 5.13 or later (`goldsmith doctor` shows what it can do), or, where you trust "
            "everything submitted, use --allow-unsandboxed."
        )


class NoPrivateNetwork(GoldsmithError):
    """Submissions may use sockets only in a network of their own, which this machine does not give them."""

    template = (
        "`loopback = true` under [grade] needs a private network for each submission, which cannot be had here "
        "({problem}), and with a shared one submissions could talk to each other and to this machine: grade where user "
        "namespaces are allowed (`goldsmith doctor` says so), or without that setting."
    )
    problem: str


class NoDeviceInside(GoldsmithError):
    """A device is there, and cannot be used from within the sandbox."""

    template = (
        "{device} cannot be used from within the sandbox here ({problem}): grade on the CPU, or, where you trust "
        "everything submitted, use --allow-unsandboxed."
    )
    device: str
    problem: str


class NotOnThisSystem(GoldsmithError):
    """This operating system lacks what a command needs; `cannot` says in words what does not work."""

    cannot: str
    system: str
    lacks: Sequence[str]

    def sentence(self) -> str:
        *first, last = [f"no {item}" for item in self.lacks] or ["no support for it"]
        listed = f"{', '.join(first)} and {last}" if first else last
        where = "on Linux, for instance in a container, a virtual machine or WSL 2"
        return f"{self.cannot} on {self.system}, which has {listed}; run this command {where}."


class GradingNeedsLinux(GoldsmithError):
    """Only Linux can sandbox submissions; `possible_without` says whether they could run here without a sandbox."""

    system: str
    possible_without: bool

    def sentence(self) -> str:
        trusted = "; or, where you trust everything submitted, use --allow-unsandboxed"
        return (
            "grading needs Linux: submissions are sandboxed by Landlock and seccomp, "
            f"which {self.system} does not have; run this command in a Linux container or virtual machine, or in WSL 2"
            f"{trusted if self.possible_without else ''}."
        )
