"""`Case`: the object that a recipe's function is called with, which records inputs, models and outputs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import active, is_module, modelling, models_of
from goldsmith.gold.arrays import is_array
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.payload import CaseNames, to_file
from goldsmith.gold.tolerances import Pinned
from goldsmith.instruments.module_traces import Tracer
from goldsmith.instruments.own_calls import OwnCode, unwatched
from goldsmith.recipe.choices import Choices, RecordsChoices
from goldsmith.recipe.computed_weights import computed_weights
from goldsmith.recipe.decorators import CHECKPOINT, CaseDefinition, check_allow, pin_of
from goldsmith.recipe.initial_weights import SEEDS, check_varies, draw_weights, statistics_of, telling_statistics
from goldsmith.recipe.reused_draws import RecordedDraws
from goldsmith.recipe.seeding import making_inputs, setting_up
from goldsmith.recipe.training_steps import Training
from goldsmith.weights import models
from goldsmith.weights.crossing import NeedsOwnForm, refuse_usual_draws
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.load_objects import LoadedObject, SettledByRecipe
from goldsmith.weights.loaded import LoadedModel
from goldsmith.weights.models import WeightAccess
from goldsmith.weights.values import changed_values, check_shape, first_of, plain, snapshot, to_device, without_history

T = TypeVar("T")


class Case(RecordsChoices, Training):
    """One running case: what goes in, which model runs, what is recorded.

    `name`, `seed` and `device` are there to be read; `device` is where models and inputs are put.
    """

    def __init__(
        self,
        definition: CaseDefinition,
        seed: int,
        device: str,
        given: GoldInputs | None = None,
        draws: RecordedDraws | None = None,
        own_code: OwnCode | None = None,
        on_model: Callable[[str, Any], None] | None = None,
        choices: Choices | None = None,
    ) -> None:
        self.choices = choices or Choices()
        self.name, self.seed, self.device = definition.name, seed, device
        self._definition, self._given, self._draws = definition, given, draws
        self._tracing = given is None
        self._on_model = on_model
        self._inputs: dict[str, Any] = {}
        self._handed: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}
        self._settings: dict[str, dict[str, Any]] = {}
        self._weights: dict[str, dict[str, Any]] = {}
        self._training: tuple[str, ...] = ()
        self._checkpoint: dict[str, Any] | None = None
        self._allow: dict[tuple[str, str], dict[str, str]] = {}
        self._pinned: dict[tuple[str, str], Pinned] = {}
        self._tracer = Tracer(own_code)
        self.weight_facts: dict[str, WeightFacts] = {}
        self._settled: dict[str, LoadedModel | LoadedObject | SettledByRecipe] = {}
        self._built: dict[str, Any] = {}
        self._described: set[str] = set()
        self._access: WeightAccess | None = None
        self._accesses: dict[int, WeightAccess] = {}

    def weights(self, get: Callable[[Any], Mapping[str, Any]], set: Callable[[Any, Any], Any]) -> None:
        """Say how to read and set weights that cannot be found by inspection, for models built from here on.

        `get(model)` returns the weights as arrays by name; `set(model, weights)` puts such arrays into any
        implementation's model. Torch modules need none of this, nor do objects that hold arrays in attributes, lists
        and dicts.
        """
        if not callable(get) or not callable(set):
            raise RecipeMisuse("case.weights takes two functions: get(model) and set(model, weights)")
        self._access = WeightAccess(get, set)

    def model(
        self,
        factory: Callable[..., T],
        /,
        *args: Any,
        weights: str = "init",
        name: str = "model",
        train: bool = False,
        trace: bool = True,
        allow: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> T:
        """Build `factory(*args, **kwargs)`, keep its weights, and trace its submodules from here on.

        `weights="stress"` moves every parameter off its identity first. The model comes in eval mode unless
        `train=True`. Give each a `name` when a case has several. `trace=False` keeps no trace; `allow` accepts by name,
        with a reason, what verification would refuse in the weights. Of a submission in another library it can be
        called, differentiated, trained by `case.steps` and recorded; a case that uses its layers needs its own form.
        """
        self._claim(self._settings, name, "model")
        model: T
        build = functools.partial(models.build, factory, args, kwargs, self.device)
        with setting_up(self._given is not None):
            model, drew = models.draws_while(build)
        if self._access is not None:
            self._accesses[id(model)] = self._access
        self._settings[name] = models.settings_of(factory, args, kwargs)
        if self._given is None:
            model = self._reuse_weights(name, models.choose_weights(model, weights, self.seed), build)
        else:
            model = self._settle(name, model, build)
        self._keep_weights(name, model, drew, build)
        self._allow["state_dict", name] = check_allow(allow)
        known = models_of(model)
        if known is not None:
            model = known.set_training(model, train)
            self._training += (name,) if train else ()
        self._built[name] = model
        if name in self._settled:
            self._settled[name].model = model
        if trace and self._tracing:
            self._tracer.attach(name, model, lambda: self._weights_of(model, f"{name}'s weights", copied=False))
        if trace and self._on_model is not None:
            self._on_model(name, model)
        return model

    def initial(
        self, factory: Callable[..., Any], /, *args: Any, seeds: int = SEEDS, name: str = "initial", **kwargs: Any
    ) -> None:
        """Record how `factory(*args, **kwargs)` initialises its weights: the mean and the spread of each and of its
        blocks, over many seeds, with limits that follow from how much they vary, and what every seed gives.

        Choose sizes that differ, so that a fan-in taken for a fan-out shows. `name` tells several apart.
        """
        if seeds < 2:
            raise RecipeMisuse(f"case.initial needs at least two seeds, not {seeds}")
        self.model(factory, *args, name=name, trace=False, **kwargs)
        draws = self._initial_draws(name, functools.partial(models.build, factory, args, kwargs, self.device), seeds)
        if not draws:
            raise RecipeMisuse(f"case.initial: {name} has no weights that could be described")
        if self._given is None:
            check_varies(self._built[name], name, draws)
        else:
            refuse_usual_draws(self._settled.get(name), draws)
        facts = (self.weight_facts if self._given is None else self._given.facts).get(name, WeightFacts())
        if self._given is None:
            telling = {path: kinds for path, item in draws.items() if (kinds := telling_statistics(item))}
            facts = msgspec.structs.replace(facts, withheld=tuple(self._weights[name]), described=telling)
            self.weight_facts[name] = facts
        found = {path: statistics_of(item, facts.described.get(path, ())) for path, item in draws.items()}
        self._keep(name, {path: {kind: each.value for kind, each in item.items()} for path, item in found.items()})
        self._described.add(name)
        self._allow["output", name] = {}
        for path, item in found.items():
            for kind, each in item.items():
                reason = f"how much the {kind.rpartition('.')[2]} varies over {seeds} seeds"
                self._pinned["output", f"{name}.{path}.{kind}"] = Pinned(reason=reason, atol=each.limit, draws=seeds)

    def _initial_draws(self, name: str, build: Callable[[int], Any], seeds: int = SEEDS) -> dict[str, Any]:
        """Return the weights that `build` draws for the model `name`, one for each seed, under gold's names."""
        settled, computed, access = self._settled.get(name), self._buffers_of(name), self._access
        if settled is not None and settled.unplaced is not None:
            if waits := getattr(settled, "waits", ""):
                raise NeedsOwnForm(f"{waits} draws its weights in its first call: its initial weights are not judged")
            raise settled.unplaced

        def read(built: Any) -> dict[str, Any]:
            if settled is not None:
                weights = settled.weights(built)
            else:
                weights = dict(access.get(built)) if access else models.weights_of(built, f"{name}'s weights")
            return {path: leaf for path, leaf in walk(weights) if path not in computed}

        return draw_weights(build, read, [self.seed + 1 + number for number in range(seeds)])

    def _buffers_of(self, name: str) -> set[str]:
        """Return the names, as gold has them, of weights that a model computes for itself."""
        facts = self.weight_facts.get(name) if self._given is None else self._given.facts.get(name)
        return set(facts.buffers) if facts else set()

    def watch(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which calls of the students' code are noted, where this case is traced."""
        return self._tracer.watch() if self._tracing else contextlib.nullcontext()

    def _reuse_weights(self, name: str, model: Any, rebuild: Callable[[], Any]) -> Any:
        if self._draws is None:
            return model
        fresh = self._weights_of(model, f"{name}'s weights")
        return self._draws.weights(name, model, fresh, rebuild, self._accesses.get(id(model)))

    def _keep_weights(self, name: str, model: Any, drew: bool, build: Callable[..., Any]) -> None:
        self._weights[name] = kept = self._weights_of(model, f"{name}'s weights")
        access, facts = self._accesses.get(id(model)), WeightFacts()
        if access is None:
            unstored = models.unstored(model, drew)
            own = models_of(model)
            facts = own.weight_facts(model) if own is not None else WeightFacts(unstored=unstored)
        read = access.get if access else functools.partial(models.weights_of, label=name)
        computed = unwatched(computed_weights)(model, kept, facts, lambda: read(build(self.seed + 1)), self.seed)
        if (access is None and is_module(model)) or facts.unstored or computed:
            self.weight_facts[name] = msgspec.structs.replace(facts, withheld=computed)

    def input(self, name: str, make: Callable[[], T] | T, *, allow: Mapping[str, str] | None = None) -> T:
        """Keep an input and return it: `make` is called if it is callable, else it is the value itself."""
        self._claim(self._inputs, name, "input")
        with making_inputs(self._given is not None):
            value: Any = make() if callable(make) and not is_array(make) else make
        if self._given is not None:
            value = self._given.input(name, value)
        elif self._draws is not None:
            value = self._draws.input(name, value)
        self._inputs[name] = snapshot(value, f"input {name!r}")
        self._allow["input", name] = check_allow(allow)
        self._handed[name] = to_device(value, self.device)
        return self._handed[name]  # type: ignore[no-any-return]

    def record(
        self,
        name: str,
        value: Any,
        *,
        shape: Sequence[int | None] | None = None,
        allow: Mapping[str, str] | None = None,
        tolerance: Mapping[str, Any] | None = None,
        unordered: bool = False,
    ) -> None:
        """Keep an output under `name`, as it is now: an array, a plain value, or these nested.

        `shape` declares what it must be (None matches any size); `allow` accepts by name, with a reason,
        what verification would refuse. `tolerance={"rtol": …, "atol": …, "reason": …}` (or `l2` and `max`, relative
        to the tensor's size) takes the place of the one that would be measured. The rows of what is `unordered`
        may come in any order.
        """
        copy = self._keep(name, value)
        if shape is not None:
            check_shape(name, copy, shape)
        if not any(True for _ in walk(copy, name)):
            raise RecipeMisuse(f"output {name!r} is empty: there is nothing in it to compare")
        self._allow["output", name] = check_allow(allow)
        self._pin("output", name, tolerance)
        self.keep_unordered(name, copy, unordered)

    def _keep(self, name: str, value: Any) -> Any:
        self._claim(self._outputs, name, "output")
        self._outputs[name] = snapshot(value, f"output {name!r}")
        if self._tracing:
            self._tracer.origin(name, value)
        return self._outputs[name]

    def record_gradients(self, model: Any, name: str = "gradients", **options: Any) -> None:
        """Keep the gradient of every parameter of `model`, and which parameters have none."""
        settled = self._settled_as(model)
        gradients = models.gradients_of(model, f"output {name!r}")
        self.record(name, without_history(settled.gradients() if settled else gradients), **options)

    def record_weights(self, model: Any, name: str = "weights", **options: Any) -> None:
        """Keep the weights of `model` as they are now, for instance after training."""
        self.record(name, self._weights_of(model, f"output {name!r}"), **options)

    def first(self, value: Any) -> Any:
        """Take the main output of a model that may return more: the first item, value or field."""
        return first_of(value)

    def checkpoint(
        self,
        model: Any,
        *,
        epoch: int,
        loss: Any,
        training_config: Mapping[str, Any],
        tolerance: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> None:
        """Keep `model` as this case's trained checkpoint, with the epoch and loss it was taken at."""
        if self._definition.kind != CHECKPOINT:
            raise RecipeMisuse("case.checkpoint needs a case marked @checkpoint, this one is marked @case")
        if self._checkpoint is not None:
            raise RecipeMisuse("case.checkpoint was called twice; a case has one checkpoint")
        self._pin("model_state_dict", "", tolerance)
        self._checkpoint = {
            "model_state_dict": self._weights_of(model, "checkpoint"),
            "epoch": int(epoch),
            "loss": float(loss),
            "seed": self.seed,
            "training_config": snapshot(plain(dict(training_config)), "training_config"),
            **{key: snapshot(value, key) for key, value in extra.items()},
        }

    # --- for the session, once the function has returned -----------------------------------------------

    def keep_gradients(self) -> None:
        """Note in the trace the gradients that calls pass back, where a library ran that has any. What was recorded has
        been written by now: only its names are kept."""
        self._outputs, self._checkpoint = dict.fromkeys(self._outputs), None
        if self._tracing and modelling() is not None:
            modules = {name: model for name, model in self._built.items() if is_module(model)}
            self._tracer.keep_gradients(modules, self._weights)

    def finish(self) -> tuple[dict[str, Any], Tracer]:
        """Return the payload to write and the tracer; refuse a case that recorded nothing."""
        self._tracer.detach()
        if self._definition.kind == CHECKPOINT and self._checkpoint is None:
            raise RecipeMisuse("records no checkpoint; call case.checkpoint(model, epoch=…, loss=…, …)")
        if not self._outputs and self._checkpoint is None:
            raise RecipeMisuse("records nothing; call case.record(name, value)")
        payload: dict[str, Any] = dict(self._checkpoint or {})
        payload["input"] = to_file(self._inputs)
        payload["output"] = to_file(self._outputs)
        payload["seed"] = self.seed
        payload["model_config"] = snapshot(plain(to_file(self._settings)), "model_config")
        payload["state_dict"] = to_file(self._weights)
        return {sys.intern(key): value for key, value in payload.items()}, self._tracer

    def overwritten(self) -> tuple[str, ...]:
        """Return which values of its inputs are no longer what they were when the case got them."""
        return changed_values(self._handed, self._inputs)

    @property
    def item_names(self) -> CaseNames:
        return CaseNames(tuple(self._inputs), tuple(self._outputs), tuple(self._settings))

    def names(self) -> dict[str, tuple[str, ...]]:
        """Return the names of inputs, outputs and models, and what is to be said of the case."""
        return {
            **dataclasses.asdict(self.item_names),
            "training": self._training,
            "notes": tuple(self._notes()),
            "runs": tuple(self._tracer.runs),
        }

    def _notes(self) -> Iterator[str]:
        """Yield what is allowed but makes it hard to retrace this case."""
        if not self._inputs and not self._settings:
            yield "keeps neither inputs nor weights, so nobody can retrace it; use case.input and case.model"
        elif not self._inputs and self._described != self._outputs.keys():
            yield "keeps no input, so nobody can retrace it; hand its data in through case.input"
        if self._tracer.drew:
            yield "its model drew random numbers while it ran (dropout?); nobody else can match what depends on them"
        for seed in {item.numerics.initial_seed() for item in active()} - {None, self.seed}:
            yield f"it set a seed of its own, {seed}; the one recorded is {self.seed}"

    def allowed(self) -> dict[str, dict[str, str]]:
        """Return what was accepted by name, by path in the payload; `*` stands for the whole case."""
        found = {"*": dict(self._definition.allow)}
        found |= {self.item_names.path_of(*place): allow for place, allow in self._allow.items()}
        return {path: allow for path, allow in found.items() if allow}

    def pinned(self) -> dict[str, Pinned]:
        """Return the tolerances that the recipe sets, by path in the payload."""
        return {self.item_names.path_of(*place): pin for place, pin in self._pinned.items()}

    def _settle(self, name: str, model: Any, build: Callable[[], Any]) -> Any:
        """Return the model with gold's weights in it."""
        assert self._given is not None
        access = self._accesses.get(id(model))
        load = unwatched(self._given.load_weights) if self._is_plain_module(model) else self._given.load_weights
        self._settled[name] = loaded = load(name, model, self._settings[name], build, access)
        return loaded.model

    def _settled_as(self, model: Any) -> LoadedModel | LoadedObject | SettledByRecipe | None:
        return next((item for item in self._settled.values() if item.model is model), None)

    def _weights_of(self, model: Any, label: str, *, copied: bool = True) -> dict[str, Any]:
        """Return a model's weights, under gold's names if it has gold's; unless `copied`, a library's in place."""
        settled = self._settled_as(model)
        if settled is None and id(model) in self._accesses:
            found = snapshot(self._accesses[id(model)].get(model), label)
            if not isinstance(found, dict) or not any(is_array(leaf) for _, leaf in walk(found)):
                raise RecipeMisuse(f"{label}: what case.weights gets must be a dict with arrays in it")
            return found
        read = unwatched(models.read_weights) if self._is_plain_module(model) else models.read_weights
        return read(model, settled, label, copied=copied or not is_module(model))

    def _is_plain_module(self, model: Any) -> bool:
        """Say whether a model's weights are read and replaced without any code of its own or of the recipe."""
        return is_module(model) and id(model) not in self._accesses

    def _pin(self, section: str, name: str, tolerance: Mapping[str, Any] | None) -> None:
        if tolerance is not None:
            self._pinned[section, name] = pin_of(tolerance, name or "the checkpoint")

    def _claim(self, group: Mapping[str, Any], name: str, what: str) -> None:
        if not isinstance(name, str) or not name:
            raise RecipeMisuse(f"the name of an {what} must be text, not {name!r}")
        if set(name) & set("./"):
            raise RecipeMisuse(f"{name!r} is not a name for an {what}: dots and slashes stand for nesting")
        if name in group:
            hint = "; give the second a name= of its own" if what == "model" else ""
            raise RecipeMisuse(f"two {what}s are called {name!r}{hint}")
