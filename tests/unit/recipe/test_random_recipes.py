"""For any small recipe: what is recorded loads, verifies, and no byte of it can change unnoticed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from goldsmith.gold.checks import Evidence, verify
from goldsmith.gold.facts import Environment
from goldsmith.gold.inspect_gold import inspect_gold
from goldsmith.gold.load import load_gold
from goldsmith.gold.manifest import MANIFEST, FileEntry, Manifest, Provenance, Stamp, case_entry, encode
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition
from goldsmith.worker.record_session import Session

DTYPES = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.uint8, np.complex64])
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(max_dims=3, max_side=4), elements=st.integers(1, 90), unique=True)
)
NAMES = st.text("abcxyz", min_size=1, max_size=4)
VALUES = st.recursive(
    ARRAYS | st.integers(-99, 99) | st.floats(-9, 9, width=32) | NAMES,
    lambda inner: st.lists(inner, min_size=1, max_size=2) | st.dictionaries(NAMES, inner, min_size=1, max_size=2),
    max_leaves=4,
)
ANY = dict.fromkeys(("constant", "range"), "random numbers are not sane")
RECIPES = st.lists(
    st.tuples(st.dictionaries(NAMES, VALUES, max_size=2), st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=3)),
    min_size=1,
    max_size=3,
)


def recorded(folder: Path, recipe: list[tuple[dict[str, Any], dict[str, Any]]]) -> Manifest:
    """The recipe recorded into `folder`, in this process, with its manifest."""

    def function(inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
        def run(case: Case) -> None:
            for name, value in inputs.items():
                case.input(name, lambda value=value: value)
            for name, value in outputs.items():
                case.record(name, value)

        return run

    definitions = [CaseDefinition(f"case_{at}", "output", function(*item), ANY) for at, item in enumerate(recipe)]
    session = Session(folder, seed=5)
    session.run(definitions)
    files = {case.file.name: FileEntry.of(folder / case.file.name) for case in session.facts}
    evidence = Evidence(mode="cases", seed=5, cases=session.facts, files=files, disagreements={})
    assert [check.problems for check in verify(evidence) if not check.ok] == []
    manifest = Manifest(
        assignment="hw",
        seed=5,
        stamp=Stamp("2026-01-01"),
        cases=tuple(case_entry(case, {}, "not measured", None) for case in session.facts),
        files=tuple(files.values()),
        checks=(),
        advice=(),
        calibration=None,
        provenance=Provenance(
            solution={},
            starter={},
            recipe={},
            reads={},
            written=(),
            mode="cases",
            seed=5,
            command="",
            goldsmith="",
            environment=Environment(python="", numpy=""),
        ),
    )
    (folder / MANIFEST).write_bytes(encode(manifest))
    return manifest


@settings(deadline=None, max_examples=60)
@given(recipe=RECIPES, data=st.data())
def test_what_any_recipe_records_loads_and_verifies_and_no_byte_changes_unnoticed(
    recipe: list[tuple[dict[str, Any], dict[str, Any]]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        recorded(folder, recipe)
        assert all(check.ok for check in inspect_gold(folder)), inspect_gold(folder)
        gold = load_gold(folder)
        for (_, outputs), name in zip(recipe, gold, strict=True):
            found = gold[name].output if len(outputs) > 1 else {next(iter(outputs)): gold[name].output}
            for key, value in outputs.items():
                loaded = np.asarray(found[key])
                assert loaded.dtype == value.dtype
                assert np.array_equal(loaded, value)
        path = data.draw(st.sampled_from(sorted(folder.iterdir())))
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        problems = [problem for check in inspect_gold(folder) for problem in check.problems]
        assert any(path.name in problem for problem in problems)
