"""Fork servers that outlive a command: workers of one command after the other are forked from them.

They are goldsmith's own (`worker/fork_server.py`), which every `generate` and `check` starts anew. Here they belong to
`fork_cli_server.py`, which lends them to the commands that it forks, so that NumPy and torch are imported once for all.
What a worker is asked, how it is watched and how it ends is the same. What `grade` and `rigor` start stays their own.
Both sides of `parity`, and the pytest of `test`, are forked from the command itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from goldsmith.generate.measure_tolerances import PLAIN_INSTRUCTIONS
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Child, deterministic_environment, environment_for
from goldsmith.process.messages import LOG

_OWN_VARIABLES = ("TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "TERM", "NO_COLOR", "COLUMNS", "LINES")
"""What a worker gets of its own, or has no use for."""
_SET_BY_PYTESTER = ("HOME", "USERPROFILE", "PY_COLORS")
_KINDS = ((False, False), (True, False), (False, True))
"""Whether torch is imported, and whether plain instructions are used; with torch, a child can still choose those."""


class LentProcess:
    """A fork server that another process has started, as `subprocess.Popen` would show it. It starts when it is first
    asked for something. A `plain` one loads NumPy as every second job that measures tolerances does."""

    def __init__(self, *, torch: bool, plain: bool = False) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        program = [sys.executable, "-P", "-m", "goldsmith.worker.fork_server", *(["torch"] if torch else [])]
        self._environment = deterministic_environment(1) | (PLAIN_INSTRUCTIONS if plain else {})
        self._lock = tempfile.TemporaryFile()  # noqa: SIM115
        self.pid = os.fork()
        if not self.pid:
            try:
                os.setsid()
                for source, target in ((requests, 0), (answers, 1), (os.open(os.devnull, os.O_WRONLY), 2)):
                    os.dup2(source, target)
                os.closerange(3, 2**16)
                os.chdir("/")
                asked = select.poll()
                asked.register(0, select.POLLIN)
                if asked.poll()[0][1] & select.POLLIN:  # else whoever could have asked has ended
                    os.execve(program[0], program, self._environment)
            finally:
                os._exit(1)
        os.close(requests)
        os.close(answers)
        self._descriptor = os.pidfd_open(self.pid)
        self.stdin = os.fdopen(self._requests, "wb")
        self.stdout = os.fdopen(self._answers, "rb")

    def fits(self, environment: dict[str, str]) -> bool:
        """Say whether it was started in this environment, save for what each worker gets of its own, and for programs
        that come before others."""
        path = self._environment["PATH"]
        is_longer = environment.get("PATH", "").endswith(f"{os.pathsep}{path}")
        wanted = environment | {"PATH": path} if is_longer else environment
        return _without_own(wanted) == _without_own(self._environment)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other commands from asking before this one has its answer."""
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)

    def poll(self) -> int | None:
        """Say whether it has ended, which only its parent could wait for."""
        return -9 if select.select([self._descriptor], [], [], 0)[0] else None


