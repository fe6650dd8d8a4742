"""Pages of verdicts: what is in them, what is escaped, how large they are."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from goldsmith.errors.usage import BadOption
from goldsmith.html_report.module_tree import tree_of
from goldsmith.html_report.page import render_report
from goldsmith.html_report.pictures import MAX_SIDE, MAX_SLICES, cut_into_slices, png, profiles, units_of_tolerance
from goldsmith.html_report.verdict_page import source_of, verdict_report
from goldsmith.html_report.view import Node
from goldsmith.html_report.write import require_place, write_report
from goldsmith.judge.evidence import Evidence, TensorEvidence
from support.made_pages import HOSTILE, a_verdict, an_environment, evidence_of

LIMIT_BYTES = 2_000_000


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [(name, value or "") for name, value in attrs]))


def page_of(evidence: Evidence | None = None, name: str = "ada") -> str:
    verdict = a_verdict(name)
    return render_report(verdict_report(verdict, evidence or evidence_of(verdict), an_environment()))


def test_the_answer_the_curve_the_trees_the_tensor_and_the_code_are_there() -> None:
    page = page_of()
    assert "differs in 1 of 2 cases; blocks.0.attention (Attention) is the first to go wrong" in page
    assert page.count('class="curve"') == 2
    assert "blocks.0.attention (Attention): the difference begins here; off by 1.0e-01, 5.0e-05 is tolerated" in page
    assert page.count('class="tree"') == 2
    assert page.count("data:image/png") == 3
    assert "def forward(self, x):" in page


def test_nothing_is_fetched_and_only_the_page_s_own_script_runs() -> None:
    page = page_of(name=HOSTILE)
    reader = Tags()
    reader.feed(page)
    addresses = [value for _, attributes in reader.found for name, value in attributes if name in ("src", "href")]
    assert addresses
    assert all(value.startswith("#") for value in addresses)
    assert [tag for tag, _ in reader.found if tag in ("script", "img", "iframe", "link", "object")] == ["script"]
    assert not [name for _, attributes in reader.found for name, _ in attributes if name.startswith("on")]
    assert "default-src 'none'" in page


def test_a_page_stays_small_however_much_is_wrong() -> None:
    verdict = a_verdict("ada", wrong=16)
    generator = np.random.default_rng(0)
    tensors = {
        case.name: tuple(
            TensorEvidence(leaf.path, one := generator.normal(size=(4, 8, 64, 64)), one + 1.0, 1e-6)
            for leaf in case.leaves
        )
        for case in verdict.cases
    }
    page = render_report(verdict_report(verdict, Evidence(tensors=tensors), an_environment()))
    assert len(page.encode()) < LIMIT_BYTES
    assert "not drawn, for the page would become too large" in page
    assert f"the {MAX_SLICES} of 32 slices with the largest differences are shown" in page


def test_one_wrong_element_is_seen_in_a_reduced_picture() -> None:
    gold = np.zeros((5, 400, 400))
    theirs = gold.copy()
    theirs[3, 377, 155] = 1.0
    units = units_of_tolerance(gold, theirs, 1e-3)
    slices = cut_into_slices(gold, theirs, units)
    assert slices.labels[slices.first] == "[3, :, :]"
    assert slices.rows <= MAX_SIDE
    assert slices.columns <= MAX_SIDE
    picture = pixels(slices.difference).reshape(len(slices.labels), slices.rows, slices.columns)
    assert (picture[slices.first] > 0).sum() == 1
    assert "of each block of 5 × 5 elements" in slices.reduced
    assert [int(np.argmax(item.units)) for item in profiles(units)] == [3, 377 // 5, 155 // 5]


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [(1.0, 1.0, 0.0), (np.nan, np.nan, 0.0), (np.nan, 1.0, np.inf), (1.0, np.inf, np.inf), (1.0, 1.002, 2.0)],
)
def test_units_of_tolerance(one: float, two: float, expected: float) -> None:
    assert units_of_tolerance(np.array([one]), np.array([two]), 1e-3)[0] == pytest.approx(expected)
    exact = units_of_tolerance(np.array([one]), np.array([two]), None)[0]
    assert exact == (0.0 if expected == 0 else np.inf)


def test_shapes_without_rows_and_odd_dtypes_can_be_drawn() -> None:
    for array in (np.arange(7), np.array([True, False]), np.zeros((1, 1)), np.ones((2, 3)) * 1j, np.zeros((0, 3))):
        if array.size:
            units = units_of_tolerance(array, array, None)
            assert cut_into_slices(array, array, units).difference.startswith("data:image/png;base64,")


def test_names_become_trees_in_the_order_of_their_numbers() -> None:
    names = ["model", "model.blocks.10", "model.blocks.2.norm", "model.blocks.2"]
    (root,) = tree_of({name: Node(name, "Block", "source" if name.endswith("norm") else "right") for name in names})
    (blocks,) = root.children
    assert [node.name for node in blocks.children] == ["2", "10"]
    assert (blocks.kind, blocks.role) == ("", "right")


def test_code_is_shown_from_the_definition_to_its_end() -> None:
    files = {"a.py": b"x = 1\n\n\ndef one():\n    return 2\n\n\ndef other():\n    pass\n"}
    found = source_of("a.py:4", files)
    assert found is not None
    assert found.lines == ("def one():", "    return 2")
    assert source_of("b.py:4", files) is None
    assert source_of("", files) is None


def test_only_an_earlier_page_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    write_report(place, page_of())
    require_place(place)
    mine = tmp_path / "notes.html"
    mine.write_text("<p>my own</p>")
    for bad in (mine, tmp_path, tmp_path / "none" / "page.html"):
        with pytest.raises(BadOption, match="--html"):
            require_place(bad)
    assert mine.read_text() == "<p>my own</p>"


def pixels(address: str) -> np.ndarray:
    """Decode a picture of ours."""
    content = base64.b64decode(address.partition(",")[2])
    width, height = struct.unpack(">II", content[16:24])
    place = content.index(b"IDAT")
    (size,) = struct.unpack(">I", content[place - 4 : place])
    raw = np.frombuffer(zlib.decompress(content[place + 4 : place + 4 + size]), np.uint8)
    return raw.reshape(height, width + 1)[:, 1:]


def test_a_picture_has_the_pixels_that_were_drawn() -> None:
    drawn = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert (pixels(png(drawn, bytes(768))) == drawn).all()


def test_the_band_is_measured_noise_and_what_was_not_measured_is_said_plainly() -> None:
    verdict = a_verdict("ben")
    evidence = evidence_of(verdict)
    report = verdict_report(verdict, evidence, an_environment())
    page = render_report(report)
    assert "Noise was not measured for any of these, so there is no band: only what is tolerated is drawn." in page
    assert 'class="swatch"' not in page.partition("<h3>Calls</h3>")[2].partition("</figure>")[0]
    calls = evidence.calls["wrong"]
    evidence.calls["wrong"] = (calls[0], replace(calls[1], noise=2e-7), *calls[2:])
    evidence.noise["wrong"] = {"y": 1e-6, "z": 1e-6}
    lanes = {lane.title: lane for lane in verdict_report(verdict, evidence, an_environment()).cases[0].lanes}
    assert [point.noise for point in lanes["Calls"].points] == [None, 2e-7, None, None]
    assert [point.noise for point in lanes["Recorded values"].points] == [1e-6, 1e-6]
    page = render_report(verdict_report(verdict, evidence, an_environment()))
    assert "Noise was measured for 1 of 4; there is no band under the others." in page
    assert "off by 1.0e-01, its noise is 2.0e-07, 5.0e-05 is tolerated" in page
