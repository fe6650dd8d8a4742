"""What can keep two implementations from being compared at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from goldsmith.errors.base import USAGE, GoldsmithError


@dataclass(eq=False)
class BadInputs(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    problem: str

    def sentence(self) -> str:
        return (
            f"{self.problem}; give a tensor, a tuple of arguments, a dict of named arguments, a function that draws "
            "one of these, or a list of several."
        )


@dataclass(eq=False)
class NotCallable(GoldsmithError):
    """Something that is to be compared and cannot be called."""

    exit_code: ClassVar[int] = USAGE
    side: str
    what: str

    def sentence(self) -> str:
        return f"the {self.side} is {self.what}, which cannot be called; give a model that is built, or a function."


@dataclass(eq=False)
class BadAdapterRules(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    problem: str

    def sentence(self) -> str:
        return (
            f"the adapter cannot be used: {self.problem}; give the path of an adapter file, or a function that calls "
            "rename, rows or no_counterpart of goldsmith.adapter."
        )


@dataclass(eq=False)
class NoSuchDtype(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str

    def sentence(self) -> str:
        return f"dtype is {self.name}; give float32, float64, bfloat16 or float16."


@dataclass(eq=False)
class BadTolerance(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    name: str
    value: float

    def sentence(self) -> str:
        return f"{self.name} is {self.value}; give a number from 0 up."


@dataclass(eq=False)
class SideFailed(GoldsmithError):
    """A side that could not be built, or whose process ended."""

    target: str
    problem: str
    hint: str = ""

    def sentence(self) -> str:
        return f"{self.target} {self.problem}; make it run by itself first{self.hint}."


@dataclass(eq=False)
class BadTarget(GoldsmithError):
    """A REF or TARGET that leads to nothing that can be compared."""

    exit_code: ClassVar[int] = USAGE
    target: str
    problem: str
    wanted: str = "file.py:Name or package.module:Name"

    def sentence(self) -> str:
        return f"{self.target}: {self.problem}; give {self.wanted}."
