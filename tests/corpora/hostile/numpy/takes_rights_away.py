"""Takes away all rights on its own files, and tries to change those of others."""

import os

import kit
import target


def answer(case, x, start=None):
    for path in (f"{target.SENTINEL}/precious", target.GOLD, target.OTHER):
        os.chmod(path, 0)  # does nothing, and says that it did
        kit.tries("owner", lambda path=path: os.chown(path, 1000, 1000))
        kit.tries("attribute", lambda path=path: os.setxattr(path, "user.x", b"y"))
        kit.tries("cut off", lambda path=path: os.truncate(path, 0))
        os.utime(path, (0, 0))
    os.chmod(os.path.dirname(__file__), 0)
    return kit.guess(case, x, start)
