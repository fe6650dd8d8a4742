"""What a submission can import and read of this machine: packages from an index, never the bundled example, never what
staff have installed from folders of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import pytest

from goldsmith.courses.layout.example import example_folder
from goldsmith.sandbox import bubblewrap
from goldsmith.sandbox.capabilities import probe
from goldsmith.sandbox.packages import PACKAGE
from support.check_course import SOLUTION, checked_course
from support.course import CourseOnDisk

pytestmark = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")

LOOTER = """
    import importlib, importlib.metadata, os, subprocess, sys

    def tried(action):
        try:
            return action()
        except ModuleNotFoundError:
            return 0
        except (PermissionError, FileNotFoundError):
            return 1

    def read(*parts):
        return tried(lambda: open(os.path.join(*parts)).read()[:40])

    def imported(name):
        return tried(lambda: importlib.import_module(name).MARK)

    def other_process(code):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout

    SITE = {site!r}
    EXAMPLE = "goldsmith/_example/private/solutions"
    modules = [imported(name) for name in ("pathed", "edited", "copied", "loose", "goldsmith._example.private.solutions.mark")]
    files = [read(SITE, EXAMPLE, "scratch-1/backbone_solution.py"), read(SITE, "__editable___edited_1_0_finder.py")]
    files += [read(SITE, "staff.pth"), read(SITE, "__pycache__/loose.txt"), read(SITE, "copied/__init__.py")]
    files += [read({source!r}), read(SITE, "../../../bin/staff-script")]
    other = other_process("import goldsmith._example.private.solutions.mark as it; print(it.MARK)")
    path = [entry for entry in sys.path if "staff" in entry]
    works = [imported("bought"), importlib.import_module("numpy.ma").__name__, importlib.metadata.version("numpy")[:1]]
    works += [importlib.import_module("goldsmith.mutants.registry").__name__]
    raise RuntimeError(f"{{modules}} {{files}} {{other!r}} {{path}} {{works}}")
"""  # noqa: E501
SECRET = "MARK = 'stolen'\n"


class Machine:
    """An environment with goldsmith installed in it as a wheel would be, and four ways in which staff install things
    for themselves: by a path, by a finder, from a folder, and by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.staff = folder / "venv", folder / "staff"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.folder)], check=True)
        (site,) = (self.folder / "lib").glob("python*/site-packages")
        self.site, self.python = site, self.folder / "bin/python"
        shutil.copytree(PACKAGE, site / "goldsmith", ignore=shutil.ignore_patterns("__pycache__", "_example"))
        example = site / "goldsmith/_example"
        shutil.copytree(example_folder(), example, ignore=shutil.ignore_patterns("__pycache__", "fixtures", ".git"))
        (example / "private/solutions/mark.py").write_text(SECRET)
        self.install("goldsmith", ["goldsmith/__init__.py"], editable=False)
        (site / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        for name in ("pathed", "edited"):
            (self.staff / name).mkdir(parents=True)
            (self.staff / name / "__init__.py").write_text(SECRET)
        (site / "staff.pth").write_text(f"{self.staff}\nimport __editable___edited_1_0_finder as it; it.install()\n")
        (site / "__editable___edited_1_0_finder.py").write_text(FINDER.format(place=str(self.staff / "edited")))
        self.install("edited", ["__editable___edited_1_0_finder.py", "staff.pth"], editable=True)
        (site / "copied").mkdir()
        (site / "copied/__init__.py").write_text(SECRET)
        (self.folder / "bin/staff-script").write_text(SECRET)
        self.install("copied", ["copied/__init__.py", "../../../bin/staff-script"], editable=False)
        (site / "loose.py").write_text(SECRET)
        (site / "__pycache__").mkdir(exist_ok=True)
        (site / "__pycache__/loose.txt").write_text(SECRET)
        (site / "bought").mkdir()
        (site / "bought/__init__.py").write_text("MARK = 'from an index'\n")
        self.install("bought", ["bought/__init__.py"], editable=None)

    def install(self, name: str, files: list[str], *, editable: bool | None) -> None:
        info = self.site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        if editable is not None:
            origin = {"url": f"file://{self.staff}", "dir_info": {"editable": editable}}
            (info / "direct_url.json").write_text(json.dumps(origin))

    def looter(self) -> str:
        return textwrap.dedent(LOOTER).format(site=str(self.site), source=str(self.staff / "pathed/__init__.py"))

    def grade(self, course: CourseOnDisk, name: str) -> dict[str, Any]:
        run = course.run("grade", "hw1", f"handed in/{name}", "--json", "--again", python=self.python)
        (found,) = run.json["submissions"]
        return {**found, "overview": run.json["overview"]}


FINDER = """
import importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "edited":
            place = {place!r}
            return importlib.util.spec_from_file_location(
                name, place + "/__init__.py", submodule_search_locations=[place])

def install():
    sys.meta_path.append(Finder)
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, machine: Machine) -> CourseOnDisk:
    made = checked_course(tmp_path_factory.mktemp("course"))
    for name, code in (("looter", machine.looter()), ("user", f"import edited\n{textwrap.dedent(SOLUTION)}")):
        made.write({f"handed in/{name}/ops.py": code})
    return made


@pytest.mark.parametrize("walls", ["landlock", "bubblewrap"])
def test_a_submission_sees_neither_the_example_nor_what_staff_installed(
    machine: Machine, course: CourseOnDisk, walls: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if walls == "bubblewrap" and not bubblewrap.works():
        pytest.skip(f"bubblewrap: {bubblewrap.why_not()}")
    if walls == "landlock":
        (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = machine.grade(course, "looter")
    assert ("bubblewrap" in found["sandbox"]) == (walls == "bubblewrap")
    said = found["cases"][0]["why"].replace("0, 1] [1", "0, 0] [1")  # behind Landlock, names can be seen
    assert "[0, 0, 0, 0, 0] [1, 1, 1, 1, 1, 1, 1] '' [] ['from an index', 'numpy.ma'," in said
    assert "goldsmith.mutants.registry" in said


def test_staff_are_told_how_to_show_a_package_that_is_hidden(machine: Machine, course: CourseOnDisk) -> None:
    hidden = machine.grade(course, "user")
    (sentence,) = hidden["not_given"]
    assert 'packages = ["edited"]' in sentence
    assert sentence in hidden["overview"]["notes"][0]
    feedback = (course.root / "private/grades/hw1/feedback/user.md").read_text()
    assert "packages" not in feedback
    course.write({"goldsmith.toml": 'packages = ["edited"]'})
    try:
        shown = machine.grade(course, "user")
    finally:
        course.write({"goldsmith.toml": ""})
    assert (shown["outcome"], shown["not_given"]) == ("agrees", [])
