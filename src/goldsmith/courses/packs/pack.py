"""Assemble a pack for a place that grades submissions: its scripts, this goldsmith, and the part of the course."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from goldsmith._version import __version__
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.packs.archive import MARK, refuse_others, tarred, write_packs, zipped
from goldsmith.courses.packs.contents import COURSE, course_files
from goldsmith.courses.packs.requirements import pinned
from goldsmith.courses.packs.settings import SETTINGS, PackSettings, Place
from goldsmith.courses.packs.wheel import wheel, wheel_name
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.packs import PublicPlace
from goldsmith.gold.facts import Environment
from goldsmith.gold.manifest import read_manifest

_REQUIREMENTS = "requirements.txt"
_DEFAULT_NAMES: dict[Place, str] = {
    "gradescope": "{}-gradescope.zip",
    "autolab": "{}-autolab",
    "classroom50": "{}",
}
_FOLDER = "goldsmith-pack"
"""The folder in Autolab's archive that everything is in, next to what was submitted."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment that was packed."""

    name: str
    """The assignment."""
    outcome: str
    """`packed`."""
    place: Place
    """What it was packed for: `gradescope`, `autolab` or `classroom50`."""
    files: tuple[str, ...]
    """What was written."""
    size: int
    """Its bytes, all together."""
    requirements: tuple[str, ...]
    """The packages that are installed there, and their versions."""
    left_out: tuple[str, ...] = ()
    """Items of the rubric that earn no points there, because sketches do not show all of them; Classroom 50 alone."""


@dataclass(frozen=True)
class Wanted:
    """What to pack, for which place, and how submissions are graded there; `handin` is what Autolab calls a submitted
    file, `index` a further package index, if packages come from one."""

    assignment: Assignment
    place: Place
    output: Path
    memory: float
    timeout: float | None = None
    handin: str = ""
    index: str = ""


def default_output(assignment: Assignment, place: Place) -> Path:
    """Return where a pack goes by default, in a folder that is made, with everything in it kept from git. What is
    public must not be in a private folder: the guard would take every copy of it for a leak."""
    course = assignment.course
    folder = course.root / "classroom50" if place == "classroom50" else course.packs_folder
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(folder, error.strerror or str(error)) from None
    return folder / _DEFAULT_NAMES[place].format(assignment.name)


def output_for(assignment: Assignment, place: Place, output: Path | None) -> Path:
    """Return where a pack goes. What Gradescope takes is a zip file by its name: in a folder if one is named, and with
    the ending if it lacks that."""
    if output is None:
        return default_output(assignment, place)
    if place != "gradescope":
        return output
    if output.is_dir():
        return output / _DEFAULT_NAMES[place].format(assignment.name)
    return output if output.suffix == ".zip" else output.with_name(f"{output.name}.zip")


def pack(wanted: Wanted) -> Packed:
    """Write a pack. It is refused while gold is stale, or if anything of a solution would be in it."""
    if wanted.place == "classroom50":
        return _classroom50(wanted)
    assignment, course = wanted.assignment, wanted.assignment.course
    target = Path(wanted.output).absolute()
    if target.is_relative_to(course.root) and course.is_public(target):
        raise PublicPlace(wanted.output)
    of_course = course_files(assignment)
    recorded = read_manifest(assignment.gold).provenance.environment
    packages = pinned(of_course, libraries=recorded.libraries, declared=course.config.packages)
    settings = PackSettings(
        about=MARK.decode(),
        place=wanted.place,
        assignment=assignment.name,
        goldsmith=__version__,
        memory=wanted.memory,
        timeout=wanted.timeout,
    )
    facts = _facts(wanted, recorded)
    inside = {
        SETTINGS: _encoded(settings),
        _REQUIREMENTS: _lines(wanted, packages),
        wheel_name(): wheel(),
        **{f"{COURSE}/{name}": content for name, content in of_course.items()},
    }
    written = _WRITERS[wanted.place](inside, facts, target)
    write_packs(written)
    return Packed(
        name=assignment.name,
        outcome="packed",
        place=wanted.place,
        files=tuple(str(path) for path in written),
        size=sum(map(len, written.values())),
        requirements=tuple(packages),
    )


