"""Commands that other distributions bring, by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a distribution that brings two commands, of which one cannot be imported."""
    metadata = tmp_path / "greetings-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    entries = "greet = greetings:greet\nbroken = no_such_module:greet\ncheck = greetings:greet\n"
    (metadata / "entry_points.txt").write_text(f"[goldsmith.commands]\n{entries}")
    (tmp_path / "greetings.py").write_text(
        "import click\n\n@click.command()\ndef greet():\n    'Say hello.'\n    click.echo('hello')\n"
    )
    return tmp_path


def said(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "goldsmith", *arguments],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )


def test_a_command_of_another_distribution_stands_beside_goldsmiths_own(installed: Path) -> None:
    assert said(installed, "greet").stdout == "hello\n"
    shown = said(installed, "--help").stdout
    assert "Say hello." in shown
    assert "Replay the recipe" in shown, "and takes the place of none"


def test_one_that_cannot_be_imported_says_so_and_breaks_no_other(installed: Path) -> None:
    assert "no_such_module:greet cannot be imported" in said(installed, "broken").stderr
    assert said(installed, "--help").returncode == 0
