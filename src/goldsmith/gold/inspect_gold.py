"""Verify published gold without running anything: every hash, every tensor, every check that this allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from goldsmith.errors.gold import GoldUnreadable, NewerGold
from goldsmith.gold.checks import FAILED, PASSED, Check, Evidence, check_tolerances, verify
from goldsmith.gold.facts import CaseFacts, LeafFacts
from goldsmith.gold.files import SUFFIXES, TRACE_SUFFIX, file_digest, read_back
from goldsmith.gold.manifest import TENSOR_SECTIONS, CaseEntry, FileEntry, Manifest, read_manifest


def inspect_gold(folder: Path) -> list[Check]:
    """Run the checks of generation on `folder`, after checking that its bytes are what was published."""
    try:
        manifest = read_manifest(folder)
    except NewerGold:
        raise
    except GoldUnreadable as error:
        return [Check("manifest", "Manifest sound", FAILED, error.problem, (f"{error.path.name}: {error.problem}",))]
    problems = list(_damage(folder, manifest))
    count = len(manifest.files)
    files = Check("files", "Bytes as published", FAILED if problems else PASSED, f"{count} files", tuple(problems))
    if problems:
        return [Check("manifest", "Manifest sound", PASSED, f"schema {manifest.schema}"), files]
    evidence = _evidence(folder, manifest)
    rest = [check for check in verify(evidence) if check.name != "reproducible"]
    rest.append(check_tolerances(manifest.cases))
    return [Check("manifest", "Manifest sound", PASSED, f"schema {manifest.schema}"), files, *rest]


def _damage(folder: Path, manifest: Manifest) -> Iterator[str]:
    known = {entry.name: entry for entry in manifest.files}
    for name, entry in known.items():
        path = folder / name
        if not path.is_file():
            yield f"{name} is missing"
        elif path.stat().st_size != entry.size:
            yield f"{name} has {path.stat().st_size} bytes, published were {entry.size}"
        elif file_digest(path) != entry.sha256:
            yield f"{name} has other bytes than were published"
    for case in manifest.cases:
        for needed in filter(None, (case.file, case.trace, case.reference)):
            if needed not in known:
                yield f"{needed} of case {case.name} is not among the published files"


def _evidence(folder: Path, manifest: Manifest) -> Evidence:
    files = {
        entry.name: FileEntry(entry.name, entry.size, entry.sha256)
        for entry in manifest.files
        if entry.name.endswith((*SUFFIXES, TRACE_SUFFIX))
    }
    return Evidence(
        mode=manifest.provenance.mode,
        seed=manifest.seed,
        cases=[_case(folder, entry) for entry in manifest.cases],
        files=files,
        disagreements={},
        allow_large=True,
    )


def _case(folder: Path, entry: CaseEntry) -> CaseFacts:
    """Return the case as its manifest declares it, with its file as read; settings are declared by the file alone."""
    file = read_back(folder / entry.file)
    declared = [
        LeafFacts(item.path, item.dtype, item.shape, item.sha256, min=item.min, max=item.max, mean=item.mean)
        for item in entry.tensors
    ]
    declared += [leaf for leaf in file.leaves if leaf.section not in TENSOR_SECTIONS]
    return CaseFacts(
        name=entry.name,
        kind=entry.kind,
        file=file,
        inputs=entry.inputs,
        outputs=entry.outputs,
        models=entry.models,
        declared=tuple(declared),
        allowed=entry.allowed,
    )
