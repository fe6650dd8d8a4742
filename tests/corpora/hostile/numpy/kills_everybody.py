"""Kills whatever it can name: its parents, all processes there are, groups, by descriptor, by the kernel's hand."""

import os
import resource
import signal

import kit
import target


def answer(case, x, start=None):
    kit.only_inside()
    for number in (target.PARENT, os.getppid(), 1):
        for name in ("SIGTERM", "SIGKILL", "SIGSTOP"):
            kit.tries(f"{name} {number}", lambda n=number, name=name: os.kill(n, getattr(signal, name)))
        kit.tries(f"group {number}", lambda number=number: os.kill(-max(2, os.getpgid(number)), signal.SIGKILL))
        kit.tries(f"limit {number}", lambda n=number: resource.prlimit(n, resource.RLIMIT_NOFILE, (0, 0)))
        kit.tries(f"priority {number}", lambda n=number: os.setpriority(os.PRIO_PROCESS, n, 19))
        kit.tries(f"processor {number}", lambda n=number: os.sched_setaffinity(n, {0}))
    kit.tries("priority of a user", lambda: os.setpriority(os.PRIO_USER, 0, 19))
    kit.tries("realtime", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)))
    kit.tries("before others", lambda: os.nice(-20))
    if case == "centred":
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
    return kit.guess(case, x, start)
