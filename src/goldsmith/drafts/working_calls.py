"""Find a working call for every part that students write: try arguments that were observed, then guessed ones."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import io
import itertools
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldsmith.drafts.alone import Budget, Send, Task, do_alone
from goldsmith.drafts.contracts import Contract, read_contract
from goldsmith.drafts.guess_arguments import Known, guess
from goldsmith.drafts.observed_calls import Sightings
from goldsmith.drafts.specs import Arguments, Array, Built, Literal, Spec, Steps, build, walk
from goldsmith.drafts.targets import Target
from goldsmith.foundation.wording import in_words
from goldsmith.recipe.seeding import seed_everything

_MAX_TRIALS, _TRIALS_TIMEOUT_S, _MAX_OWNERS = 1500, 5.0, 60
_SEARCH_S = 20.0
CALL = "__call__"


@dataclass(frozen=True)
class Call:
    """A call that works. `owner` is how the object of a `method` is built."""

    target: Target
    arguments: Arguments
    method: str = ""
    owner: Built | None = None
    others: tuple[Arguments, ...] = ()
    """More arguments that were seen in calls of the same part."""
    result: Any = None
    prior: tuple[Call, ...] = ()
    """What has to be called before, on the same object."""
    is_guessed: bool = False
    """Whether nobody was seen to call it so."""


class _Unseen:
    """Stands for a result that another process has seen."""


def as_sent(call: Call) -> dict[str, Any]:
    """Return a call without what only its own process has: the part itself and what it returned."""
    found = {item.name: getattr(call, item.name) for item in dataclasses.fields(call)}
    returned = None if call.result is None else _Unseen()
    return found | {"target": call.target.name, "result": returned, "prior": tuple(map(as_sent, call.prior))}


def as_received(sent: dict[str, Any], target: Target) -> Call:
    prior = tuple(as_received(item, target) for item in sent["prior"])
    return Call(**(sent | {"target": target, "prior": prior}))


class Finder:
    """A search for a call of each target; `troubles` has the reasons where there is none, by name."""

    def __init__(self, targets: Sequence[Target], sightings: Sightings, seed: int) -> None:
        self._targets, self._sightings, self._seed = targets, sightings, seed
        self._models: list[tuple[Built, Sequence[Spec]]] = []
        self._contracts: dict[tuple[str, str], Contract] = {}
        self.built: dict[str, Built] = {}
        self.troubles: dict[str, str] = {}

    def calls(self, budget: Budget, *, reserve: float) -> dict[str, list[Call]]:
        """Return calls by target, in the order of its methods. Search twice: what runs shows how other parts are
        called. Each search has a process of its own, which a part may end."""
        found: dict[str, list[Call]] = {}
        given_up: set[str] = set()
        for _ in range(2):
            wanted = [item for item in self._targets if item.object is not None and not item.is_optimiser]
            wanted = [item for item in wanted if item.name not in given_up]
            models = [item for item in wanted if item.is_model]
            others = [item for item in wanted if not item.is_model]
            for group in (*([item] for item in models), others):  # models may be arguments of what comes later
                missing = {item.name: self._missing(item, found) for item in group}
                group = [item for item in group if missing[item.name]]
                tasks = [Task(functools.partial(self._search, item, missing[item.name]), _SEARCH_S) for item in group]
                for target, outcome in zip(group, do_alone(tasks, budget=budget, reserve=reserve), strict=True):
                    calls = [self._take(target, *message) for message in outcome.messages]
                    found.setdefault(target.name, []).extend(item for item in calls if item)
                    if outcome.trouble:
                        given_up.add(target.name)
                        for name in self._missing(target, found):
                            self.troubles[name] = outcome.trouble
        for target in self._targets:
            order = {name: at for at, name in enumerate(target.calls)}
            found.get(target.name, []).sort(key=lambda item: order.get(_label(item), -1))
        return found

    def contract(self, target: Target, method: str) -> Contract:
        """Return what is said of the arguments of a function or method."""
        key = (target.name, method)
        if key not in self._contracts:
            function = getattr(target.object, method) if method else target.object
            name = f"{target.name}.{method}" if method else target.name
            self._contracts[key] = read_contract(function, _about(target, method), self._sightings.of(name))
        return self._contracts[key]

    def about(self, call: Call) -> str:
        """Return what docstrings say of what is called."""
        function = getattr(call.target.object, call.method) if call.method else call.target.object
        return f"{inspect.getdoc(function) or ''}\n\n{_about(call.target, call.method)}"

    def _missing(self, target: Target, found: Mapping[str, Sequence[Call]]) -> list[str]:
        known = {_label(item) for item in found.get(target.name, ())}
        return [name for name in target.calls if name not in known]

    def _search(self, target: Target, missing: Sequence[str], send: Send) -> None:
        """Search for calls of one target; send them, and everything else that was learnt on the way."""
        self._sightings.on_sighting = lambda name, seen: send(("seen", name, seen))
        models = len(self._models)
        for call in self._find(target, missing):
            send(("call", "", as_sent(call)))
            send(("built", target.name, self.built.get(target.name)))
            for item in self._models[models:]:
                send(("model", "", item))
            models = len(self._models)
        send(("built", target.name, self.built.get(target.name)))
        for name, why in self.troubles.items():
            send(("trouble", name, why))

    def _take(self, target: Target, kind: str, name: str, content: Any) -> Call | None:
        """Take one message of a search; return a call if that is what it is."""
        if kind == "call":
            return as_received(content, target)
        if kind == "seen":
            self._sightings.take(name, content)
        elif kind == "built" and content is not None:
            self.built[name] = content
        elif kind == "model" and content[0] not in [item for item, _ in self._models]:
            self._models.append(content)
        elif kind == "trouble":
            self.troubles[name] = content
        return None

    def with_result(self, call: Call) -> Call | None:
        """Return a call that another process has found with what it returns here; None where it fails."""
        result, error = self.run(call.target, call.method, call.owner, call.arguments, call.prior)
        if error:
            self.troubles[_label(call)] = error
            return None
        return dataclasses.replace(call, result=result)

    def _find(self, target: Target, missing: Sequence[str]) -> Iterator[Call]:
        if not target.is_class:
            call = self._call(target, "", None, target.name)
            if call:
                yield call
            return
        earlier: list[Call] = []
        for name in missing:
            method = name.partition(".")[2]
            if method == "__init__" or (method.startswith("_") and not method.startswith("__")):
                continue
            for owner in self._owners(target, name):
                before = [] if method == "forward" else [item for item in earlier if item.owner == owner]
                call = self._call(target, method, owner, name, before)
                if call:
                    if not target.is_model or call.result is None:
                        earlier.append(call)
                    self.built.setdefault(target.name, owner)
                    if target.is_model and method == "forward" and owner not in [item for item, _ in self._models]:
                        self._models.append((owner, list(call.arguments.values())))
                    yield call
                    break
        if target.name not in self.built:
            for owner in itertools.islice(self._owners(target, target.name), 1):
                self.built[target.name] = owner

    def _owners(self, target: Target, name: str) -> Iterator[Built]:
        """Yield how the object can be built, as observed, else guessed; only what can be built."""
        if target.name in self.built:
            yield self.built[target.name]
        seen = self._sightings.owners.get(name)
        made = [seen] if seen is not None and seen.name == target.name else []
        made += [self._as_built(target, arguments) for arguments in self._sightings.of(target.name)]
        with contextlib.suppress(Exception):
            known = Known(library=_library(target.module), models=self._models)
            about = inspect.getdoc(target.object) or ""
            guessed = guess(target.object, known, about=about)
            made += [self._as_built(target, item) for item in itertools.islice(guessed, _MAX_OWNERS)]
        count, first = 0, True
        for owner in dict.fromkeys(made):
            _, error = self.attempt(lambda owner=owner: build({"it": owner}))
            if error:
                if first:  # the likeliest arguments give the most useful reason
                    self.troubles[target.name] = error
                first = False
                continue
            yield owner
            count += 1
            if count == 3:
                return

    def _as_built(self, target: Target, arguments: Arguments) -> Built:
        return Built(target.object.__module__, target.name, tuple(arguments.items()), is_model=target.is_model)

    def _call(
        self, target: Target, method: str, owner: Built | None, name: str, prior: Sequence[Call] = ()
    ) -> Call | None:
        contract, settings = self.contract(target, method), settings_of(owner)
        seen = [_explicit(target, method, contract.fit(_trim(item), settings)) for item in self._sightings.of(name)]
        failures: list[str] = []
        for arguments in seen:
            result, error = self.run(target, method, owner, arguments, prior)
            if not error:
                others = tuple(item for item in seen if item is not arguments)
                return Call(target, arguments, method, owner, others, result, tuple(prior))
            failures.append(error)
        deadline, late = math.inf, ""
        function = getattr(target.object, method) if method else target.object
        skip = 1 if method and inspect.isfunction(inspect.getattr_static(target.object, method, None)) else 0
        try:
            guesses = guess(function, self._known(target, owner), skip=skip, about=_about(target, method))
            for guessed in itertools.islice(guesses, _MAX_TRIALS):
                arguments = _explicit(target, method, contract.fit(guessed, settings))
                if not contract.allows(arguments, settings) or not contract.has_documented_axes(arguments):
                    continue
                result, error = self.run(target, method, owner, arguments, prior)
                if not error and (result is not None or method):
                    return Call(target, arguments, method, owner, (), result, tuple(prior), is_guessed=True)
                failures.append(error or "it returns nothing")
                # from the first call on, in which a library may start, and compile
                deadline = min(deadline, time.process_time() + _TRIALS_TIMEOUT_S)
                if time.process_time() > deadline:
                    late = f"no arguments were found in {_TRIALS_TIMEOUT_S:g} seconds, after {len(failures)} tries: "
                    break
        except (TypeError, ValueError) as error:
            failures.append(in_words(error))
        self.troubles[name] = late + failures[0] if failures else "none of its arguments could be guessed"
        return None

    def guesses(self, call: Call, *, also: str, most: int) -> list[Arguments]:
        """Return other arguments for a call, with the optional one `also`: first added to those it has, then all
        guessed."""
        method, target = call.method, call.target
        function = getattr(target.object, method) if method else target.object
        known = self._known(target, call.owner)
        found = guess(function, known, skip=1 if method else 0, about=_about(target, method), also=also)
        try:
            wanted = list(itertools.islice(found, most))
        except (TypeError, ValueError):
            return []
        return [*({**call.arguments, also: item[also]} for item in wanted if also in item), *wanted]

    def _known(self, target: Target, owner: Built | None) -> Known:
        settings = settings_of(owner)
        plain = [
            item for value in settings.values() for item in (value if isinstance(value, list | tuple) else [value])
        ]
        widths = [value for value in plain if type(value) is int and value > 1]
        images: list[int] = []
        if owner is not None and owner.is_model:
            with contextlib.suppress(Exception):
                parts = list(build({"it": owner})["it"].modules())
                widths = [*(part.in_features for part in parts if hasattr(part, "in_features")), *widths]
                images = [part.in_channels for part in parts if hasattr(part, "in_channels")][:1]
        return Known(settings, _library(target.module), self._models, tuple(dict.fromkeys(widths)), tuple(images))

    def run(
        self, target: Target, method: str, owner: Built | None, arguments: Arguments, prior: Sequence[Call] = ()
    ) -> tuple[Any, str]:
        """Make a call; return its result, or None and the error. `prior` calls are made first on the same object."""

        def call() -> Any:
            values = build(arguments)
            function = target.object
            if owner is not None and method:
                made = build({"it": owner})["it"]
                for item in prior:
                    with contextlib.suppress(Exception):
                        getattr(made, item.method)(**build(item.arguments))
                function = made if is_called(target, method) else getattr(made, method)
            args = [value for name, value in values.items() if not name.startswith("*")]
            more = next((value for name, value in values.items() if name.startswith("*")), ())
            return _called(
                function, method, {name: values[name] for name in values if not name.startswith("*")}, more, args
            )

        return self.attempt(call)

    def attempt(self, call: Any) -> tuple[Any, str]:
        """Make a call from a seed, and watch what it calls; return its result, or None and the error."""
        seed_everything(self._seed, threads=1)
        try:
            with self._sightings.watching(), contextlib.redirect_stdout(io.StringIO()):
                return call(), ""
        except (Exception, SystemExit) as error:
            return None, in_words(error)


def _called(function: Any, method: str, named: dict[str, Any], more: Any, args: list[Any]) -> Any:
    """Call by name; by position where that fails, with starred arguments, or for a module, whose call takes
    anything."""
    try:
        return function(*args, *more) if more or method in ("forward", CALL) else function(**named)
    except TypeError:
        return function(*args, *more)


def is_called(target: Target, method: str) -> bool:
    """Say whether the object itself is called, not a method by its name."""
    own = any(CALL in vars(kind) for kind in target.object.__mro__[:-1]) if target.is_class else False
    return method == CALL or (method == "forward" and own)


def _label(call: Call) -> str:
    return f"{call.target.name}.{call.method}" if call.method else call.target.name


def _about(target: Target, method: str) -> str:
    """Return the starter's docstring and, for a method, its class's."""
    more = (inspect.getdoc(target.object) or "") if method else ""
    return f"{target.docs.get(method, '')}\n\n{more}"


def _trim(arguments: Arguments) -> Arguments:
    """Replace optimisers by plain SGD with a learning rate so large that steps show."""
    return {name: Steps("SGD", (("lr", 0.5),)) if isinstance(spec, Steps) else spec for name, spec in arguments.items()}


def _explicit(target: Target, method: str, arguments: Arguments) -> Arguments:
    """Add the defaults of arguments that every call must give."""
    if method or not target.explicit:
        return arguments
    parameters = inspect.signature(target.object).parameters
    missing = [name for name in target.explicit if name in parameters and name not in arguments]
    given = {name: Literal(parameters[name].default) for name in missing}
    return {name: (arguments | given)[name] for name in parameters if name in arguments or name in given}  # type: ignore[operator]


def _library(module: str) -> str:
    names = vars(sys.modules[module]) if module in sys.modules else {}
    roots = {getattr(value, "__name__", "").partition(".")[0] for value in names.values() if inspect.ismodule(value)}
    roots |= {"jax"} if roots & {"flax", "equinox"} else set()
    return next((name for name in ("torch", "jax", "numpy") if name in roots), "")


def settings_of(owner: Built | None) -> dict[str, Any]:
    """Return what an object was built with, by name."""
    return _flat(dict(owner.arguments)) if owner else {}


def _flat(arguments: Arguments) -> dict[str, Any]:
    """Return settings by name, including those in dicts and configuration objects."""
    found: dict[str, Any] = {}
    for name, spec in arguments.items():
        if isinstance(spec, Literal):
            found |= spec.value if isinstance(spec.value, dict) else {name: spec.value}
        elif isinstance(spec, Built):
            found |= _flat(dict(spec.arguments))
    return found


def sizes_of(arguments: Arguments) -> list[int]:
    return [
        size for spec in arguments.values() for item in walk(spec) if isinstance(item, Array) for size in item.shape
    ]


def source_of(call: Call) -> str:
    function = getattr(call.target.object, call.method) if call.method else call.target.object
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""
