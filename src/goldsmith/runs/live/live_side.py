"""A model or function in this process that answers what one side of a parity is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from goldsmith.frameworks.framework import Watch, adopted, arrays_of, library_of, modelling, numerics_of, storing
from goldsmith.frameworks.randomness import random_state_kept, random_states
from goldsmith.gold.arrays import array_hash, is_array, is_floating, is_inexact, is_tensor
from goldsmith.instruments.module_traces import Tracer
from goldsmith.runs.conditions import OWN, WIDE, Conditions
from goldsmith.runs.enter_conditions import conditions
from goldsmith.runs.implementation import (
    GRADIENTS,
    INPUT_GRADIENTS,
    LOSS,
    MODEL,
    WEIGHTS,
    Described,
    GivenCall,
    Loaded,
    LoadRequest,
    OwnInputs,
)
from goldsmith.runs.live.arrangements import arranged_weights
from goldsmith.runs.live.calls_alone import calls_alone
from goldsmith.runs.live.earlier_calls import called_after, shared_with_inputs
from goldsmith.runs.live.global_changes import GlobalChanges
from goldsmith.runs.live.guessed_places import idle_lines, load_converted, load_notes, renamed_by, with_guesses
from goldsmith.runs.live.model_facts import (
    arrays_in,
    coarsest_dtype,
    described,
    described_function,
    detached,
    device_of,
    dtype_of,
    generator_of,
    in_library,
    row_orders,
    settings_of,
    shapes_of,
    tensor_library,
    weights_to_place,
)
from goldsmith.runs.live.own_inputs import own_input_sets, same_inputs
from goldsmith.runs.live.returned_values import InputSet, copied, input_sets, moved, named_values
from goldsmith.runs.live.run_record import failure_of, trace_of, what_drew
from goldsmith.runs.live.structured_inputs import structured
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run, RunFacts
from goldsmith.weights.held_numbers import numbers_held, pairs_by_numbers, rounded
from goldsmith.weights.loaded import Convert, HeldNumbers
from goldsmith.weights.placement import BY_RULE, BY_SHAPE, Placed
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace


class LiveSide:
    """A model or function. `loss` makes a number of what it returns, `optimizer` an optimiser of its parameters,
    `convert` its weights of another one's. A `kernel` gets inputs with structure, too, and records no gradients;
    what it changes in libraries is told, and what was changed `before`."""

    def __init__(
        self,
        target: Callable[..., Any],
        inputs: Any = None,
        *,
        seed: int,
        adapter: Adapter | None = None,
        convert: Convert | None = None,
        loss: Callable[[Any], Any] | None = None,
        optimizer: Callable[[Any], Any] | None = None,
        dtype: str = "",
        device: str = "",
        copied: bool = True,
        kernel: bool = False,
        before: GlobalChanges | None = None,
    ) -> None:
        target = adopted(target)
        self._target, self._given, self._seed = target, inputs, seed
        self._adapter, self._convert = adapter or Adapter(), convert
        self._loss, self._optimizer, self._dtype = loss, optimizer, dtype
        self._library = library_of(target)
        self._models: Any = self._library.models if self._library is not None else None
        self._working = self._models.WorkingModel(target, copied=copied) if self._models is not None else None
        self._call = self._working.module if self._working else target
        self._loaded: Any = None
        self._reference: Mapping[str, Any] = {}
        self._rows: Mapping[str, tuple[int, ...]] = {}
        self._inputs: list[InputSet] = []
        self._has_run = False
        self._device, self._kernel = device if device != "cpu" else "", kernel
        self._changes = before or GlobalChanges(functions=kernel)

    # --- before a run -----------------------------------------------------------------------------------------------

    def describe(self) -> Described:
        if self._working is None or self._library is None:
            return described_function(self._target)
        found = described(self._working.module, self._library, self._working.note)
        if found.is_complete or not self._inputs or self._has_run:
            return found
        self.run(RunRequest(case="0"))
        return self.describe()

    def draw_inputs(self) -> Sequence[str]:
        with random_state_kept(self._seed):
            self._inputs = input_sets(self._given)
        made = structured(self._inputs[0], self._seed) if self._kernel else {}
        names = [*("" for _ in self._inputs), *made]
        self._inputs += made.values()
        return names

    def inputs(self, *, foreign: bool = False) -> list[InputSet]:
        return self._inputs

    def take_inputs(self, inputs: list[InputSet]) -> None:
        self._inputs = inputs

    def make_own_inputs(self) -> OwnInputs | None:
        if self._given is None:
            return None
        reference = self._inputs
        with random_state_kept(self._seed):
            self._inputs = own_input_sets(self._given, reference)
        return OwnInputs(same=tuple(map(same_inputs, self._inputs, reference)))

    def weights(self) -> dict[str, Any]:
        return self._models.state(self._working.module) if self._working else {}

    def load(self, weights: Mapping[str, Any], request: LoadRequest) -> Loaded:
        """Put the reference's weights in, by name, rule or shape."""
        if self._working is None:
            return Loaded()
        module = self._working.module
        if self._loaded is None:
            self._working.own_weights()
        if self._convert is not None:
            made, found = load_converted(self._models, module, weights, request, self._convert, self._adapter)
            if made is not None:
                self._loaded, self._reference = made, weights
            return found
        before = {name: arrays_of(item).copy(item) for name, item in self._models.state(module).items()}
        alike = () if request.keep else pairs_by_numbers(*weights_to_place(weights, request.facts, module))
        try:
            loaded = self._models.LoadedModule(
                module,
                weights,
                request.facts,
                adapter=with_guesses(self._adapter, request, alike),
                layout=request.layout,
                settings=settings_of(module),
                rebuild=lambda: module,
                turned=request.turned,
            )
        except CannotPlace as problem:
            idle = idle_lines(self._adapter, problem.idle, shapes_of(weights), shapes_of(before))
            reasons = tuple(reason.replace("gold", "the reference") for reason in problem.reasons)
            return Loaded(unplaced=problem.unplaced, free=problem.free, reasons=reasons, idle=idle)
        if loaded.unplaced is not None:  # perhaps it builds the rest in its first call
            self.run(RunRequest(case="0"))
        if loaded.unplaced is not None:
            loaded.stop_waiting()
            return Loaded(unplaced=loaded.unplaced.unplaced, reasons=tuple(loaded.unplaced.reasons))
        self._loaded = loaded
        self._reference = weights if request.keep else {}
        placed = tuple((item.gold, item.theirs) for item in loaded.placed)
        held = HeldNumbers(rows=row_orders(loaded.placed, weights))
        if not request.keep:
            held = numbers_held(loaded.placed, weights, before, self._models.state(module))
            self._models.put_back(module, before)
            self._rows = held.rows
        return Loaded(
            placed=placed,
            other=tuple(name for mine, _ in placed for name in mine if not request.keep and name not in held.names),
            rounded=held.rounded,
            assumed=tuple(name for item in loaded.placed if self._is_assumed(item) for name in item.gold),
            idle=idle_lines(self._adapter, loaded.idle, shapes_of(weights), shapes_of(before), placed),
            notes=load_notes(loaded.notes, request),
            extra=loaded.extra,
            excused=(*(name for name in weights if self._adapter.excuses(name)), *loaded.shared),
            layouts=tuple(self._adapter.layouts_of(weights)),
            renamed=renamed_by(self._adapter),
            rows=held.rows,
            layout=request.layout,
            arranged=tuple(arranged_weights(loaded.placed, weights, request, self._adapter)),
        )

    def round_weights(self, dtypes: Mapping[str, str]) -> None:
        if self._working is not None:
            self._working.own_weights()
            own = self._models.state(self._working.module)
            rounded_own = {name: rounded(own[name], dtype) for name, dtype in dtypes.items()}
            self._models.put_back(self._working.module, rounded_own)

    def _is_assumed(self, item: Placed) -> bool:
        return item.how == BY_SHAPE or (item.how == BY_RULE and item.rule not in self._adapter.rules)

    # --- runs -------------------------------------------------------------------------------------------------------

    def run(self, request: RunRequest) -> Run:
        wanted = request.conditions
        tracer, self._has_run = Tracer(forwards=True), True
        if self._working is not None and wanted.traced:
            tracer.attach(MODEL, self._working.module, dict)
        try:
            with self._changes.functions_kept(), self._conditions(wanted) as watch:
                before = random_states()
                values, facts = self._steps(request) if wanted.steps else self._once(request)
                after = random_states()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self._raised(error)
            return Run(RunFacts(failure=failure_of(error)), {}, trace_of(tracer) if wanted.traced else None)
        finally:
            tracer.detach()
        values = {path: arrays_of(item).copy(item) if is_array(item) else item for path, item in values.items()}
        drew = what_drew(tracer, self._target, self._working) if len(before) == len(after) and before != after else ""
        facts["changed"] = self._changes.found(watch.changed)
        facts |= {"drew": drew, "pure": watch.pure, "graphs": watch.graphs}
        return Run(RunFacts(**facts), values, trace_of(tracer) if wanted.traced else None)

    def _raised(self, error: BaseException) -> None:
        """Take note of what a run raised."""

    def _received(self, returned: Any) -> None:
        """Take note of what a call returned."""

    def _once(self, request: RunRequest) -> tuple[dict[str, Any], dict[str, Any]]:
        wanted = request.conditions
        args, kwargs, before = self._arguments(request)
        given, recycled, total = InputSet(args, kwargs), False, None
        passed: dict[str, Any] = {}
        if wanted.gradients:
            returned, total, args, kwargs, passed = self._backward(args, kwargs, wanted.outputs)
        else:
            returned, recycled = called_after(self._call, given, wanted.before)
        self._received(returned)
        values, skipped, container = named_values(returned)
        after = arrays_in(InputSet(args, kwargs))
        changed = [
            name for name, item in after.items() if name in before and array_hash(detached(item)) != before[name]
        ]
        facts: dict[str, Any] = {"skipped": skipped, "returned": container, "overwrote": tuple(changed)}
        facts |= {"recycled": recycled, "shares": shared_with_inputs(returned, given)}
        if wanted.traced and self._working is not None:
            facts["unused"] = self._models.unused_parameters(self._working.module, returned)
        if wanted.gradients and total is None:
            facts["cut_off"] = "no output depends on a parameter or an input by a path that has gradients"
        elif wanted.gradients:
            if self._loss is not None:
                values[LOSS] = total
            values |= {f"{GRADIENTS}.{name}": item for name, item in self._gradients().items()}
            values |= {f"{INPUT_GRADIENTS}.{name}": item for name, item in passed.items()}
        return {path: item for path, item in values.items() if item is not None}, facts

    def _steps(self, request: RunRequest) -> tuple[dict[str, Any], dict[str, Any]]:
        """Take optimiser steps and return the losses and the weights after them."""
        optimizer = self._models.optimiser(self._call, self._optimizer)
        values: dict[str, Any] = {}
        for step in range(request.conditions.steps):
            optimizer.zero_grad()
            args, kwargs, _ = self._arguments(request)
            _, total, *_ = self._backward(args, kwargs, request.conditions.outputs)
            if total is None:
                return {}, {"cut_off": "its output has no gradients"}
            optimizer.step()
            values[f"{LOSS}.{step}"] = total
        return values | {f"{WEIGHTS}.{name}": item for name, item in self._learned().items()}, {}

    def _arguments(self, request: RunRequest) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, str]]:
        """Return fresh arguments, and hashes of what they hold."""
        given, wanted = self._inputs[int(request.case)], request.conditions
        dtype = wanted.inputs_as or self._dtype_of(wanted)
        device = device_of(self._call) or self._device or None
        moves = wanted.noise is not None or bool(wanted.unit)
        generator = generator_of(wanted.noise or 0) if moves else None

        def fresh(array: Any) -> Any:
            own = in_library(array, self._library)
            found = moved(own, device if device is not None else getattr(own, "device", None), dtype)
            inexact = is_inexact(found) if is_tensor(found) else found.dtype.kind == "f"
            if generator is not None and inexact and (wanted.unit or not is_tensor(found)):
                # a library's operations are disturbed by themselves
                found = numerics_of(found).disturb(found, generator, wanted.unit)
            return found

        args, kwargs = copied(given.args, fresh), copied(given.kwargs, fresh)
        arrays = arrays_in(InputSet(args, kwargs))
        return args, kwargs, {name: array_hash(detached(item)) for name, item in arrays.items()}

    def _backward(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Sequence[str]
    ) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any], dict[str, Any]]:
        """Call the model, and return what it returned, the number that gradients were taken of, the arguments and their
        gradients by name."""
        arrays = arrays_in(InputSet(args, kwargs))
        library = self._library or next(filter(None, map(tensor_library, arrays.values())), None) or modelling()
        if library is None:
            return self._call(*args, **kwargs), None, args, kwargs, {}
        numerics = library.numerics

        def total(returned: Any) -> Any:
            return numerics.backward_total(returned, named_values(returned)[0], outputs, self._loss, self._seed)

        found = numerics.backward(self._call, args, kwargs, total)
        learning = [name for name, item in arrays.items() if is_tensor(item) and is_inexact(item)]
        passed = dict(zip(learning, found.inputs, strict=False))
        return found.returned, found.total, found.args, found.kwargs, passed

    def _gradients(self) -> dict[str, Any]:
        """Return gradients of the parameters under the reference's names."""
        if self._working is None:
            return {}
        if self._loaded is not None:
            return self._in_order(self._loaded.gradients())
        found: dict[str, Any] = self._models.gradients(self._working.module)
        return found

    def _learned(self) -> dict[str, Any]:
        assert self._working is not None
        module = self._working.module
        own = self._models.state(module) if self._loaded is None else self._in_order(self._loaded.weights())
        return {name: item for name, item in own.items() if is_array(item) and is_floating(item)}

    def _in_order(self, values: dict[str, Any]) -> dict[str, Any]:
        """Put rows into the reference's order, where the weights stayed as they were."""
        for name, order in self._rows.items():
            if values.get(name) is not None:
                values[name] = values[name][[order.index(number) for number in range(len(order))]]
        return values

    @contextlib.contextmanager
    def _conditions(self, wanted: Conditions) -> Iterator[Watch]:
        """Seed, exchange the weights, and enter the conditions."""
        library = self._library or modelling()
        with contextlib.ExitStack() as stack:
            stack.enter_context(random_state_kept(self._seed ^ wanted.reseeded))
            if self._working is not None:
                assert library is not None
                dtype, noise = self._dtype_of(wanted), library.numerics.last_place_noise
                change = noise(wanted.noise or 0, wanted.unit) if wanted.constants or wanted.unit else None
                stack.enter_context(
                    self._working.running(
                        dtype,
                        train=wanted.train,
                        written=bool(wanted.steps) or wanted.train,
                        change=change,
                        changes_all=bool(wanted.unit),
                    )
                )
                if wanted.precision == WIDE and self._loaded is not None and self._reference:
                    self._loaded.put(
                        {name: arrays_of(item).cast(item, dtype) for name, item in self._floating().items()}
                    )
            if library is not None:
                learns, numerics = not self._kernel or wanted.gradients or wanted.steps, library.numerics
                stack.enter_context(numerics.with_gradients() if learns else numerics.without_gradients())
            watch = stack.enter_context(conditions(wanted))
            if wanted.compiled:
                stack.callback(setattr, self, "_call", self._call)
                self._call = (library or storing()).numerics.compiled(self._call)
            yield watch

    def _dtype_of(self, wanted: Conditions) -> str:
        return wanted.precision if wanted.precision != OWN else self._dtype

    def _floating(self) -> dict[str, Any]:
        """Return the reference's weights that were rounded when they were put in."""
        own = self._models.parameters(self._call)
        known = {name for item in (self._loaded.placed if self._loaded else ()) for name in item.gold}
        found = {name: item for name, item in self._reference.items() if name in known and is_floating(item)}
        coarser = dtype_of(self._call) != coarsest_dtype(found.values())
        return found if coarser and own else {}

    def call(self, wanted: Conditions, calls: Sequence[GivenCall]) -> list[Run]:
        assert self._working is not None
        with self._conditions(wanted):
            return calls_alone(self._call, calls, wanted.precision, self._gradients)

    def close(self) -> None:
        if self._working is not None:
            self._working.close()
