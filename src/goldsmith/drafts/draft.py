"""Draft the recipe that records the parts that students write."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from goldsmith.drafts.alone import Budget, Send, Task, do_alone
from goldsmith.drafts.compose_cases import MAIN, Composer
from goldsmith.drafts.initialisation import draft_initial
from goldsmith.drafts.observed_calls import Sightings, run_examples, run_public_tests
from goldsmith.drafts.optimiser_cases import draft_optimiser, draft_over_parameters, takes_parameters
from goldsmith.drafts.other_solutions import OtherSolutions
from goldsmith.drafts.recipe_file import Names, head_of, write_recipe
from goldsmith.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.drafts.recorded_results import has_gradient
from goldsmith.drafts.targets import Target, find_targets
from goldsmith.drafts.try_case import Prover
from goldsmith.drafts.variations import without_dropout
from goldsmith.drafts.working_calls import CALL, Call, Finder
from goldsmith.foundation.wording import in_words
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import Job, Proposal, ProposeJob
from goldsmith.recipe.imports import module_name
from goldsmith.weights.values import first_of

_SECONDS_FOR_TESTS = 25.0
_DRAFT_S, _PROOF_S, _PART_S = 95.0, 50.0, 35.0
"""How long a whole draft may take, how much of that is kept for proving cases, and for how long one part may."""


def propose(job: ProposeJob) -> Proposal:
    """Return a recipe with a case for every part that could be called, and a TODO for every other."""
    budget = Budget(_DRAFT_S)
    folder = Path(job.folder)
    targets = find_targets(folder, job.parts)
    names = Names(_prefix(job), {item.module: item.search for item in job.parts})
    sightings = Sightings(targets, job.root, job.folder)
    notes = _observe(job, sightings, targets, budget)
    finder = Finder(targets, sightings, job.seed)
    calls = finder.calls(budget, reserve=_PROOF_S)
    parts = frozenset(name for item in targets for name in item.calls)
    others = OtherSolutions(folder, _files(targets, folder), parts)
    own_code = OwnCode(OwnFiles.of(job), parts)
    prover = Prover(job, own_code, lambda draft: head_of([draft], names).replace(_HERE, repr(job.recipe)), others)
    drafting = _Drafting(finder, prover, calls, sightings, job.seed, budget)
    drafts = drafting.outputs(targets) if job.kind in ("outputs", "both") else []
    if job.kind in ("checkpoint", "both"):
        trained = drafting.checkpoint(targets)
        if trained is None:
            notes.append("No checkpoint: no torch model was found that can be trained towards a target.")
            drafts = drafts or drafting.outputs(targets)
        else:
            model = next(item for item in targets if item.name == trained.part)
            drafts = [*(drafts or drafting.initial_of(model, targets)), trained]
    left_out = drafting.left_out(targets, drafts) if drafts == [] or job.kind != "checkpoint" else {}
    source = write_recipe(job.assignment, drafts, left_out, names, notes)
    short = {name.rpartition(":")[2]: why for name, why in left_out.items()}
    return Proposal(source, len(drafts), tuple(dict.fromkeys(draft.part for draft in drafts)), short)


def _observe(job: ProposeJob, sightings: Sightings, targets: Sequence[Target], budget: Budget) -> list[str]:
    """See how the course's own examples and tests call what students write; return what is to be said of that."""

    def work(send: Send) -> None:
        sightings.on_sighting = lambda name, seen: send((name, seen))
        run_examples(sightings, targets)
        if job.public_tests:
            run_public_tests(sightings, job.root, job.public_tests, _SECONDS_FOR_TESTS)

    (outcome,) = do_alone([Task(work, _SECONDS_FOR_TESTS + 5)], budget=budget)
    for name, seen in outcome.messages:
        sightings.take(name, seen)
    told = f"Not all examples and public tests could be watched for how they call these parts: {outcome.trouble}."
    return [told] if outcome.trouble else []


def _files(targets: Sequence[Target], folder: Path) -> dict[str, Path]:
    """Return the files of the course that students write, by module."""
    found = {item.module: getattr(sys.modules.get(item.module), "__file__", None) for item in targets}
    return {name: Path(file) for name, file in found.items() if file and Path(file).is_relative_to(folder)}


_HERE = "__file__"


def _prefix(job: Job) -> str:
    """Return the prefix of the real names of the assignment's modules."""
    inside = Path(job.folder).relative_to(job.root).parts
    return "".join(f"{module_name(part)}." for part in inside)


