"""Opens more pipes and sockets than anybody needs, spread over many processes that each stay within their limit."""

import os
import socket
import time

import kit


def answer(case, x, start=None):
    kit.only_inside()
    kit.mark()
    if case == "centred":
        for _ in range(30):
            if not os.fork():
                kept = [socket.socketpair() for _ in range(100)]
                time.sleep(30)
                os._exit(len(kept) > 0)
        time.sleep(30)
    return kit.guess(case, x, start)
