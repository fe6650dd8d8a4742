"""System call numbers that the sandbox needs, for the two supported processors."""

from __future__ import annotations

X86_64 = "x86_64"
AARCH64 = "aarch64"

AUDIT_ARCHITECTURE = {X86_64: 0xC000003E, AARCH64: 0xC00000B7}
X32 = 0x40000000
"""From here on, numbers belong to a second set of calls (the x32 ABI) that an x86_64 kernel may have."""
NEWEST = 462
"""The last number that has been reviewed. Later calls are answered as by a kernel that lacks them."""

_BOTH = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "landlock_create_ruleset": 444, "landlock_add_rule": 445,
    "landlock_restrict_self": 446, "memfd_secret": 447, "process_mrelease": 448, "cachestat": 451,
    "fchmodat2": 452, "statmount": 457, "listmount": 458,
}  # fmt: skip
_EACH = {
    "accept": (43, 202), "accept4": (288, 242), "acct": (163, 89), "add_key": (248, 217),
    "adjtimex": (159, 171), "bind": (49, 200), "bpf": (321, 280), "capset": (126, 91), "chroot": (161, 51),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "clone": (56, 220), "connect": (42, 203),
    "delete_module": (176, 106), "fadvise64": (221, 223), "fallocate": (285, 47), "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263), "flock": (73, 32), "fchmod": (91, 52), "fchmodat": (268, 53), "fchown": (93, 55),
    "fchownat": (260, 54), "fcntl": (72, 25), "finit_module": (313, 273), "fremovexattr": (199, 16),
    "fsetxattr": (190, 7), "get_robust_list": (274, 100), "init_module": (175, 105),
    "inotify_add_watch": (254, 27), "inotify_init1": (294, 26), "io_cancel": (210, 3), "io_destroy": (207, 1),
    "io_getevents": (208, 4), "io_pgetevents": (333, 292), "io_setup": (206, 0), "io_submit": (209, 2),
    "ioctl": (16, 29), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129), "listen": (50, 201),
    "lookup_dcookie": (212, 18), "lremovexattr": (198, 15), "lsetxattr": (189, 6), "madvise": (28, 233),
    "memfd_create": (319, 279), "migrate_pages": (256, 238), "mincore": (27, 232),
    "mknodat": (259, 33), "mmap": (9, 222), "mount": (165, 40),
    "move_pages": (279, 239), "mq_getsetattr": (245, 185), "mq_notify": (244, 184), "mq_open": (240, 180),
    "mq_timedreceive": (243, 183), "mq_timedsend": (242, 182), "mq_unlink": (241, 181), "msgctl": (71, 187),
    "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189), "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42), "open_by_handle_at": (304, 265), "openat": (257, 56),
    "perf_event_open": (298, 241), "personality": (135, 92), "pivot_root": (155, 41), "prctl": (157, 167),
    "preadv2": (327, 286), "pwritev2": (328, 287), "readahead": (187, 213),
    "prlimit64": (302, 261), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142), "removexattr": (197, 14),
    "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "seccomp": (317, 277), "semctl": (66, 191), "semget": (64, 190),
    "semop": (65, 193), "semtimedop": (220, 192), "sendmmsg": (307, 269), "sendmsg": (46, 211),
    "sendto": (44, 206), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "setpgid": (109, 154), "setpriority": (141, 140), "setsid": (112, 157), "setsockopt": (54, 208),
    "settimeofday": (164, 170),
    "setxattr": (188, 5), "shmat": (30, 196), "shmctl": (31, 195), "shmget": (29, 194), "socket": (41, 198),
    "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224), "sync": (162, 81),
    "syncfs": (306, 267), "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "utimensat": (280, 88),
    "vhangup": (153, 58),
}  # fmt: skip
_ONLY_X86_64 = {
    "_sysctl": 156, "chmod": 90, "chown": 92, "create_module": 174, "futimesat": 261, "inotify_init": 253,
    "ioperm": 173, "iopl": 172, "lchown": 94, "mknod": 133, "modify_ldt": 154, "open": 2, "sysfs": 139,
    "uselib": 134, "ustat": 136, "utime": 132, "utimes": 235,
}  # fmt: skip

NUMBERS: dict[str, dict[str, int]] = {
    X86_64: {**_BOTH, **{name: pair[0] for name, pair in _EACH.items()}, **_ONLY_X86_64},
    AARCH64: {**_BOTH, **{name: pair[1] for name, pair in _EACH.items()}},
}
