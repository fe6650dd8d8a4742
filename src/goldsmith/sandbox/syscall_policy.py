"""Which system calls are taken away from code that nobody trusts, and why."""

from __future__ import annotations

from errno import ENOLCK, ENOMEM, ENOSYS, EOPNOTSUPP, EPERM

from goldsmith.sandbox.landlock import SIGNALS_SINCE, TRUNCATION_SINCE
from goldsmith.sandbox.seccomp import Among, AnyBit, Given, NotAmong, NotGiven, Rule

_OTHER_PROCESSES = """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd
    get_robust_list move_pages migrate_pages perf_event_open ioprio_set"""
_NETWORK = "socket connect bind listen accept accept4 io_uring_setup io_uring_enter io_uring_register"
_CHANNELS = """
    shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend
    mq_timedreceive mq_notify mq_getsetattr keyctl add_key request_key"""
_NAMESPACES = """
    unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr
    statmount listmount quotactl quotactl_fd swapon swapoff nfsservctl"""
_THE_KERNEL = """
    bpf userfaultfd kexec_load kexec_file_load init_module finit_module delete_module create_module iopl ioperm
    modify_ldt lookup_dcookie acct reboot settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname
    syslog vhangup uselib ustat sysfs _sysctl personality seccomp
    landlock_create_ruleset landlock_add_rule landlock_restrict_self"""
_AROUND_PATHS = """
    name_to_handle_at open_by_handle_at fanotify_init fanotify_mark inotify_init inotify_init1 inotify_add_watch
    mknod mknodat"""
_MEMORY_OUTSIDE_OF_LIMITS = """
    memfd_create memfd_secret io_setup io_submit io_destroy io_getevents io_pgetevents io_cancel sendmsg sendmmsg"""
"""Memory that no process has: nameless files, rings of asynchronous I/O, and files on their way through a socket, which
only these two calls can send."""
_HIDING = "setsid setpgid"
"""Whatever is started stays in one process group, where it is counted and ended."""
_OWNERS_AND_ATTRIBUTES = """
    chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"""
_MODES = "chmod fchmod fchmodat fchmodat2"
"""Landlock does not look at these, nor at times. They do nothing and say that they did, for copying a file ends with
them."""
_EVERYBODYS_DISK = "sync syncfs"
"""Would write out what everybody else has changed, again and again. They do nothing and say that they did."""
_TIMES = {"utime": (0, 1), "utimes": (0, 1), "futimesat": (1, 2), "utimensat": (1, 2)}
"""By call, where it has the path and where the times. A path without a time is refused: whoever touches a file begins
with this, takes success for a sign that it is there, and makes it only after an error, which is allowed at home."""

_FORBIDDEN = " ".join((
    _OTHER_PROCESSES, _NETWORK, _CHANNELS, _NAMESPACES, _THE_KERNEL, _AROUND_PATHS, _MEMORY_OUTSIDE_OF_LIMITS, _HIDING,
    _OWNERS_AND_ATTRIBUTES,
)).split()  # fmt: skip

_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPES = 1, 1, 5, 0xF
_WITHOUT_ADDRESSES = (_SOCK_STREAM, _SOCK_SEQPACKET)
"""The third kind, datagrams, can be sent to any socket with a name, also from one end of a pair."""
_NEW_NAMESPACES = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
_CLONE_PTRACE, _CLONE_PARENT = 0x2000, 0x8000

_TIOCSCTTY, _TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x540E, 0x5412, 0x541C, 0x5423
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
_SET_FLAGS, _SET_FLAGS_32, _SET_EXTENDED_FLAGS, _SET_VERSION = 0x40086602, 0x40046602, 0x401C5820, 0x40087602
_IOCTLS = (
    _TIOCSCTTY, _TIOCSTI, _TIOCLINUX, _TIOCSETD,
    _FIOSETOWN, _SIOCSPGRP,
    _SET_FLAGS, _SET_FLAGS_32, _SET_EXTENDED_FLAGS, _SET_VERSION,
)  # fmt: skip
"""Typing into a terminal; having the kernel signal somebody else; flags of files that are open for reading only."""
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY = 8, 10, 15, 1024, 1026

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_MM, _PR_SET_CHILD_SUBREAPER, _PR_SCHED_CORE = 1, 22, 35, 36, 62
_PR_SET_PTRACER = 0x59616D61

