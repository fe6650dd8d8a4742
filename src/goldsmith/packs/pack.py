"""Assemble a pack for a place that grades submissions: its scripts, this goldsmith, and the part of the course."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

import msgspec

from goldsmith._version import __version__
from goldsmith.course.layout import Assignment
from goldsmith.errors.packs import PublicPlace
from goldsmith.gold.manifest import read_manifest
from goldsmith.packs.archive import MARK, tarred, write_packs, zipped
from goldsmith.packs.contents import COURSE, course_files
from goldsmith.packs.requirements import pinned
from goldsmith.packs.settings import SETTINGS, PackSettings, Place
from goldsmith.packs.wheel import wheel, wheel_name

_REQUIREMENTS = "requirements.txt"
_FOLDER = "goldsmith-pack"
"""The folder in Autolab's archive that everything is in, next to what was submitted."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment that was packed."""

    name: str
    """The assignment."""
    outcome: str
    """`packed`."""
    place: Place
    """What it was packed for: `gradescope` or `autolab`."""
    files: tuple[str, ...]
    """What was written."""
    size: int
    """Its bytes, all together."""
    requirements: tuple[str, ...]
    """The packages that are installed there, and their versions."""


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


def pack(wanted: Wanted) -> Packed:
    """Write a pack. It is refused while gold is stale, or if anything of a solution would be in it."""
    assignment, course = wanted.assignment, wanted.assignment.course
    target = Path(wanted.output).absolute()
    if target.is_relative_to(course.root) and course.is_public(target):
        raise PublicPlace(wanted.output)
    of_course = course_files(assignment)
    recorded = read_manifest(assignment.gold).provenance.environment
    packages = pinned(of_course, torch=recorded.torch is not None, declared=course.config.packages)
    settings = PackSettings(
        about=MARK.decode(),
        place=wanted.place,
        assignment=assignment.name,
        goldsmith=__version__,
        memory=wanted.memory,
        timeout=wanted.timeout,
    )
    python = ".".join(recorded.python.split(".")[:2])
    facts = {"assignment": assignment.name, "python": python, "handin": wanted.handin, "folder": _FOLDER}
    lines = [f"--extra-index-url {wanted.index}"] if wanted.index else []
    inside = {
        SETTINGS: msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n",
        _REQUIREMENTS: "".join(f"{line}\n" for line in [*lines, *packages]).encode(),
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
    text = (files("goldsmith.packs") / "templates" / name).read_text(encoding="utf-8")
    return Template(text).substitute(facts, mark=MARK.decode()).encode()
