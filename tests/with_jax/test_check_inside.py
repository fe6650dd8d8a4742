"""Inside a model that is written in another library than the course, the first wrong module is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.across_course import hand_in
from support.across_nested import EQUINOX_NET, NNX_NET, TORCH_NET, jax_net_course, torch_net_course
from support.course import CourseOnDisk

pytestmark = pytest.mark.timeout(900)
SCALE = (" / x.shape[-1] ** 0.5", "")
GELU = (", approximate=False", "")


def case_of(course: CourseOnDisk, name: str, source: str, *changes: tuple[str, str]) -> dict[str, Any]:
    """What `check` says of the course's only case, with what is known of each module in it."""
    submitted = hand_in(course, name, source, *changes)
    found: dict[str, Any] = course.run("check", "hw1", submitted, "--json").json["submissions"][0]["cases"][0]
    return found


def known(case: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Whether each module inside agrees, and whether it was called by itself, by gold's name."""
    inside = [item for item in case["modules"] if item.get("name") and not item.get("function")]
    return {item["name"]: (item["outcome"], item.get("alone", False)) for item in inside}


def test_in_a_torch_course(tmp_path: Path) -> None:
    course = torch_net_course(tmp_path / "course")
    assert case_of(course, "nnx", NNX_NET)["outcome"] == "agrees"
    scale = case_of(course, "nnx scale", NNX_NET, SCALE)
    assert (scale["first_divergence"], scale["first_part"]) == ("blocks.0.attention", "Attention")
    assert known(scale)["blocks.0.attention"] == ("differs", False)
    assert known(scale)["blocks.0.mlp"] == ("agrees", True)
    gelu = case_of(course, "equinox gelu", EQUINOX_NET, GELU)  # compiled: each module is called by itself
    assert (gelu["first_divergence"], gelu["first_part"]) == ("blocks.0.mlp", "MLP")
    assert known(gelu)["blocks.0.attention"] == ("agrees", True)
    (told,) = [note for note in gelu["notes"] if "were not seen" in note]
    assert "layers.0.mlp" in told
    assert not any("were not seen" in note for note in scale["notes"])
    (source,) = [item for item in gelu["modules"] if item.get("source")]
    assert (source["theirs"], source.get("why", "")) == ("layers.0.mlp", "")


def test_in_a_jax_course(tmp_path: Path) -> None:
    course = jax_net_course(tmp_path / "course")
    assert case_of(course, "torch", TORCH_NET)["outcome"] == "agrees"
    gelu = case_of(course, "torch gelu", TORCH_NET, ("functional.gelu(", "functional.relu("))
    assert (gelu["first_divergence"], gelu["first_part"]) == ("blocks.0.mlp.__call__", "MLP")
    assert known(gelu)["blocks.0.attention"] == ("agrees", False)
