"""A course in torch judges work in JAX, and a course in JAX work in torch, with recipes as they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.across_course import EQUINOX, NNX, TORCH_SOLUTION, hand_in, jax_course, torch_course
from support.course import CourseOnDisk

PARTS = ("softmax", "MLP", "Attention")


def graded(course: CourseOnDisk, folder: Path) -> dict[str, dict[str, Any]]:
    """What is said of each submission of a class, by name, each in the sandbox."""
    run = course.run("grade", "hw1", str(folder), "--json")
    assert run.code in (0, 1), run.out + run.err
    return {item["name"]: item for item in json.loads(run.out)["submissions"]}


def outcomes(grade: dict[str, Any], kind: str) -> dict[str, str]:
    return {item["name"]: item["outcome"] for item in grade[kind]}
