"""Recipes, models and trees as people really write them: nothing odd becomes bad gold or a riddle."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

import goldsmith
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, Run, recipe, record

GOOD = "@gs.case\ndef good(case):\n    case.record('y', np.arange(3.0))\n"


def run(course: CourseOnDisk, body: str, imports: str = "") -> Run:
    course.write({RECIPE_FILE: recipe(body, imports)})
    return course.run("generate", "hw1")


# --- no false success -------------------------------------------


def test_a_file_changed_after_its_case_is_refused(course: CourseOnDisk) -> None:
    text = recipe(GOOD) + "    import sys\n    np.savez(sys.argv[2] + '/good.npz', output=np.array([np.nan]))\n"
    course.write({RECIPE_FILE: text})
    result = course.run("generate", "hw1")
    assert result.code == 3
    assert "good.npz was changed after its case had written it" in result.last_line


def test_a_case_below_main_is_named(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(GOOD) + "\n\n@gs.case\ndef late(case):\n    raise ValueError\n"})
    result = course.run("generate", "hw1")
    assert result.code == 3
    assert "case late stands below gs.main() and never ran" in result.last_line


@pytest.mark.parametrize("value", ["None", "np.zeros((0, 5))", "(np.zeros((4, 5)), 7)", "[np.ones(2), np.zeros(3)]"])
def test_an_output_that_says_nothing_is_refused(course: CourseOnDisk, value: str) -> None:
    result = run(course, f"@gs.case\ndef a(case):\n    case.record('y', {value})\n")
    assert result.code == 3
    assert "case a: output.y" in result.last_line
    assert "tell no implementation from another" in result.last_line


def test_text_beside_numbers_is_fine(course: CourseOnDisk) -> None:
    assert run(course, GOOD + "    case.record('labels', ['cat', 'dog'])\n").code == 0


def test_a_forked_copy_cannot_finish_for_a_killed_recipe(course: CourseOnDisk) -> None:
    body = "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    os.kill(os.getpid(), 9)\n"
    result = run(course, body + GOOD)
    assert result.code == 3
    assert "was killed by SIGKILL" in result.last_line


def test_a_real_time_signal_has_a_name_too(course: CourseOnDisk) -> None:
    result = run(course, "import os\n@gs.case\ndef a(case):\n    os.kill(os.getpid(), 40)\n")
    assert result.code == 3
    assert "was killed by signal 40 in case a" in result.last_line


# --- trees with links -------------------------------------------


def test_a_starter_behind_a_link_is_never_written_to(course: CourseOnDisk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (course.root / "src/assignments/hw1").rename(outside)
    (course.root / "src/assignments/hw1").symlink_to(outside)
    library = tmp_path / "library"
    library.mkdir()
    (library / "x.py").write_text("# the starter's\n")
    (outside / "lib").symlink_to(library)
    (outside / "loop").symlink_to(outside)
    course.write({"private/solutions/hw1/lib/x_solution.py": "# the solution's\n"})
    before = {path: path.read_bytes() for path in (outside / "ops.py", library / "x.py")}
    result = course.run("generate", "hw1")
    assert result.code == 0, result.out + result.err
    assert {path: path.read_bytes() for path in before} == before


def test_links_out_of_the_course_lead_where_they_led(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.txt").write_text("3")
    (course.root / "data").symlink_to("../data")
    body = "def a(case):\n    case.record('y', np.arange(int(open('../../../data/x.txt').read())))\n"
    refused = run(course, f"@gs.case\n{body}")
    assert "copy what lies elsewhere into the course" in refused.last_line, "submissions cannot read it"
    body = f"@gs.case(allow={{'sandbox': 'nobody is graded by it'}})\n{body}"
    assert run(course, body).code == 0


def test_what_tools_leave_behind_changes_nothing(course: CourseOnDisk) -> None:
    course.with_gold()
    course.write({"src/assignments/hw1/.ruff_cache/x": "", "src/assignments/hw1/.coverage": ""})
    course.write({"src/assignments/empty/__pycache__/x.pyc": ""})
    assert course.run("generate", "all").last_line == "hw1: fresh, nothing to do."


# --- settings and objects ---------------------------------------


def test_settings_may_be_functions_enums_and_infinite(course: CourseOnDisk) -> None:
    body = """
        import enum

        class Mode(enum.StrEnum):
            FAST = "fast"

        class Model:
            def __init__(self, **settings):
                self.params = {"layer": {"w": np.arange(3.0)}, "names": ["a"]}
                self.layers = [np.arange(2.0), np.arange(4.0)]

            def helper(self):
                pass

        @gs.case
        def a(case):
            model = case.model(Model, act=scale, mode=Mode.FAST, clip=float("inf"), theta=5e8, object=object())
            case.record("y", model.params["layer"]["w"].astype(">f8"))
        """
    gold = record(course, body)["a"]
    assert gold.model_config["act"] == "src.assignments.hw1.ops.scale"
    assert (gold.model_config["mode"], gold.model_config["clip"]) == ("fast", float("inf"))
    assert gold.state_dict["params"]["layer"]["w"].tolist() == [0, 1, 2]
    assert len(gold.state_dict["layers"]) == 2
    assert gold.output.dtype.isnative


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("@gs.case\ndef a():\n    pass\n", "a case takes one argument: write `def a(case):`"),
        ("@gs.case\ndef a(case):\n    case.record('x.y', 1.0)\n", "dots and slashes stand for nesting"),
        ("import nothing_here\n", "the assignment's own modules are ops"),
        ("import ops_solution\n", "the solution stands in its place: import ops"),
        ("def f(x: int): ...\nassert f.__annotations__['x'] is int\nraise ValueError('sound \\udc80')\n", "sound"),
    ],
)
def test_beginners_mistakes_get_a_next_step(course: CourseOnDisk, body: str, words: str) -> None:
    result = run(course, body)
    assert result.code == 3
    assert words in result.last_line


def test_a_misnamed_solution_is_pointed_out(course: CourseOnDisk) -> None:
    solution = course.root / SOLUTION_FILE
    solution.rename(solution.with_name("ops_sol.py"))
    result = course.run("generate", "hw1")
    assert result.code == 3
    assert "that is the starter's ops.py" in result.last_line
    assert "private/solutions/hw1/ops_solution.py" in result.last_line


def test_a_syntax_error_in_the_solution_names_the_solution(course: CourseOnDisk) -> None:
    course.write({SOLUTION_FILE: "def scale(x:\n"})
    result = course.run("generate", "hw1")
    assert result.code == 3
    assert SOLUTION_FILE in result.last_line
    assert "src/assignments/hw1/ops.py" not in result.last_line


def test_notes_tell_what_nobody_could_retrace_and_what_changed(course: CourseOnDisk) -> None:
    first = run(course, GOOD.replace("good", "one"))
    assert "Note: case one: keeps neither inputs nor weights" in first.out
    second = course.write({RECIPE_FILE: recipe(GOOD)}).run("generate", "hw1", "--seed", "7")
    assert "Note: removed, since no case makes them any more: one.npz." in second.out
    assert "Note: the gold before had seed 42, this has 7." in second.out


# --- torch, all in one run --------------------------------------


TORCH = """
    import copy, io

    class Net(torch.nn.Module):
        def __init__(self, rate=0.0):
            super().__init__()
            self.inner = torch.nn.Linear(4, 4)
            self.drop = torch.nn.Dropout(rate)
            self.register_buffer("mask", torch.full((2, 2), float("-inf")).triu(1))

        def forward(self, x):
            if x.shape[-1] != 4:
                raise ValueError("width")
            return self.drop(self.inner(x))

    ALLOW = {"inf": "a causal mask"}

    @gs.case
    def copied(case):
        model = case.model(Net, allow=ALLOW)
        x = case.input("x", lambda: torch.randn(3, 4))
        average = copy.deepcopy(model)
        for _ in range(20):
            average(x)
        torch.save(model, io.BytesIO())
        try:
            model(torch.randn(3, 5))
        except ValueError:
            pass
        for _ in range(4):
            y = model(x)
        case.record("y", y)

    @gs.case
    def transformed(case):
        model = case.model(Net, allow=ALLOW)
        x = case.input("x", lambda: torch.randn(3, 4))
        case.record("y", torch.func.vmap(model)(x))
        case.record("compiled", torch.compile(model, backend="eager")(x))

    @gs.case
    def padded(case):
        def encoder():
            layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
            return torch.nn.TransformerEncoder(layer, 2)
        model = case.model(encoder)
        x = case.input("x", lambda: torch.randn(3, 5, 8))
        mask = case.input("mask", lambda: torch.arange(5).expand(3, 5) >= torch.tensor([[5], [3], [4]]))
        with torch.no_grad():
            case.record("y", model(x, src_key_padding_mask=mask))

    @gs.case
    def chance(case):
        model = case.model(Net, 0.5, train=True, allow=ALLOW)
        case.record("y", model(case.input("x", lambda: torch.randn(3, 4))))

    @gs.case
    def own_seed(case):
        torch.manual_seed(5)
        case.record("y", case.input("x", lambda: torch.randn(3)) * 2)

    @gs.case
    def untraced(case):
        model = case.model(Net, trace=False, allow=ALLOW)
        case.record("y", model(case.input("x", lambda: torch.randn(3, 4))))
