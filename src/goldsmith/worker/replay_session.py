"""Replay cases on another implementation, with gold's inputs and weights, never gold's outputs.

Each run of each case is written as soon as it has ended, so that a crash in one loses no other. The results are arrays
and JSON; a process that never imports this code judges them.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from goldsmith.foundation.nested import leaves_in, walk
from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.devices import settle
from goldsmith.frameworks.framework import Watch, active, arrays_of, library_of, models_of
from goldsmith.gold.arrays import is_array, judged_part
from goldsmith.gold.files import trace_as_bytes
from goldsmith.instruments.coverage import Coverage
from goldsmith.instruments.created_tensors import noting_made
from goldsmith.instruments.module_traces import Tracer
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.process.messages import ReplayJob, TrialFailure
from goldsmith.process.result_log import write_run
from goldsmith.process.worker_channel import incoming_requests
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition
from goldsmith.recipe.seeding import seed_everything
from goldsmith.runs.conditions import PERTURBED, Conditions
from goldsmith.runs.enter_conditions import conditions, input_change
from goldsmith.runs.notes import MAX_ITEMS, Names, Note
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Failure, Run, RunFacts
from goldsmith.weights import models
from goldsmith.weights.crossing import LoadedAcross, foreign_of, modules_of, refusing
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.loaded import LoadedModel
from goldsmith.weights.rules import Adapter, read_adapter
from goldsmith.worker.adapter_calls import adapt_calls, adapt_recipe
from goldsmith.worker.compiled_calls import compiling_functions
from goldsmith.worker.crossing_calls import cross_recipe, uncrossed
from goldsmith.worker.failure_reasons import cause_of, unfinished_imports
from goldsmith.worker.isolated_calls import run_alone
from goldsmith.worker.payload_cache import payloads
from goldsmith.worker.perturbations import CallsBefore, ModelPerturbation, PerturbedInputs
from goldsmith.worker.record_session import Session, collect_garbage
from goldsmith.worker.tolerance_trials import ToleranceTrials

T = TypeVar("T")
_MAX_MODULES = 10_000
_OPTIONS = ("weights", "name", "train", "trace", "allow")
"""The options of `case.model` that are not passed on to the factory."""


class ReplaySession(Session):
    """A session that runs its cases under conditions, on gold's inputs and weights: those of a job's trials, else as
    requests come in. A case that fails does not end it."""

    def __init__(self, job: ReplayJob, **options: Any) -> None:
        super().__init__(Path(job.output), kept=job.kept, **options)
        self.job = job
        self.adapter = read_adapter(Path(job.adapter).read_bytes(), job.adapter) if job.adapter else Adapter()
        self.failed_trials: list[TrialFailure] = []
        self.watch = Watch()
        """What the conditions of the last run have shown."""
        self._places = Coverage(job.folder) if job.coverage else None
        if self._places is not None:
            self._places.start()

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        if self.job.trials:
            trials = ToleranceTrials(self)
            trials.run(definitions)
            self.ran, self.failed_trials = len(definitions), trials.failures
            return
        adapt_recipe(self.adapter)
        cross_recipe(self.job)
        by_name = {item.name: item for item in definitions}
        for number, requests in enumerate(incoming_requests(Path(self.job.requests_dir)), start=1):
            known = [item for item in requests if item.case in by_name]
            if not self._answer(known, by_name, self.output / str(number)):
                break  # another process runs the cases after this one
            self._on_case("", number, number)
        self.ran = len(definitions)

    def _answer(self, requests: Sequence[RunRequest], definitions: Mapping[str, CaseDefinition], output: Path) -> bool:
        """Run the requests, grouped by case; where the plain run of a case fails, skip the rest of that case. Return
        False as soon as this process cannot go on: its device computes no more, or its memory was used up there."""
        cases = list(dict.fromkeys(item.case for item in requests))
        failed = ""
        for item in requests:
            if item.case != self.current:
                self.current = item.case
                self._on_case(item.case, cases.index(item.case) + 1, len(cases))
            if item.case == failed:
                continue
            if item.call is not None:
                failure = _write(output, item, run_alone(self, item, item.call, definitions[item.case])).failure
            else:
                failure = self._run_once(item, definitions[item.case], output).failure
                failed = item.case if failure is not None and item.name == "plain" else failed
            if failure is not None and not self._can_go_on(failure):
                return False
            collect_garbage(Path(self._kept[item.case].file))
        self.current = None
        return True

    def _can_go_on(self, failure: Failure) -> bool:
        """Return whether the device is as it was. What raised an error may hold on to memory there, and after some
        errors, such as an illegal address, it fails everything that it is asked."""
        if self.device == "cpu":
            return True
        try:
            settle(self.device)
        except Exception:
            return False
        return failure.kind != "memory"

    def _run_once(self, request: RunRequest, definition: CaseDefinition, output: Path) -> Run:
        """Run one case once and write the outcome, whatever it is."""
        if self._places is not None:
            self._places.begin_case()
        wanted, started = request.conditions, time.monotonic()
        if wanted.perturbation == "repeated":
            self._call_before(definition, wanted.layout)
        case = self.case_for(definition, wanted)
        created = noting_made(vars(sys.modules["__main__"]), case.made)
        values: dict[str, Any] = {}
        failure = None
        try:
            values = self.recorded(definition, wanted, case, created, case.watch(), self._called_before(wanted))
            if case.device != "cpu":
                settle(case.device)  # what goes wrong there later would be another case's
            values |= case.changes.more() if case.changes else {}
            trace = case.trace_so_far()
        except BaseException as error:
            met = uncrossed(error, self.job.library) or error
            failure = cause_of(met, self.job, definition.name, case.returned_none)
            values, trace = {}, case.trace_so_far()
        facts = RunFacts(
            **case.observations(),
            failure=failure,
            coverage=self._coverage() if wanted.observe == "coverage" else None,
            applied=case.changes is None or case.changes.applied,
            pure=self.watch.pure and not case.rounded,
            rounded_to=self.watch.rounded_to,
            graphs=self.watch.graphs,
            unfinished=unfinished_imports(self.job),
            seconds=time.monotonic() - started,
        )
        return _write(output, request, Run(facts, values, trace))

    def _coverage(self) -> dict[str, Any] | None:
        return None if self._places is None or self._places.forked else self._places.by_file()

    def recorded(
        self, definition: CaseDefinition, wanted: Conditions, case: Case, *watching: AbstractContextManager[Any]
    ) -> dict[str, Any]:
        """Run a case under conditions, which may raise an error, and return what it recorded, by path."""
        changed = ", ".join(self._kept[definition.name].overwrites) if definition.name in self._kept else ""
        with conditions(wanted) as self.watch, contextlib.ExitStack() as stack:
            for item in watching:
                stack.enter_context(item)
            if wanted.compiled:
                stack.enter_context(compiling_functions(self.job))
            if changed:
                stack.enter_context(
                    refusing(f"it changes its input {changed}, which no function of another library can")
                )
            definition.function(case)
        if wanted.observe == "op_outputs":
            return self.watch.outputs  # it may have ended early
        payload, _ = case.finish()
        return judged_part(payload)

    def _call_before(self, definition: CaseDefinition, layout: str) -> None:
        """Run a case on other inputs first, so that state kept between calls shows in the run that counts."""
        with contextlib.suppress(Exception), conditions(PERTURBED["repeated"]):
            definition.function(self.case_for(definition, PERTURBED["moved"].but(layout=layout)))

    def _called_before(self, wanted: Conditions) -> AbstractContextManager[None]:
        """Return a context that does the same for state in objects, which the case may create again."""
        if wanted.perturbation != "repeated" or self.own_code is None:
            return contextlib.nullcontext()
        return self.own_code.watch(CallsBefore(self.job.recipe))

    def inputs_for(
        self,
        definition: CaseDefinition,
        wanted: Conditions,
        payload: Mapping[str, Any] | None = None,
        on_noise: Callable[[], None] = lambda: None,
    ) -> GoldInputs:
        """Seed everything, and return gold's inputs and weights for a run, from the `payload` if that has been read."""
        seed_everything(self.seed ^ wanted.reseeded, threads=wanted.threads or self.threads)
        kept = self._kept[definition.name]
        options = {
            "change": input_change(wanted, on_noise),
            "precision": wanted.precision,
            "adapter": self.adapter,
            "layout": wanted.layout,
            "library": self.job.library,
        }
        payload = payloads.of(Path(kept.file)) if payload is None else payload
        if wanted.perturbation is not None:
            return PerturbedInputs.from_payload(payload, kept, condition=wanted.perturbation, **options)
        return GoldInputs.from_payload(payload, kept, **options)

    def case_for(self, definition: CaseDefinition, wanted: Conditions) -> ReplayCase:
        given = self.inputs_for(definition, wanted)
        for framework in active():  # an operation without a deterministic form is allowed; `repeat` shows it
            framework.numerics.tolerate_nondeterminism()
        changes = None
        if wanted.perturbation is not None:
            changes = ModelPerturbation(wanted.perturbation, self.seed, dict(given.inputs))
        own_code = self.own_code if wanted.traced else None
        return ReplayCase(
            definition, self.seed, self.device, given, own_code=own_code, changes=changes, compiled=wanted.compiled
        )

    def announce(self, name: str, number: int, of: int) -> None:
        self._on_case(name, number, of)