class _Drafting:
    def __init__(
        self,
        finder: Finder,
        prover: Prover,
        calls: Mapping[str, Sequence[Call]],
        sightings: Sightings,
        seed: int,
        budget: Budget,
    ) -> None:
        self._finder, self._prover, self._calls, self._sightings = finder, prover, calls, sightings
        self._seed, self._budget = seed, budget
        self._composer = Composer(finder)
        self._composer.learn(calls)
        self._troubles = dict(finder.troubles)
        self._covered: set[str] = set()
        self._labels: set[str] = set()
        self._recorded: set[str] = set()
        self._against: dict[str, str] = {}
        """What is against recording a method, by `Class.method`."""

    def outputs(self, targets: Sequence[Target]) -> list[DraftCase]:
        """Return cases in the order of their targets; the outermost model's case has the name that tests expect."""
        main = next((item.name for item in targets if item.is_model and self._forward(item)), "")
        works = [functools.partial(self._draft_target, item, targets, main) for item in targets]
        return self._do(targets, works, _PART_S)

    def initial_of(self, target: Target, targets: Sequence[Target]) -> list[DraftCase]:
        """Return a case for how a class initialises its weights, where students write that."""
        return self._do([target], [lambda send: self._prove(target, self._initial(target, targets), send)], _PART_S)

    def _do(
        self, targets: Sequence[Target], works: Sequence[Callable[[Send], None]], seconds: float
    ) -> list[DraftCase]:
        """Draft each target in a process of its own: what one does to it is no other's trouble."""
        tasks = [Task(work, seconds) for work in works]
        found = []
        for target, outcome in zip(targets, do_alone(tasks, budget=self._budget), strict=True):
            if outcome.trouble:
                self._troubles[target.name] = outcome.trouble
            troubles = [content for kind, content, _ in outcome.messages if kind == "trouble"]
            if troubles:
                self._troubles[target.name] = troubles[0]  # what is against the main case says most
            late = outcome.trouble and outcome.messages and outcome.messages[-1][0] == "so far"
            for number, (kind, content, recorded) in enumerate(outcome.messages, start=1):
                if kind == "so far" and not (late and number == len(outcome.messages) and content.blocks):
                    continue
                if kind == "against":
                    self._against.setdefault(f"{target.name}.{content[0]}", content[1])
                    continue
                if kind == "trouble":
                    continue
                self._covered.add(target.name)
                if not recorded or not recorded <= self._recorded:  # else another part's case records all of it
                    self._recorded |= recorded
                    self._labels |= {f"{target.name}.{block.label}" for block in content.blocks}
                    found.append(content)
            if outcome.trouble and found and found[-1].part == target.name:
                told = f"There would be more, but {outcome.trouble}."
                found[-1] = dataclasses.replace(found[-1], remarks=(*found[-1].remarks, told))
        return found

    def _draft_target(self, target: Target, targets: Sequence[Target], main: str, send: Send) -> None:
        found = [call for item in self._calls.get(target.name, []) if (call := self._finder.with_result(item))]
        forward = self._forward_of(target)
        if forward is not None:
            self._prove(target, self._composer.of_backward(forward, target), send)
        elif target.is_optimiser:
            self._prove(target, draft_optimiser(target, self._sightings.of(target.name)), send)
        elif target.is_model and found:
            name = MAIN if target.name == main else snake(target.name)
            self._prove(target, self._composer.of_model(found, name), send)
        elif target.is_class and found:
            self._prove(target, self._composer.of_object(found), send)
        elif found:
            self._prove(target, self._composer.of_function(found[0]), send)
        elif target.object is not None and not target.is_class and takes_parameters(target):
            self._prove(target, draft_over_parameters(target), send)
        elif self._calls.get(target.name):
            send(("trouble", next(iter(self._finder.troubles.values()), "it runs only at times"), frozenset()))
        if target.is_class and target.object is not None and not target.is_optimiser:
            self._prove(target, self._initial(target, targets), send)

    def _forward_of(self, target: Target) -> Call | None:
        """Return a call of the forward pass to which a function is the backward pass."""
        other, _, ending = target.name.rpartition("backward")
        if target.is_class or ending or not other:
            return None
        found = [call for name in (f"{other}forward",) for call in self._calls.get(name, ()) if not call.method]
        return self._finder.with_result(found[0]) if found else None

    def _initial(self, target: Target, targets: Sequence[Target]) -> Iterator[DraftCase]:
        kinds = tuple(item.object for item in targets if inspect.isclass(item.object) and item is not target)
        owner = self._finder.built.get(target.name)
        return draft_initial(target, owner, self._seed, lambda it: isinstance(it, kinds))

    def _forward(self, target: Target) -> Call | None:
        return next((call for call in self._calls.get(target.name, ()) if call.method in ("forward", CALL)), None)

    def _prove(self, target: Target, drafts: Iterable[DraftCase], send: Send) -> None:
        """Send the drafts that work; of several with one name, the first."""
        done: set[str] = set()
        refuted = ""
        self._prover.so_far = lambda case: send(("so far", case, frozenset()))
        try:
            for draft in drafts:
                if draft.name in done or not draft.blocks or refuted not in ("", draft.name):
                    continue  # what right solutions disagree about is not shown by inputs where that is hidden
                proved, reason = self._prover.prove(draft)
                for label, why in self._prover.reasons.items():
                    send(("against", (label, why), frozenset()))
                if proved is None:
                    send(("trouble", reason, frozenset()))
                    refuted = draft.name if self._prover.refuted else refuted
                    continue
                refuted = ""
                done.add(draft.name)
                send(("case", proved, frozenset(self._prover.recorded)))
        except (Exception, SystemExit) as error:
            send(("trouble", in_words(error), frozenset()))

    def checkpoint(self, targets: Sequence[Target]) -> DraftCase | None:
        """Return a case that trains the outermost trainable model towards a fixed target; None if there is none."""
        for target in targets:
            call = self._forward(target) if target.is_model else None
            if call is not None and call.owner is not None:
                works = [functools.partial(self._draft_checkpoint, target, call)]
                found = self._do([target], works, _PART_S)
                if found:
                    return found[0]
        return None

    def _draft_checkpoint(self, target: Target, found: Call, send: Send) -> None:
        call = self._finder.with_result(found)
        call = self._composer.settled(call) if call else None
        if call is None:
            return
        result = call.result
        output: Any = first_of(result) if isinstance(result, tuple | list | dict) else result
        if has_gradient(output) and output.dim():
            self._prove(target, [_checkpoint(call, tuple(output.shape))], send)

    def left_out(self, targets: Sequence[Target], drafts: Sequence[DraftCase]) -> dict[str, str]:
        """Return why parts have no case, by `module:part`."""
        found: dict[str, str] = {}
        for target in targets:
            if target.name.startswith("_"):
                continue
            if target.name not in self._covered:
                why = target.trouble or self._troubles.get(target.name) or self._why(target)
                found[f"{target.module}:{target.name}"] = why
                continue
            for name in target.calls if target.is_class and not target.is_optimiser else ():
                method = name.partition(".")[2]
                called = {call.method: call for call in self._calls.get(target.name, ())}
                if method.startswith("_") or (method == "forward" and method in called):
                    continue
                if method not in called:
                    found[f"{target.module}:{name}"] = self._troubles.get(name, "its arguments could not be guessed")
                elif called[method].result is None and not self._is_shown(target, method):
                    found[f"{target.module}:{name}"] = "it returns nothing, and no weights change: record what it does"
                elif called[method].result is not None and name in self._against and not self._is_recorded(name):
                    found[f"{target.module}:{name}"] = self._against[name]
        return found

    def _is_shown(self, target: Target, method: str) -> bool:
        """Say whether the effect of a method was recorded, or a method was called after it."""
        after = target.methods[target.methods.index(method) + 1 :]
        return any(
            f"{target.name}.{name}" in self._labels for name in (method, *(it for it in after if it != "forward"))
        )

    def _is_recorded(self, name: str) -> bool:
        """Say whether what a method returns is recorded in any case."""
        return any(label == name or label.startswith(f"{name}_") for label in self._labels)

    def _why(self, target: Target) -> str:
        return next(
            (self._troubles[name] for name in target.calls if name in self._troubles),
            "its arguments could not be guessed",
        )