def _classroom50(wanted: Wanted) -> Packed:
    """Write the autograder folder for Classroom 50. Its bundle is public, so it holds a kit in place of gold."""
    from goldsmith.courses.packs.classroom50 import hand_out_kit, require_size

    assignment = wanted.assignment
    output = Path(wanted.output).absolute()
    of_course = course_files(assignment)
    recorded = read_manifest(assignment.gold).provenance.environment
    packages = pinned(of_course, libraries=recorded.libraries, declared=assignment.course.config.packages)
    names = ("autograder.py", SETTINGS, _REQUIREMENTS, wheel_name())
    refuse_others(output / name for name in names)
    kit, rubric, scale = hand_out_kit(assignment, output)
    whole = rubric_for(assignment, allow_stale=False)
    left_out = tuple(item.name for item in whole.items if item not in rubric.items)
    settings = PackSettings(
        about=MARK.decode(),
        place="classroom50",
        assignment=assignment.name,
        goldsmith=__version__,
        memory=wanted.memory,
        timeout=wanted.timeout,
        rubric=rubric,
        left_out=left_out,
        scale=scale,
    )
    facts = _facts(wanted, recorded)
    contents = (
        _filled("classroom50/autograder.py.txt", facts),
        _encoded(settings),
        b"# " + MARK + b"\n" + _lines(wanted, packages),
        wheel(),
    )
    written = {output / name: content for name, content in zip(names, contents, strict=True)}
    size = sum(map(len, written.values())) + kit.size
    require_size(assignment, size)
    write_packs(written)
    return Packed(
        name=assignment.name,
        outcome="packed",
        place="classroom50",
        files=(*map(str, written), kit.folder),
        size=size,
        requirements=tuple(packages),
        left_out=left_out,
    )


def _facts(wanted: Wanted, recorded: Environment) -> dict[str, str]:
    """Return what templates are filled with."""
    return {
        "assignment": wanted.assignment.name,
        "python": ".".join(recorded.python.split(".")[:2]),
        "handin": wanted.handin,
        "folder": _FOLDER,
        "version": __version__,
    }


def _encoded(settings: PackSettings) -> bytes:
    return msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n"


def _lines(wanted: Wanted, packages: list[str]) -> bytes:
    """Return the text of a requirements file."""
    lines = [f"--extra-index-url {wanted.index}"] if wanted.index else []
    return "".join(f"{line}\n" for line in [*lines, *packages]).encode()


def _gradescope(inside: dict[str, bytes], facts: dict[str, str], output: Path) -> dict[Path, bytes]:
    """Return the zip file that is uploaded as an autograder."""
    scripts = {name: _filled(f"gradescope/{name}.txt", facts) for name in ("setup.sh", "run_autograder", "README.md")}
    return {output: zipped({**scripts, **inside}, ("setup.sh", "run_autograder"), MARK)}


def _autolab(inside: dict[str, bytes], facts: dict[str, str], output: Path) -> dict[Path, bytes]:
    """Return the two files that are uploaded to an assessment, and a page for its staff."""
    everything = {**inside, "driver.sh": _filled("autolab/driver.sh.txt", facts)}
    archive = tarred({f"{_FOLDER}/{name}": content for name, content in everything.items()}, (f"{_FOLDER}/driver.sh",))
    return {
        output / "autograde-Makefile": _filled("autolab/autograde-Makefile.txt", facts),
        output / "autograde.tar": archive,
        output / "README.md": _filled("autolab/README.md.txt", facts),
        output / _REQUIREMENTS: b"# " + MARK + b"\n" + inside[_REQUIREMENTS],
    }


_WRITERS: dict[Place, Callable[[dict[str, bytes], dict[str, str], Path], dict[Path, bytes]]] = {
    "gradescope": _gradescope,
    "autolab": _autolab,
}


def _filled(name: str, facts: dict[str, str]) -> bytes:
    """Return a template with its facts; `$$` in it stands for `$`."""
    text = (files("goldsmith.courses.packs") / "templates" / name).read_text(encoding="utf-8")
    return Template(text).substitute(facts, mark=MARK.decode()).encode()