"""


@pytest.mark.long
def test_models_that_are_copied_compiled_transformed_and_caught(course: CourseOnDisk) -> None:
    body = textwrap.dedent(TORCH)
    result = run(course, body, "import torch")
    assert result.code == 0, result.out + result.err
    gold = goldsmith.load(course.gold())
    entries = {entry.name: entry for entry in gold.manifest.cases}
    assert (entries["copied"].calls, entries["copied"].traced_calls) == (5, 3)
    with safe_open(course.gold() / "copied.trace.safetensors", "pt") as file:
        index = json.loads(file.metadata()["goldsmith"])
    assert {entry["depth"] for entry in index} == {0, 1}
    assert [entry["call"] for entry in index if entry["module"] == ""] == [0, 1, 2]
    assert torch.equal(gold["transformed"].output["compiled"], gold["transformed"].output["y"])
    assert entries["untraced"].trace is None
    assert entries["chance"].training == ("model",)
    assert "case chance: its model drew random numbers while it ran (dropout?)" in result.out
    assert "case own_seed: it set a seed of its own, 5; the one recorded is 42" in result.out
    assert result.out.count("drew random numbers") == 1


SPAWNED = """
    import numpy as np
    import torch
    import goldsmith as gs
    {line}

    @gs.case(allow={{"sandbox": "only forked processes start there"}})
    def loaded(case):
        loader = torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="{start}")
        case.record("batches", list(loader))

    if __name__ == "__main__":
        gs.main()
