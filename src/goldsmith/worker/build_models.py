"""Build the starter's models: names and shapes of their parameters, classes of their modules.

The recipe runs on the starter until it calls a model: by then the model has been built, and what follows is for
students to write.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from goldsmith.frameworks.framework import models_of
from goldsmith.gold.arrays import leaves_of
from goldsmith.process.messages import Built
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition
from goldsmith.recipe.seeding import seed_everything
from goldsmith.weights import models
from goldsmith.worker.record_session import Session

T = TypeVar("T")


class BuildSession(Session):
    """A session that tries every case and keeps the models it built, by case and model name; it never fails."""

    def __init__(self, output: Path, root: str, **options: Any) -> None:
        super().__init__(output, **options)
        self.built: dict[str, dict[str, Built]] = {}
        self._root = root

    def run(self, definitions: Sequence[CaseDefinition]) -> None:
        for definition in definitions:
            seed_everything(self.seed, threads=self.threads)
            case = _BuildingCase(definition, self.seed, self.device)
            case.root = self._root
            with contextlib.suppress(Exception):
                definition.function(case)
            self.built[definition.name] = case.built
        self.ran = len(definitions)


class _BuildingCase(Case):
    def __init__(self, definition: CaseDefinition, seed: int, device: str) -> None:
        super().__init__(definition, seed, device)
        self.built: dict[str, Built] = {}
        self.root = ""

    def model(self, factory: Callable[..., T], /, *args: Any, name: str = "model", **options: Any) -> T:
        model = super().model(factory, *args, name=name, **options)
        shapes = {path: tuple(value.shape) for path, value in leaves_of(models.weights_of(model, name)).items()}
        classes = {"": _class_name(model)}
        known = models_of(model)
        if known is not None:
            parts = known.modules(model).items()
            classes |= {path: _class_name(module) for path, module in parts if self._is_own(type(module))}
            known.on_enter(model, _enough)
        self.built[name] = Built(shapes, classes)
        return model

    def _is_own(self, kind: type) -> bool:
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return file is not None and file.startswith(self.root)


class _AllBuilt(Exception):
    pass


def _enough(module: Any, args: Any, kwargs: Any) -> None:
    raise _AllBuilt


def _class_name(value: object) -> str:
    """Return the class with the last part of its module's name, as in `backbone.RMSNorm`."""
    return f"{type(value).__module__.rpartition('.')[2]}.{type(value).__qualname__}"
