"""Ask the server of `fork_cli.py` to run a command: `python -SE fork_cli_client.py ADDRESS ARGUMENT…` is `goldsmith
ARGUMENT…` with the streams, the folder and the environment of whoever calls it. Imports little, for it starts often."""

import json
import os
import select
import socket
import sys


class ForkedCommand:
    """A command that the server at `address` runs, with `streams` as its standard ones. On a terminal it leads a
    session of its own, as from a shell."""

    def __init__(
        self,
        address: str,
        arguments: list[str],
        cwd: str,
        environment: dict[str, str],
        streams: list[int],
        new_workers: bool = False,
    ) -> None:
        request = {
            "arguments": arguments,
            "cwd": cwd,
            "environment": environment,
            "new_workers": new_workers,
            "terminal": os.isatty(streams[0]),
        }
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(address)
        socket.send_fds(self._link, [b"\n"], streams)
        self._link.sendall(json.dumps(request).encode())
        self._link.shutdown(socket.SHUT_WR)
        self._answers = self._link.makefile()
        self.pid = int(self._answers.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._link], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._link.settimeout(timeout)
            self.returncode = int(self._answers.readline())
            self._answers.close()
            self._link.close()
        return self.returncode


if __name__ == "__main__":
    code = ForkedCommand(sys.argv[1], sys.argv[2:], os.getcwd(), dict(os.environ), [0, 1, 2]).wait()
    sys.exit(code if code >= 0 else 128 - code)
