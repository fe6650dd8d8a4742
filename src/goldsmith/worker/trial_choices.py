"""What the trials of a case show of its choices: scores, declared or found in calls, and what follows after ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from goldsmith.frameworks.framework import undisturbed
from goldsmith.gold.arrays import as_numpy, dtype_name, is_array
from goldsmith.gold.calibration import CONTROLS
from goldsmith.gold.choice_links import as_found, find_links, holds
from goldsmith.gold.choices import BRANCH_PREFIX, SCORES_PREFIX, Layout
from goldsmith.instruments.call_noise import CallOutputs
from goldsmith.process.messages import NotedChoices
from goldsmith.recipe.case import Case
from goldsmith.recipe.choices import Choices
from goldsmith.runs.conditions import OWN, Conditions

LAST = "last "


class TrialChoices:
    """The choices of one case over its trials. `arrays` are those of the last trial."""

    def __init__(self, payload: Mapping[str, Any], leaves: Mapping[str, Any]) -> None:
        self.noted = NotedChoices()
        self.arrays: dict[str, Any] = {}
        self._outputs = payload.get("output", {})
        self._whole = {path: as_numpy(leaf) for path, leaf in leaves.items() if _is_whole(leaf)}
        self._searched = False
        self._links: dict[str, tuple[str, Layout]] = {}
        self._calm: dict[str, Any] = {}

    def of(self, trial: Conditions) -> Choices:
        """Return what a case needs to score gold's own choices in a trial."""
        return Choices(self._outputs, branching=trial.name == CONTROLS[0])

    def note(self, trial: Conditions, case: Case, values: Mapping[str, Any], calls: CallOutputs) -> None:
        """Keep what a trial has shown."""
        path_of = case.choice_path
        self.arrays = {f"{SCORES_PREFIX}{path_of(name)}": array for name, array in case.choices.hidden_scores().items()}
        for name, array in case.choices.branch_arrays.items():
            choice, _, rest = name.partition(":")
            self.arrays[f"{BRANCH_PREFIX}{path_of(choice)}:{rest}"] = array
        if case.choices.branches:
            branches = {path_of(name): tuple(items) for name, items in case.choices.branches.items()}
            self.noted = msgspec.structs.replace(self.noted, branches=branches)
        declared = {path_of(name) for name in case.choices.names}
        if not self._searched and trial.noise is None and trial.precision == OWN and not trial.reseeded:
            self._searched = True
            self._search({path: array for path, array in self._whole.items() if path not in declared}, calls)
        self._check(values, calls)

    def _search(self, whole: Mapping[str, Any], calls: CallOutputs) -> None:
        """Look for what recorded whole numbers were chosen from among what submodules and functions returned."""
        if not whole:
            return
        scores = dict(_returned(calls))
        with undisturbed():
            found = find_links(whole, scores)
        for path, (name, choice) in found.items():
            self._links[path] = name, Layout.of(choice, whole[path].shape, scores[name].shape)
            self._calm[name] = scores[name]
        self._note_links()

    def _note_links(self) -> None:
        found = tuple(
            as_found(layout.choice, path, "", f"what {_in_words(name)} returned")
            for path, (name, layout) in self._links.items()
        )
        self.noted = msgspec.structs.replace(self.noted, found=found)

    def _check(self, values: Mapping[str, Any], calls: CallOutputs) -> None:
        """Keep the scores of links; drop one that does not hold in this trial."""
        if not self._links:
            return
        scores = dict(_returned(calls))
        for path, (name, layout) in list(self._links.items()):
            if name not in scores or path not in values:
                continue
            value = as_numpy(values[path])
            alike = (value.shape, scores[name].shape) == (self._whole[path].shape, self._calm[name].shape)
            if not alike or not holds(layout, value, scores[name], self._calm[name]):
                del self._links[path]
                self._note_links()
            else:
                self.arrays[f"{SCORES_PREFIX}{path}"] = scores[name]


def _returned(calls: CallOutputs) -> Iterator[tuple[str, Any]]:
    """Yield floating-point arrays that were returned, and the last step of each."""
    for key, made in calls.kept.items():
        for number, arrays in enumerate(made):
            for place, array in enumerate(arrays):
                if array.ndim:
                    yield f"{key}#{number}#{place}", array
                if array.ndim > 2:
                    yield f"{LAST}{key}#{number}#{place}", np.ascontiguousarray(array[..., -1, :])


def _in_words(name: str) -> str:
    key, number, _ = name.removeprefix(LAST).rsplit("#", 2)
    last = ", at the last step" if name.startswith(LAST) else ""
    return f"{key} (call {int(number) + 1}{last})"


def _is_whole(leaf: Any) -> bool:
    return is_array(leaf) and bool(len(leaf.shape)) and dtype_name(leaf).startswith(("int", "uint"))
