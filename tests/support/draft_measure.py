"""Draft a recipe, make gold of it untouched, and count what it is worth: parts with cases, cases, other right solutions
that are accepted, wrong ones that are told, mutants that are caught, seconds."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.correct_variants import CORRECT
from corpora.course_shapes import bounds, encoder, layers, policies, systems
from corpora.course_shapes.to_draft import ShapeToDraft
from goldsmith.source_code.rewriting.right_variants import whole_variants
from support.course import CourseOnDisk

SHAPES: dict[str, ShapeToDraft] = {
    "layers": layers.SHAPE,
    "policies": policies.SHAPE,
    "encoder": encoder.SHAPE,
    "systems": systems.SHAPE,
    "bounds": bounds.SHAPE,
}
BUNDLED = ("scratch-1", "scratch-2", "scratch-3")
Files = Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """What became of one draft. `refused` are right solutions that the gold does not accept, `missed` wrong ones that
    it does."""

    name: str
    parts: int
    left: int
    cases: int
    right: int
    refused: tuple[str, ...]
    wrong: int
    missed: tuple[str, ...]
    mutants: str
    seconds: float


def measure(name: str, folder: Path, *, mutants: int = 0, rewritten: int = 20) -> Row:
    """Draft, make gold, and try other solutions on it."""
    if name in SHAPES:
        shape = SHAPES[name]
        course, assignment = begun(shape, folder / "course"), shape.assignment
        solutions = dict(shape.solutions)
        right = {key: shape.changed(change) for key, change in shape.right.items()}
        wrong = {key: shape.changed(change) for key, change in shape.wrong.items()}
    else:
        course, assignment = bundled(name, folder / "course"), name
        home = course.root / "private/solutions"
        solutions = dict(placed(course, name, home))
        right, wrong = dict(by_hand(name, solutions)), {}
    started = time.monotonic()
    run = course.run("generate", assignment, "--kind", "both", "--json", calibrate=True, new_workers=True)
    seconds = time.monotonic() - started
    assert run.code == 0, f"{name}: the draft makes no gold\n{run.out}\n{run.err}"
    recipe = (course.root / f"src/assignments/{assignment}/generate_fixtures.py").read_text()
    note = next(item for item in json.loads(run.out)["assignments"][0]["notes"] if item.startswith("wrote "))
    right |= dict(rewritten_variants(solutions, rewritten))
    outcomes = graded(course, assignment, {**prefixed("right", right), **prefixed("wrong", wrong)}, folder)
    return Row(
        name=name,
        parts=int(note.rpartition(" part")[0].rpartition(" ")[2]),
        left=recipe.count("# TODO "),
        cases=recipe.count("\n@gs.case") + recipe.count("\n@gs.checkpoint"),
        right=len(right),
        refused=tuple(key for key in right if outcomes[f"right: {key}"] != "agrees"),
        wrong=len(wrong),
        missed=tuple(key for key in wrong if outcomes[f"wrong: {key}"] == "agrees"),
        mutants=caught(course, assignment, mutants) if mutants else "",
        seconds=seconds,
    )


def begun(shape: ShapeToDraft, root: Path) -> CourseOnDisk:
    """Return a course in which `init` has run."""
    course = shape.write(root)
    course.git("init", "--quiet", "--initial-branch=main")
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "The course")
    run = course.run("init", "--yes")
    assert run.code == 0, run.out + run.err
    return course


def prefixed(word: str, variants: Mapping[str, Files]) -> dict[str, Files]:
    return {f"{word}: {name}": files for name, files in variants.items()}


def bundled(name: str, root: Path) -> CourseOnDisk:
    course = CourseOnDisk(root)
    root.parent.mkdir(parents=True, exist_ok=True)
    assert CourseOnDisk(root.parent).run("init", "--example", str(root)).code == 0
    (root / f"src/assignments/{name}/generate_fixtures.py").unlink()
    shutil.rmtree(root / f"tests/internal/fixtures/{name}")
    return course


def placed(course: CourseOnDisk, name: str, home: Path) -> Iterator[tuple[str, str]]:
    """Yield the solution's files by the name that students hand them in under."""
    for path in sorted((home / name).glob("*_solution.py")):
        yield path.name.replace("_solution", ""), path.read_text()


def by_hand(name: str, solutions: Files) -> Iterator[tuple[str, Files]]:
    (file,) = solutions
    for key, item in CORRECT.get(name, {}).items():
        if item.changes:
            yield key, {file: item.source(solutions[file])}


def rewritten_variants(solutions: Files, count: int) -> Iterator[tuple[str, Files]]:
    made = {name: whole_variants(text.encode(), most=count) for name, text in solutions.items()}
    for number in range(count):
        files = {}
        for name, variants in made.items():
            files[name] = variants[number % len(variants)].content.decode() if variants else solutions[name]
        yield f"rewritten {number + 1}", files


def graded(course: CourseOnDisk, assignment: str, variants: Mapping[str, Files], folder: Path) -> dict[str, str]:
    """Grade solutions as if students had handed them in; return the outcomes."""
    names = {f"s{number:03}": name for number, name in enumerate(variants)}
    for short, name in names.items():
        CourseOnDisk(folder / "handed-in" / short).write(dict(variants[name]))
    run = course.run(
        "grade", assignment, str(folder / "handed-in"), "--output", str(folder / "grades"), "--json", new_workers=True
    )
    assert run.code in (0, 1), run.out + run.err
    return {names[item["name"]]: item["outcome"] for item in run.json["submissions"]}


def caught(course: CourseOnDisk, assignment: str, most: int) -> str:
    run = course.run("rigor", assignment, "--max", str(most), "--json", new_workers=True)
    assert run.code in (0, 1), run.out + run.err
    found: dict[str, Any] = run.json["assignments"][0]
    return f"{found['score']:.2f}"
