"""`goldsmith parity`: two files, each imported in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.course import COMMAND
from support.parity_command import candidate, run, write

OLD_LAYERS = """
    import torch
    from torch import nn

    class Norm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(dim))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
"""
OLD = """
    import torch
    from torch import nn
    from layers import Norm

    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.norm = Norm(dim)
            self.up = nn.Linear(dim, 2 * dim)
            self.down = nn.Linear(2 * dim, dim)
            self.last = Norm(dim)

        def forward(self, x):
            return self.last(x + self.down(torch.relu(self.up(self.norm(x)))))
"""
NEW = OLD.replace("self.up", "self.fc1").replace("self.down", "self.fc2").replace("self.last", "self.post")
X = ("--input", "np.arange(3.0)")
FUNCTIONS = """
    import numpy as np

    def twice(x):
        return 2 * x

    def other(x):
        return 2.001 * x

    def nothing(x):
        return None

    def nan(x):
        return np.where(x > 1, np.nan, 2 * x)

    def lone_nan(x):
        return float("nan")

    def overwrite(x):
        x *= 2
        return x

    def refuse(x, mask):
        return x

    def pair(x):
        return x, x + 1

    def named(x):
        return {"logits": x, "hidden": x + 1}

    def turned(x):
        return x + 1j * x

    def minus(x, y):
        return x - y

    def taken(*, off, of):
        return of - off

    def draw(x):
        return x + np.random.rand(*x.shape)

    def crash(x):
        import ctypes
        ctypes.string_at(0)

    def leave(x):
        import os
        print("leaving")
        os._exit(7)

    class Lost(np.ndarray):
        def copy(self, *order):
            raise RuntimeError("CUDA error: device-side assert triggered")

    def lose(x):
        return x.view(Lost)

    class Built:
        def __init__(self, factor=2):
            self.factor = factor

        def __call__(self, x):
            return self.factor * x

"""
EACH_ITS_OWN = """
import numpy as np
from good import minus, taken

def reference():
    return minus

def candidate():
    return taken

def inputs():
    return [(np.arange(3.0), np.ones(3)), {"x": np.ones(2), "y": np.ones(2)}]

def inputs_candidate(x, y):
    return dict(off=y, of=x)
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(
        tmp_path_factory.mktemp("functions"),
        good=FUNCTIONS,
        json="def twice(x):\n    return x + x\n",  # the name of a module that is imported already
        raises='raise ValueError("not today")\n',
        dies="import os\nos._exit(5)\n",
        loud='print("importing")\ndef f(x):\n    print("called")\n    return x * 2\n',
        unfinished="def reference():\n    return abs\n",
        each_its_own=EACH_ITS_OWN,
        own_fails=EACH_ITS_OWN.replace("return dict", "raise ValueError('no')  #"),
        adapter="from goldsmith.adapter import rename\nrename('a')\n",
    )


@pytest.mark.torch
def test_two_modules_of_the_same_name_are_compared_and_the_wrong_one_is_named(tmp_path: Path) -> None:
    write(tmp_path, old__model=OLD, old__layers=OLD_LAYERS, new__model=NEW)
    write(tmp_path, new__layers=OLD_LAYERS.replace("1e-6", "1e-3"))
    common = ("old/model.py:Block", "new/model.py:Block", "--init", "dim=12", "--input", "torch.randn(2, 5, 12)")
    wrong = run(tmp_path, *common)
    assert wrong.code == 1, wrong.err
    assert "norm (Norm) is the first to go wrong" in wrong.out
    assert "victims, right when given the reference's inputs: fc1 (Linear), fc2 (Linear)" in wrong.out
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.long  # unit/model_parity has adapters, training and dtypes one by one
def test_two_modules_of_the_same_name_are_compared_by_an_adapter_in_training_and_in_bfloat16(tmp_path: Path) -> None:
    write(tmp_path, old__model=OLD, old__layers=OLD_LAYERS, new__model=NEW)
    common = ("old/model.py:Block", "new/model.py:Block", "--init", "dim=12", "--input", "torch.randn(2, 5, 12)")
    rule = 'rename("last.*", "post.*")'
    write(tmp_path, new__layers=OLD_LAYERS, adapter=f"from goldsmith.adapter import rename\n{rule}\n")
    both = (
        *common,
        "--adapter",
        "adapter.py",
        "--input",
        "dict(x=torch.randn(1, 3, 12))",
        "--train",
        "--steps",
        "2",
        "--dtype",
        "bfloat16",
    )
    right = run(tmp_path, *both, "--json")
    assert right.code == 0, right.out
    assert right.json["ok"] is True
    assert "weights placed by the adapter: last.* as post.*" in candidate(right)["notes"]
    assert [case["name"] for case in candidate(right)["cases"]] == [
        f"inputs {number}: {name}" for number in (1, 2) for name in ("forward", "gradients", "2 steps")
    ]


