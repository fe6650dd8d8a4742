"""Blocks of cases: the result of a call and its gradients, and the same for other arguments."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldsmith.gold.arrays import is_array, is_tensor
from goldsmith.weights.values import first_of
from goldsmith.worker.drafts import variations
from goldsmith.worker.drafts.recipe_text import Block, Scope
from goldsmith.worker.drafts.specs import Arguments, Array, Built, Literal, Spec, arrays_in, build, map_spec
from goldsmith.worker.drafts.working_calls import CALL, Call, Finder, is_called, sizes_of

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
            tries = [*([_fewer(smaller)] if smaller else []), *([smaller] if smaller else []), arguments]
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
            result, error = self._finder.run(call.target, call.method, call.owner, item, call.prior)
            if not error and not _coincides(result) and not any(map(_coincides, arrays_in(item))):
                return item
        return arguments

    def _another(self, call: Call) -> Arguments:
        """Return arguments of other sizes, so that the results differ from those that another case has recorded."""
        return next((item for item in variations.longer(call.arguments) if self._runs(call, item)), call.arguments)

    def _runs(self, call: Call, arguments: Arguments) -> bool:
        result, error = self._finder.run(call.target, call.method, call.owner, arguments, call.prior)
        return not error and type(result) is type(call.result)

    def _main_blocks(self, call: Call, function: str, models: Sequence[str], trains: bool = False) -> Iterator[Block]:
        """Yield the result, then gradients where there are any."""
        which, result = _differentiable(call.result, is_model=bool(models))
        flows = has_gradient(result) and not trains and not self._is_frozen(call)
        arguments = {key: _asking(spec) for key, spec in call.arguments.items()}
        flows_in = self._gradients_reach(call, arguments) if not trains and not self._is_frozen(call) else []
        if not flows and not flows_in:
            yield from self._result_blocks(call, Scope(), call.arguments, "output", trains, function)
            return
        used = {key: arguments[key] if key in flows_in else spec for key, spec in call.arguments.items()}
        scope = Scope()
        names = scope.bind(used)
        if not models:
            scope.use(call.target.module, call.target.name)
        expression = self._expression(call, function, names)
        scope.lines += [
            f"output = {recorded(expression, call.result, is_model=bool(models))}",
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
            scope.lines.append(f'case.record("{label}", {recorded(expression, call.result, is_model=is_call)})')
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

    def _again_blocks(
        self, call: Call, function: str, shared: Mapping[str, str], *, trains: bool = False, prefix: str = ""
    ) -> Iterator[Block]:
        seen = {repr(call.arguments)} if not shared else set()
        for label, arguments in self._other_arguments(call):
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
        for number, values in enumerate(list(variations.other_values(scalars))[:3]):
            yield f"values_{number + 1}", {**base, **values}
        for number, seen in enumerate(call.others[:3]):
            if [len(array.shape) for array in arrays_in(seen)] != [len(array.shape) for array in arrays_in(base)]:
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
                for arguments in self._finder.guesses(call, also=name, most=6):
                    if self._runs(call, arguments):
                        yield name, arguments

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
        return wanted if not error and has_gradient(_differentiable(result, is_model=False)[1]) else []


def _fewer(arguments: Arguments) -> Arguments:
    """Set the batch size to 5 where a number gives it."""
    return {
        name: Literal(5) if "batch" in name and isinstance(spec, Literal) and type(spec.value) is int else spec
        for name, spec in arguments.items()
    }


def _asking(spec: Spec) -> Spec:
    """Return a floating torch array that requires its gradient; any other spec unchanged."""
    return (
        map_spec(
            spec,
            lambda item: (
                dataclasses.replace(item, gradient=True)
                if isinstance(item, Array) and item.library == "torch" and item.is_floating
                else item
            ),
        )
        if isinstance(spec, Array)
        else spec
    )


def backward_lines(name: str, result: Any, label: str = "") -> list[str]:
    shape = tuple(result.shape)
    if not shape:
        return [f"{name}.backward()"]
    sizes = ", ".join(map(str, shape))
    which = f"direction_{label}" if label else "direction"
    return [
        f'direction = case.input("{which}", lambda: torch.randn({sizes}))',
        f"({name} * direction).sum().backward()",
    ]


def _differentiable(result: Any, *, is_model: bool) -> tuple[str, Any]:
    """Return what gradients are passed back from, and how it is taken from a result: the main output of a model, of
    other results the first item that has a gradient."""
    if isinstance(result, tuple | list | dict) and result:
        if is_model:
            return "", first_of(result)
        for key, item in result.items() if isinstance(result, dict) else enumerate(result):
            if has_gradient(item):
                return f"[{key!r}]", item
        return "", None
    return "", result


def has_gradient(value: Any) -> bool:
    return bool(is_tensor(value) and value.is_floating_point() and value.requires_grad)


def recorded(expression: str, value: Any, *, is_model: bool) -> str:
    """Write the part of a result that can be kept."""
    if is_model and isinstance(value, tuple | list | dict) and value and not is_array(value):
        return f"case.first({expression})"
    if isinstance(value, set | frozenset):
        return f"sorted({expression})"
    if inspect.isgenerator(value) or isinstance(value, Iterator | map | filter | zip | range):
        return f"list({expression})"
    if isinstance(value, dict) and not all(isinstance(key, str | int) for key in value):
        return f"sorted({expression}.items())"
    return expression


def _coincides(value: Any) -> bool:
    """Say whether two axes longer than one have the same length; images may be square."""
    shape = tuple(getattr(first_of(value) if isinstance(value, tuple | list | dict) else value, "shape", ()))
    sizes = [size for size in (shape[:3] if len(shape) == 4 else shape) if size > 1]
    return len(set(sizes)) < len(sizes)
