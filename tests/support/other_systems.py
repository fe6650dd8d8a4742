"""Other operating systems, as far as they can be played here: what Python lacks on them is taken away from it.

This shows what goldsmith's own code does there. The libraries that it uses support those systems themselves, and are
imported before anything is taken away. File systems, processes and terminals stay those of this machine, and so does
`os.name`, by which Python's `pathlib` decides what it can do.
"""

from __future__ import annotations

import os
from pathlib import Path


def words(text: str) -> list[str]:
    return text.split()


MACOS = {
    "platform": "darwin",
    "system": "Darwin",
    "modules": ["torch"],
    "os": words(
        """
        sched_getaffinity sched_setaffinity sched_getparam sched_setscheduler eventfd eventfd_read eventfd_write
        memfd_create pidfd_open posix_fadvise posix_fallocate copy_file_range splice setresuid setresgid getrandom
        getxattr setxattr listxattr removexattr setns unshare O_PATH O_TMPFILE O_DIRECT O_LARGEFILE O_NOATIME
        O_RSYNC EFD_SEMAPHORE EFD_NONBLOCK EFD_CLOEXEC
        """
    ),
    "signal": ["SIGPWR", "SIGSTKFLT", "SIGPOLL", "SIGRTMIN", "SIGRTMAX", "sigtimedwait", "sigwaitinfo"],
    "c": ["prctl", "renameat2", "syscall", "mallopt"],
    "c_library": True,
    "opens_folders": True,
}
WINDOWS = {
    "platform": "win32",
    "system": "Windows",
    "modules": ["torch", "resource", "fcntl", "termios", "tty", "pty", "pwd", "grp", "syslog", "posix"],
    "os": words(
        """
        getuid geteuid getgid getegid getgroups setuid setgid getpgid getpgrp setpgid getsid setsid getpriority nice
        fork forkpty killpg mkfifo mknod chown lchown fchown fchmod chroot fstatvfs sysconf uname getloadavg wait
        wait3 wait4 waitid openpty ttyname tcgetpgrp set_blocking get_blocking pread pwrite readv writev sendfile
        lockf sync fdatasync posix_spawn posix_spawnp posix_fadvise posix_fallocate copy_file_range splice eventfd
        eventfd_read eventfd_write memfd_create pidfd_open getrandom getxattr setxattr listxattr removexattr setns
        unshare sched_getaffinity sched_setaffinity sched_yield O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC O_PATH
        O_SYNC O_DSYNC O_TMPFILE O_NOCTTY
        """
    ),
    "signal": words(
        """
        SIGHUP SIGKILL SIGCHLD SIGALRM SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU
        SIGWINCH SIGXCPU SIGXFSZ SIGPWR SIGSTKFLT SIG_BLOCK SIG_UNBLOCK SIG_SETMASK pthread_sigmask pthread_kill
        alarm setitimer pause sigwait sigpending sigtimedwait sigwaitinfo siginterrupt
        """
    ),
    "c": [],
    "c_library": False,
    "opens_folders": False,
}
SYSTEMS = {"macOS": MACOS, "Windows": WINDOWS}

_PLAYED = '''
"""Imported by Python before anything else: {system}, played."""
from os import fork  # noqa: E402, F401

FACTS = {facts!r}
"""`fork` is for `tests/support/fork_cli.py`; a module of this name is nobody else's business."""


def play():
    import builtins, ctypes, importlib.util, io, os, platform  # noqa: E401
    import shutil, signal, subprocess, sys, sysconfig, tempfile  # noqa: E401

    sysconfig.get_config_vars()
    for name in ("filelock", "msgspec", "numpy", "prompt_toolkit", "rich.console", "safetensors.numpy", "click",
                 "zoneinfo", "select", "socket", "multiprocessing", "asyncio"):
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    which = shutil.which

    def found_as_here(*arguments, **options):
        sys.platform = "linux"
        try:
            return which(*arguments, **options)
        finally:
            sys.platform = FACTS["platform"]

    shutil.which = found_as_here
    sys.platform = FACTS["platform"]
    platform.system = lambda: FACTS["system"]
    tempfile._O_TMPFILE_WORKS = shutil._USE_CP_SENDFILE = False
    shutil._use_fd_functions, shutil._copyxattr = False, lambda *arguments, **options: None
    os.supports_fd.discard(os.chmod if not FACTS["opens_folders"] else None)
    for name in FACTS["os"]:
        vars(os).pop(name, None)
    for name in FACTS["signal"]:
        vars(signal).pop(name, None)
    for name in FACTS["modules"]:
        sys.modules.pop(name, None)

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name in FACTS["modules"]:
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    sys.meta_path.insert(0, Missing())
    found = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *rest: None if name in FACTS["modules"] else found(name, *rest)

    def no_proc(call):
        def checked(path, *arguments, **options):
            if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith(("/proc", "/sys")):
                raise FileNotFoundError(2, "No such file or directory", os.fsdecode(path))
            return call(path, *arguments, **options)

        return checked

    builtins.open = io.open = no_proc(io.open)
    for name in ("listdir", "scandir", "stat", "lstat"):
        setattr(os, name, no_proc(getattr(os, name)))
    opened = no_proc(os.open)

    def open_no_folder(path, *arguments, **options):
        if not FACTS["opens_folders"] and os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    os.open = open_no_folder
    library = ctypes.CDLL

    class Library(library):
        def __init__(self, name=None, *arguments, **options):
            if name is None and not FACTS["c_library"]:
                raise TypeError("bad argument type for built-in operation")
            super().__init__(name, *arguments, **options)

        def __getattr__(self, name):
            if name in FACTS["c"]:
                raise AttributeError(f"dlsym(RTLD_DEFAULT, {{name}}): symbol not found")
            return super().__getattr__(name)

    ctypes.CDLL = Library
    if FACTS["platform"] == "darwin":
        import resource

        for name in ("RLIMIT_NICE", "RLIMIT_RTPRIO", "RLIMIT_MSGQUEUE", "RLIMIT_SIGPENDING", "prlimit"):
            vars(resource).pop(name, None)
        limit = resource.setrlimit

        def refuse(kind, limits):
            if kind == resource.RLIMIT_AS:
                raise ValueError("current limit exceeds maximum limit")
            limit(kind, limits)

        resource.setrlimit = refuse


play()
'''


def play(name: str, folder: Path) -> dict[str, str]:
    """Variables with which every Python takes this machine for another; `folder` is to hold what that takes."""
    facts = SYSTEMS[name]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_PLAYED.format(system=name, facts=facts))
    real, temporary = folder / "private-tmp", folder / "tmp"
    real.mkdir(exist_ok=True)
    if not temporary.is_symlink():
        temporary.symlink_to(real)  # as /tmp is on macOS
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "TMPDIR": str(temporary)}
