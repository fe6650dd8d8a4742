"""Cases for parts that can be called: the call itself with its gradients, then again with other arguments."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence

from goldsmith.drafts import variations
from goldsmith.drafts.blocks import Blocks
from goldsmith.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.drafts.recorded_results import backward_lines, has_gradient, recorded
from goldsmith.drafts.specs import Built, Literal, Spec, Steps, arrays_in, build
from goldsmith.drafts.working_calls import CALL, Call, Finder

MAIN = "gold_output"


class Composer(Blocks):
    """A writer of cases for calls; `try_case` finds out whether they work."""

    def __init__(self, finder: Finder) -> None:
        super().__init__(finder)
        self._changers: dict[str, Call] = {}
        """Methods that change the object they belong to and return nothing, by class."""

    def learn(self, calls: Mapping[str, Sequence[Call]]) -> None:
        for name, found in calls.items():
            for call in found:
                if call.method and call.result is None and call.target.is_model:
                    self._changers.setdefault(name, call)

    # --- torch modules ----------------------------------------------------------------------------------------

    def of_model(self, calls: Sequence[Call], name: str) -> Iterator[DraftCase]:
        """Yield cases for the module's call first, then for its methods."""
        for call in calls:
            if call.method in ("forward", CALL):
                call = self.settled(call)
                yield from self._forward(call, name)
        methods = [self.settled(call) for call in calls if call.method not in ("forward", CALL)]
        if methods:
            yield from self._methods(methods, f"{snake(methods[0].target.name)}_methods")

    def _forward(self, call: Call, name: str) -> Iterator[DraftCase]:
        assert call.owner is not None
        owner, kind = variations.without_dropout(call.owner), call.target.name
        setup = Scope()
        setup.model("model", owner)
        yield DraftCase(
            name,
            f"{kind}: what it returns and passes back, weights in general position.",
            setup.block("setup"),
            tuple(self._main_blocks(call, "model", models=("model",))),
            part=kind,
            remarks=self._doubts([call]),
        )
        for other in (*self._other_settings(call, owner, floats=True), owner):
            scope = Scope()
            scope.model("model", other)
            blocks = tuple(self._again_blocks(call, "model", shared={}))
            yield DraftCase(
                f"{snake(kind)}_again",
                f"{kind} called again: on a batch of one, longer, on others, on small numbers and large ones.",
                scope.block("setup"),
                blocks,
                part=kind,
            )
        yield self._training(call, owner)
        flags = tuple(self._option_blocks(call, owner))
        if flags:
            title = f"{kind} with other settings."
            yield DraftCase(f"{snake(kind)}_options", title, Block("setup", ()), flags, part=kind)
        dropped = variations.with_dropout(owner, call.target.object)
        if dropped is not None:
            yield self._dropout(call, dropped)

    def _training(self, call: Call, owner: Built) -> DraftCase:
        """Return a case for what is different in training: statistics of the batch, and running ones afterwards."""
        kind = call.target.name
        scope = Scope(train=True)
        scope.model("model", owner)
        plain = ", ".join(scope.bind(call.arguments).values())
        result = recorded(f"model({plain})", call.result, is_model=True)
        evaluated = recorded(f"model.eval()({plain})", call.result, is_model=True)
        blocks = (
            Block("training", (f'case.record("training", {result})',)),
            Block("statistics", ('case.record_weights(model, name="after_training")',), needs="training"),
            Block("evaluated", (f'case.record("then_evaluated", {evaluated})',), needs="statistics"),
        )
        title = f"{kind} in training mode, then its running statistics, and evaluated with them."
        return DraftCase(f"{snake(kind)}_training", title, scope.block("setup"), blocks, part=kind)

    def _dropout(self, call: Call, owner: Built) -> DraftCase:
        kind = call.target.name
        scope = Scope()
        scope.model("model", owner)
        plain = ", ".join(scope.bind(self._another(call)).values())
        evaluated = f'case.record("evaluated", case.first(model({plain})))'
        trained = f"case.first(model.train()({plain}))"
        title = f"{kind} where everything is dropped, which needs no draws: in evaluation nothing is, in training all."
        blocks = (
            Block("modes", (evaluated, f'case.record("trained", {trained})'), may_draw=True),
            Block("modes", (evaluated, f'case.record("all_dropped", bool(({trained} == 0).all()))'), may_draw=True),
        )
        return DraftCase(f"{snake(kind)}_dropout", title, scope.block("setup"), blocks, part=kind)

    def _other_settings(self, call: Call, owner: Built, *, floats: bool) -> list[Built]:
        """Return the same object built with options that are not their default."""
        settings = dict(owner.arguments)
        contract = self._finder.contract(call.target, "__init__")
        found = []
        for options in variations.other_options(call.target.object, settings):
            chosen = {
                key: spec
                for key, spec in options.items()
                if isinstance(spec, Literal) and (type(spec.value) is float) is floats and type(spec.value) is not int
            }
            if chosen and "drop" not in " ".join(chosen) and contract.allows({**settings, **chosen}, {}):
                made = dataclasses.replace(owner, arguments=tuple((settings | chosen).items()))
                if made not in found:
                    found.append(made)
        return found

    def _option_blocks(self, call: Call, owner: Built) -> Iterator[Block]:
        for number, other in enumerate(self._other_settings(call, owner, floats=False)[:4]):
            scope = Scope(label=f"option_{number + 1}")
            model = scope.model("model", other)
            names = scope.bind(call.arguments)
            text = recorded(f"{model}({', '.join(names.values())})", call.result, is_model=True)
            scope.lines.append(f'case.record("{scope.label}", {text})')
            yield scope.block(scope.label)

    def _methods(self, calls: Sequence[Call], name: str) -> Iterator[DraftCase]:
        """Yield cases that call each method on one object, in order; on a model, after the calls that set up its
        parts."""
        target, owner = calls[0].target, calls[0].owner
        assert owner is not None
        prepared = self._preparations(owner)
        for profile in ("stress", "init"):
            for preparation in (prepared, []) if prepared else ([],):
                scope = Scope(weights=profile)
                thing = scope.model(snake(target.name), variations.without_dropout(owner))
                for path, call in preparation:
                    self._call_first(scope, call, f"{thing}.{path}", path.replace(".", "_"))
                blocks = list(self._method_blocks(calls, thing, target.is_model))
                title = f"{target.name}: its methods, one after another."
                doubts = self._doubts(calls)
                yield DraftCase(name, title, scope.block("setup"), tuple(blocks), part=target.name, remarks=doubts)
                again = [
                    block for call in calls for block in self._again_blocks(call, thing, {}, prefix=f"{call.method}_")
                ]
                title = f"{target.name}: its methods once more, on other arguments."
                ready = dataclasses.replace(scope, lines=list(scope.lines), imports=set(scope.imports))
                for call in calls:
                    if _gives_nothing_else(call):
                        self._call_first(ready, call, thing, f"first_{call.method}")
                yield DraftCase(f"{name}_again", title, ready.block("setup"), tuple(again), part=target.name)
                yield DraftCase(f"{name}_again", title, scope.block("setup"), tuple(again), part=target.name)

    def _call_first(self, scope: Scope, call: Call, thing: str, label: str) -> None:
        """Write a call that is made for its effect on the object, before anything is recorded."""
        inner = Scope(label=label)
        names = inner.bind(call.arguments)
        scope.lines += [*inner.lines, self._expression(call, thing, names)]
        scope.imports |= inner.imports

    def _preparations(self, owner: Built) -> list[tuple[str, Call]]:
        if not self._changers or not owner.is_model:
            return []
        try:
            model = build({"it": owner})["it"]
        except Exception:
            return []
        parts = [(path, type(part).__name__) for path, part in model.named_modules() if path]
        return [(path, self._changers[kind]) for path, kind in parts if kind in self._changers]

    def _method_blocks(self, calls: Sequence[Call], thing: str, is_model: bool) -> Iterator[Block]:
        pending: list[tuple[str, Scope]] = []
        for call in calls:
            method = call.method
            scope = Scope(label=method.strip("_") if len(calls) > 1 else "", keep_all=not is_model)
            expression = self._expression(call, thing, scope.bind(call.arguments))
            if _gives_nothing_else(call):
                if call.result is None:
                    wide = dataclasses.replace(scope, lines=[*scope.lines, expression], imports=set(scope.imports))
                    wide.lines.append(f'case.record_weights({thing}, name="after_{method.strip("_")}")')
                    yield wide.block(method)
                scope.lines.append(expression)
                pending.append((method, scope))
                continue
            text = recorded(expression, call.result, is_model=False)
            if has_gradient(call.result) and is_model:
                scope.lines += [f"result = {text}", f'case.record("{method.strip("_")}", result)']
            else:
                scope.lines.append(f'case.record("{method.strip("_")}", {text})')
            for before, its in reversed(pending):
                yield Block(method, (*its.lines, *scope.lines), frozenset(its.imports | scope.imports), unless=before)
            yield scope.block(method)
            if has_gradient(call.result) and is_model:
                backward = Scope(label=method)
                backward.lines += backward_lines("result", call.result, method)
                backward.lines.append(f'case.record_gradients({thing}, name="gradients_of_{method}")')
                yield backward.block(f"{method} gradients", needs=method)
            elif is_model:  # it may train
                after = f'case.record_weights({thing}, name="after_{method.strip("_")}")'
                yield Block(f"{method} weights", (after,), needs=method)

    def of_object(self, calls: Sequence[Call]) -> Iterator[DraftCase]:
        """Yield cases for an object that is not a torch module: the results of its methods, one after another."""
        yield from self._methods([self.settled(call) for call in calls], snake(calls[0].target.name))

    # --- functions ----------------------------------------------------------------------------------------------

    def of_function(self, call: Call) -> Iterator[DraftCase]:
        call = self.settled(call)
        name, kind = snake(call.target.name), call.target.name
        if not arrays_in(call.arguments) and not any(isinstance(spec, Built) for spec in call.arguments.values()):
            blocks = tuple(self._plain_blocks(call))
            title = f"What {kind} returns, for several arguments."
            yield DraftCase(name, title, Block("setup", ()), blocks, part=kind, remarks=self._doubts([call]))
            return
        trains = any(isinstance(spec, Steps) for spec in call.arguments.values())
        models = [key for key, spec in call.arguments.items() if isinstance(spec, Built) and spec.is_model]
        blocks = tuple(self._main_blocks(call, kind, models=(), trains=trains))
        title = f"What {kind} returns{' and what it does to the model' if trains else ''}."
        yield DraftCase(name, title, Block("setup", ()), blocks, part=kind, remarks=self._doubts([call]))
        setup, shared = Scope(), {}
        if models and not trains:
            shared = {key: setup.model(key, _plain_model(call.arguments[key])) for key in models}
        again = (*self._second_blocks(call), *self._again_blocks(call, kind, shared, trains=trains))
        title = f"{kind} called again: with other arguments, of other sizes."
        yield DraftCase(f"{name}_again", title, setup.block("setup"), again, part=kind)
        if models:
            blocks = tuple(self._mode_blocks(call, models[0], trains))
            title = f"{kind} with a model that drops everything in training, in whichever mode it comes."
            yield DraftCase(f"{name}_modes", title, Block("setup", ()), blocks, part=kind)

    def _mode_blocks(self, call: Call, model: str, trains: bool) -> Iterator[Block]:
        spec = call.arguments[model]
        assert isinstance(spec, Built)
        kind = getattr(sys.modules.get(spec.module), spec.name, None)
        dropped = variations.with_dropout(spec, kind) if kind else None
        if dropped is None:
            return
        arguments = {**self._another(call), model: dropped}
        for label, train in (("from_evaluation", False), ("from_training", True)):
            scope = Scope(label=label, train=train)
            for block in self._result_blocks(call, scope, arguments, label, trains):
                yield dataclasses.replace(block, may_draw=True)

    def _plain_blocks(self, call: Call) -> Iterator[Block]:
        seen = [call.arguments, *call.others]
        contract = self._finder.contract(call.target, call.method)
        wanted = [*seen, *variations.other_values(call.arguments, contract)]
        options = variations.other_options(call.target.object, call.arguments)
        wanted = [*wanted[:14], *({**call.arguments, **item} for item in options)]
        allowed = [arguments for item in wanted if (arguments := self._within(call, item)) is not None]
        for number, arguments in enumerate(allowed[:16]):
            label = "result" if not number else f"result_{number + 1}"
            result, error = self._finder.run(call.target, call.method, call.owner, arguments, call.prior)
            if error:
                continue
            scope = Scope(label="" if not number else str(number + 1), keep_all=True)
            names = scope.bind(arguments)
            text = recorded(self._expression(call, call.target.name, names, arguments), result, is_model=False)
            scope.use(call.target.module, call.target.name)
            scope.lines.append(f'case.record("{label}", {text})')
            yield scope.block(label)


def _gives_nothing_else(call: Call) -> bool:
    """Say whether a method returns nothing, or an object such as its own: it is called for its effect."""
    return call.result is None or (call.target.is_class and isinstance(call.result, call.target.object))


def _plain_model(spec: Spec) -> Built:
    assert isinstance(spec, Built)
    return spec
