"""Asks the kernel for ways around its walls: namespaces, mounts, handles, keys, shared memory, rings, filters."""

import ctypes
import os

import kit
import target

CALLS = {
    "unshare": (272, 0x10000000), "mount": (165, 0, 0, 0, 0, 0), "chroot": (161, 0), "bpf": (321, 0, 0, 0),
    "io_uring": (425, 1, 0), "keyctl": (250, 0, -3, 0), "shmget": (29, 1, 4096, 0o1600), "memfd": (319, 0, 0),
    "userfaultfd": (323, 1), "perf": (298, 0, 0, 0, 0, 0), "pivot_root": (155, 0, 0), "setns": (308, 0, 0),
    "personality": (135, 0x0040000), "open_by_handle_at": (304, -100, 0, 0), "seccomp": (317, 1, 0, 0),
    "clone into namespaces": (56, 0x10000011, 0, 0, 0, 0), "clone3": (435, 0, 0), "fanotify": (300, 0, 0),
    "mq_open": (240, 0, 0, 0, 0), "msgget": (68, 1, 0o1600), "semget": (64, 1, 1, 0o1600), "modify_ldt": (154, 0, 0, 0),
}  # fmt: skip


def answer(case, x, start=None):
    kit.only_inside()
    if kit.once():
        for name, (number, *arguments) in CALLS.items():
            kit.tries(name, lambda number=number, arguments=arguments: kit.call(number, *arguments))
        handle = ctypes.create_string_buffer(136)
        handle[:4] = (128).to_bytes(4, "little")
        path = ctypes.c_char_p(target.GOLD.encode())
        kit.tries("handle", lambda: kit.call(303, -100, path, handle, ctypes.byref(ctypes.c_int()), 0))
        kit.tries("become another", lambda: os.setuid(65534) or os.setuid(0) or os.listdir(target.GOLD))
        kit.tries("named pipe", lambda: os.mkfifo(kit.SCRATCH / "pipe"))
        kit.tries("device", lambda: os.mknod(kit.SCRATCH / "disk", 0o60600, os.makedev(254, 0)))
    return kit.guess(case, x, start)
