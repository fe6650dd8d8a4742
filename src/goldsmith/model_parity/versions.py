"""Versions that a reference is compared in: packages in an environment of their own, or a git revision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from goldsmith.errors.usage import BadOption
from goldsmith.foundation.git import top_level
from goldsmith.runs.implementation import SideJob
from goldsmith.targets.target import Project
from goldsmith.workspace.environments import make_environment, package_name, requirements_in
from goldsmith.workspace.lock import make_state_folder
from goldsmith.workspace.revisions import export_revision
from goldsmith.workspace.temporary import private_folder


def of_version(stack: contextlib.ExitStack, job: SideJob, version: str, on_step: Callable[[str], None]) -> SideJob:
    """Return the job of a reference in another version, whose files stay as long as the `stack`."""
    root = Path(job.root)
    repository = top_level(root)
    requirements = requirements_in(version)
    if requirements:
        on_step(f"installing {version}")
        folder = make_state_folder(Project(repository or root)) / "environments"
        return msgspec.structs.replace(
            job,
            version=version,
            interpreter=str(make_environment(requirements, folder)),
            packages=tuple(map(package_name, requirements)),
        )
    tree = export_revision(repository, version, stack.enter_context(private_folder())) if repository else None
    if tree is None or repository is None:
        raise BadOption("--with", version, "a file, a package of one version, such as name==1.2, or a git revision")
    there = tree / root.resolve().relative_to(repository.resolve())
    there.mkdir(parents=True, exist_ok=True)
    return msgspec.structs.replace(
        job, version=version, root=str(there), tree=str(tree), instead_of=str(repository.resolve())
    )
