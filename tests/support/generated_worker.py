"""A worker process that runs no submission and leaves generated things behind, in place of the one that grading starts.

It stands where `Warm` does and is asked as a real child is: through files and a pipe. What it leaves follows from a
number that the submission's own file holds. It only does what a child behind Landlock could do: write, link and wait
inside its own folders. It is a real process: it is signalled, waited for and killed as any other.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from goldsmith.process.launcher import Child, Watcher
from goldsmith.process.messages import EVENTS, LOG, RESULT, AnyJob, ReplayJob
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.process_groups import Process, signal_group, wait_for
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.process.worker_channel import incoming_requests
from goldsmith.runs.requests import RunRequest
from goldsmith.sandbox.privileges import end_with_parent
from support.generated_results import Part, damaged, dumped, mutated, mutated_part, odd_value

SEED = re.compile(r"number (\d+), (\w+)")
PLAIN = "plain"
"""The kind of a submission for which everything is left as an honest child would."""
_TROUBLE = 0.5
_SLOW = 0.01
"""How many children in a hundred keep somebody waiting: that costs seconds each."""


@dataclass(frozen=True)
class Baits:
    """What lies outside, for links to lead to: a neighbour's results, which are right, and what nobody may read."""

    neighbour: Path
    secret: Path
    folder: Path
    pipe: Path

    @property
    def all(self) -> list[Path]:
        return [self.neighbour, self.neighbour / "1", self.secret, self.folder, self.pipe]


class StandIn:
    """What is asked of `ForkClient` when children are started; each is forked from this very process."""

    def __init__(self, known: dict[str, list[Part]], baits: Baits) -> None:
        self._known, self._baits = known, baits
        self.started: Counter[int] = Counter()

    def __call__(self, **options: Any) -> StandIn:
        """It is made as `ForkClient` is."""
        return self

    def prestart(self, environment: dict[str, str]) -> None: ...
    def preload_files(self, files: Any) -> None: ...
    def preload_modules(self, packages: Any) -> None: ...
    def close(self) -> None: ...
    def is_ready(self, environment: dict[str, str], **options: Any) -> bool:
        return True

    def start(self, job_file: Path, *_: Any, **__: Any) -> Process:
        job = msgspec.json.decode(Path(job_file).read_bytes(), type=AnyJob)
        player, kind = self.player(job, is_process=True)
        child = os.fork()
        if not child:
            _in_the_child(job, lambda: player.play(kind), self._baits.folder.with_name("errors of ours"))
        return _Forked(child)

    def player(self, job: ReplayJob, *, is_process: bool) -> tuple[Player, str]:
        """Who answers, and to which kind of submission."""
        number, kind = next(_marks(Path(job.folder)))
        self.started[number] += 1
        chance = Random(f"{number} {self.started[number]}")
        return Player(job, chance, self._known[kind], self._baits, is_process), kind


def _marks(folder: Path) -> Iterator[tuple[int, str]]:
    for file in sorted(folder.glob("*.py")):
        found = SEED.search(file.read_text(errors="replace"))
        if found:
            yield int(found[1]), found[2]


def _in_the_child(job: ReplayJob, action: Callable[[], None], errors: Path) -> None:
    """What a child of the fork server has before it runs anything; then `action`."""
    try:
        os.setsid()
        end_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        log = os.open(Path(job.scratch, LOG), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 1024)  # the parent's end of the pipe above all, which would never seem to be closed
        action()
    except BaseException:  # such a case would prove nothing
        with errors.open("a") as file:
            traceback.print_exc(file=file)
    finally:
        os._exit(0)


class _Forked:
    """A process that was forked here."""

    def __init__(self, number: int) -> None:
        self.returncode: int | None = None
        self.kill_reason = ""
        self._number = number

    @property
    def pid(self) -> int:
        return self._number

    def poll(self) -> int | None:
        if self.returncode is None:
            found, status = os.waitpid(self._number, os.WNOHANG)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        return wait_for(self, 60.0 if timeout is None else timeout)

    def signal_group(self, number: int) -> None:
        if self.returncode is None:
            signal_group(self._number, number)


