"""The pairs of examples/porting/models: models of `transformers`, built from configurations, beside ports of our own in
other people's styles."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from support.ports.pairs import Pair

EXAMPLE = Path(__file__).parents[3] / "examples" / "porting"
STYLES = {
    "gpt2": "nanoGPT",
    "llama": "llama2.c",
    "qwen3": "a book",
    "mamba": "mamba-minimal",
    "dinov2": "facebookresearch",
    "clip": "openai",
    "whisper": "openai",
    "mixtral": "mistral",
    "gemma2": "gemma_pytorch",
    "neox": "litgpt",
}


@dataclass(frozen=True)
class ByHand:
    """What hooks are told of a pair: which module is which, and a function that converts weights."""

    names: Mapping[str, str]
    convert: Callable[[Mapping[str, Any]], dict[str, Any]]


def pair(name: str) -> Pair:
    """Return a pair; the reference draws its own weights."""
    module = _module(name)
    return Pair(
        name,
        module.reference,
        module.candidate,
        module.inputs,
        mistakes=module.BUGS,
        draw=lambda model: None,
        outputs=getattr(module, "OUTPUTS", None),
    )


def by_hand(name: str) -> ByHand:
    module = _module(name)
    return ByHand(_module("common").spell_out(module.NAMES), module.weights_by_hand)


def _module(name: str) -> ModuleType:
    """Import a file of the example, which imports another beside it."""
    folder = str(EXAMPLE / "models")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)
