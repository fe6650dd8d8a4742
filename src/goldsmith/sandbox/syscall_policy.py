"""System calls that are forbidden for untrusted code, and why."""

from __future__ import annotations

from errno import EINVAL, ENOLCK, ENOMEM, ENOSYS, EOPNOTSUPP, EPERM

from goldsmith.sandbox.landlock import SIGNALS_SINCE, TRUNCATION_SINCE
from goldsmith.sandbox.seccomp import Among, AnyBit, Both, Given, Large, NotAmong, NotGiven, Rule

_OTHER_PROCESSES = """
    ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd
    get_robust_list move_pages migrate_pages perf_event_open ioprio_set"""
_SOCKETS = "socket connect bind listen accept accept4"
_ASYNCHRONOUS = "io_uring_setup io_uring_enter io_uring_register"
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
"""Memory that is not counted for any process: nameless files, rings of asynchronous I/O, and files in transit through a
socket, which only these two calls can send."""
_HIDING = "setsid setpgid"
"""Forbidden, so that everything started stays in one process group, where it is counted and ended."""
_OWNERS_AND_ATTRIBUTES = """
    chown fchown lchown fchownat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"""
_MODES = "chmod fchmod fchmodat fchmodat2"
"""Landlock checks neither these nor times. They do nothing and report success: copying a file ends with them."""
_EVERYBODYS_DISK = "sync syncfs"
"""Could write out everyone else's changes again and again. They do nothing and report success."""
_EVERYBODYS_FILES = "flock"
"""A lock on a file that all submissions may read would be a signal to another that runs at the same time. It does
nothing and reports success: code that locks files of its own goes on."""
_CACHED_FILES = "mincore cachestat"
"""Tell which pages of a file the kernel has cached: what one submission has read, the next one would see. As on a
kernel without these calls."""
_CACHING_ADVICE = "fadvise64 readahead"
"""Load or drop pages of the cache that all processes share, which would remember them for the next submission. They are
advice, so they do nothing and report success."""
_TIMES = {"utime": (0, 1), "utimes": (0, 1), "futimesat": (1, 2), "utimensat": (1, 2)}
"""By call, the positions of its path and times arguments. A path without times is refused: `touch` begins with this
call, takes success as a sign that the file exists, and creates it (as it may in its home) only after an error."""

_FORBIDDEN = " ".join((
    _OTHER_PROCESSES, _ASYNCHRONOUS, _CHANNELS, _NAMESPACES, _THE_KERNEL, _AROUND_PATHS, _MEMORY_OUTSIDE_OF_LIMITS,
    _HIDING, _OWNERS_AND_ATTRIBUTES,
)).split()  # fmt: skip

_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPES = 1, 1, 5, 0xF
_WITHOUT_ADDRESSES = (_SOCK_STREAM, _SOCK_SEQPACKET)
"""Datagrams, the third kind, can be sent to any named socket, even from one end of a pair."""
_AF_INET, _AF_INET6, _AF_NETLINK, _SOCK_DGRAM = 2, 10, 16, 2
_ROUTES, _IP, _TCP, _UDP, _IPV6 = 0, 0, 6, 17, 41
_IN_PRIVATE = (_AF_INET, _AF_INET6)
"""What a socket may be in a network of its own. Not a Unix socket: by its path it leads out of every network."""
_OPTIONS = {
    1: (2, 4, 5, 6, 7, 8, 9, 13, 15, 18, 19, 20, 21, 66, 67),  # reuse, broadcast, sizes, keep-alive, linger, timeouts
    _TCP: (1, 3, 4, 5, 6, 8, 9, 12, 18),  # no delay, cork, keep-alive, linger, accept, acknowledgements, timeout
    _IPV6: (26,),  # not for IPv4
}
"""Options of sockets, by level, that programs set; many others reach rarely used code of the kernel's."""
_NEW_NAMESPACES = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
_CLONE_PTRACE, _CLONE_PARENT = 0x2000, 0x8000
_CLONE_VM, _CLONE_VFORK, _CLONE_THREAD = 0x100, 0x4000, 0x10000
"""Threads share memory, and so does vfork until its child runs another program. Other processes that do take only
microseconds to start: thousands before they are counted."""

