"""No recipe yet: what is there is found, tried, and written down as a recipe to start from."""

from __future__ import annotations

import shutil

import pytest
import torch

import goldsmith
from support.course import RECIPE_FILE, CourseOnDisk
from support.terminal import Terminal

DOWN, ENTER, ESCAPE, CTRL_C = "\x1b[B", "\r", "\x1b", "\x03"


@pytest.fixture
def bare(example: CourseOnDisk) -> CourseOnDisk:
    """The example course without its recipes and gold."""
    for name in ("scratch-1", "scratch-2", "scratch-3"):
        (example.root / f"src/assignments/{name}/generate_fixtures.py").unlink()
        shutil.rmtree(example.gold(name))
    return example


def test_without_a_terminal_the_kind_must_be_said(bare: CourseOnDisk) -> None:
    before = bare.snapshot()
    run = bare.run("generate", "scratch-1")
    assert run.code == 2
    assert "--kind outputs|checkpoint|both" in run.last_line
    assert bare.snapshot() == before


SMALL = """
    import torch
    from torch import nn

    class Mixer(nn.Module):
        def __init__(self, kinds=31, width=6):
            super().__init__()
            self.embed, self.head = nn.Embedding(kinds, width), nn.Linear(width, kinds)

        def forward(self, tokens):
            return self.head(torch.tanh(self.embed(tokens)))
"""
PUBLIC_TEST = """
    import torch
    from ops import Mixer

    def test_shape():
        assert Mixer()(torch.randint(0, 31, (5, 7))).shape == (5, 7, 31)
"""


def test_a_recipe_is_proposed_written_and_run(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    starter = SMALL.replace("return self.head(torch.tanh(self.embed(tokens)))", "raise NotImplementedError")
    files = {"src/assignments/hw1/ops.py": starter, "private/solutions/hw1/ops_solution.py": SMALL}
    course.write({**files, "tests/public/test_hw1.py": PUBLIC_TEST})
    run = course.run("generate", "hw1", "--kind", "checkpoint")
    assert run.code == 0, run.out + run.err
    assert f"wrote {RECIPE_FILE}: 1 case for 1 part." in " ".join(run.out.split())
    assert "Reset to starter: ok" in run.out
    assert list(goldsmith.load(course.gold())) == ["gold_checkpoint"]
    text = (course.root / RECIPE_FILE).read_text()
    assert "from ops import Mixer" in text
    assert "torch.randint(0, 31, (5, 7))" in text, "as the public tests call it"


@pytest.mark.long  # in small: test_a_recipe_is_proposed_written_and_run
def test_so_is_one_of_the_bundled_course(bare: CourseOnDisk) -> None:
    run = bare.run("generate", "scratch-1", "--kind", "checkpoint")
    assert run.code == 0, run.out + run.err
    assert "wrote src/assignments/scratch-1/generate_fixtures.py: 1 case for 1 part." in " ".join(run.out.split())
    assert "Reset to starter: ok" in run.out
    assert list(goldsmith.load(bare.gold("scratch-1"))) == ["gold_checkpoint"]
    text = (bare.root / "src/assignments/scratch-1/generate_fixtures.py").read_text()
    assert "from backbone import DecoderOnlyTransformer" in text
    assert "torch.randint(0, 31, (5, 7))" in text, "as the public tests call it"


def test_a_recipe_that_was_proposed_makes_the_same_gold_again(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 0, run.out + run.err
    assert course.run("generate", "hw1", "--force").last_line.startswith("hw1: not a byte changed")


@pytest.mark.long
def test_a_recipe_that_was_proposed_trains_the_same_checkpoint_again(bare: CourseOnDisk) -> None:
    assert bare.run("generate", "scratch-1", "--kind", "checkpoint").code == 0
    assert bare.run("generate", "scratch-1", "--force").last_line.startswith("scratch-1: not a byte changed")


@pytest.mark.long
def test_a_model_with_several_inputs_is_understood(bare: CourseOnDisk) -> None:
    run = bare.run("generate", "scratch-3", "--kind", "both")
    assert run.code == 0, run.out + run.err
    output = torch.load(bare.gold("scratch-3") / "gold_output.pt")
    assert {"observations", "noisy", "t"} <= set(output["input"])


def test_kind_is_not_needed_where_there_is_a_recipe(course: CourseOnDisk) -> None:
    run = course.run("generate", "hw1", "--kind", "both")
    assert run.code == 0
    assert "--kind was not needed" in run.out
    assert (course.root / RECIPE_FILE).read_text().count("@gs.case") == 1


def test_a_solution_that_defines_nothing_is_named(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    course.write({"private/solutions/hw1/ops_solution.py": "ANSWER = 42\n"})
    before = course.snapshot()
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 3
    assert "its solution defines no class and no function" in run.last_line
    assert course.snapshot() == before


def test_models_that_cannot_be_guessed_say_what_was_tried(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    source = """
        from torch import nn
        class Odd(nn.Module):
            def __init__(self, path):
                raise FileNotFoundError("no such data set")
        """
    starter = "class Odd:\n    def __init__(self, path):\n        raise NotImplementedError\n"
    course.write({"private/solutions/hw1/ops_solution.py": source, "src/assignments/hw1/ops.py": starter})
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 3
    assert "Odd: FileNotFoundError: no such data set" in run.last_line
    assert "# TODO Odd: no case yet. FileNotFoundError: no such data set" in (course.root / RECIPE_FILE).read_text()


# --- at a terminal ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_kind_is_asked_for_and_followed(bare: CourseOnDisk) -> None:
    terminal = Terminal(["generate", "scratch-1", "--no-calibrate"], bare.root)
    terminal.wait_for("What should the first one record?")
    for label in ("Model outputs", "Trained checkpoints", "Both"):
        assert label in terminal.screen
    terminal.keys(DOWN + ENTER)
    assert terminal.end() == 0, terminal.screen
    assert list(goldsmith.load(bare.gold("scratch-1"))) == ["gold_checkpoint"]


@pytest.mark.long
def test_every_part_of_a_transformer_has_a_case(bare: CourseOnDisk) -> None:
    run = bare.run("generate", "scratch-1", "--kind", "both")
    assert run.code == 0, run.out + run.err
    assert "Advice" not in run.out
    made = list(goldsmith.load(bare.gold("scratch-1")))
    assert (made[0], made[-1]) == ("gold_output", "gold_checkpoint")
    parts = {"rms_norm", "rotary_embedding", "causal_self_attention", "feed_forward", "transformer_block"}
    functions = {"next_token_loss", "train_epoch", "generate"}
    assert parts | functions <= set(made)
    assert {f"{name}_again" for name in (*parts, *functions)} <= set(made)


def test_nothing_is_asked_with_yes(bare: CourseOnDisk) -> None:
    terminal = Terminal(["generate", "scratch-1", "--yes"], bare.root)
    assert terminal.end() == 2
    assert "--kind" in terminal.screen
