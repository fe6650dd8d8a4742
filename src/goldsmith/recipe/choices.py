"""What a recipe says of choices: what was chosen, from which scores, and how it goes on after a tie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import as_numpy, is_array
from goldsmith.gold.choices import Best, Branch, Choice, Layout, Misfit, Ties, alternatives, first_problem
from goldsmith.gold.payload import CaseNames
from goldsmith.gold.precision import computed_dtype, unit_of
from goldsmith.gold.row_sets import is_unorderable
from goldsmith.gold.sizes import root_mean_square
from goldsmith.weights.values import snapshot

MAX_BRANCHES = 16
"""Of one choice. Near-ties are rare; each branch takes another run of the solution."""
_REACH, _REACH_UNITS = 1e-3, 64
"""Branches are taken where the gap is below this share of the scores' size, or so many units in the last place: what
the noise is turns out later."""
SCORES = "_scores"
"""The name under which the scores of a choice are recorded, after that of the choice."""


@dataclass
class _Declared:
    """What a recipe says of one choice. `recorded` is the output that has its scores; empty where they are hidden."""

    choice: Choice
    scores: Any
    uniforms: Any
    best: Best | None
    recorded: str


class Choices:
    """The choices of one running case, by name. In a trial, `gold` is what was recorded, and scores are
    kept, and, if it is `branching`, what follows after ties."""

    def __init__(self, gold: Any = None, *, branching: bool = False) -> None:
        self.gold, self.branching = gold, branching
        self.scores: dict[str, Any] = {}
        self.branch_arrays: dict[str, Any] = {}
        self.branches: dict[str, list[Branch]] = {}
        self.unordered: list[str] = []
        self._declared: dict[str, _Declared] = {}

    @property
    def in_trial(self) -> bool:
        return self.gold is not None

    @property
    def names(self) -> list[str]:
        return list(self._declared)

    def hidden_scores(self) -> dict[str, Any]:
        """Return scores that are not recorded by themselves."""
        return {name: scores for name, scores in self.scores.items() if not self._declared[name].recorded}

    def declare(
        self,
        name: str,
        scores: Any,
        recorded: str,
        *,
        axis: int,
        best: Best | None,
        ties: Ties,
        steps: int | None,
        together: bool,
        uniforms: Any,
        unordered: bool,
    ) -> None:
        if best not in (None, "highest", "lowest") or ties not in ("", "first", "last"):
            raise RecipeMisuse(
                f'case.choice of {name!r} takes best="highest" or "lowest", and ties="first" or "last", not '
                f"{best!r} and {ties!r}"
            )
        choice = Choice(
            path=name,
            axis=axis,
            ties=ties,
            steps=steps,
            together=together,
            unordered=unordered,
            best=best or "highest",
        )
        best = "highest" if uniforms is not None else best
        self._declared[name] = _Declared(choice, scores, uniforms, best, "" if uniforms is not None else recorded)
        if self.in_trial:
            value = self._golds(name)
            self.scores[name] = self._scores(name, value)

    def continues(self, name: str, how: Callable[[Any], Any]) -> None:
        declared = self._declared.get(name)
        if declared is None or not callable(how):
            raise RecipeMisuse(
                f"case.continues({name!r}, …) needs a function, and a case.choice of that name before it"
            )
        if not callable(declared.scores) or declared.choice.steps is None or declared.choice.together:
            raise RecipeMisuse(
                f"case.continues({name!r}, …) needs case.choice with steps=, a function for scores=, and rows that do "
                "not depend on each other, so that what follows can be judged"
            )
        if self.branching:
            self.branches[name] = list(self._branches(name, how))

    def checked(self, outputs: Mapping[str, Any], path_of: Callable[[str], str]) -> tuple[Choice, ...]:
        """Return what was declared, or raise an error where gold's own choice is not what its scores choose."""
        found = []
        for name, declared in self._declared.items():
            layout = self._fitting(name, outputs[name], self._scores(name, outputs[name]))
            scores = path_of(declared.recorded) if declared.recorded else ""
            found.append(msgspec.structs.replace(layout.choice, path=path_of(name), scores=scores))
        return tuple(found)

    def _fitting(self, name: str, value: Any, scores: Any) -> Layout:
        declared = self._declared[name]
        problems = []
        for best in (declared.best,) if declared.best else ("highest", "lowest"):
            try:
                layout = Layout.of(
                    msgspec.structs.replace(declared.choice, best=best), as_numpy(value).shape, scores.shape
                )
            except Misfit as misfit:
                raise RecipeMisuse(f"case.choice of {name!r}: {misfit}") from None
            problem = first_problem(layout, as_numpy(value), scores)
            if not problem:
                return layout
            problems.append(problem)
        raise RecipeMisuse(f"case.choice of {name!r}: {problems[0]}")

    def _scores(self, name: str, value: Any) -> Any:
        """Return the scores of a choice as numbers: those that were given, or those that a function gives for
        `value`."""
        import numpy as np

        declared = self._declared[name]
        scores = declared.scores(value) if callable(declared.scores) else declared.scores
        label = f"the scores of {name!r}"
        numbers = np.asarray(as_numpy(snapshot(scores, label)), dtype=np.float64)
        if declared.uniforms is None:
            return numbers
        drawn = np.asarray(as_numpy(snapshot(declared.uniforms, label)), dtype=np.float64)
        if not -numbers.ndim <= declared.choice.axis < numbers.ndim:
            raise RecipeMisuse(
                f"case.choice of {name!r}: axis {declared.choice.axis} does not fit scores of shape "
                f"{list(numbers.shape)}"
            )
        axis = declared.choice.axis % numbers.ndim
        positions = tuple(size for place, size in enumerate(numbers.shape) if place != axis)
        if drawn.shape != positions:
            raise RecipeMisuse(
                f"case.choice of {name!r}: uniforms of shape {list(drawn.shape)} do not fit probabilities of shape "
                f"{list(numbers.shape)}, which need {list(positions)}"
            )
        return sampling_scores(numbers, drawn, axis)

    # --- what follows after a tie -----------------------------------------------------------------------------------

    def _golds(self, name: str) -> Any:
        found = self.gold[name] if isinstance(self.gold, Mapping) else self.gold
        return arrays_of(found).copy(found) if is_array(found) else found

    def _branches(self, name: str, how: Callable[[Any], Any]) -> Any:
        """Yield what else is right, and keep what follows after it; then what else is right after that."""
        import numpy as np

        template = self._golds(name)
        value = np.array(as_numpy(template))
        layout = self._fitting(name, template, self.scores[name])
        flat = layout.chosen(np.arange(value.size).reshape(value.shape))
        queue = [(-1, 0, value, layout.scores(self.scores[name]), range(flat.shape[0]))]
        count = 0
        while queue:
            parent, start, current, scores, rows = queue.pop(0)
            chosen = layout.chosen(current)[:, layout.lead :]
            for row, step, other in self._near(layout, scores, chosen, rows, start)[: MAX_BRANCHES - count]:
                changed = current.copy()
                changed.reshape(-1)[flat[row, layout.lead + step]] = other
                assert layout.choice.steps is not None
                prefix = np.take(changed, range(layout.lead + step + 1), axis=layout.choice.steps)
                full = how(arrays_of(template).like(prefix, template))
                numbers = np.array(as_numpy(snapshot(full, f"what continues {name!r}")))
                if numbers.shape != value.shape:
                    raise RecipeMisuse(
                        f"case.continues({name!r}, …) returned shape {list(numbers.shape)}, not {list(value.shape)}"
                    )
                rest = layout.chosen(numbers)[row, layout.lead + step :]
                if rest[0].tolist() != list(other):
                    raise RecipeMisuse(f"case.continues({name!r}, …) did not keep what it was given to continue")
                changed.reshape(-1)[flat[row, layout.lead + step :]] = rest
                full_scores = self._scores(name, arrays_of(template).like(changed, template))
                after = layout.scores(full_scores)
                self.branch_arrays[f"{name}:{count}:chosen"] = np.ascontiguousarray(rest, dtype=np.int64)
                self.branch_arrays[f"{name}:{count}:scores"] = np.ascontiguousarray(after[row, step:])
                yield Branch(row=row, step=step, chosen=tuple(int(item) for item in other), after=parent)
                queue.append((count, step + 1, changed, after, range(row, row + 1)))
                count += 1

    @staticmethod
    def _near(
        layout: Layout, scores: Any, chosen: Any, rows: range, start: int
    ) -> list[tuple[int, int, tuple[int, ...]]]:
        """List what else may be right, the nearest first: row, step, and what is chosen there."""
        import numpy as np

        finite = scores[np.isfinite(scores)]
        unit = unit_of(finite, computed_dtype(finite, "float64"))
        reach = _REACH * root_mean_square(finite) + _REACH_UNITS * unit * np.abs(
            np.where(np.isfinite(scores), scores, 0)
        )
        found = []
        for row in rows:
            for step in range(start, chosen.shape[1]):
                at = scores[row, step]
                for other in alternatives(at, reach[row, step], chosen[row, step], layout.choice):
                    gap = float(np.abs(at[list(other)] - at[chosen[row, step]]).max())
                    found.append((gap, row, step, other))
        return [(row, step, other) for _, row, step, other in sorted(found)]


