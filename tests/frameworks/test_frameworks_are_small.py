"""What is known of one library is a small folder: what others would need, too, is in `frameworks/shared`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNT = """
import sys
from pathlib import Path
from code_lines import code_lines
print(sum(code_lines(path.read_text(encoding="utf-8")) for path in Path(sys.argv[1]).glob("*.py")))
"""


def test_what_is_known_of_jax_are_at_most_1200_lines_of_code() -> None:
    command = [sys.executable, "-c", COUNT, str(ROOT / "src/goldsmith/frameworks/jax")]
    done = subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) <= 1200