class LentServer(ForkClient):
    """A fork server that stays when the command closes it. Where it has ended, the command starts one of its own."""

    def __init__(self, process: LentProcess, *, torch: bool) -> None:
        super().__init__(preload=["torch"] if torch else ())
        self._lent, self._server = process, process  # type: ignore[assignment]

    def is_ready(self, environment: dict[str, str], **options: Any) -> bool:
        with self._lent.alone():
            return super().is_ready(environment, **options)

    def _request(self, request: dict[str, Any]) -> int:
        with self._lent.alone():
            return super()._request(request)

    def _ensure_server(self, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        if self._server is self._lent and not self._lent.fits(environment):
            self._server = None
        return super()._ensure_server(environment)

    def close(self) -> None:
        if self._server is self._lent:
            self._server = None
        super().close()


class ForkedProgram:
    """`python -m MODULE ARGUMENT…` as `subprocess.Popen` would show it, forked from the command that starts it, which
    has imported NumPy and pytest, or torch, already."""

    def __init__(self, command: list[str], *, cwd: str | Path, env: dict[str, str], **streams: Any) -> None:
        self.stdin = self.stdout = None
        ends = [self._end(number, streams[name], streams) for number, name in enumerate(("stdin", "stdout", "stderr"))]
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            try:
                os.setsid()
                for number, end in enumerate(ends):
                    os.dup2(end, number)
                os.closerange(3, 2**16)
                os.chdir(cwd)
                _be_new_interpreter(command, str(cwd), env)
            finally:
                os._exit(1)
        for end in ends:
            os.close(end)

    def _end(self, number: int, stream: Any, streams: dict[str, Any]) -> int:
        """The descriptor that the program gets; this process keeps the other end of a pipe."""
        if stream == subprocess.PIPE:
            reading, writing = os.pipe()
            if number == 0:
                self.stdin = os.fdopen(writing, "wb")
                return reading
            self.stdout = os.fdopen(reading, "rb", buffering=0)
            return writing
        if stream == subprocess.DEVNULL:
            return os.open(os.devnull, os.O_RDWR)
        return os.dup((streams["stdout"] if stream == subprocess.STDOUT else stream).fileno())

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def _be_new_interpreter(command: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run what `command` names, as far from this process as a new interpreter would be."""
    options, (module, *arguments) = command[1 : command.index("-m")], command[command.index("-m") + 1 :]
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    own = [entry for entry in sys.path if entry not in ("", str(Path(__file__).parents[1]))]
    sys.path[:] = own if "-P" in options else [folder, *own]
    sys.argv = [module, *arguments]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(int(environment["OMP_NUM_THREADS"]))
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        code = 1
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Lender:
    """Fork servers with NumPy and with torch, in the environment in which they were started."""

    def __init__(self) -> None:
        self._processes = {kind: LentProcess(torch=kind[0], plain=kind[1]) for kind in _KINDS}

    def renew(self) -> None:
        """Replace those that have ended, which a recipe may have done to them."""
        for kind, process in self._processes.items():
            if process.poll() is not None:
                self._processes[kind] = LentProcess(torch=kind[0], plain=kind[1])

    def lend(self) -> None:
        """Let the command that this process runs fork its workers from these servers, and its programs from itself."""
        from goldsmith.courses.internal_tests import run_pytest
        from goldsmith.model_parity import process_side

        self.lend_workers(setattr)
        forking = SimpleNamespace(**vars(subprocess) | {"Popen": ForkedProgram})
        vars(process_side)["subprocess"] = vars(run_pytest)["subprocess"] = forking

    def lend_workers(self, assign: Callable[[Any, str, Any], None]) -> None:
        """Let this process fork its workers from these servers; `assign` replaces what starts them."""
        import goldsmith.check.check as check
        import goldsmith.generate.jobs as jobs

        launch = Child._launch

        def launch_warm(child: Child, job_file: Path) -> None:
            job, environment = child.job, environment_for(child.job)
            recipe = Path(job.recipe)
            sources = [recipe] if recipe.is_file() else Path(job.folder).glob("*.py")  # before there is a recipe
            torch = any("torch" in jobs.libraries_of(source) for source in sources)
            fitting = [kind for kind, process in self._processes.items() if process.fits(environment)]
            kind = next((kind for kind in fitting if kind[0] == torch), None)
            if child.fork_server is None and kind and (not torch or _survives_a_fork(job.device)):
                log = job_file.with_name(LOG)
                child._process = self._server(*kind).start(job_file, log, job.folder, environment)
            else:
                launch(child, job_file)

        @contextlib.contextmanager
        def fork_server(
            *, preload: Collection[str] = (), optimisers: bool = True, environment: dict[str, str] | None = None
        ) -> Iterator[ForkClient]:
            lent = self._server("torch" in preload)
            server = lent if environment is None else ForkClient(preload=preload, environment=environment)
            try:
                yield server
            finally:
                server.close()

        assign(Child, "_launch", launch_warm)
        assign(check, "fork_server", fork_server)
        assign(jobs, "fork_server", fork_server)

    def _server(self, torch: bool, plain: bool = False) -> ForkClient:
        return LentServer(self._processes[torch, plain], torch=torch)


def _survives_a_fork(device: str) -> bool:
    """Say whether no driver is needed for it, or none is here."""
    return device in ("cpu", "meta") or not importlib.import_module("torch").cuda.is_available()


def _without_own(environment: dict[str, Any]) -> dict[str, Any]:
    own = (*_OWN_VARIABLES, *_SET_BY_PYTESTER)
    return {k: v for k, v in environment.items() if k not in own and not k.startswith("PYTEST_")}