def _checkpoint(call: Call, shape: tuple[int, ...]) -> DraftCase:
    assert call.owner is not None
    scope = Scope(weights="init")
    scope.model("model", without_dropout(call.owner))
    names = scope.bind(call.arguments)
    target = "target" if "target" not in names else "goal"
    arguments = ", ".join(names.values())
    scope.lines += [
        "training = dict(epochs=20, lr=1e-2, optimizer='SGD')",
        f'{target} = case.input("{target}", lambda: torch.randn({", ".join(map(str, shape))}))',
        'optimizer = torch.optim.SGD(model.parameters(), lr=training["lr"])',
        "losses = []",
        'for _ in range(training["epochs"]):',
        "    optimizer.zero_grad()",
        f"    loss = torch.nn.functional.mse_loss(case.first(model({arguments})), {target})",
        "    loss.backward()",
        "    optimizer.step()",
        "    losses.append(loss.item())",
        'case.record("losses", torch.tensor(losses, dtype=torch.float32))',
        'case.checkpoint(model, epoch=training["epochs"], loss=losses[-1], training_config=training)',
    ]
    name = call.target.name
    title = f"{name} after training towards a fixed target; in eval mode, since dropout cannot be retraced."
    return DraftCase(
        "gold_checkpoint", title, Block("setup", ()), (scope.block("checkpoint"),), kind="checkpoint", part=name
    )
