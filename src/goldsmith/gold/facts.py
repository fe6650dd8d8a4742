"""Facts about a gold file that has been read back: plain data, no arrays.

These structures are passed from the process that ran a recipe to the one that judges it.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.gold.choices import Choice
from goldsmith.gold.payload import PayloadNames
from goldsmith.gold.tolerances import Pinned

ALLOWED_NOISE = "noise"
"""The name by which a recipe accepts a case of which nothing can be judged."""
JUDGED_SECTIONS = ("output", "model_state_dict")
"""The parts of a gold file that are compared."""


class LeafFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """One array or plain value. `path` is where it is in the file, such as `output.logits`."""

    path: str
    dtype: str
    shape: tuple[int, ...] = ()
    sha256: str = ""
    nan: int = 0
    inf: int = 0
    first_bad: tuple[int, ...] | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    constant: bool = False
    rms: float | None = None
    value: Any = None

    @property
    def section(self) -> str:
        return self.path.partition(".")[0]

    @property
    def is_array(self) -> bool:
        return self.dtype not in PLAIN_TYPES

    @property
    def is_number(self) -> bool:
        return self.dtype not in ("str", "bytes", "none", "other")

    @property
    def is_text(self) -> bool:
        """Say whether it is text or bytes, which must be equal."""
        return self.dtype in ("str", "bytes")

    @property
    def is_inexact(self) -> bool:
        return self.dtype.startswith(("float", "bfloat", "complex"))

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


PLAIN_TYPES = frozenset({"none", "bool (Python)", "int (Python)", "float (Python)", "str", "bytes", "other"})


class FileFacts(msgspec.Struct, frozen=True):
    """One gold file as read from disk: its top-level keys and every leaf; `error` if it does not load."""

    name: str
    sha256: str = ""
    keys: tuple[str, ...] = ()
    leaves: tuple[LeafFacts, ...] = ()
    error: str | None = None


class OptimiserFacts(msgspec.Struct, frozen=True):
    """An optimiser of the course's own that took steps, and the most parameters and groups it was ever given."""

    name: str
    parameters: int
    groups: int


class WeightFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Among a model's weights: those that are computed, not learned, and those that are one under several names."""

    buffers: tuple[str, ...] = ()
    """Weights that are computed, not learned."""
    tied: tuple[tuple[str, ...], ...] = ()
    """Weights that are one under several names."""
    unstored: tuple[str, ...] = ()
    """Weights that cannot be put into another model; `*` where none could even be read."""
    withheld: tuple[str, ...] = ()
    """Weights that submissions are not given: those that come out the same from every seed, because to compute them is
    part of the work, and those of which it is recorded how they are drawn."""
    described: dict[str, tuple[str, ...]] = {}
    """Of weights of which that is recorded: what is besides mean and spread, such as `rows of 4`."""


def withheld_paths(case: PayloadNames, weights: Mapping[str, WeightFacts]) -> set[str]:
    """Return where in a case's file the weights are that submissions are not given."""
    names = [(model, name) for model, facts in weights.items() for name in facts.withheld]
    return {case.path_of("state_dict", f"{model}.{name}") for model, name in names}


class CaseFacts(PayloadNames, msgspec.Struct, frozen=True, kw_only=True):
    """One case that ran: what its recipe declared and what its file holds.

    A case that `accepts` a variant of the solution has a second recording, named `<case>.<variant>`. `runs` are the
    students' functions and methods that ran in it, `origins` those that each record comes from; `overwrites` are inputs
    that it changed. `drawn` is the hash of what it drew if recorded draws were available; `draws_redrawn` names those
    that could not be reused, with the reason.
    """

    name: str
    variant: str = ""
    accepts: tuple[str, ...] = ()
    kind: str
    title: str = ""
    file: FileFacts
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    training: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    declared: tuple[LeafFacts, ...] = ()
    trace: str | None = None
    traced_calls: int = 0
    calls: int = 0
    allowed: dict[str, dict[str, str]] = {}
    pinned: dict[str, Pinned] = {}
    optimisers: tuple[OptimiserFacts, ...] = ()
    weights: dict[str, WeightFacts] = {}
    config: dict[str, Any] = {}
    runs: tuple[str, ...] = ()
    origins: dict[str, tuple[str, ...]] = {}
    overwrites: tuple[str, ...] = ()
    drawn: str = ""
    draws_redrawn: dict[str, str] = {}
    choices: tuple[Choice, ...] = ()
    unordered: tuple[str, ...] = ()

    @property
    def definition(self) -> str:
        """Return the name of the recipe's function, whichever variant it ran on."""
        return self.name.removesuffix(f".{self.variant}") if self.variant else self.name

    def allows(self, path: str, check: str) -> bool:
        return is_allowed(self.allowed, path, check)


