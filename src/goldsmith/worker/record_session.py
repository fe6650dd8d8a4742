"""Run the cases of a recipe one after the other and write what they record."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldsmith.doctor import recording_environment
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import map_tree, walk
from goldsmith.frameworks.framework import conditions
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.facts import CaseFacts, Environment
from goldsmith.gold.files import MAPPED_BYTES, TRACE_SUFFIX, read_back, read_payload, write_payload, write_trace
from goldsmith.gold.trace_tensors import with_sketches
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.process.messages import Draws, KeptCase
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition
from goldsmith.recipe.reused_draws import RecordedDraws
from goldsmith.recipe.seeding import seed_everything
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.values import plain


class Session:
    """A run that records every case into `output`, or, given `kept`, replays those cases on gold's inputs and weights.

    `draws` are recorded inputs and weights that replace what cases would draw; calls of `own_code`, which students
    write, are traced. Traces of more bytes than `sketch_above` keep sketches in place of tensors.

    `current` is the case that is running, for reports; `ran` is the number of cases, once all have run.
    """

    def __init__(
        self,
        output: Path,
        *,
        seed: int,
        device: str = "cpu",
        threads: int = 1,
        variant: str = "",
        kept: Mapping[str, KeptCase] | None = None,
        draws: Mapping[str, Draws] | None = None,
        own_code: OwnCode | None = None,
        sketch_above: int | None = None,
        on_case: Callable[[str, int, int], None] = lambda name, number, of: None,
    ) -> None:
        self.output = output
        self.seed = seed
        self.device = device
        self.threads = threads
        self.current: str | None = None
        self.facts: list[CaseFacts] = []
        self.ran: int | None = None
        self._variant = variant
        self._kept = kept or {}
        self._draws = draws or {}
        self.own_code = own_code
        self._sketch_above = sketch_above
        self._on_case = on_case

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        if not definitions:
            raise RecipeMisuse("the recipe has no case; mark a function with @gs.case")
        self.output.mkdir(parents=True, exist_ok=True)
        chosen = [item for item in definitions if not self._kept or item.name in self._kept]
        for number, definition in enumerate(chosen, start=1):
            self.current = definition.name
            self._on_case(definition.name, number, len(chosen))
            self.facts.append(self._run_case(definition))
            collect_garbage(self.output / self.facts[-1].file.name)
        self.current = None
        self.ran = len(definitions)

    def _run_case(self, definition: CaseDefinition) -> CaseFacts:
        """Run and write one case. Each starts from the same seed, so that adding a case does not change the others."""
        seed_everything(self.seed, threads=self.threads)
        draws = self._recorded_draws(definition)
        case = Case(definition, self.seed, self.device, self._given(definition), draws, self.own_code)
        with conditions(note_optimisers=True) as watch, case.watch():
            definition.function(case)
        payload, tracer = case.finish()
        overwritten = case.overwritten()
        name = f"{definition.name}.{self._variant}" if self._variant else definition.name
        declared = [leaf_facts(path, leaf) for path, leaf in walk(payload)]
        path = write_payload(payload, self.output / name)
        config = _settings(payload)
        choices = case.declared_choices()
        payload.clear()  # what was recorded would come on top of what its gradients take
        case.keep_gradients()
        trace = None
        if tracer.index:
            trace = name + TRACE_SUFFIX
            kept = with_sketches(tracer.tensors, tracer.index, self._sketch_above)
            write_trace(*kept, self.output / trace)
        return CaseFacts(
            name=name,
            variant=self._variant,
            accepts=() if self._variant else definition.accepts,
            kind=definition.kind,
            title=definition.title,
            file=read_back(path),
            **case.names(),
            declared=tuple(declared),
            trace=trace,
            origins=tracer.origins,
            traced_calls=tracer.kept,
            calls=tracer.calls,
            allowed=case.allowed(),
            overwrites=overwritten,
            pinned=case.pinned(),
            optimisers=tuple(watch.optimisers.values()),
            weights=case.weight_facts,
            config=config,
            drawn=draws.drawn() if draws else "",
            draws_redrawn=draws.redrawn if draws else {},
            choices=choices,
            unordered=case.unordered_records(),
        )

    def _recorded_draws(self, definition: CaseDefinition) -> RecordedDraws | None:
        """Return the inputs and weights that were drawn before, where they are to be reused."""
        if definition.name not in self._draws:
            return None
        return RecordedDraws(self._draws[definition.name], self.environment())

    def _given(self, definition: CaseDefinition) -> GoldInputs | None:
        """Return gold's own inputs and weights, where this is a replay."""
        if definition.name not in self._kept:
            return None
        kept = self._kept[definition.name]
        return GoldInputs.from_payload(read_payload(Path(kept.file), mapped=True), kept)

    def environment(self) -> Environment:
        """Return the facts about this process that affect the bits it produces."""
        return recording_environment(self.device, self.threads)


def collect_garbage(file: Path) -> None:
    """Collect what a case has left, if its `file` is large, and give it back to the system: models lie in cycles, and
    the next case would come on top of the last one's. For small ones that would only take time."""
    with contextlib.suppress(OSError, AttributeError):  # the file is gone, or the C library has no such function
        if file.stat().st_size > MAPPED_BYTES:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)


def _settings(payload: dict[str, Any]) -> dict[str, Any]:
    names = ("model_config", "training_config", "epoch", "loss")
    return {name: _as_json(plain(payload[name])) for name in names if name in payload}


def _as_json(value: Any) -> Any:
    """Replace infinity and NaN, which JSON lacks, by text."""
    return map_tree(lambda leaf: repr(leaf) if isinstance(leaf, float) and not math.isfinite(leaf) else leaf, value)