class Talk:
    """What is asked of `Conversation`, answered at once and in this process: a hundred times as many can be had. What
    is left behind is read by the real `Child`, as if its process had ended."""

    def __init__(self, job: ReplayJob, warm: StandIn) -> None:
        self.folder = Path(job.requests_dir)
        self.folder.mkdir()
        self._player, kind = warm.player(job, is_process=False)
        self._child = Child(job)
        self._child._process = _Gone(os.getpid(), None)
        self._kind, self._asked = kind, 0

    @property
    def left(self) -> UntrustedFolder:
        return self._child.left

    @property
    def next_number(self) -> int:
        return self._asked + 1

    @property
    def next_output(self) -> str:
        job = self._player.job
        return str(Path(job.output).relative_to(job.scratch) / str(self.next_number))

    def submit(self, requests: Sequence[RunRequest], *, watcher: Watcher, **_: Any) -> ProcessExit | None:
        self._asked += 1
        self._child.expect([item.case for item in requests])
        code = None
        try:
            if self._asked == 1:
                self._player.begin(self._kind)
            self._player.answer(self._asked, requests)
        except _Ended as ended:
            code = ended.code
        self._child.report(watcher)
        return None if code is None and self._child.answered >= self._asked else self.end(code)

    def end(self, code: int | None = 0, *, at_once: bool = False) -> ProcessExit:
        self._child._process = _Gone(os.getpid(), code or 0)
        return self._child.exit()


class _Ended(Exception):
    """The child would have ended there."""

    def __init__(self, code: int) -> None:
        self.code = code


@dataclass
class _Gone:
    """A process that need not be ended any more."""

    pid: int
    returncode: int | None
    kill_reason: str = ""

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        return self.returncode or 0

    def signal_group(self, number: int) -> None: ...


