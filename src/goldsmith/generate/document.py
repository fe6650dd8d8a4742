"""Step 7: manifest and README, from everything the steps before have found."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.foundation.git import git, uncommitted
from goldsmith.generate.contents import Contents
from goldsmith.generate.options import Options
from goldsmith.generate.recording import content_entry
from goldsmith.generate.state import GenerationState
from goldsmith.gold.files import REFERENCE_SUFFIX
from goldsmith.gold.manifest import (
    MANIFEST,
    README,
    CheckEntry,
    FileEntry,
    Manifest,
    Provenance,
    Stamp,
    encode,
    keep_stamp,
    says_the_same,
)
from goldsmith.gold.publish import Staging
from goldsmith.gold.readme import render_readme
from goldsmith.gold.rulers import lost_rulers
from goldsmith.targets.target import Target
from goldsmith.workspace.snapshot import file_hash


def document(run: GenerationState, contents: Contents, staging: Staging) -> None:
    """Write manifest and README to the staging folder, and carry over other people's files from the gold folder."""
    target, options = run.target, run.options
    sources, previous = contents.sources, run.previous.manifest
    manifest = Manifest(
        assignment=target.recorded_name,
        seed=options.seed,
        stamp=_stamp_now(target),
        cases=contents.cases,
        files=tuple(run.files),
        checks=tuple(CheckEntry(check.name, check.outcome, check.detail) for check in run.checks),
        advice=tuple(run.advice),
        calibration=contents.calibration,
        provenance=Provenance(
            solution=sources.solution,
            starter=sources.starter,
            recipe=sources.recipe,
            reads=contents.reads,
            written=sources.written,
            mode=contents.result.mode,
            seed=options.seed,
            command=command_for(target, options),
            goldsmith=__version__,
            environment=contents.environment,
            packages=sources.packages,
            replaced=sources.replaced,
        ),
        rulers=contents.rulers,
    )
    run.notes += lost_rulers(previous.rulers if previous else (), contents.rulers)
    manifest = keep_stamp(manifest, previous)
    if (
        previous is not None
        and not options.exact
        and run.previous.is_sound(README)
        and says_the_same(manifest, previous)
    ):
        manifest = previous
    readme = render_readme(manifest, target.label, _place_in_project(target)).encode()
    if manifest is previous:
        content = (target.gold / MANIFEST).read_bytes()
        readme = (target.gold / README).read_bytes()
    else:
        manifest = msgspec.structs.replace(manifest, files=(*run.files, content_entry(README, readme)))
        content = encode(manifest)
    run.files += [content_entry(README, readme), content_entry(MANIFEST, content)]
    staging.write(README, readme)
    staging.write(MANIFEST, content)
    made = {item.name for item in run.files}
    later = {case + REFERENCE_SUFFIX for case in run.unmeasured}
    gone = sorted(_as_published(target.gold, previous.files, made | later)) if previous else []
    if gone:
        run.notes.append(
            f"{'would be ' if run.is_dry else ''}removed, since no case makes them any more: {', '.join(gone)}"
        )
    if previous and previous.seed != options.seed:
        run.notes.append(f"the gold before had seed {previous.seed}, this has {options.seed}")
    kept = staging.carry_over([*gone, *later])
    if kept:
        run.notes.append(f"kept in the gold folder, not made by goldsmith: {', '.join(kept)}")


def _place_in_project(target: Target) -> str:
    return target.project.relative(target.gold).as_posix()


def _as_published(folder: Path, files: Sequence[FileEntry], made: Collection[str]) -> Iterator[str]:
    """Yield the names of files that are no longer made and still have the bytes that goldsmith gave them."""
    for item in files:
        path = folder / item.name
        if item.name not in made and path.is_file() and not path.is_symlink() and file_hash(path) == item.sha256:
            yield item.name


def command_for(target: Target, options: Options) -> str:
    """Return the one command that makes this gold again, whatever command made it this time."""
    parts = [target.make_command]
    if options.seed != target.seed:
        parts.append(f"--seed {options.seed}")
    if options.device != "cpu":
        parts.append(f"--device {options.device}")
    if target.calibrate and options.calibrate == "off":
        parts.append("--no-calibrate")
    return " ".join(parts)


def _stamp_now(target: Target) -> Stamp:
    """Return today's date, and the commit with whether anything but gold is uncommitted; without git, no commit."""
    project = target.project
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    commit = git(project.root, "rev-parse", "HEAD")
    if commit is None:
        return Stamp(today)
    changes = uncommitted(project.root, ".", *(f":(exclude){path}" for path in target.unstamped))
    return Stamp(today, commit.strip(), bool(changes))
