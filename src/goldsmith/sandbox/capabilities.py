"""How well code can be locked in on this machine: found out by trying, in processes that are thrown away."""

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
_CANNOT = 2
_NEW_USER = 0x10000000


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """Which walls there are: Landlock's version or 0, seccomp, bubblewrap; `missing` says in words what is not."""

    landlock: int = 0
    seccomp: bool = False
    bubblewrap: bool = False
    missing: tuple[str, ...] = ()

    @property
    def sufficient(self) -> bool:
        """Whether code that nobody trusts can be kept from files, processes and the network."""
        return self.landlock > 0 and self.seccomp

    @property
    def name(self) -> str:
        walls = [f"Landlock (ABI {self.landlock})"] if self.landlock else []
        walls += ["seccomp"] if self.seccomp else []
        walls += ["limits"]
        walls += ["bubblewrap"] if self.bubblewrap else []
        return ", ".join(walls) if len(walls) > 1 else "limits only"

    def require(self) -> None:
        """Raise `NoSandbox` unless this is enough."""
        if not self.sufficient:
            raise NoSandbox(self.name, self.missing)


@functools.cache
def probe() -> Level:
    """What this machine can do. Tried for real, never in this process, once."""
    if not machine():
        where = "this processor is not known to goldsmith" if sys.platform == "linux" else "this is not Linux"
        return Level(missing=(f"no Landlock and no seccomp: {where}",))
    missing: list[str] = []
    abi = _landlock_here(missing)
    filtered = _seccomp_here(missing)
    return Level(landlock=abi, seccomp=filtered, bubblewrap=bubblewrap.works(), missing=tuple(missing))


@functools.cache
def user_namespaces() -> bool:
    """Whether this process could make a user namespace, as bubblewrap must where it is not installed setuid."""
    return bool(machine()) and _in_a_fork(_makes_a_user_namespace) == _HOLDS


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
    """In a fork: whether a folder that was open to it is closed afterwards."""
    no_new_privileges()
    os.listdir("/")
    landlock.restrict(abi)
    return _refused(lambda: os.listdir("/"), errno.EACCES)


def _seccomp_holds() -> bool:
    """In a fork: whether a call that every process may make is refused afterwards."""
    no_new_privileges()
    seccomp.install(rules(os.getpid(), abi=landlock.SIGNALS_SINCE))
    return _refused(os.setsid, errno.EPERM)


def _makes_a_user_namespace() -> bool:
    system_call(NUMBERS[machine()]["unshare"], _NEW_USER)
    return True


def _refused(attempt: Callable[[], object], number: int) -> bool:
    """Whether an attempt ends with this error."""
    try:
        attempt()
    except OSError as error:
        return error.errno == number
    return False


def _in_a_fork(attempt: Callable[[], bool]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the child only calls the kernel
        child = os.fork()
    if not child:
        try:
            os._exit(_HOLDS if attempt() else _DOES_NOT_HOLD)
        except BaseException:
            os._exit(_CANNOT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
