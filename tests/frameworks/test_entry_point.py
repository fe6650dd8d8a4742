"""A framework of another distribution comes in by its entry point, once its library is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PACKAGE = {
    "counting.py": "class Count:\n    shape, dtype = (), 'int64'\n",
    "counting_gold/__init__.py": "",
    "counting_gold/arrays.py": "import counting\n\nTYPES = (counting.Count,)\ndtype = lambda array: array.dtype\n",
    "counting_gold-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: counting-gold\nVersion: 1.0\n",
    "counting_gold-1.0.dist-info/entry_points.txt": "[goldsmith.frameworks]\ncounting = counting_gold\n",
}
PROGRAM = """
import sys
from goldsmith.frameworks.framework import active, framework_of, registered
from goldsmith.gold.arrays import dtype_name, is_array

assert "counting" in [item.name for item in registered()] and "counting" not in sys.modules
import counting
one = counting.Count()
assert [item.name for item in active()] == ["counting"]
assert framework_of(one).name == "counting" and is_array(one) and dtype_name(one) == "int64"
"""


def test_it_is_found(tmp_path: Path) -> None:
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
