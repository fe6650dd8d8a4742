"""What sandboxing this machine supports: found out by trying, in short-lived processes."""

from __future__ import annotations

import errno
import functools
import os
import sys
import warnings
from collections.abc import Callable

import msgspec

from goldsmith.errors.sandbox import NoSandbox
from goldsmith.foundation.kernel import machine, system_call
from goldsmith.sandbox import bubblewrap, landlock, seccomp
from goldsmith.sandbox.privileges import no_new_privileges
from goldsmith.sandbox.syscall_numbers import NUMBERS
from goldsmith.sandbox.syscall_policy import rules

_HOLDS = 0
_DOES_NOT_HOLD = 1
_NOT_SUPPORTED = 2
_CLONE_NEWUSER = 0x10000000


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """The layers that there are: Landlock's version or 0, seccomp, bubblewrap; `missing` explains what is not there."""

    landlock: int = 0
    seccomp: bool = False
    bubblewrap: bool = False
    missing: tuple[str, ...] = ()

    @property
    def sufficient(self) -> bool:
        """Return whether untrusted code can be kept from files, processes and the network."""
        return self.landlock > 0 and self.seccomp

    @property
    def name(self) -> str:
        layers = [f"Landlock (ABI {self.landlock})"] if self.landlock else []
        layers += ["seccomp"] if self.seccomp else []
        layers += ["limits"]
        layers += ["bubblewrap"] if self.bubblewrap else []
        return ", ".join(layers) if len(layers) > 1 else "limits only"

    def require(self) -> None:
        """Raise `NoSandbox` unless this is enough."""
        if not self.sufficient:
            raise NoSandbox(self.name, self.missing)


@functools.cache
def probe() -> Level:
    """Return what this machine supports. It is really tried, once, and never in this process."""
    if not machine():
        where = "this processor is not known to goldsmith" if sys.platform == "linux" else "this is not Linux"
        return Level(missing=(f"no Landlock and no seccomp: {where}",))
    missing: list[str] = []
    abi = _landlock_here(missing)
    filtered = _seccomp_here(missing)
    return Level(landlock=abi, seccomp=filtered, bubblewrap=bubblewrap.works(), missing=tuple(missing))


@functools.cache
def user_namespaces() -> bool:
    """Return whether this process could make a user namespace, as bubblewrap must unless it is installed setuid."""
    return bool(machine()) and holds_in_a_fork(_makes_a_user_namespace)


def _landlock_here(missing: list[str]) -> int:
    try:
        abi = landlock.version()
    except OSError as error:
        missing.append(landlock.why_not(error))
        return 0
    outcome = _in_a_fork(lambda: _landlock_holds(abi))
    if outcome != _HOLDS:
        missing.append("Landlock is there, but does not hold" if outcome == _DOES_NOT_HOLD else "Landlock failed")
        return 0
    return abi


def _seccomp_here(missing: list[str]) -> bool:
    outcome = _in_a_fork(_seccomp_holds)
    if outcome != _HOLDS:
        missing.append("seccomp is there, but does not hold" if outcome == _DOES_NOT_HOLD else "no seccomp filters")
    return outcome == _HOLDS


def _landlock_holds(abi: int) -> bool:
    """Return whether a folder that was readable no longer is; run in a fork."""
    no_new_privileges()
    os.listdir("/")
    landlock.restrict(abi)
    return _refused(lambda: os.listdir("/"), errno.EACCES)


def _seccomp_holds() -> bool:
    """Return whether a call that every process may make is refused afterwards; run in a fork."""
    no_new_privileges()
    seccomp.install(rules(os.getpid(), abi=landlock.SIGNALS_SINCE))
    return _refused(os.setsid, errno.EPERM)


def _makes_a_user_namespace() -> bool:
    system_call(NUMBERS[machine()]["unshare"], _CLONE_NEWUSER)
    return True


def _refused(attempt: Callable[[], object], number: int) -> bool:
    """Return whether an attempt ends with this error."""
    try:
        attempt()
    except OSError as error:
        return error.errno == number
    return False


def holds_in_a_fork(attempt: Callable[[], bool]) -> bool:
    """Return whether an attempt succeeds in a short-lived process."""
    return _in_a_fork(attempt) == _HOLDS


def _in_a_fork(attempt: Callable[[], bool]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads do no harm: the child only calls the kernel
        child = os.fork()
    if not child:
        try:
            os._exit(_HOLDS if attempt() else _DOES_NOT_HOLD)
        except BaseException:
            os._exit(_NOT_SUPPORTED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
