"""Rulers in the manifest: gold without any is written as it was before there were rulers."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from goldsmith.gold.facts import Environment
from goldsmith.gold.manifest import Manifest, encode, read_manifest
from goldsmith.gold.rulers import Ruler, ruler_for
from goldsmith.gold.tolerances import Tolerance
from goldsmith.runs.conditions import FLOAT64, PLAIN
from goldsmith.runs.setting import Setting, setting_named, setting_of

EXAMPLE = sorted(Path(__file__).parents[3].glob("examples/*/tests/internal/fixtures/*/manifest.json"))
RULER = Ruler(
    setting=setting_of("cuda:1", dtype="bfloat16", tf32=True),
    environment=Environment(python="3", numpy="2"),
    trials=("again-1",),
    cases={"forward": {"output.logits": Tolerance(kind="measured", reason="", l2=0.1, max=0.2)}},
)


def test_gold_without_rulers_is_written_as_before_there_were_any() -> None:
    written = json.loads(encode(read_manifest(EXAMPLE[0].parent)))
    assert list(written) == [name for name in Manifest.__struct_fields__ if name != "rulers"]


def test_a_ruler_is_kept_and_read_again(tmp_path: Path) -> None:
    manifest = msgspec.structs.replace(read_manifest(EXAMPLE[0].parent), rulers=(RULER,))
    (tmp_path / "manifest.json").write_bytes(encode(manifest))
    assert read_manifest(tmp_path).rulers == (RULER,)
    assert json.loads(encode(manifest))["rulers"][0]["setting"] == {"device": "cuda", "dtype": "bfloat16", "tf32": True}


def test_a_ruler_is_found_by_its_setting_alone() -> None:
    assert ruler_for([RULER], setting_of("cuda", dtype="bfloat16", tf32=True)) is RULER
    assert ruler_for([RULER], setting_of("cuda", dtype="bfloat16")) is None


def test_a_setting_is_named_by_what_is_not_plain() -> None:
    assert Setting().name == ""
    assert RULER.setting.name == "cuda bfloat16 tf32"
    assert Setting(dtype="bfloat16").name == "cpu bfloat16"
    assert Setting(compiled=True).name == "cpu compiled"


def test_a_setting_is_read_by_its_name() -> None:
    for setting in (Setting(), RULER.setting, Setting(dtype="float16"), Setting(device="mps", compiled=True)):
        assert setting_named(setting.name) == setting
    for name in ("tf32 cuda", "cuda half", "cuda tf32 bfloat16", "cpu bfloat16 float16"):
        assert setting_named(name) is None


def test_a_run_in_float64_stays_one_in_every_setting() -> None:
    assert RULER.setting.within(FLOAT64) == FLOAT64
    assert RULER.setting.within(PLAIN).precision == "bfloat16"