def _write(file: Path, request: RunRequest, run: Run) -> Run:
    try:
        write_run(file, request.case, request.name, run)
    except Exception as error:
        failure = Failure(kind="raised", message=f"what it returned cannot be stored: {in_words(error)}")
        run = Run(RunFacts(failure=failure))
        write_run(file, request.case, request.name, run)
    return run


class ReplayCase(Case):
    """A case run on another implementation, which watches what it does to its inputs."""

    def __init__(
        self,
        definition: CaseDefinition,
        seed: int,
        device: str,
        given: GoldInputs,
        *,
        own_code: OwnCode | None = None,
        changes: ModelPerturbation | None = None,
        compiled: bool = False,
    ) -> None:
        super().__init__(definition, seed, device, given, own_code=own_code)
        self.changes, self._compiled = changes, compiled
        self._adapter = given.adapter
        self._tracing = own_code is not None
        self._aliased: list[Note] = []
        self.made: list[Any] = []
        self._recorded_made: list[str] = []
        self._weight_use: dict[str, Any] = {}

    def trace_so_far(self) -> bytes:
        """Return what has been traced; nothing if this run is not traced."""
        tracer = self._tracer
        return trace_as_bytes(tracer.tensors, tracer.index) if self._tracing and tracer.index else b""

    def settled(self, name: str) -> LoadedModel | None:
        """Return a framework's model of this case with gold's weights in it; None if there is none."""
        found = self._settled.get(name)
        return found if isinstance(found, LoadedModel) else None

    @property
    def rounded(self) -> bool:
        """Say whether a model keeps numbers that were rounded before anything was watched."""
        return any(settled.rounded for settled in self._settled.values() if isinstance(settled, LoadedModel))

    @property
    def returned_none(self) -> str | None:
        return self._tracer.returned_none

    def model(self, factory: Callable[..., T], /, *args: Any, **options: Any) -> T:
        model = super().model(factory, *args, **options)
        name = options.get("name", "model")
        if self.changes is not None:
            model = self._settled[name].model = self.changes.model(name, model)
            if self.changes.condition == "initial":
                given = {key: value for key, value in options.items() if key not in _OPTIONS}
                build = functools.partial(models.build, factory, args, given, self.device)
                self.changes.initial(name, self._initial_draws(name, build))
        library = library_of(model) if self._compiled else None
        if library is not None:
            model = library.numerics.compiled(model)
        known = models_of(model)
        if self._tracing and known is not None:
            self._weight_use[name] = known.WeightUse(model)
        return adapt_calls(model, self._adapter)

    def _keep_weights(self, name: str, model: Any, drew: bool, build: Callable[..., Any]) -> None:
        """Keep nothing: they are gold's weights."""

    def input(self, name: str, make: Callable[[], T] | T, **options: Any) -> T:
        value = super().input(name, make, **options)
        return value if self.changes is None else self.changes.input(name, value)

    def record(self, name: str, value: Any, *, shape: Any = None, **options: Any) -> None:
        """Keep any output: the comparison says what is wrong with it."""
        given = {_storage(leaf): other for other, item in self._handed.items() for leaf in leaves_in(item)}
        given.pop(None, None)
        shared = [given[_storage(leaf)] for leaf in leaves_in(value) if _storage(leaf) in given]
        self._aliased += [Note("shared-memory", (Names(gold=(other,), theirs=(name,)),)) for other in shared]
        made = {id(leaf) for leaf in self.made}
        self._recorded_made += [path for path, leaf in walk(value, name) if id(leaf) in made]
        self._keep(name, value)
        if self.changes is not None:
            self.changes.record(name, value)

    def finish(self) -> tuple[dict[str, Any], Tracer]:
        """Return the payload; raise if gold's weights could not be put into a model, whose outputs then prove
        nothing."""
        for settled in self._settled.values():
            if settled.unplaced is not None:
                raise settled.unplaced
        return super().finish()

    def observations(self) -> dict[str, Any]:
        """Return the facts about this run besides its outputs."""
        notes = [note for settled in self._settled.values() for note in settled.notes]
        notes += self._unseen() if self._tracing else ()
        return {
            "notes": tuple(dict.fromkeys([*notes, *self._aliased])),
            "overwrote": self.overwritten(),
            "created": tuple(self.item_names.path_of("output", path) for path in self._recorded_made),
            "weight_map": {
                name: tuple((item.gold, item.theirs) for item in settled.placed)
                for name, settled in self._settled.items()
            },
            "extra": {name: settled.extra for name, settled in self._settled.items() if settled.extra},
            "modules": {name: _module_names(settled.model) for name, settled in self._settled.items()},
            "across": any(isinstance(settled, LoadedAcross) for settled in self._settled.values()),
            "used": {name: self._by_their_names(name, use.names()) for name, use in self._weight_use.items()},
        }

    def _unseen(self) -> Iterator[Note]:
        """Note which modules with weights were not seen to be called, where a library may hide that."""
        for label, settled in self._settled.items():
            model, held = settled.model, foreign_of(settled.model)
            known = models_of(model)
            if held is not None:
                model, known = held.model, held.other.models
            called = {entry["module"] for entry in self._tracer.index if entry["model"] == label}
            if known is None or not known.UNSEEN or "" not in called:
                continue
            owners = {name.rpartition(".")[0] for name in known.weights(model)}
            missing = [name for name in known.modules(model) if name and name in owners and name not in called]
            if missing:
                yield Note("unseen", (Names(theirs=tuple(missing[:MAX_ITEMS])),), max(0, len(missing) - MAX_ITEMS))

    def _by_their_names(self, model: str, weights: Sequence[str]) -> tuple[str, ...]:
        """Return names of a model's weights as the submission has them: a model of another library goes by gold's."""
        settled = self._settled.get(model)
        if not isinstance(settled, LoadedAcross):
            return tuple(weights)
        used = set(weights)
        return tuple(name for item in settled.placed if used.intersection(item.gold) for name in item.theirs)


def _module_names(model: Any) -> tuple[str, ...]:
    try:
        return tuple(itertools.islice(modules_of(model), _MAX_MODULES))
    except Exception:
        return ()  # a submission's broken one


def _storage(leaf: Any) -> int | None:
    """Return where an array's memory begins; None for anything that has no memory to share."""
    if not is_array(leaf) or not math.prod(leaf.shape):
        return None
    return arrays_of(leaf).memory_id(leaf)
