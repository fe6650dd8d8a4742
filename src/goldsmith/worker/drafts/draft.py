"""Draft the recipe that records the parts that students write."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from goldsmith.gold.arrays import is_tensor
from goldsmith.process.messages import Job, Proposal
from goldsmith.recipe.imports import module_name
from goldsmith.weights.values import first_of
from goldsmith.worker.drafts.compose_cases import MAIN, Composer
from goldsmith.worker.drafts.initialisation import draft_initial
from goldsmith.worker.drafts.observed_calls import Sightings, run_examples, run_public_tests
from goldsmith.worker.drafts.optimiser_cases import draft_optimiser, draft_over_parameters, takes_parameters
from goldsmith.worker.drafts.recipe_file import Names, head_of, write_recipe
from goldsmith.worker.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.worker.drafts.targets import Target, find_targets
from goldsmith.worker.drafts.try_case import Prover
from goldsmith.worker.drafts.variations import without_dropout
from goldsmith.worker.drafts.working_calls import CALL, Call, Finder

_SECONDS_FOR_TESTS = 60.0


def propose(job: Job) -> Proposal:
    """Return a recipe with a case for every part that could be called, and a TODO for every other."""
    folder = Path(job.folder)
    targets = find_targets(folder, job.parts)
    names = Names(_prefix(job), {item.module: item.search for item in job.parts})
    sightings = Sightings(targets, job.root, job.folder)
    run_examples(sightings, targets)
    if job.public_tests:
        run_public_tests(sightings, job.root, job.public_tests, _SECONDS_FOR_TESTS)
    finder = Finder(targets, sightings, job.seed)
    calls = finder.calls()
    prover = Prover(Path(job.scratch), job.seed, lambda draft: head_of([draft], names).replace(_HERE, repr(job.recipe)))
    drafting = _Drafting(finder, prover, calls, sightings, job.seed)
    drafts = list(drafting.outputs(targets)) if job.kind in ("outputs", "both") else []
    notes = []
    if job.kind in ("checkpoint", "both"):
        trained = drafting.checkpoint(targets)
        if trained is None:
            notes.append("No checkpoint: no torch model was found that can be trained towards a target.")
            drafts = drafts or list(drafting.outputs(targets))
        else:
            model = next(item for item in targets if item.name == trained.part)
            drafts = [*(drafts or drafting.initial(model, targets)), trained]
    left_out = drafting.left_out(targets, drafts) if drafts == [] or job.kind != "checkpoint" else {}
    source = write_recipe(job.assignment, drafts, left_out, names, notes)
    parts = tuple(dict.fromkeys(draft.part for draft in drafts))
    short = {name.rpartition(":")[2]: why for name, why in left_out.items()}
    return Proposal(source, len(drafts), parts, short)


_HERE = "__file__"


def _prefix(job: Job) -> str:
    """Return the prefix of the real names of the assignment's modules."""
    inside = Path(job.folder).relative_to(job.root).parts
    return "".join(f"{module_name(part)}." for part in inside)


class _Drafting:
    def __init__(
        self, finder: Finder, prover: Prover, calls: Mapping[str, Sequence[Call]], sightings: Sightings, seed: int
    ) -> None:
        self._finder, self._prover, self._calls, self._sightings = finder, prover, calls, sightings
        self._seed = seed
        self._composer = Composer(finder)
        self._composer.learn(calls)
        self._troubles = dict(finder.troubles)
        self._covered: set[str] = set()
        self._labels: set[str] = set()

    def outputs(self, targets: Sequence[Target]) -> Iterator[DraftCase]:
        """Yield cases in the order of their targets; the outermost model's case has the name that tests expect."""
        main = next((item.name for item in targets if item.is_model and self._forward(item)), "")
        for target in targets:
            found = self._calls.get(target.name, [])
            if target.is_optimiser:
                yield from self._prove(target, draft_optimiser(target, self._sightings.of(target.name)))
            elif target.is_model and found:
                name = MAIN if target.name == main else snake(target.name)
                yield from self._prove(target, self._composer.of_model(found, name))
            elif target.is_class and found:
                yield from self._prove(target, self._composer.of_object(found))
            elif found:
                yield from self._prove(target, self._composer.of_function(found[0]))
            elif target.object is not None and not target.is_class and takes_parameters(target):
                yield from self._prove(target, draft_over_parameters(target))
            if target.is_class and target.object is not None and not target.is_optimiser:
                yield from self.initial(target, targets)

    def initial(self, target: Target, targets: Sequence[Target]) -> Iterator[DraftCase]:
        """Yield a case for how a class initialises its weights, where students write that."""
        kinds = tuple(item.object for item in targets if inspect.isclass(item.object) and item is not target)
        owner = self._finder.built.get(target.name)
        yield from self._prove(target, draft_initial(target, owner, self._seed, lambda it: isinstance(it, kinds)))

    def _forward(self, target: Target) -> Call | None:
        return next((call for call in self._calls.get(target.name, ()) if call.method in ("forward", CALL)), None)

    def _prove(self, target: Target, drafts: Iterable[DraftCase]) -> Iterator[DraftCase]:
        """Yield the drafts that work; of several with one name, the first."""
        done: set[str] = set()
        for draft in drafts:
            if draft.name in done:
                continue
            proved, reason = self._prover.prove(draft)
            if proved is None:
                self._troubles[target.name] = reason
                continue
            done.add(draft.name)
            self._covered.add(target.name)
            self._labels |= {f"{target.name}.{block.label}" for block in proved.blocks}
            yield proved

    def checkpoint(self, targets: Sequence[Target]) -> DraftCase | None:
        """Return a case that trains the outermost trainable model towards a fixed target; None if there is none."""
        for target in targets:
            call = self._forward(target) if target.is_model else None
            if call is None or call.owner is None:
                continue
            call = self._composer.settled(call)
            output = first_of(call.result) if isinstance(call.result, tuple | list | dict) else call.result
            if is_tensor(output) and output.is_floating_point() and output.requires_grad and output.dim():
                proved, _ = self._prover.prove(_checkpoint(call, tuple(output.shape)))
                if proved is not None:
                    return proved
        return None

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
        return found

    def _is_shown(self, target: Target, method: str) -> bool:
        """Say whether the effect of a method was recorded, or a method was called after it."""
        after = target.methods[target.methods.index(method) + 1 :]
        return any(
            f"{target.name}.{name}" in self._labels for name in (method, *(it for it in after if it != "forward"))
        )

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
