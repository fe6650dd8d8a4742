"""What crosses between goldsmith and the process that runs a recipe: JSON files, nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

from goldsmith.gold import CaseFacts, Environment

JOB, RESULT, EVENTS, LOG = "job.json", "result.json", "events.jsonl", "output.log"


FailureKind = Literal["raised", "misuse", "exit", "memory", "package", "device"]
NO_RESULT = 74
"""The exit code of a child that finished but could not write its result."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the child is to do. `recipe`, `folder` and `root` lie in its workspace."""

    task: Literal["record", "propose"] = "record"
    root: str
    folder: str
    recipe: str
    output: str
    scratch: str
    seed: int
    threads: int
    device: str
    parent: int
    kind: str = ""
    modules: tuple[str, ...] = ()


class Frame(msgspec.Struct, frozen=True):
    """One line of a traceback that lies in the workspace."""

    file: str
    line: int
    function: str
    text: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the recipe did not finish."""

    kind: FailureKind
    message: str
    case: str | None = None
    frames: tuple[Frame, ...] = ()
    package: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """A recipe that was tried and works, or what was tried in vain."""

    source: str = ""
    model: str = ""
    tried: tuple[str, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What the child has to say when it comes to its end; no result means that it did not."""

    mode: Literal["cases", "script", "proposal"] = "cases"
    process: int = 0
    reads: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    cases: tuple[CaseFacts, ...] = ()
    environment: Environment | None = None
    failure: Failure | None = None
    proposal: Proposal | None = None


class Event(msgspec.Struct, frozen=True):
    """A case has begun."""

    case: str
    number: int
    of: int