_IOCTLS = (
    0x5401, 0x802C542A, 0x540F, 0x5413, 0x5429,  # is it a terminal, whose, how wide
    0x5411, 0x541B, 0x5421, 0x5450, 0x5451,  # how much waits, blocking, closed by other programs
)  # fmt: skip
"""What programs ask of streams. Others type into terminals, have the kernel signal a process, change flags of files
that are open for reading only, seal them, or reach rarely used code of the kernel's."""
_IOCTLS_OF_SOCKETS = (
    0x8905, 0x8910, 0x8912, 0x8913, 0x8915, 0x8917, 0x8919, 0x891B, 0x891D, 0x8921, 0x8927, 0x8933, 0x8942, 0x8946,
)  # fmt: skip
"""Asking which interfaces there are, and for their properties."""
_IOCTLS_OF_NVIDIA, _KIND_OF_IOCTL = 0x4600, 0xFF00
"""What NVIDIA's driver is asked, of whatever number, size and direction. Landlock lets only its own files be asked."""
_IOCTLS_OF_UVM = (*range(1, 81), 0x30000001, 0x30000002)
"""What its driver of unified memory is asked: plain numbers. Of other files, the kernel knows 1 and 2, which ask for a
block's number, for root alone, and its size."""
MAX_SHARED_BYTES = 2**24
"""The driver shares anonymous memory below this size with the card. Each piece counts as this much, as long as a page
of it is mapped (`process/descendants.py`)."""
_FICLONE = 0x40049409
_FCNTLS = (
    0, 1, 2, 3, 4, 1027, 1028, 1030,  # duplicates, flags
    5, 9, 11, 16, 36, 1025,  # who is told what, and who has locked what
    1031, 1032, 1033, 1034,  # the size of a pipe, seals of memory
)  # fmt: skip
"""All others have the kernel signal a process, or note something at a file that only has to be open for reading: a hint
for writing (`F_SET_RW_HINT`) stays there for the next submission, also on a mount that is read-only."""

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_MM, _PR_SET_CHILD_SUBREAPER, _PR_SCHED_CORE, _PR_SET_MEMORY_MERGE = (
    1,
    22,
    35,
    36,
    62,
    67,
)
_PR_SET_PTRACER = 0x59616D61
_PROCESS_OPTIONS = (
    _PR_SET_SECCOMP, _PR_SET_MM, _PR_SET_CHILD_SUBREAPER, _PR_SCHED_CORE, _PR_SET_MEMORY_MERGE, _PR_SET_PTRACER,
)  # fmt: skip

_MAP_TYPE_AND_ANONYMOUS, _SHARED_ANONYMOUS, _MAP_HUGETLB = 0x2F, (0x21, 0x23), 0x40000
"""Shared anonymous memory persists after a process has unmapped all but one page of it, and nothing counts it then."""
_MADV_WILLNEED = 3
_MEMORY_ADVICE = (
    0, 1, 2, 4, 8,  # normal, random, sequential, don't need, free
    10, 11, 14, 15, 16, 17, 18, 19,  # copied by forks, huge pages, dumped, cleared by forks; or not
    102, 103,  # guard pages
)  # fmt: skip
"""What allocators, interpreters and thread stacks ask for. All other advice loads or drops cached pages of files
(`MADV_POPULATE_READ`, `MADV_COLD`, `MADV_PAGEOUT`, `MADV_REMOVE`, `MADV_COLLAPSE`), or shares equal pages with other
processes (`MADV_MERGEABLE`), whose timing shows it; kernels that lack it say the same."""
_RWF_NOWAIT, _RWF_DONTCACHE = 0x8, 0x80
"""Reading only what is cached, which says whether it is; reading and dropping it."""
_F_SETLK, _F_SETLKW, _F_OFD_SETLK, _F_OFD_SETLKW = 6, 7, 37, 38
"""Locks of ranges, of which the kernel keeps any number."""
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_PRIO_PROCESS = 0


