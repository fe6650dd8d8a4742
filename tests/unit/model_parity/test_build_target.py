"""What `goldsmith parity` says of a REF, TARGET or option that cannot be built, asked in one process for all."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

ASK = """
import json, sys
from goldsmith.runs.implementation import SideJob
from goldsmith.runs.live.build_target import CannotBuild, build

for job in json.loads(sys.argv[1]):
    try:
        built = build(SideJob(role="reference", root=".", **job))
        built.inputs[0]() if isinstance(built.inputs, list) and built.inputs else None
        print(json.dumps(["", type(built.target).__name__, ""]))
    except CannotBuild as error:
        problem = error.problem
        print(json.dumps([problem.kind, problem.message, problem.wanted or problem.hint]))
"""
FILES = {
    "good.py": "number = 3\n"
    "def f(x):\n    return x\n"
    "class Plain:\n    pass\n"
    "class Built(list):\n    def __call__(self):\n        return self\n",
    "package/__init__.py": "",
    "package/inner.py": "from . import beside\ndef f(x):\n    return x\n",
    "package/beside.py": "",
    "space in it.py": "def f(x):\n    return x\n",
    "dots.in.it.py": "def f(x):\n    return x\n",
    "types.py": "def f(x):\n    return x\n",
    "needs.py": "import no_such_package_at_all\n",
    "broken.py": "def f(:\n",
    "exits.py": "import sys\nsys.exit('bye')\n",
    "setup_fails.py": "def reference():\n    raise RuntimeError('no')\ndef inputs():\n    return 1\n",
    "setup_none.py": "def reference():\n    pass\ndef inputs():\n    return 1\n",
    "setup_part.py": "def reference():\n    return abs\n",
    "setup_number.py": "def reference():\n    return abs\ninputs = 3\n",
}
CASES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"target": "good.py:f"}, "", "function", ""),
    ({"target": "good:f"}, "", "function", ""),
    ({"target": "package/inner.py:f"}, "", "function", ""),
    ({"target": "package.inner:f"}, "", "function", ""),
    ({"target": "space in it.py:f"}, "", "function", ""),
    ({"target": "dots.in.it.py:f"}, "", "function", ""),
    ({"target": "types.py:f"}, "", "function", ""),
    ({"target": "good.py:Built"}, "", "Built", ""),
    ({"target": "good.py:Built", "init": "[1, 2]"}, "", "Built", ""),
    ({"target": "good.py:Built", "init": "[1"}, "usage", "'[1' cannot be read", "arguments, such as"),
    ({"target": "good.py:Built", "init": "3"}, "failed", "cannot be built with --init: TypeError", ""),
    ({"target": "good.py:Built", "init": "missing"}, "usage", "fails with NameError", "an expression that runs"),
    ({"target": "good.py:f", "inputs": ["1 +"]}, "usage", "'1 +' cannot be read", "an expression of Python"),
    ({"target": "good"}, "usage", "it names no model", "good:Name"),
    ({"target": "good.py:"}, "usage", "it names no model", "good.py:Name"),
    ({"target": "good.py:g"}, "usage", "there is no g in it", "such as f, Plain, Built"),
    ({"target": "good.py:number"}, "usage", "it is of type int, which cannot be called", "a class or function"),
    ({"target": "good.py:Plain"}, "usage", "what it builds is of type Plain", "a model or a function"),
    ({"target": "package:f"}, "usage", "there is no f in it", "a name that it defines"),
    ({"target": "package.py:f"}, "usage", "there is no such file", "file.py:Name"),
    ({"target": "no.such:f"}, "usage", "there is no module no", "file.py:Name"),
    ({"target": "needs.py:f"}, "failed", "no_such_package_at_all is not installed", "with no_such_package_at_all"),
    ({"target": "broken.py:f"}, "failed", "cannot be imported: SyntaxError", ""),
    ({"target": "exits.py:f"}, "failed", "cannot be imported: SystemExit: bye", ""),
    ({"target": "good.py:f", "device": "cuda:77"}, "device", "there is no such device", ""),
    ({"target": "", "setup": "none.py"}, "usage", "there is no such file", "functions reference(), candidate()"),
    ({"target": "", "setup": "setup_fails.py"}, "failed", "fails: RuntimeError: no", ""),
    ({"target": "", "setup": "setup_none.py"}, "usage", "what it builds is None", "a model or a function"),
    ({"target": "", "setup": "setup_part.py"}, "usage", "it defines no inputs()", "functions reference()"),
    ({"target": "", "setup": "setup_number.py"}, "usage", "its inputs is of type int, not a function", "functions"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    folder = tmp_path_factory.mktemp("targets")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    asked = json.dumps([job for job, *_ in CASES])
    done = subprocess.run([sys.executable, "-P", "-c", ASK, asked], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: "-".join(map(str, CASES[number][0].values())))
def test_what_is_named_is_built_or_the_reason_is_told(answers: list[list[str]], number: int) -> None:
    _, kind, message, wanted = CASES[number]
    assert answers[number][0] == kind, answers[number]
    assert message in answers[number][1]
    assert wanted in answers[number][2]