_MAP_TYPE_AND_ANONYMOUS, _SHARED_ANONYMOUS, _MAP_HUGETLB = 0x2F, (0x21, 0x23), 0x40000
"""Shared anonymous memory lives on after a process has let go of all but one page of it, where nothing counts it."""
_F_SETLK, _F_SETLKW, _F_OFD_SETLK, _F_OFD_SETLKW = 6, 7, 37, 38
"""Locks of ranges, of which the kernel keeps as many as anybody asks for. `flock` has one for each open file."""
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_PRIO_PROCESS = 0


def rules(process: int, abi: int) -> list[Rule]:
    """All of them, for the process with this number, beside this version of Landlock."""
    itself = (0, process)
    found = [
        *(Rule(call, EPERM) for call in _FORBIDDEN),
        *(Rule(call, 0) for call in f"{_MODES} {_EVERYBODYS_DISK}".split()),
        Rule("fallocate", EOPNOTSUPP),  # the C library then writes, and what is written is counted
        Rule("mmap", EPERM, (Among(3, _SHARED_ANONYMOUS, _MAP_TYPE_AND_ANONYMOUS),)),
        Rule("mmap", ENOMEM, (AnyBit(3, _MAP_HUGETLB),)),
        *(rule for call, places in _TIMES.items() for rule in _times(call, *places)),
        Rule("clone", EPERM, (AnyBit(0, _NEW_NAMESPACES | _CLONE_PARENT | _CLONE_PTRACE),)),
        Rule("clone3", ENOSYS),  # its flags are out of sight here; the C library then falls back to clone
        Rule(
            "socketpair", EPERM, (NotAmong(0, (_AF_UNIX,)), NotAmong(1, (_SOCK_STREAM, _SOCK_SEQPACKET), _SOCK_TYPES))
        ),
        Rule("sendto", EPERM, (Given(4),)),
        Rule("ioctl", EPERM, (Among(1, _IOCTLS),)),
        Rule("fcntl", EPERM, (Among(1, (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE, _F_NOTIFY)),)),
        Rule("fcntl", ENOLCK, (Among(1, (_F_SETLK, _F_SETLKW, _F_OFD_SETLK, _F_OFD_SETLKW)),)),
        Rule("prctl", 0, (Among(0, (_PR_SET_PDEATHSIG,)),)),
        Rule(
            "prctl",
            EPERM,
            (Among(0, (_PR_SET_SECCOMP, _PR_SET_MM, _PR_SET_CHILD_SUBREAPER, _PR_SCHED_CORE, _PR_SET_PTRACER)),),
        ),
        Rule("setpriority", EPERM, (NotAmong(0, (_PRIO_PROCESS,)), NotAmong(1, itself))),
        *(
            Rule(call, EPERM, (NotAmong(0, itself),))
            for call in ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
        ),
    ]
    if abi < SIGNALS_SINCE:
        found += _signals_to_itself_only(process)
    if abi < TRUNCATION_SINCE:
        found += _nothing_cut_off()
    return found


def _times(call: str, path: int, times: int) -> list[Rule]:
    """An open file's times, and times that are given, stay as they are, with success; a path's without one, without."""
    return [Rule(call, 0, (NotGiven(path), Given(times))), Rule(call, EPERM)]


def _signals_to_itself_only(process: int) -> list[Rule]:
    """Where Landlock does not look at signals: to this process and to its group, which nobody else is in."""
    return [
        Rule("kill", EPERM, (NotAmong(0, (process, 0, -process)),)),
        *(Rule(call, EPERM, (NotAmong(0, (process,)),)) for call in ("tkill", "tgkill", "rt_sigqueueinfo")),
        Rule("rt_tgsigqueueinfo", EPERM, (NotAmong(0, (process,)),)),
        Rule("pidfd_send_signal", EPERM),
    ]


def _nothing_cut_off() -> list[Rule]:
    """Where Landlock does not look at truncation, which a file that is opened for reading allows, too."""
    for_reading = (_O_TRUNC, _O_TRUNC | _O_ACCMODE)
    return [
        Rule("truncate", EPERM),
        Rule("open", EPERM, (Among(1, for_reading, _O_TRUNC | _O_ACCMODE),)),
        Rule("openat", EPERM, (Among(2, for_reading, _O_TRUNC | _O_ACCMODE),)),
        Rule("openat2", ENOSYS),
    ]