def rules(process: int, abi: int, *, loopback: bool = False, accelerator: bool = False) -> list[Rule]:
    """Return all rules for the process with this pid, on top of this version of Landlock. With `loopback` it is in a
    network of its own, and may use that. With an `accelerator` it may control one."""
    itself = (0, process)
    ioctls = (*_IOCTLS, *(_IOCTLS_OF_SOCKETS if loopback else ()), *(_IOCTLS_OF_UVM if accelerator else ()))
    other_ioctls, shared = NotAmong(1, ioctls), Among(3, _SHARED_ANONYMOUS, _MAP_TYPE_AND_ANONYMOUS)
    of_nvidia = NotAmong(1, (_IOCTLS_OF_NVIDIA,), _KIND_OF_IOCTL)
    large = Large(1, ~(MAX_SHARED_BYTES - 1) & 0xFFFFFFFF)
    found = [
        *(Rule(call, EPERM) for call in _FORBIDDEN),
        *(Rule(call, ENOSYS) for call in _CACHED_FILES.split()),
        *(Rule(call, 0) for call in f"{_MODES} {_EVERYBODYS_DISK} {_EVERYBODYS_FILES} {_CACHING_ADVICE}".split()),
        Rule("madvise", 0, (Among(2, (_MADV_WILLNEED,)),)),
        Rule("madvise", EINVAL, (NotAmong(2, _MEMORY_ADVICE),)),
        *(Rule(call, EOPNOTSUPP, (AnyBit(5, _RWF_NOWAIT | _RWF_DONTCACHE),)) for call in ("preadv2", "pwritev2")),
        Rule("fallocate", EOPNOTSUPP),  # the C library then writes instead, and writes are counted
        Rule("mmap", EPERM, (Both(shared, large) if accelerator else shared,)),
        Rule("mmap", ENOMEM, (AnyBit(3, _MAP_HUGETLB),)),
        *(rule for call, places in _TIMES.items() for rule in _times(call, *places)),
        Rule("clone", EPERM, (AnyBit(0, _NEW_NAMESPACES | _CLONE_PARENT | _CLONE_PTRACE),)),
        Rule("clone", EPERM, (Among(0, (_CLONE_VM,), _CLONE_VM | _CLONE_VFORK | _CLONE_THREAD),)),
        Rule("clone3", ENOSYS),  # seccomp cannot see its flags; the C library falls back to clone
        Rule("socketpair", EPERM, (NotAmong(0, (_AF_UNIX,)), NotAmong(1, _WITHOUT_ADDRESSES, _SOCK_TYPES))),
        *(_private_sockets() if loopback else _named_sockets() if accelerator else _no_sockets()),
        Rule("ioctl", EOPNOTSUPP, (Among(1, (_FICLONE,)),)),  # then programs copy in the usual way
        Rule("ioctl", EPERM, (Both(other_ioctls, of_nvidia) if accelerator else other_ioctls,)),
        Rule("fcntl", ENOLCK, (Among(1, (_F_SETLK, _F_SETLKW, _F_OFD_SETLK, _F_OFD_SETLKW)),)),
        Rule("fcntl", EPERM, (NotAmong(1, _FCNTLS),)),
        Rule("prctl", 0, (Among(0, (_PR_SET_PDEATHSIG,)),)),
        Rule(
            "prctl",
            EPERM,
            (Among(0, _PROCESS_OPTIONS),),
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


def _no_sockets() -> list[Rule]:
    return [*(Rule(call, EPERM) for call in _SOCKETS.split()), Rule("sendto", EPERM, (Given(4),))]


def _named_sockets() -> list[Rule]:
    """Allow Unix sockets that nobody can connect to, which NVIDIA's driver insists on giving a name without a path: by
    one with a path, Landlock does not let it make a file."""
    return [
        Rule("socket", EPERM, (NotAmong(0, (_AF_UNIX,)),)),
        *(Rule(call, EPERM) for call in ("connect", "accept", "accept4")),
        Rule("sendto", EPERM, (Given(4),)),
    ]


def _private_sockets() -> list[Rule]:
    """Allow TCP and UDP, and to ask which interfaces there are, as C libraries do by netlink."""
    return [
        Rule("socket", EPERM, (NotAmong(0, (*_IN_PRIVATE, _AF_NETLINK)),)),
        Rule("socket", EPERM, (Both(Among(0, (_AF_NETLINK,)), NotAmong(2, (_ROUTES,))),)),
        Rule("socket", EPERM, (Both(Among(0, _IN_PRIVATE), NotAmong(1, (_SOCK_STREAM, _SOCK_DGRAM), _SOCK_TYPES)),)),
        Rule("socket", EPERM, (Both(Among(0, _IN_PRIVATE), NotAmong(2, (_IP, _TCP, _UDP))),)),
        Rule("setsockopt", EPERM, (NotAmong(1, tuple(_OPTIONS)),)),
        *(
            Rule("setsockopt", EPERM, (Both(Among(1, (level,)), NotAmong(2, options)),))
            for level, options in _OPTIONS.items()
        ),
    ]


def _times(call: str, path: int, times: int) -> list[Rule]:
    """Ignore given times, and changes to an open file's times, and report success; refuse a path without times."""
    return [Rule(call, 0, (NotGiven(path), Given(times))), Rule(call, EPERM)]


def _signals_to_itself_only(process: int) -> list[Rule]:
    """Allow signals only to this process and its group, where Landlock does not check signals."""
    return [
        Rule("kill", EPERM, (NotAmong(0, (process, 0, -process)),)),
        *(Rule(call, EPERM, (NotAmong(0, (process,)),)) for call in ("tkill", "tgkill", "rt_sigqueueinfo")),
        Rule("rt_tgsigqueueinfo", EPERM, (NotAmong(0, (process,)),)),
        Rule("pidfd_send_signal", EPERM),
    ]


def _nothing_cut_off() -> list[Rule]:
    """Forbid truncation where Landlock does not check it; even opening a file for reading allows it."""
    for_reading = (_O_TRUNC, _O_TRUNC | _O_ACCMODE)
    return [
        Rule("truncate", EPERM),
        Rule("open", EPERM, (Among(1, for_reading, _O_TRUNC | _O_ACCMODE),)),
        Rule("openat", EPERM, (Among(2, for_reading, _O_TRUNC | _O_ACCMODE),)),
        Rule("openat2", ENOSYS),
    ]
