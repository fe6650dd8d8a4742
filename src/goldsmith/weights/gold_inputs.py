"""Gold's inputs and weights, given to a replay in place of values it would draw.

The recipe's own `make` is still called, for the type of its result (a named tuple, a tensor that requires gradients)
and so that later draws stay the same; its numbers are then replaced by gold's.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import arrays_of, framework, library_of
from goldsmith.gold.arrays import is_array, is_inexact
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.payload import from_file
from goldsmith.process.messages import KeptCase
from goldsmith.runs.conditions import OWN
from goldsmith.weights.crossing import NeedsOwnForm
from goldsmith.weights.load_objects import LoadedObject, SettledByRecipe
from goldsmith.weights.loaded import LoadedModel
from goldsmith.weights.models import WeightAccess
from goldsmith.weights.rules import Adapter

Change = Callable[[Any], Any]
"""A change applied to each floating array on loading: another precision, another layout, a disturbed last bit."""


@dataclasses.dataclass(frozen=True)
class GoldInputs:
    """Inputs and weights by the names that the recipe gave them; each use gets its own copies.

    `facts` describes the weights; `adapter` and `layout` say where they go in a model that is built differently. The
    recipe is one for models of `library`: any other becomes one of these.
    """

    inputs: Mapping[str, Any]
    weights: Mapping[str, Mapping[str, Any]]
    change: Change = lambda array: array
    precision: str = OWN
    facts: Mapping[str, WeightFacts] = dataclasses.field(default_factory=dict)
    adapter: Adapter = dataclasses.field(default_factory=Adapter)
    layout: str = ""
    library: str = ""

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], kept: KeptCase, **options: Any) -> GoldInputs:
        inputs = from_file(payload["input"], kept.inputs)
        return cls(inputs, from_file(payload["state_dict"], kept.models), facts=kept.weights, **options)

    def input(self, name: str, made: Any) -> Any:
        if name not in self.inputs:
            raise RecipeMisuse(f"the gold keeps no input {name!r}; has the recipe changed since?")
        return self._fill_like(made, self.inputs[name])

    def load_weights(
        self,
        name: str,
        model: Any,
        settings: Mapping[str, Any],
        rebuild: Callable[[], Any],
        access: WeightAccess | None = None,
    ) -> LoadedModel | LoadedObject | SettledByRecipe:
        """Put gold's weights into `model`; by the recipe's own `access`, if it has one."""
        if name not in self.weights:
            raise RecipeMisuse(f"the gold keeps no weights of {name!r}; has the recipe changed since?")
        kept, facts = self.weights[name], self.facts.get(name, WeightFacts())
        home = library_of(model)
        if access is not None:
            if home is not None and self.library not in ("", home.name):
                raise NeedsOwnForm("its weights are read and replaced by functions of the recipe")
            return SettledByRecipe(model, kept, access, self._fill_like, facts.withheld)
        if home is not None:
            models = home.models
            if self.precision != OWN:
                model = models.in_precision(model, self.precision)
            state = {key: self._copy(value) for key, value in kept.items()}
            loaded: LoadedModel = models.LoadedModule(
                model,
                state,
                facts,
                adapter=self.adapter,
                layout=self.layout,
                settings=settings,
                rebuild=rebuild,
                guessing=True,
            )
            if self.library in ("", home.name):
                return loaded
            crossed: LoadedModel = framework(self.library).models.LoadedForeign(loaded, facts, home)
            return crossed
        stored = {key: value for key, value in kept.items() if key not in facts.unstored}
        return LoadedObject(model, stored, self.adapter, settings, self._fill_like, facts.withheld)

    def _fill_like(self, made: Any, kept: Any) -> Any:
        """Return `kept` in the form of `made`; what cannot be stored in gold stays as it was made."""
        if is_array(made):
            arrays = arrays_of(made)
            return arrays.learning_as(self._copy(arrays.like(kept, made)), made)
        if isinstance(made, dict) and isinstance(kept, dict):
            poured = copy.copy(made)
            for key, item in made.items():
                poured[key] = self._fill_like(item, kept.get(key, kept.get(str(key), item)))
            return poured
        if isinstance(made, tuple) and hasattr(made, "_fields"):
            return type(made)(*(self._fill_like(getattr(made, name), kept[name]) for name in made._fields))
        if isinstance(made, list | tuple):
            return type(made)(self._fill_like(item, other) for item, other in zip(made, kept, strict=True))
        if dataclasses.is_dataclass(made) and not isinstance(made, type):
            names = [item.name for item in dataclasses.fields(made) if item.init]
            poured = {name: self._fill_like(getattr(made, name), kept[name]) for name in names}
            return dataclasses.replace(made, **poured)
        if isinstance(made, bytearray) and type(kept) is bytes:
            return bytearray(kept)
        plain = type(made) in (bool, int, float, str, bytes) and type(kept) is type(made)
        return kept if plain else made

    def _copy(self, array: Any) -> Any:
        own = arrays_of(array).copy(array)
        return self.change(own) if is_inexact(own) else own
