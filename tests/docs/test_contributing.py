"""What CONTRIBUTING.md tells newcomers is true: each question's search finds the file that it names."""

from __future__ import annotations

import re
import subprocess

import pytest

from support.doc_pages import ROOT, links_of

ROW = re.compile(r"^\| (.+\?) \| `git grep -ni (\S+) -- src` \| `(\S+)` \|$", re.M)
QUESTIONS = ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def test_there_are_ten_questions() -> None:
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize(("question", "word", "file"), QUESTIONS)
def test_the_obvious_word_finds_the_file(question: str, word: str, file: str) -> None:
    found = subprocess.run(["git", "grep", "-li", word, "--", "src"], cwd=ROOT, capture_output=True, text=True)
    if "not a git repository" in found.stderr:
        pytest.skip("this is not a clone")
    assert f"src/goldsmith/{file}" in found.stdout.splitlines(), question


def test_its_links_lead_somewhere() -> None:
    page = ROOT / "CONTRIBUTING.md"
    assert [link for link in links_of(page) if not (ROOT / link.partition("#")[0]).exists()] == []
