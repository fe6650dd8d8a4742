"""What can keep two implementations from being compared at all."""

from __future__ import annotations

from goldsmith.errors.base import GoldsmithError, UsageError


class BadInputs(UsageError):
    template = (
        "{problem}; give a tensor, a tuple of arguments, a dict of named arguments, a function that draws one of "
        "these, or a list of several."
    )
    problem: str


class NotCallable(UsageError):
    """Something that is to be compared and cannot be called."""

    template = "the {side} is {what}, which cannot be called; give a model that is built, or a function."
    side: str
    what: str


class BadReferences(UsageError):
    template = "{problem}; give one model, or up to {most}, each by a name of its own."
    problem: str
    most: int


class BadWeights(UsageError):
    """A model whose weights cannot be read."""

    template = "{name} of the model is {what}; give a model that is built again, or {step}."
    name: str
    what: str
    step: str


class BadAdapterRules(UsageError):
    template = (
        "the adapter cannot be used: {problem}; give the path of an adapter file, or a function that calls rename, "
        "rows or no_counterpart of goldsmith.adapter."
    )
    problem: str


class IdleRule(UsageError):
    """A rule of an adapter for two models that places none of their weights."""

    template = "{line} in the adapter places nothing: {why}; fix it and run it again."
    line: str
    why: str


class CannotCombine(UsageError):
    template = "{one} cannot be used together with {other}; give one of them."
    one: str
    other: str


class NoSuchDtype(UsageError):
    template = "dtype is {name}; give float32, float64, bfloat16 or float16."
    name: str


class BadTolerance(UsageError):
    template = "{name} is {value}; give a number from 0 up."
    name: str
    value: float


class BadTarget(UsageError):
    """A REF, a TARGET or an option that leads to nothing that can be compared."""

    template = "{target}: {problem}; give {wanted}."
    target: str
    problem: str
    wanted: str = "file.py:Name or package.module:Name"


class EnvironmentFailed(GoldsmithError):
    """Packages of a version that could not be installed."""

    outcome = "could-not-run"
    template = "{name} could not be installed: {problem}; check name and version, and that pip reaches its index."
    name: str
    problem: str


class SideFailed(GoldsmithError):
    """A side that could not be built, or whose process ended."""

    outcome = "could-not-run"
    template = "{target} {problem}; make it run by itself first{hint}."
    target: str
    problem: str
    hint: str = ""
