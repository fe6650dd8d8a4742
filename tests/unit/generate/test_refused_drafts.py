"""Cases of a draft that gold refuses are taken out of it, and told."""

from __future__ import annotations

from pathlib import Path

from goldsmith.errors.gold import CopyDisagrees, GoldRefused
from goldsmith.generate.refusals import leave_out

RECIPE = '''"""Gold."""

import goldsmith as gs


@gs.case
def first(case):
    """One."""
    case.record("y", 1)


@gs.case(name="second")
def second_case(case):
    case.record("y", 2)


if __name__ == "__main__":
    gs.main()
'''


def test_a_refused_case_becomes_a_todo_with_its_reason(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.py"
    recipe.write_text(RECIPE)
    problems = ["case second: output.y differs between two runs"]
    assert leave_out(recipe, GoldRefused("hw1", problems, "", ["second"]))
    text = recipe.read_text()
    assert "# TODO second: left out, since its gold was refused. case second: output.y differs between two runs" in text
    assert "def second_case" not in text
    assert "def first(case):" in text
    compile(text, "recipe", "exec")
    assert not leave_out(recipe, CopyDisagrees("hw1", ["first"], "why", "")), "no case would be left"


def test_a_refusal_that_names_no_case_changes_nothing(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.py"
    recipe.write_text(RECIPE)
    assert not leave_out(recipe, GoldRefused("hw1", ["the size"], "", []))
    assert recipe.read_text() == RECIPE