@dataclass
class Player:
    """One child: it answers what it is asked as its `chance` has it."""

    job: ReplayJob
    chance: Random
    known: list[Part]
    baits: Baits

    is_process: bool

    def play(self, kind: str) -> None:
        """Answer until nobody asks any more."""
        self.begin(kind)
        for number, requests in enumerate(incoming_requests(Path(self.job.requests_dir)), start=1):
            self.answer(number, requests)
        self._leave_result(self._troubled)

    def begin(self, kind: str) -> None:
        self.out, self.scratch = Path(self.job.output), Path(self.job.scratch)
        self.words = [*self.job.kept, "", "output", "input", "plain", "float64", str(self.baits.secret), "../../.."]
        self._troubled = kind != PLAIN
        self.out.mkdir(parents=True, exist_ok=True)
        if self._troubled and self._happens(0.25):
            self._odd_place(self.chance.choice([self.out, *(self.scratch / name for name in (EVENTS, LOG, RESULT))]))

    def _happens(self, share: float) -> bool:
        return self.chance.random() < share

    def answer(self, number: int, requests: Sequence[RunRequest]) -> None:
        troubled = self._troubled
        file = self.out / str(number)
        self._send({"case": requests[0].case if requests else "", "number": 1, "of": len(requests)}, troubled)
        if troubled and self._happens(0.05):
            self._end()
        with contextlib.suppress(OSError):  # it has put something else into the way itself
            self._write(file, b"".join(self._parts(requests, troubled)), troubled)
        if troubled and self._happens(0.15):
            self._odd_place(self.chance.choice([file, self.out]))
        if troubled and self._happens(0.05):
            self._end()
        if troubled and self._happens(_SLOW):
            self._keep_waiting()
        before = self._told()
        self._send({"case": "", "number": number, "of": number}, troubled and self._happens(0.15))
        if self._told() != before + 1 and not self._happens(_SLOW):
            self._end()  # nobody has heard that all is done, and to be waited for takes seconds
        if troubled and self.is_process and self._happens(0.1):
            self._change_while_read(file)

    def _parts(self, requests: Sequence[RunRequest], troubled: bool) -> Iterator[bytes]:
        for ask in requests:
            part = next((item for item in self.known if (item.case, item.run) == (ask.case, ask.name)), None)
            part = part or Part(ask.case, ask.name, self.chance.choice(self.known).attempt)
            if troubled and self._happens(_TROUBLE):
                yield mutated_part(part, self.chance, self.words, self.known)
            elif not troubled or self._happens(0.95):
                yield part.as_bytes()

    def _write(self, file: Path, content: bytes, troubled: bool) -> None:
        if troubled and self._happens(0.05):
            content = damaged(content, self.chance, self.known[0].as_bytes())
        with self._opened(file) as stream:
            if troubled and self._happens(0.1):  # in pieces, with the end of it after the word that all is done
                cut = self.chance.randrange(len(content) + 1)
                stream.write(content[:cut])
                stream.flush()
                time.sleep(self.chance.uniform(0, 0.02))
                content = content[cut:]
            stream.write(content)
            if troubled and self._happens(0.02):
                stream.truncate(2 ** self.chance.randint(20, 27))  # without a byte on the disk

    def _send(self, event: dict[str, Any], troubled: bool) -> None:
        text = dumped(event) + b"\n"
        if troubled and self._happens(_TROUBLE):
            odd = [
                lambda: dumped(mutated(event, self.chance, self.words)) + b"\n",
                lambda: damaged(text, self.chance),
                lambda: text * self.chance.choice([2, 1000, 50_000]),
                lambda: dumped(odd_value(self.chance, self.words)) + b"\n",
                lambda: b"x" * 2 ** self.chance.randint(1, 21),
                lambda: b"".join(
                    dumped({"case": "", "number": number, "of": 1}) + b"\n"
                    for number in range(self.chance.choice([3, 99]))
                ),
            ]
            text = self.chance.choice(odd)() + (text if self._happens(0.7) else b"")
        with contextlib.suppress(OSError), self._opened(self.scratch / EVENTS) as file:
            file.write(text)

    def _told(self) -> int:
        """How often it can be read that all is done that was asked for."""
        with contextlib.suppress(OSError):
            if (self.scratch / EVENTS).is_file() and not (self.scratch / EVENTS).is_symlink():
                return (self.scratch / EVENTS).read_bytes().count(b'\n{"case":"","number":')
        return -2

    @contextlib.contextmanager
    def _opened(self, path: Path) -> Iterator[Any]:
        """To be written to, unless a link leads elsewhere, where a real child could not write, or nobody reads it."""
        if path.parent.is_symlink():
            raise OSError(f"{path.parent} is a link")
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
        with os.fdopen(number, "wb") as file:
            yield file

    # --- places -------------------------------------------------------------------------------------------------------

    def _odd_place(self, path: Path) -> None:
        """Something else than what is expected lies there: mostly a link to where it should not lead."""
        if path.parent.is_symlink():  # a real child could change nothing there
            return
        with contextlib.suppress(OSError):
            if self._happens(0.8):
                os.rename(path, self.scratch / f"aside-{self.chance.randrange(10**9)}")
        target = self.chance.choice([*self.baits.all, *self.baits.all, path, Path("/dev/zero"), Path("/proc/self/mem")])
        if path == self.out:
            target = self.chance.choice([self.baits.neighbour, self.baits.neighbour, self.baits.folder, target])
        makers: list[Callable[[], Any]] = [
            lambda: os.symlink(target, path),
            lambda: os.symlink(os.path.relpath(target, path.parent), path),
            lambda: self._through_another(target, path),
            lambda: os.mkfifo(path),
            lambda: path.mkdir(),
            lambda: socket.socket(socket.AF_UNIX).bind(str(path)),
            lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o000)),  # touch() follows links
            lambda: None,
        ]
        with contextlib.suppress(OSError):
            self.chance.choice([*makers[:3], *makers])()

    def _through_another(self, target: Path, path: Path) -> None:
        link = self.scratch / f"link-{self.chance.randrange(10**9)}"
        os.symlink(target, link)
        os.symlink(link.name if path.parent == self.scratch else link, path)

    def _change_while_read(self, file: Path) -> None:
        """Exchange it for a link and back, for as long as somebody may be reading it."""
        aside = file.with_name(f"{file.name}.aside")
        for _ in range(0 if file.parent.is_symlink() else self.chance.choice([1, 10, 50])):
            with contextlib.suppress(OSError):
                if self._happens(0.5):
                    os.symlink(self.baits.neighbour / "1", aside)
                    os.replace(aside, file)
                    file.unlink()
                with self._opened(file) as stream:
                    stream.truncate(self.chance.randrange(2000))
                    stream.write(self.chance.choice(self.known).as_bytes())

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._leave_result(troubled=True)
        number = self.chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV])
        code = -number if self._happens(0.4) else self.chance.choice([0, 0, 1, 3, 74, 75, 255])
        if not self.is_process:
            raise _Ended(code)
        os.kill(os.getpid(), -code) if code < 0 else os._exit(code)

    def _keep_waiting(self) -> None:
        if not self.is_process:
            raise _Ended(-signal.SIGKILL)
        if self._happens(0.3):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self._happens(0.3):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            pass

    def _leave_result(self, troubled: bool) -> None:
        failure = {"kind": "raised", "message": "so", "case": self.chance.choice(self.words), "frames": []}
        result: Any = {"process": os.getpid(), "packages": ["numpy"], "stand_ins": [], "peak": 1, "failure": None}
        content = dumped(result)
        if troubled and self._happens(_TROUBLE):
            for _ in range(self.chance.choice([1, 2, 5])):
                if isinstance(result, dict):
                    result = mutated(result | {"failure": self.chance.choice([None, failure])}, self.chance, self.words)
            content = dumped(result) if self._happens(0.8) else damaged(content, self.chance)
        with contextlib.suppress(OSError), self._opened(self.scratch / RESULT) as file:
            file.write(content)
