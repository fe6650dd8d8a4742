"""What people are told of a submission holds no line of a private file, and no command to the machine that logs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from goldsmith.courses.grade.redaction import Redaction, escaped, one_line, private_lines, redact
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.log_injection import without_commands
from goldsmith.render.verdict import verdict_text
from goldsmith.sandbox.capabilities import probe
from support.check_course import RECIPE, checked_course, hand_in
from support.made_verdicts import case, failed, texts, verdict

COMMAND = re.compile(r"^\s*::\S|##\[|##vso\[", re.M)
RECIPE_HERE = "src/assignments/hw1/generate_fixtures.py"
THIEF = """
    import sys
    lines = open(sys.argv[0]).read()
    raise ValueError(lines[lines.index("@gs.case"):])"""


@pytest.mark.parametrize(
    "text", ["::error::x", "a\n  ::set-output name=a::b", "a ::stop-commands::t", "x ##[add-mask]y"]
)
def test_nothing_printed_is_taken_for_a_command(text: str) -> None:
    assert COMMAND.search(text) or "a ::" in text
    for safe in (without_commands(text), one_line(text), escaped(text)):
        assert not COMMAND.search(safe.replace(" ", "\n")), "however the line is broken"
    odd = verdict(
        case("whole", "could-not-run", **failed("raised", text, file=text, text=text, function=text)), name=text
    )
    assert not COMMAND.search(verdict_text(odd))


@settings(deadline=None)
@given(text=texts)
def test_whatever_is_said_starts_no_command(text: str) -> None:
    assert not COMMAND.search(one_line(f"::{text}"))


def test_lines_of_private_files_are_nowhere_in_a_veiled_verdict() -> None:
    private = "import torch\nexpected = secret_function(3)\n    other   = expected * 2.0\n"
    lines = private_lines([private], ["import torch\n"])
    said = "got: expected = secret_function(3)\n other = expected * 2.0; import torch"
    shown = redact(verdict(case("whole", "could-not-run", **failed("raised", said, text=said))), Redaction(lines=lines))
    assert "secret" not in repr(shown)
    assert "expected" not in repr(shown)
    assert "import torch" in repr(shown)


@pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")
def test_no_student_reads_a_private_recipe_in_their_feedback(tmp_path: Path) -> None:
    course = checked_course(tmp_path / "course")
    (course.root / RECIPE_HERE).unlink()
    course.write({"private/solutions/hw1/generate_fixtures.py": RECIPE})
    assert course.run("generate", "hw1").code == 0
    thief = hand_in(course, ("return x * factor", THIEF), name="thief")
    odd = hand_in(course, ("return x * factor", "return"), ("def centre(x):", "def centre(x, y):"), name="odd")
    run = course.run("grade", "hw1", thief, odd, "--verbose", "--json")
    assert run.code == 1, run.err
    recipe = [" ".join(line.split()) for line in RECIPE.splitlines() if len(line.strip()) >= 16]
    told = [
        path for path in (course.root / "private/grades/hw1").rglob("*") if path.is_file() and path.name != RUN_RECORD
    ]
    assert len(told) > 6
    for path in told:
        text = " ".join(path.read_text().replace("\\", "").split())
        assert [line for line in recipe if line in text] == [], path