class RecordsChoices:
    """The methods of a case that record what was chosen."""

    choices: Choices
    _outputs: dict[str, Any]
    _given: Any

    if TYPE_CHECKING:
        record: Callable[..., None]

        @property
        def item_names(self) -> CaseNames: ...

    def choice(
        self,
        name: str,
        value: Any,
        *,
        scores: Any,
        axis: int = -1,
        best: Best | None = None,
        ties: Ties = "",
        steps: int | None = None,
        together: bool = False,
        uniforms: Any = None,
        unordered: bool = False,
        allow: Mapping[str, str] | None = None,
    ) -> None:
        """Record indices under `name`, and what they were chosen from, so that another choice counts as a tie where
        rounding decides.

        `scores` are recorded, too: an array with the candidates along `axis`, or the name of a recorded one. A function
        of the choice that returns them is called for gold alone. Chosen are the `best`, one at each position or several
        in order (a set if `unordered`); with `uniforms`, scores are probabilities and the choice is a draw. `ties` says
        which of equal scores is right, the "first" or the "last". Along the axis `steps`, each choice depends on those
        before it in its row, or, `together`, in all rows.
        """
        recorded = "" if callable(scores) else scores if isinstance(scores, str) else f"{name}{SCORES}"
        self.record(name, as_indices(value), allow=allow)
        if isinstance(scores, str):
            if scores not in self._outputs:
                raise RecipeMisuse(f"case.choice of {name!r}: record {scores!r}, its scores, before it")
            scores = self._outputs[scores]
        elif not callable(scores):
            self.record(recorded, scores)
        if self._given is None or self.choices.in_trial:
            self.choices.declare(
                name,
                scores,
                recorded,
                axis=axis,
                best=best,
                ties=ties,
                steps=steps,
                together=together,
                uniforms=uniforms,
                unordered=unordered,
            )

    def keep_unordered(self, name: str, value: Any, unordered: bool) -> None:
        """Note a record whose rows may come in any order."""
        if unordered and not is_unorderable(value):
            raise RecipeMisuse(
                f"output {name!r} has no rows that could come in any order: record arrays of as many rows"
            )
        self.choices.unordered += [name] if unordered else []

    def declared_choices(self) -> tuple[Choice, ...]:
        """Return what was declared; raise an error where gold's own choice is not what its scores choose."""
        return self.choices.checked(self._outputs, self.choice_path)

    def unordered_records(self) -> tuple[str, ...]:
        """Return the paths of records whose rows may come in any order."""
        return tuple(map(self.choice_path, self.choices.unordered))

    def choice_path(self, name: str) -> str:
        """Return the path of a record in the file."""
        return self.item_names.path_of("output", name)

    def continues(self, name: str, how: Callable[[Any], Any]) -> None:
        """Say how a sequence of choices goes on: `how` is given the first ones and returns all of them.

        Where a choice of gold's is a tie, the solution is run on from the other one, so that both are right.
        """
        if self._given is None or self.choices.in_trial:
            self.choices.continues(name, how)


def sampling_scores(probabilities: Any, uniforms: Any, axis: int) -> Any:
    """Return the scores by which given uniform numbers choose among probabilities: minus how far each is from the
    interval of a candidate in their running sum."""
    import numpy as np

    shares = np.moveaxis(np.asarray(probabilities, dtype=np.float64), axis, -1)
    ends = np.cumsum(shares, axis=-1)
    ends /= ends[..., -1:]
    starts = np.concatenate([np.zeros_like(ends[..., :1]), ends[..., :-1]], axis=-1)
    drawn = np.asarray(uniforms, dtype=np.float64)[..., None]
    off = np.maximum(np.maximum(starts - drawn, drawn - ends), 0.0)
    return np.moveaxis(np.where(shares > 0, -off, -np.inf), -1, axis)


def as_indices(value: Any) -> Any:
    """Return whole numbers in a list, or one by itself, as an array; anything else as it is."""
    import numpy as np

    plain = type(value) is int or (isinstance(value, list | tuple) and bool(value))
    if not plain or not all(type(leaf) is int for _, leaf in walk(value)):
        return value
    try:
        return np.asarray(value, dtype=np.int64)
    except (ValueError, OverflowError):
        return value
