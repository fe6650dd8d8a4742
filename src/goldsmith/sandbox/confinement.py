"""Sandboxing this process: all layers, in an order in which each still permits the next."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

import msgspec

from goldsmith.errors.sandbox import CannotConfine
from goldsmith.foundation.kernel import machine
from goldsmith.sandbox import landlock, limits, private_network, privileges, seccomp, user_namespace
from goldsmith.sandbox import multiprocessing_shim as workers
from goldsmith.sandbox.capabilities import Level, probe
from goldsmith.sandbox.limits import Limits
from goldsmith.sandbox.readable_paths import HARMLESS_DEVICES
from goldsmith.sandbox.syscall_policy import rules


class Confinement(msgspec.Struct, frozen=True, kw_only=True):
    """Files and resources that a sandboxed process may use.

    listable:     folders that may be listed, with their subfolders, as an import does to find a module
    descriptors:  stay open, in addition to the standard streams
    devices:      files of an accelerator, which may be controlled; address space is not limited then, since a driver
                  reserves more of it than there is memory
    variables:    environment variables to keep, in addition to `limits.KEPT_VARIABLES`
    loopback:     has a private network with a loopback interface; without it, no sockets but pairs
    own_names:    has a private network so that names of sockets, which an accelerator's driver needs, are its own:
                  which of them are taken would tell others something, or keep their driver from starting
    """

    home: str
    readable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()
    devices: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    loopback: bool = False
    own_names: bool = False
    limits: Limits = Limits()


def confine(confinement: Confinement, level: Level | None = None) -> Level:
    """Sandbox this process irrevocably, with every layer that `level` (default: the probe) promises; return which.

    Raises `CannotConfine` if a layer cannot be set up: this process must then end. It gets its own session, ends with
    its parent, and must not have started a thread. Its home is writable.
    """
    promised = probe() if level is None else level
    with _layer("its home"):
        limits.settle_in(confinement.home, confinement.variables)
        with contextlib.suppress(ImportError):  # some Pythons are built without multiprocessing
            workers.do_without_sockets()
    with _layer("closing descriptors"):
        limits.close_descriptors(confinement.descriptors)
    own_user_namespace = False
    if confinement.loopback or confinement.own_names:
        with _layer("a private network"):
            own_user_namespace = private_network.enter()
    if confinement.limits.processes is not None and os.getuid() and not own_user_namespace:
        with contextlib.suppress(OSError):  # then others' processes count, too
            user_namespace.enter()
            own_user_namespace = True
    if sys.platform == "linux" and machine():
        _give_up_privileges()
    with _layer("limits"):
        limits.forbid_extras()
        limits.limit(_for_the_kernel(confinement), counts_alone=own_user_namespace)
    if promised.landlock:
        _landlock(confinement, promised.landlock)
    if promised.seccomp:
        with _layer("seccomp"):
            seccomp.install(
                rules(
                    os.getpid(),
                    promised.landlock,
                    loopback=confinement.loopback,
                    accelerator=bool(confinement.devices),
                )
            )
    return Level(landlock=promised.landlock, seccomp=promised.seccomp, missing=promised.missing)


def _for_the_kernel(confinement: Confinement) -> Limits:
    return msgspec.structs.replace(confinement.limits, memory=None) if confinement.devices else confinement.limits


def _give_up_privileges() -> None:
    with _layer("a session of its own"):
        privileges.own_session()
    with _layer("ending with its parent"):
        privileges.end_with_parent()
    with _layer("no_new_privs"):
        privileges.no_new_privileges()
    with _layer("dropping capabilities"):
        privileges.drop_capabilities()


def _landlock(confinement: Confinement, abi: int) -> None:
    with _layer("Landlock"):
        threads = landlock.threads()
        if threads != 1:
            raise OSError(errno.EBUSY, f"it has {threads} threads, and only one of them would be bound")
        landlock.restrict(
            abi,
            readable=confinement.readable,
            listable=confinement.listable,
            writable=(confinement.home, *confinement.writable, *HARMLESS_DEVICES),
            devices=confinement.devices,
            network=confinement.loopback,
        )


@contextlib.contextmanager
def _layer(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise CannotConfine(name, getattr(error, "strerror", None) or str(error)) from error
