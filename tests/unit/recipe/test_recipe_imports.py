"""Every way in which a recipe may spell an import leads to the same code in `generate` and in `check`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, CourseOnDisk, numpy_course

FOLDER = "src/assignments/hw1"
FILES = {
    "ops.py": "from nets.layers import scale\nfrom nets import plain\n",
    "nets/__init__.py": "from . import helper\nfrom .helper import twice\n\nhelper = helper.twice\n",
    "nets/layers.py": "from . import tools; from .tools import two\ndef scale(x):\n    return tools.two() * x + 1\n",
    "nets/tools.py": "def two():\n    return 2.0\n",
    "nets/helper.py": "def twice(x):\n    return x * 2.0\n",
    "nets/plain.py": "def plus(x):\n    return x + 1.0\n",
    "nets/deep/er.py": "from ..layers import scale\n\n\ndef scaled(x):\n    return scale(x)\n",
    "loose/part.py": "def minus(x):\n    return x - 1.0\n",
}
RECIPE = """
    import numpy as np

    import goldsmith as gs
    {line}


    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", {call}(x))


    @gs.case
    def by_itself(case):
        case.record("y", ops.scale(case.input("x", lambda: np.random.randn(3, 5))))


    import ops

    if __name__ == "__main__":
        gs.main()
"""
SPELLINGS = {
    "from nets import layers": "layers.scale",
    "from nets import layers as parts": "parts.scale",
    "from nets import plain, layers": "layers.scale",
    "import nets.layers": "nets.layers.scale",
    "import nets.layers as parts": "parts.scale",
    "from nets.layers import scale": "scale",
    "from nets import helper": "helper",
    "from nets import twice": "twice",
    "from nets.deep import er": "er.scaled",
    "import nets.deep.er as deep": "deep.scaled",
    "from loose import part": "part.minus",
    "import loose.part": "loose.part.minus",
    "from src.assignments.hw1.nets import layers": "layers.scale",
    "from src.assignments.hw1 import nets; from src.assignments.hw1.nets import plain": "plain.plus",
    "from importlib import import_module; layers = import_module('nets.layers')": "layers.scale",
}


QUICK = {
    "from nets import layers",
    "import nets.layers as parts",
    "from nets.deep import er",
    "from loose import part",
    "from src.assignments.hw1.nets import layers",
    "from importlib import import_module; layers = import_module('nets.layers')",
}
"""A module of a package, by another name, deeper, of a folder that is no package, by its whole path, by a call."""


@pytest.mark.parametrize(
    "line", [line if line in QUICK else pytest.param(line, marks=pytest.mark.long) for line in SPELLINGS]
)
def test_a_copy_of_the_solution_agrees_however_the_recipe_imports_it(tmp_path: Path, line: str) -> None:
    course = _course(tmp_path, line)
    made = course.run("generate", "hw1")
    assert made.code == 0, made.out
    (found,) = course.run("check", "hw1", str(course.root / "private/solutions/hw1"), "--json").json["submissions"]
    assert found["outcome"] == "agrees", found["cases"]


@pytest.mark.parametrize(
    ("damage", "why"),
    [("1 / 0\n", "ZeroDivisionError: division by zero"), ("", "layers.scale is not in the submission")],
)
def test_a_broken_module_that_is_imported_from_its_package_fails_the_cases_that_use_it(
    tmp_path: Path, damage: str, why: str
) -> None:
    course = _course(tmp_path, "from nets import layers, missing")
    recipe = course.root / RECIPE_FILE
    recipe.write_text(recipe.read_text().replace("ops.scale", "missing.scale"))
    files = {"nets/missing.py": "def scale(x):\n    return x * 3\n"}
    course.write(
        {f"{place}/{name}": text for place in (FOLDER, "private/solutions/hw1") for name, text in files.items()}
    )
    ops = {"ops.py": "from nets import missing\n"}
    course.write({f"{place}/{name}": text for place in (FOLDER, "private/solutions/hw1") for name, text in ops.items()})
    assert course.run("generate", "hw1").code == 0
    theirs = tmp_path / "theirs"
    shutil.copytree(course.root / "private/solutions/hw1", theirs)
    (theirs / "nets/layers.py").write_text(damage)
    (found,) = course.run("check", "hw1", str(theirs), "--json").json["submissions"]
    assert [case["outcome"] for case in found["cases"]] == ["could-not-run", "agrees"]
    assert found["cases"][0]["reason"] == why


def _course(folder: Path, line: str) -> CourseOnDisk:
    course = numpy_course(folder / "course")
    (course.root / "private/solutions/hw1/ops_solution.py").unlink()
    files = {RECIPE_FILE: RECIPE.format(line=line, call=SPELLINGS.get(line, "layers.scale"))}
    for place in (FOLDER, "private/solutions/hw1"):
        files |= {f"{place}/{name}": text for name, text in FILES.items()}
    return course.write(files)
