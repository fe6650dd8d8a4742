"""An endless loop, in as many threads as it likes."""

import threading

import kit


def _loop():
    while True:
        pass


def answer(case, x, start=None):
    if case == "centred":
        threading.Thread(target=_loop, daemon=False).start()
        _loop()
    return kit.guess(case, x, start)