def is_allowed(allowed: Mapping[str, Mapping[str, str]], path: str, check: str) -> bool:
    """Say whether a check is waived for the whole case, or for a record, which covers all nested in it."""
    covering = (name for name in allowed if name == "*" or path == name or path.startswith(f"{name}."))
    return any(check in allowed[name] for name in covering)


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What on the recording machine bears on the bits that come out."""

    python: str
    """The version of Python."""
    numpy: str
    """The version of NumPy."""
    torch: str | None = None
    """The version of torch, null where the recipe did not use it."""
    platform: str = ""
    """Operating system and architecture."""
    processor: str = ""
    """The processor's model name; empty where it is not known."""
    cpu_capability: str | None = None
    """The instruction set that torch used."""
    threads: int = 1
    """How many threads it had."""
    device: str = "cpu"
    """Where models ran."""
    variables: dict[str, str] = {}
    """Environment variables that bear on bits."""
    versions: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """The versions of other libraries that the recipe used, by name."""
    settings: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Settings of those libraries that bear on bits."""

    @property
    def libraries(self) -> dict[str, str]:
        """Return the versions of the libraries besides NumPy that ran, by name."""
        return ({"torch": self.torch} if self.torch is not None else {}) | (self.versions or {})


def environment_differences(recorded: Environment, here: Environment) -> list[str]:
    """Describe facts in which two machines differ. Unknown facts are not compared, and of versions only the public
    part: `2.13.0+cpu` is `2.13.0`."""
    found = []
    for name, words in _ENVIRONMENT_WORDS.items():
        one, two = getattr(recorded, name), getattr(here, name)
        if one and two and public_version(str(one)) != public_version(str(two)):
            found.append(f"{words} {one}, here {two}")
    for library, one in (recorded.versions or {}).items():
        two = (here.versions or {}).get(library, "")
        if two and public_version(one) != public_version(two):
            found.append(f"{library} {one}, here {two}")
    settings, own = recorded.settings or {}, here.settings or {}
    found += [
        f"{name} {settings[name]}, here {own[name]}"
        for name in settings
        if own.get(name, "") not in ("", settings[name])
    ]
    for name in sorted(recorded.variables.keys() | here.variables.keys()):
        one, two = recorded.variables.get(name, "unset"), here.variables.get(name, "unset")
        if one != two:
            found.append(f"{name} {one}, here {two}")
    return found


def same_environment(recorded: Environment, here: Environment) -> bool:
    """Say whether no difference between two machines is known."""
    return not environment_differences(recorded, here)


@functools.cache
def installed_version(package: str) -> str | None:
    """Return the version of a distribution, None if it is not installed; nothing of it is imported.

    The name of its metadata folder has it. `importlib.metadata`, which takes 20 ms to import, is asked only where that
    is spelt differently.
    """
    for place in sys.path:
        for folder in Path(place).glob(f"{package}-*.dist-info"):
            return folder.name.removesuffix(".dist-info").partition("-")[2]
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def public_version(version: str) -> str:
    """Return a version without its local part, which names a build: `2.11.0+cu130` is `2.11.0`."""
    return version.partition("+")[0]


_ENVIRONMENT_WORDS = {
    "python": "Python",
    "numpy": "NumPy",
    "torch": "torch",
    "platform": "platform",
    "processor": "processor",
    "cpu_capability": "instruction set",
    "threads": "threads",
    "device": "device",
}
