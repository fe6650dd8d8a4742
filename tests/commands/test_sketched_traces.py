"""`sketch-traces-above`: large traces keep sketches; gold gets smaller, and wrong parts are still named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corpora.known_submissions import SOLUTIONS, known
from goldsmith.gold.safetensors_reader import Mapped, open_mapped
from goldsmith.gold.sketches.sketch import Sketch
from goldsmith.gold.trace_tensors import NOT_KEPT, keeps_sketches, with_sketches
from goldsmith.judge.traces import INDEX, calls_in
from support.course import CourseOnDisk, copy_of_example, exercise, numpy_course

SOLUTION = """
    import numpy as np


    def centre(x):
        return x - x.mean(axis=-1, keepdims=True)


    def scale(x):
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True))


    def normalise(x):
        return scale(centre(x))
"""
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import normalise


    @gs.case
    def normalised(case):
        case.record("y", normalise(case.input("x", lambda: np.random.randn(37, 40) + 0.3)))
"""
WRONG = [
    ("x - x.mean(axis=-1, keepdims=True)", "x - x.mean(axis=0)", "centre"),
    ("(x * x).mean(axis=-1, keepdims=True)", "(x * x).sum(axis=-1, keepdims=True)", "scale"),
    ("scale(centre(x))", "centre(scale(x))", "normalise"),
]
SETTING = "sketch-traces-above = 4000\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = numpy_course(tmp_path_factory.mktemp("traces") / "course")
    made.write(exercise(SOLUTION, RECIPE) | {"goldsmith.toml": SETTING})
    run = made.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    return made


def trace_of(course: CourseOnDisk) -> Path:
    return course.gold() / "normalised.trace.safetensors"


def test_gold_keeps_sketches_of_a_large_trace(course: CourseOnDisk) -> None:
    content = open_mapped(trace_of(course))
    assert keeps_sketches(trace_of(course))
    assert trace_of(course).stat().st_size < 6000  # three calls of 11,840 bytes each way
    assert all(name.startswith("~") for name in content)
    call = calls_in(content)[0]
    assert isinstance(call.outputs[0], Sketch)
    assert (call.outputs[0].shape, call.outputs[0].dtype) == ((37, 40), "float64")
    assert not call.can_be_repeated


def test_right_work_agrees_and_gold_is_fresh_and_reproducible(course: CourseOnDisk) -> None:
    (course.root / "right").mkdir(exist_ok=True)
    (course.root / "right/ops.py").write_text((course.root / "private/solutions/hw1/ops_solution.py").read_text())
    assert course.run("check", "hw1", "right").code == 0
    assert course.run("status").code == 0
    assert course.run("verify", "hw1", "--reproduce").code == 0
    before = {path.name: path.read_bytes() for path in course.gold().iterdir()}
    assert course.run("generate", "hw1", "--force").code == 0
    assert {path.name: path.read_bytes() for path in course.gold().iterdir()} == before


@pytest.mark.parametrize(("old", "new", "part"), WRONG, ids=[part for _, _, part in WRONG])
def test_the_wrong_part_is_named(course: CourseOnDisk, tmp_path: Path, old: str, new: str, part: str) -> None:
    text = (course.root / "private/solutions/hw1/ops_solution.py").read_text()
    assert old in text
    (tmp_path / "ops.py").write_text(text.replace(old, new))
    run = course.run("check", "hw1", str(tmp_path), "--json")
    assert run.code == 1
    (verdict,) = run.json["submissions"]
    assert verdict["first_part"] == part


def test_another_setting_changes_the_trace_and_no_value(course: CourseOnDisk, tmp_path: Path) -> None:
    values = (course.gold() / "normalised.npz").read_bytes()
    course.write({"goldsmith.toml": "sketch-traces-above = 10_000_000\n"})
    assert course.run("generate", "hw1", "--force").code == 0
    assert not keeps_sketches(trace_of(course))
    course.write({"goldsmith.toml": SETTING})
    assert course.run("generate", "hw1", "--force").code == 0
    assert keeps_sketches(trace_of(course))
    assert (course.gold() / "normalised.npz").read_bytes() == values


def test_small_tensors_whole_numbers_and_small_traces_are_kept() -> None:
    source = np.random.default_rng(1)
    tensors = {"a": source.standard_normal((9, 9)), "b": np.arange(500), "c": source.standard_normal(20)}
    index = [{"inputs": ["a", "b"], "outputs": ["c", "#00"], "state": {"w": "a"}}]
    assert with_sketches(tensors, index, 10_000) == (tensors, index)
    found, entries = with_sketches(tensors, index, 1000)
    assert [name[:2] for name in found] == ["~a", "b", "c"]
    reference = next(iter(found))
    assert entries == [{"inputs": [reference, "b"], "outputs": ["c", "#00"], "state": {"w": reference}}]
    assert index[0]["inputs"] == ["a", "b"]


@pytest.mark.long
def test_a_part_whose_gradients_are_wrong_earns_nothing_although_it_cannot_be_named(tmp_path: Path) -> None:
    course = copy_of_example(tmp_path / "course")
    settings = course.root / "goldsmith.toml"
    settings.write_text("sketch-traces-above = 20_000\n" + settings.read_text())
    assert course.run("generate", "scratch-1", "--force", "--yes").code == 0
    (known_one,) = (item for item in known("scratch-1") if item.name == "residual-detached")
    known_one.written(tmp_path / "submitted", SOLUTIONS)
    graded = course.run("grade", "scratch-1", str(tmp_path / "submitted"), "--json").json["submissions"][0]
    parts = {part["name"]: part["outcome"] for part in graded["parts"]}
    assert graded["outcome"] == "differs"
    assert parts["TransformerBlock"] != "agrees", parts


@pytest.mark.parametrize("reference", ["?", "~a|float64|9x9"])
def test_a_submission_cannot_leave_tensors_out_of_its_trace(reference: str) -> None:
    """Else it would call anything right: what gold leaves out is neither right nor wrong."""
    entry = f'[{{"model":"m","module":"","class":"C","function":"","depth":0,"inputs":["{reference}"],"outputs":[]}}]'
    content = Mapped({"~a|float64|9x9": np.ones(33)}, {INDEX: entry})
    with pytest.raises(ValueError, match="only gold may leave tensors out"):
        calls_in(content, suspicious=True)
    (call,) = calls_in(content)
    assert call.inputs[0] is NOT_KEPT or isinstance(call.inputs[0], Sketch)