@pytest.mark.torch
def test_a_function_of_a_file_converts_the_weights_and_an_idle_rule_is_refused(tmp_path: Path) -> None:
    convert = """
        def renamed(state):
            names = {"up": "fc1", "down": "fc2", "last": "post"}
            return {".".join(names.get(part, part) for part in name.split(".")): value for name, value in state.items()}
    """
    write(tmp_path, old__model=OLD, old__layers=OLD_LAYERS, new__model=NEW, new__layers=OLD_LAYERS, weights=convert)
    common = ("old/model.py:Block", "new/model.py:Block", "--init", "dim=12", "--input", "torch.randn(2, 5, 12)")
    right = run(tmp_path, *common, "--convert", "weights.py:renamed", "--json")
    assert right.code == 0, right.out
    assert candidate(right)["notes"] == []
    write(tmp_path, adapter='from goldsmith.adapter import rename\nrename("layers.*", "post.*")\n')
    idle = run(tmp_path, *common, "--adapter", "adapter.py")
    assert idle.code == 2, idle.out
    there = run(tmp_path, *common, "--write-adapter", "adapter.py")
    assert (there.code, "a file that does not exist yet" in " ".join(there.err.split())) == (2, True)
    said = " ".join(idle.err.split())
    assert 'rename("layers.*", "post.*") in the adapter places nothing: the reference has no weight layers.*' in said