"""


def test_processes_that_are_spawned_find_the_code(course: CourseOnDisk) -> None:
    body = """
        import multiprocessing

        @gs.case(allow={"sandbox": "only forked processes start there"})
        def doubled(case):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                case.record("y", np.array(pool.map(scale, [1.0, 2.0])))
    """
    assert record(course, body)["doubled"].output.tolist() == [3.0, 5.0]


@pytest.mark.long
@pytest.mark.parametrize("start", ["spawn", "fork", "forkserver"])
def test_worker_processes_of_a_data_loader_find_the_code(tmp_path: Path, start: str) -> None:
    numbers = "import torch\nclass Numbers(torch.utils.data.Dataset):\n    def __len__(self):\n        return 8\n"
    solution = numbers + "    def __getitem__(self, i):\n        return i * 1.0\n"
    line = "from ops import Numbers" if start == "spawn" else "from src.assignments.lab_1.ops import Numbers"
    course = CourseOnDisk(tmp_path / "course").write(
        {
            "src/assignments/lab-1/ops.py": numbers,
            "src/assignments/lab-1/generate_fixtures.py": SPAWNED.format(line=line, start=start),
            "private/solutions/lab-1/ops_solution.py": solution,
        }
    )
    result = course.run("generate", "lab-1")
    assert result.code == 0, result.out + result.err
    if start == "fork":
        return  # as in `generate`: a forked process inherits everything
    course.write({"src/assignments/lab-1/ops.py": solution})
    script = course.root / "src/assignments/lab-1/generate_fixtures.py"
    command = [sys.executable, "-m", "goldsmith.run_recipe", str(script), "--output", str(tmp_path / "out")]
    alone = subprocess.run(command, capture_output=True, text=True)
    assert alone.returncode == 0, alone.stderr


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "import torch\n@gs.case\ndef a(case):\n    case.model(torch.nn.LazyLinear, 3)\n",
            "weight has no shape yet; give case.model a function",
        ),
        (
            "import torch\n@gs.case\ndef a(case):\n    case.model(torch.nn.Linear(2, 3))\n",
            "takes the class and its arguments, not a finished model: case.model(Linear, …)",
        ),
    ],
)
def test_mistakes_with_torch_get_a_next_step(course: CourseOnDisk, body: str, words: str) -> None:
    result = run(course, body)
    assert result.code == 3
    assert words in result.last_line


def test_a_terminal_without_the_letters_is_no_reason_to_fail(course: CourseOnDisk) -> None:
    course.write({SOLUTION_FILE: "def scale(x):\n    raise ValueError('größer … 学')\n"})
    result = course.run("generate", "hw1", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert result.code == 3
    assert "raised ValueError: gr" in result.last_line


def test_a_full_temporary_folder_is_named(course: CourseOnDisk, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = 'mount -t tmpfs -o size=16k none "$TMPDIR" && exec "$0" "$@"'
    prefix = ["unshare", "-rm", "sh", "-c", mount]
    result = course.run("generate", "hw1", prefix=prefix, TMPDIR=str(small))
    if "unshare" in result.err:
        pytest.skip("this kernel lends no private mounts to its users")
    assert result.code == 3
    assert "cannot be written" in result.out + result.err
    assert "goldsmith itself failed" not in result.out + result.err
