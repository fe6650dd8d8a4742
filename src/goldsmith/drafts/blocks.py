"""Blocks of cases: the result of a call and its gradients, and the same for other arguments."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldsmith.drafts import variations
from goldsmith.drafts.function_gradients import gradient_blocks
from goldsmith.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.drafts.recorded_results import (
    backward_lines,
    coincides,
    differentiable,
    has_gradient,
    kept,
    recorded,
    returns_cache,
)
from goldsmith.drafts.specs import Arguments, Array, Built, Group, Literal, arrays_in, build
from goldsmith.drafts.specs_of_values import library_of
from goldsmith.drafts.targets import Target
from goldsmith.drafts.working_calls import CALL, Call, Finder, is_called, settings_of, sizes_of, source_of
from goldsmith.gold.arrays import is_array

_OPERATORS = {"__len__": "len({0})", "__getitem__": "{0}[{1}]", "__contains__": "{1} in {0}", "__str__": "str({0})"}


class Blocks:
    """A writer of blocks for calls; `try_case` finds out whether they work."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def settled(self, call: Call) -> Call:
        """Return the call with a batch of several, and with no two sizes the same, as far as possible."""
        arguments: Arguments = {
            name: variations.without_dropout(spec) if isinstance(spec, Built) else spec
            for name, spec in call.arguments.items()
        }
        settings = [spec.value for _, spec in (call.owner.arguments if call.owner else ()) if isinstance(spec, Literal)]
        taken = {*sizes_of(arguments), *(value for value in settings if type(value) is int)}
        tries = [arguments]
        first = variations.leading_size(arguments)
        if first is not None and (first == 1 or first > 40 or first in settings):
            smaller = variations.with_batch(arguments, taken)
            tries = [*([variations.fewer(smaller)] if smaller else []), *([smaller] if smaller else []), arguments]
        arguments = next((item for item in tries if self._runs(call, item)), dict(call.arguments))
        more = variations.several(arguments)
        if more and self._runs(call, more):
            arguments = more
        for _ in range(4):
            better = next((item for item in variations.distinct(arguments, taken) if self._runs(call, item)), None)
            if better is None:
                break
            arguments = better
        arguments = self._with_distinct_result(call, arguments)
        result, _ = self._finder.run(call.target, call.method, call.owner, arguments, call.prior)
        return dataclasses.replace(call, arguments=arguments, result=result)

    def _with_distinct_result(self, call: Call, arguments: Arguments) -> Arguments:
        """Return arguments for which no two axes of the result have the same length, if there are any.

        A length may happen to equal the width of a layer.
        """
        for item in (arguments, *variations.longer(arguments)):
            if self._within(call, item) is None:
                continue
            result, error = self._finder.run(call.target, call.method, call.owner, item, call.prior)
            if not error and not coincides(result) and not any(map(coincides, arrays_in(item))):
                return item
        return arguments

    def _another(self, call: Call) -> Arguments:
        """Return arguments of other sizes, so that the results differ from those that another case has recorded."""
        return next((item for item in variations.longer(call.arguments) if self._runs(call, item)), call.arguments)

    def _within(self, call: Call, arguments: Arguments) -> Arguments | None:
        """Return arguments as they are to be drawn, None where something that is said speaks against them."""
        contract, settings = self._finder.contract(call.target, call.method), settings_of(call.owner)
        fitting = contract.fit(arguments, settings)
        return fitting if contract.allows(fitting, settings) else None

    def _runs(self, call: Call, arguments: Arguments) -> bool:
        if self._within(call, arguments) is None:
            return False
        result, error = self._finder.run(call.target, call.method, call.owner, arguments, call.prior)
        return not error and type(result) is type(call.result)

    def _main_blocks(self, call: Call, function: str, models: Sequence[str], trains: bool = False) -> Iterator[Block]:
        """Yield the result, then gradients where there are any."""
        value = call.result if models else self._without_cache(call, "")[1]
        which, result = differentiable(kept(value), is_model=bool(models) and kept(value) is value)
        flows = has_gradient(result) and not trains and not self._is_frozen(call)
        arguments = {key: variations.asking(spec) for key, spec in call.arguments.items()}
        flows_in = self._gradients_reach(call, arguments) if not trains and not self._is_frozen(call) else []
        if not flows and not flows_in:
            yield from self._result_blocks(call, Scope(), call.arguments, "output", trains, function)
            names = Scope().bind(call.arguments)
            expression = self._without_cache(call, self._expression(call, function, names))[0]
            yield from gradient_blocks(expression, result, names, call.arguments, models)
            return
        used = {key: arguments[key] if key in flows_in else spec for key, spec in call.arguments.items()}
        scope = Scope()
        names = scope.bind(used)
        if not models:
            scope.use(call.target.module, call.target.name)
        expression = self._expression(call, function, names)
        if not models:
            expression, value = self._without_cache(call, expression)
        scope.lines += [
            f"output = {recorded(expression, value, is_model=bool(models))}",
            'case.record("output", output)',
        ]
        yield scope.block("output")
        inside = [*models, *scope.models]
        backward = Scope()
        backward.lines += backward_lines(f"output{which}", result)
        records = [f"case.record_gradients({model})" for model in inside[:1] if self._has_parameters(call)]
        records += [f'case.record("gradient_of_{key}", {names[key]}.grad)' for key in flows_in]
        if records:
            yield Block("gradients", (*backward.lines, records[0]), needs="output")
            for record in records[1:]:
                yield Block(record, (record,), needs="gradients")
        yield from self._result_blocks(call, Scope(), call.arguments, "output", trains, function)

    def _result_blocks(
        self, call: Call, scope: Scope, arguments: Arguments, label: str, trains: bool, function: str = ""
    ) -> Iterator[Block]:
        """Yield blocks for the result of a call, with the weights that it changes."""
        names = scope.bind(arguments)
        if not call.owner:
            scope.use(call.target.module, call.target.name)
        expression = self._expression(call, function or call.target.name, names, arguments)
        if call.result is None:
            scope.lines.append(expression)
        else:
            is_call = call.method in ("forward", CALL)
            keys = [] if call.owner or scope.models else self._state_keys(call)
            if keys:
                scope.lines += [
                    f"value, state = {expression}",
                    f'case.record("{label}", value)',
                    f'case.record("{label}_state", {{key: state[key] for key in {keys!r}}})',
                ]
            else:
                plain = (expression, call.result)
                expression, value = plain if is_call else self._without_cache(call, expression)
                scope.lines.append(f'case.record("{label}", {recorded(expression, value, is_model=is_call)})')
            changed = {} if call.owner or scope.models else self._changed_dicts(call, arguments)
            for name, changed_keys in changed.items():
                text = f"{{key: {names[name]}[key] for key in {changed_keys!r}}}"
                scope.lines.append(f'case.record("{label}_{name}", {text})')
        model = scope.models[0] if scope.models else ""
        if model and (trains or call.result is None):
            weights = f'case.record_weights({model}, name="{label}_weights")'
            with_weights = dataclasses.replace(scope, lines=[*scope.lines, weights])
            yield with_weights.block(label)
        for name, spec in arguments.items():
            if call.result is None and isinstance(spec, Array | Built) and not model:
                scope.lines.append(f'case.record("{label}_{name}", {names[name]})')
                break
        yield scope.block(label)

    def _state_keys(self, call: Call) -> list[str]:
        """Return the documented keys of a dict that a function returns after its result: others keep more in it."""
        result = call.result
        if not (isinstance(result, tuple) and len(result) == 2 and is_array(result[0]) and isinstance(result[1], dict)):
            return []
        return self._documented_keys(call, result[1])

    def _documented_keys(self, call: Call, found: Mapping[Any, Any]) -> list[str]:
        text = self._finder.about(call)
        return [
            key
            for key, value in found.items()
            if isinstance(key, str)
            and (is_array(value) or type(value) in (int, float))
            and re.search(rf"\b{re.escape(key)}\b", text)
        ]

    def _changed_dicts(self, call: Call, arguments: Arguments) -> dict[str, list[str]]:
        """Return the documented keys that a call sets in dicts among its arguments, by argument."""
        names = [name for name, spec in arguments.items() if variations.is_dict(spec)]
        if not names:
            return {}
        values = build(arguments)
        before = {name: dict(values[name]) for name in names}
        _, error = self._finder.attempt(lambda: call.target.object(**values))
        found: dict[str, list[str]] = {}
        for name in names if not error else ():
            old = before[name]
            new = {key: item for key, item in values[name].items() if key not in old or old[key] is not item}
            keys = self._documented_keys(call, new)
            if keys:
                found[name] = keys
        return found

    def _second_blocks(self, call: Call) -> Iterator[Block]:
        """Yield a second call of a function that returns its state with its result, and takes it."""
        function = call.target.object
        result = call.result
        if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], dict):
            return
        parameters = inspect.signature(function).parameters
        takes = [
            name
            for name, item in parameters.items()
            if item.default is None or variations.is_dict(call.arguments.get(name))
        ]
        if not takes:
            return
        scope = Scope(label="second")
        names = scope.bind(call.arguments)
        scope.use(call.target.module, call.target.name)
        scope.lines.append(f"following, state = {self._expression(call, call.target.name, names)}")
        first = next(iter(names))
        spec = call.arguments[first]
        if isinstance(spec, Array) and tuple(spec.shape) == tuple(getattr(result[0], "shape", ())):
            names = names | {first: "following"}
        again = {**names, takes[0]: "state"}
        arguments = {**call.arguments, takes[0]: Literal(None)}
        scope.lines.append(f'case.record("second", {self._expression(call, call.target.name, again, arguments)}[0])')
        yield scope.block("second")

    def of_backward(self, forward: Call, target: Target) -> Iterator[DraftCase]:
        """Yield a case for a backward pass, on the cache of the course's own forward pass."""
        forward = self.settled(forward)
        names = list(inspect.signature(target.object).parameters)
        others = next((item for item in variations.longer(forward.arguments) if self._runs(forward, item)), None)
        blocks = []
        for label, arguments in (("output", forward.arguments), ("longer", others)):
            if arguments is None or len(names) != 2:
                continue
            result, _ = self._finder.run(forward.target, "", None, arguments, ())
            scope = Scope(label="" if label == "output" else label)
            bound = scope.bind(arguments)
            scope.use(forward.target.module, forward.target.name)
            scope.use(target.module, target.name)
            scope.lines.append(f"out, cache = {self._expression(forward, forward.target.name, bound)}")
            shape = tuple(getattr(result[0], "shape", ()))
            upstream = scope.argument(names[0], Array(library_of(result[0]), shape))
            scope.lines.append(f'case.record("{label}", {target.name}({upstream}, cache))')
            blocks.append(scope.block(label))
        title = f"What {target.name} passes back, on what {forward.target.name} keeps."
        yield DraftCase(snake(target.name), title, Block("setup", ()), tuple(blocks), part=target.name)

    def _again_blocks(
        self, call: Call, function: str, shared: Mapping[str, str], *, trains: bool = False, prefix: str = ""
    ) -> Iterator[Block]:
        seen = {repr(call.arguments)} if not shared else set()
        for label, others in self._other_arguments(call):
            arguments = self._within(call, others)
            if arguments is None:
                continue
            if repr(arguments) in seen and label != "others":
                continue
            seen.add(repr(arguments))
            scope = Scope(label=f"{prefix}{label}".strip("_"))
            scope.given = dict(shared)
            name = scope.label
            if call.owner is not None:
                names = scope.bind(arguments)
                expression = self._expression(call, function, names, arguments)
                is_call = call.method in ("forward", CALL)
                if call.result is None:
                    scope.lines += [expression, f'case.record_weights({function}, name="{name}_weights")']
                else:
                    text = recorded(expression, call.result, is_model=is_call)
                    scope.lines.append(f'case.record("{name}", {text})')
                yield scope.block(name)
            else:
                yield from self._result_blocks(call, scope, arguments, name, trains, function)

    def _other_arguments(self, call: Call) -> Iterator[tuple[str, Arguments]]:
        """Yield other arguments with a label; several of one label are alternatives."""
        base = call.arguments
        single = variations.batch_of_one(base)
        if single:
            yield "one", single
        for item in variations.longer(base):
            yield "longer", item
        rest = variations.ragged(base)
        if rest:
            yield "ragged", rest
        yield "others", variations.scaled(base, 1.7) or base
        for label, factor in (("small", 1e-3), ("large", 400.0), ("large", 30.0), ("large", 5.0)):
            resized = variations.scaled(base, factor)
            if resized:
                yield label, resized
        function = getattr(call.target.object, call.method) if call.method else call.target.object
        for options in variations.other_options(function, base, skip=1 if call.method else 0):
            yield "options", {**base, **options}
        for name, given in self._optional(call):
            yield f"with_{name}", given
        scalars = {key: spec for key, spec in base.items() if isinstance(spec, Literal)}
        contract = self._finder.contract(call.target, call.method)
        for number, values in enumerate(list(variations.other_values(scalars, contract))[:3]):
            yield f"values_{number + 1}", {**base, **values}
        for number, seen in enumerate(call.others[:4]):
            if variations.form(seen) != variations.form(base):
                yield f"seen_{number + 1}", seen

    def _optional(self, call: Call) -> Iterator[tuple[str, Arguments]]:
        """Yield arguments with one that may be left out, because its default is None, with the name of that one."""
        function = getattr(call.target.object, call.method) if call.method else call.target.object
        try:
            parameters = list(inspect.signature(function).parameters.items())
        except (TypeError, ValueError):
            return
        for name, parameter in parameters:
            if parameter.default is None and name not in call.arguments:
                if not self._is_described(call, name, parameter):
                    continue
                for arguments in self._finder.guesses(call, also=name, most=6):
                    if self._runs(call, arguments):
                        yield name, arguments

    def _is_described(self, call: Call, name: str, parameter: inspect.Parameter) -> bool:
        """Say whether something tells what an optional argument may be: an annotation, a documented shape, a call."""
        if parameter.annotation is not parameter.empty and "dict" not in str(parameter.annotation).lower():
            return True
        contract = self._finder.contract(call.target, call.method)
        return name in contract.shapes or any(name in seen for seen in call.others)

    def _expression(
        self, call: Call, function: str, names: Mapping[str, str], arguments: Arguments | None = None
    ) -> str:
        """Write the call: by position as long as arguments have no default, then by name."""
        if call.method in _OPERATORS:
            return _OPERATORS[call.method].format(function, *names.values())
        plain = getattr(call.target.object, call.method) if call.method else call.target.object
        try:
            parameters = inspect.signature(plain).parameters
        except (TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        parts, by_name = [], False
        for name, text in names.items():
            if name.startswith("*"):
                parts.append(f"*{text}")
                continue
            parameter = parameters.get(name)
            fixed = parameter is None or parameter.kind is parameter.KEYWORD_ONLY
            by_name = by_name or fixed or (parameter is not None and parameter.default is not parameter.empty)
            only = parameter is not None and parameter.kind is parameter.POSITIONAL_ONLY
            parts.append(f"{name}={text}" if by_name and not only else text)
        method = f".{call.method}" if call.method and not is_called(call.target, call.method) else ""
        return f"{function}{method}({', '.join(parts)})"

    def _doubts(self, calls: Sequence[Call]) -> tuple[str, ...]:
        """Return a remark on arguments for which there is no evidence: no call was seen, and nothing is said."""
        names: dict[str, None] = {}
        for call in calls:
            contract = self._finder.contract(call.target, call.method)
            for name, spec in call.arguments.items() if call.is_guessed else ():
                domain = contract.domains.get(name)
                is_told = name in contract.shapes or (domain and (domain.lows or domain.highs))
                if not is_told and isinstance(spec, Array | Literal | Group):
                    names[name] = None
        if not names:
            return ()
        return (f"Nothing says what {', '.join(names)} may be: that is guessed, so look whether it makes sense.",)

    def _without_cache(self, call: Call, expression: str) -> tuple[str, Any]:
        """Return the expression for what a function returns beside what it keeps for a backward pass, in whatever form;
        and that value."""
        if not returns_cache(call.result, f"{self._finder.about(call)}\n{source_of(call)}"):
            return expression, call.result
        if len(call.result) == 2:
            return f"{expression}[0]", call.result[0]
        return f"{expression}[:-1]", call.result[:-1]

    def _is_frozen(self, call: Call) -> bool:
        """Say whether a model has parameters and none of them is trained, so that gradients do not matter."""
        found = self._parameters(call)
        return bool(found) and not any(item.requires_grad for item in found)

    def _has_parameters(self, call: Call) -> bool:
        return any(item.requires_grad for item in self._parameters(call))

    def _parameters(self, call: Call) -> list[Any]:
        specs = [call.owner] if call.owner else [spec for spec in call.arguments.values() if isinstance(spec, Built)]
        try:
            return [
                item for spec in specs[:1] if spec and spec.is_model for item in build({"it": spec})["it"].parameters()
            ]
        except Exception:
            return []

    def _gradients_reach(self, call: Call, arguments: Arguments) -> list[str]:
        """Return the arrays among the arguments that the result passes gradients back to."""
        wanted = [key for key, spec in arguments.items() if isinstance(spec, Array) and spec.gradient]
        if not wanted:
            return []
        result, error = self._finder.run(call.target, call.method, call.owner, arguments, call.prior)
        return wanted if not error and has_gradient(differentiable(kept(result), is_model=False)[1]) else []