@pytest.mark.torch
def test_the_rules_that_are_proposed_are_written_to_a_file_and_accepted(tmp_path: Path) -> None:
    text = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name in sorted({names!r}):
                    self.add_module(name, nn.Linear(3, 3))

            def forward(self, x):
                first, second = (getattr(self, name) for name in {names!r})
                return second(torch.{act}(first(x)))
    """
    write(tmp_path, old=text.format(names=["a", "b"], act="tanh"), new=text.format(names=["z", "y"], act="sin"))
    common = ("old.py:Net", "new.py:Net", "--input", "torch.randn(4, 3)")
    guessed = run(tmp_path, *common, "--write-adapter", "rules.py")
    assert guessed.code == 1, guessed.out + guessed.err
    assert "with weights placed by a guess" in " ".join(guessed.out.split())
    assert "wrote rules.py: 4 rules" in guessed.err
    said = run(tmp_path, *common, "--adapter", "rules.py", "--write-adapter", "more.py")
    assert said.code == 1, said.out + said.err
    assert "by a guess" not in said.out
    assert "more.py was not written: nothing needs a rule" in said.err


def test_a_setup_file_says_how_both_are_built_and_what_they_are_called_with(tmp_path: Path) -> None:
    setup = """
        import sys
        import numpy as np

        def reference():
            sys.path.insert(0, "old")
            from model import f
            return f

        def candidate():
            sys.path.insert(0, "new")
            from model import f
            return f

        def inputs():
            return [{"x": np.arange(3.0)}, (np.ones(2),)]
    """
    write(tmp_path, setup=setup, old__model="def f(x):\n    return x\n", new__model="def f(x):\n    return x * x\n")
    found = run(tmp_path, "--with", "setup.py", "--json", new_workers=True)
    assert found.code == 1, found.out + found.err
    assert [(case["name"], case["outcome"]) for case in candidate(found)["cases"]] == [
        ("inputs 1: forward", "differs"),
        ("inputs 2: forward", "agrees"),
    ]


def test_functions_of_numpy_are_compared_too(functions: Path) -> None:
    found = run(functions, "good.py:twice", "good:other", *X, "--json")
    assert found.code == 1, found.err
    assert candidate(found)["outcome"] == "differs"
    assert run(functions, "good.py:twice", "good:other", *X, "--rtol", "0.01").code == 0
    assert run(functions, "good.py:turned", "good.py:turned", *X).code == 0
    assert run(functions, "good.py:Built", "json.py:twice", *X, "--init-candidate", "x=3").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["good.py:twice", "old.py:f", *X], 2, "old.py:f: there is no such file; give file.py:Name or"),
        (["raises.py:f", "good.py:twice", *X], 3, "cannot be imported: ValueError: not today ({}/raises.py, line 1)"),
        (["good.py:twice", "good.py:twice", "--input", "missing"], 2, "--input: 'missing' fails with NameError"),
        (["good.py:twice", "good.py:twice", "--input", "object()"], 2, "cannot be given to two processes"),
        (["dies.py:f", "good.py:twice", *X], 3, "the process of dies.py:f ended with exit code 5"),
        (["good.py:twice", "good.py:crash", *X], 3, "was killed by SIGSEGV in {}/good.py, line 46"),
        (["good.py:twice", "good.py:leave", *X], 3, "ended with exit code 7 after it printed 'leaving'"),
        (["good.py:twice", "good.py:lose", *X], 3, "good.py:lose fails on its device: RuntimeError: CUDA error"),
        (["good.py:twice", "good.py:twice", *X, "--adapter", "adapter.py"], 2, "missing 1 required positional"),
        (["good.py:twice", "good.py:twice", *X, "--convert", "good.py:f"], 2, "--convert good.py:f: there is no f"),
        (["good.py:twice", "good.py:twice", *X, "--convert", "f"], 2, "--convert f: it names no function"),
        (["good.py:twice", "good.py:refuse", *X], 3, "the candidate cannot be run on the inputs: TypeError"),
        (["good.py:nan", "good.py:twice", *X], 1, "the output is finite where it should be NaN or infinite"),
        (["good.py:lone_nan", "good.py:lone_nan", *X], 3, "the reference itself returns nothing but NaN"),
        (["good.py:twice", "good.py:overwrite", *X], 1, "changes its input 0 in place, and the reference does not"),
        (["good.py:pair", "good.py:named", *X], 3, "with --output 0=logits --output 1=hidden"),
        (["good.py:pair", "good.py:named", *X, "--output", "1=hidden"], 0, "not compared, as it is not named: 0"),
        (["good.py:draw", "good.py:twice", *X], 3, "draw() of the reference draws random numbers"),
    ],
)
def test_what_cannot_be_compared_is_told_in_a_sentence(
    functions: Path, arguments: list[str], code: int, said: str
) -> None:
    found = run(functions, *arguments)
    assert said.format(functions) in " ".join((found.out + found.err).split())
    assert found.code == code
    assert "Traceback" not in found.err


OWN = ("good.py:minus", "good.py:taken", "--input", "np.arange(3.0), np.ones(3)")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([*OWN, "--input-candidate", "dict(of=inputs[0], off=inputs[1])"], 0, "agrees with good.py:minus in forward"),
        ([*OWN, "--input-candidate", "dict(of=inputs[1], off=inputs[0])"], 1, "differs from good.py:minus"),
        ([*OWN, "--input-candidate", "dict(of=np.arange(3.0), off=np.ones(3))"], 0, "agrees"),
        ([*OWN, "--input-candidate", "inputs['x']"], 2, "--input-candidate: \"inputs['x']\" fails with"),
        ([*OWN, "--input-candidate", "[inputs[0], inputs[1]]"], 2, "makes 2 sets of inputs of one"),
        (["--with", "each_its_own.py"], 0, "agrees with reference() of each_its_own.py in inputs 1"),
        (["--with", "own_fails.py"], 3, "inputs_candidate() fails: ValueError: no"),
    ],
)
def test_a_candidate_may_be_called_with_inputs_of_its_own(
    functions: Path, arguments: list[str], code: int, said: str
) -> None:
    found = run(functions, *arguments)
    assert said in " ".join((found.out + found.err).split())
    assert found.code == code
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["good.py:twice", *X], "TARGET is missing"),
        ([*OWN, "--input-candidate", "1", "--input-candidate", "2"], "--input is given once and --input-candidate 2"),
        (["--with", "each_its_own.py", "--input-candidate", "1"], "define inputs_candidate() in each_its_own.py"),
        (["good.py:twice", "good.py:twice"], "--input is missing"),
        (["good.py:twice", "good.py:twice", *X, "--dtype", "int8"], "--dtype is int8"),
        (["good.py:twice", "good.py:twice", *X, "--seed", "-1"], "--seed is -1"),
        (["good.py:twice", "good.py:twice", *X, "--rtol", "-1"], "--rtol is -1.0"),
        (["good.py:twice", "good.py:twice", *X, "--output", "3"], "--output is 3; give REF=TARGET"),
        (["good.py:twice", "good.py:twice", *X, "--adapter", "no.py"], "there is no file"),
        (["good.py:twice", "good.py:twice", *X, "--convert", "a:b", "--own-weights"], "say one of them"),
        (["--with", "unfinished.py", "good.py:twice"], "leave out REF, TARGET and --input"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_imported(
    functions: Path, arguments: list[str], said: str
) -> None:
    found = run(functions, *arguments)
    assert said in found.err
    assert found.code == 2


def test_what_a_model_prints_does_not_disturb_the_json(functions: Path) -> None:
    found = run(functions, "loud.py:f", "loud.py:f", "--input", "np.arange(3.0)", "--json")
    assert json.loads(found.out)["ok"] is True


def test_an_interruption_leaves_no_process_behind(tmp_path: Path) -> None:
    slow = "import os, time\nopen(f'{os.getpid()}.pid', 'w').close()\ntime.sleep(600)\n"
    write(tmp_path / "with a space", slow=slow)
    started = subprocess.Popen(
        [*COMMAND, "parity", "with a space/slow.py:f", "with a space/slow.py:f", "--input", "1"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(names := list(tmp_path.glob("*.pid"))) < 2:
        assert started.poll() is None
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, told = started.communicate()
    assert started.returncode == 130
    assert "goldsmith parity: interrupted; both processes have ended" in told
    for name in names:
        with pytest.raises(ProcessLookupError):
            os.kill(int(name.stem), 0)
