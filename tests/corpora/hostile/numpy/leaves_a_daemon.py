"""Leaves a process behind that runs on: in a session of its own, twice forked, under another name."""

import os
import subprocess
import sys

import kit
import target


def answer(case, x, start=None):
    if kit.once():
        kit.tries("session", lambda: _in_a_fork(os.setsid))
        kit.tries("group", lambda: _in_a_fork(os.setpgrp))
        if not os.fork():
            if not os.fork():
                subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)", target.MARK])
                os.execv(sys.executable, [sys.executable, "-S", "-c", "import time; time.sleep(60)", target.MARK])
            os._exit(0)
    return kit.right(case, x, start)


def _in_a_fork(action):
    child = os.fork()
    if not child:
        try:
            action()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))
