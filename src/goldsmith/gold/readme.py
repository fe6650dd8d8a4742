"""Render the README of a gold folder from its manifest alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from goldsmith.foundation.wording import count_of
from goldsmith.gold.manifest import CaseEntry, Manifest, TensorEntry
from goldsmith.gold.tolerances import ATOL, RTOL

_SHOWN = 6


def render_readme(manifest: Manifest, label: str, where: str) -> str:
    """Render Markdown for people who find the folder. `where` is its path relative to the course."""
    parts = [
        f"# {label} gold standard fixtures",
        _head(manifest),
        "## Files",
        *(_case(case) for case in manifest.cases),
        "### `manifest.json`\n\n- **Purpose**: shape, dtype, statistics, hash and tolerance of every tensor; the "
        "hashes of every file and of\n  the sources that made it; versions and settings of the machine.",
        *_rulers(manifest),
        "## Checks passed",
        _checks(manifest),
        "## Usage in tests",
        _usage(manifest, where),
        "## Regeneration",
        _regeneration(manifest, label),
    ]
    return "\n\n".join(parts) + "\n"


def _regeneration(manifest: Manifest, label: str) -> str:
    command = f"```bash\n{manifest.provenance.command}\n```"
    if not manifest.is_of_a_course:
        return (
            f"{command}\n\nIn the folder of `{label}`. Without a change in the recipe or in what it imports no byte of "
            "this folder moves, on any machine."
        )
    return (
        f"{command}\n\nIn a coding agent with goldsmith's skills: `/generate-fixtures`, then choose {label}. Without a "
        "change in solution or recipe no byte of this folder moves, on any machine."
    )


def _head(manifest: Manifest) -> str:
    made = f"Generated: {manifest.stamp.generated}"
    if manifest.stamp.commit:
        made += f", at commit {manifest.stamp.commit[:12]}" + (
            " with uncommitted changes" if manifest.stamp.dirty else ""
        )
    machine = manifest.provenance.environment
    versions = [f"Python {machine.python}", f"NumPy {machine.numpy}"]
    versions += [f"{library} {version}" for library, version in machine.libraries.items()]
    versions.append(f"goldsmith {manifest.provenance.goldsmith}")
    capability = f", {machine.cpu_capability}" if machine.cpu_capability else ""
    threads = count_of(machine.threads, "thread")
    whose = "the private solution" if manifest.is_of_a_course else f"`{manifest.assignment}`"
    return (
        f"Reference data, recorded by running {whose} with fixed seeds. Made by goldsmith, not by hand.\n\n"
        f"- {made}\n- Seed: {manifest.seed}\n- Recorded with {', '.join(versions)} on {machine.platform}, "
        f"{machine.device}{capability}, {threads}"
    )


def _case(case: CaseEntry) -> str:
    lines = [f"### `{case.file}`", ""]
    purpose = case.title or (
        "Weights after training, for tests of what training should reach."
        if case.kind == "checkpoint"
        else "What another implementation must compute."
    )
    lines.append(f"- **Purpose**: {purpose}")
    for section in ("input", "output"):
        tensors = [item for item in case.tensors if item.path.partition(".")[0] == section]
        name = case.label(section).partition(".")[2]
        lines += _shapes(section.capitalize(), f" (`{name}`)" if name else "", tensors)
    settings = case.config
    if settings.get("model_config"):
        lines.append(f"- **Model config**: {_settings(settings['model_config'])}")
    if case.kind == "checkpoint" and "epoch" in settings:
        lines.append(f"- **Training epochs**: {settings['epoch']}")
        loss = settings["loss"]
        lines.append(f"- **Final loss**: {f'{loss:.4f}' if isinstance(loss, float) else loss}")
        if settings.get("training_config"):
            lines.append(f"- **Training config**: {_settings(settings['training_config'])}")
    for title, section in (("Weights", "state_dict"), ("Trained weights", "model_state_dict")):
        weights = [item for item in case.tensors if item.path.partition(".")[0] == section]
        if weights:
            count = count_of(len(weights), "tensor")
            lines.append(f"- **{title}**: {count}, {sum(math.prod(item.shape) for item in weights):,} values")
    if case.training:
        lines.append(f"- **Train mode**: {', '.join(case.training)}")
    if case.trace:
        kept = f"{case.traced_calls} of {case.calls} calls" if case.calls > 1 else "1 call"
        lines.append(f"- **Trace**: `{case.trace}`, inputs and outputs of every submodule in {kept}")
    lines += _tolerances(case)
    if case.accepts:
        others = ", ".join(f"`{case.name}.{name}`" for name in case.accepts)
        lines.append(f"- **Also accepted**: {others}, from variants of the solution")
    for path, checks in case.allowed.items():
        for check, reason in checks.items():
            lines.append(f"- **Allowed**: {check} in `{path}`, because {reason}")
    return "\n".join(lines)


def _tolerances(case: CaseEntry) -> Iterable[str]:
    """Say how far others may be off, and what the customary tolerance would do here."""
    found = [item.tolerance for item in case.tensors if item.tolerance is not None and item.tolerance.kind != "exact"]
    measured = [item for item in found if item.kind == "measured" and item.max is not None]
    if measured:
        limits = sorted({f"{item.max:.1e}" for item in measured}, key=float)
        between = limits[0] if len(limits) == 1 else f"{limits[0]} to {limits[-1]}"
        lines = [f"- **Tolerance**: measured; an element may be off by {between} of its tensor's root mean square"]
        if case.reference:
            lines.append(f"- **Float64 reference**: `{case.reference}`")
        noise = [item.noise for item in measured if item.noise is not None and item.noise.sentence]
        worst = max(noise, key=lambda item: (item.customary > 1, item.customary, item.unseen), default=None)
        if worst is not None:
            where = f"in {len(noise)} of {len(measured)} tensors; in the worst, " if len(measured) > 1 else ""
            lines.append(f"- **Beware**: {where}{worst.sentence}")
        yield from lines
    for kind, title in (("pinned", "Pinned tolerance"), ("customary", "Not measured")):
        first = next((item for item in found if item.kind == kind), None)
        if first is not None:
            yield f"- **{title}**: {first.reason}"


def _shapes(title: str, name: str, tensors: Sequence[TensorEntry]) -> Iterable[str]:
    if not tensors:
        return
    if len(tensors) == 1:
        yield f"- **{title} shape**{name}: {_shape(tensors[0])}"
        return
    yield f"- **{title} shapes**{name}:"
    for item in tensors[:_SHOWN]:
        yield f"  - `{item.path.partition('.')[2]}`: {_shape(item)}"
    if len(tensors) > _SHOWN:
        yield f"  - and {len(tensors) - _SHOWN} more, all in `manifest.json`"


def _shape(item: TensorEntry) -> str:
    if item.dtype in ("none", "bytes"):
        return item.dtype
    if item.dtype.endswith("(Python)") or item.dtype == "str":
        return f"a plain {item.dtype.split()[0]}"
    return f"`{list(item.shape)}` {item.dtype}"


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}={value!r}`" for key, value in settings.items())


def _checks(manifest: Manifest) -> str:
    rows = ["| check | result |", "|---|---|"]
    rows += [f"| {check.name} | {check.outcome}: {check.detail} |" for check in manifest.checks]
    return "\n".join(rows)


def _usage(manifest: Manifest, where: str) -> str:
    outputs = [case for case in manifest.cases if case.kind == "output" and _is_lone(case)]
    case = min(outputs or manifest.cases, key=lambda item: (not item.models, item.name != "gold_output"))
    path = f"{where}/{case.file}"
    if case.file.endswith(".pt"):
        plain = f'import torch\n\nfixture = torch.load("{path}")'
        compare = f"torch.testing.assert_close(actual, expected, rtol={_number(RTOL)}, atol={_number(ATOL)})"
    else:
        plain = f'import numpy as np\n\nfixture = np.load("{path}")'
        compare = f"np.testing.assert_allclose(actual, expected, rtol={_number(RTOL)}, atol={_number(ATOL)})"
    lines = [plain]
    if case in outputs:
        name = "model" if case.models else "function"
        if case.models and case.file.endswith(".pt"):
            lines.append('model.load_state_dict(fixture["state_dict"])')
            lines.append("model.train()" if case.training else "model.eval()")
        lines += [f'actual = {name}(fixture["input"])', 'expected = fixture["output"]', compare]
    name = manifest.assignment if manifest.is_of_a_course else where
    ours = (
        f'import goldsmith\n\ngold = goldsmith.load("{name}")["{case.name}"]  # hashes checked\n'
        f"print(gold.seed, list(gold.data))"
    )
    return f"```python\n{chr(10).join(lines)}\n```\n\n```python\n{ours}\n```"


def _rulers(manifest: Manifest) -> Iterable[str]:
    """Say how far correct work may be off in other settings."""
    if not manifest.rulers:
        return
    rows = ["| setting | measured on | tensors | may be off, over their size | not judged |", "|---|---|---|---|---|"]
    for item in manifest.rulers:
        limits = [limit.l2 or 0.0 for tensors in item.cases.values() for limit in tensors.values()]
        between = f"{min(limits):.1e} to {max(limits):.1e}" if limits else ""
        unjudged = sum(map(len, item.unjudged.values()))
        rows.append(f"| {item.setting.name} | {item.environment.device} | {len(limits)} | {between} | {unjudged} |")
    yield "## Rulers\n\nIn other settings than its own, measured there on the solution.\n\n" + "\n".join(rows)


def _number(value: float) -> str:
    """Format a tolerance as 1e-4, not 0.0001 or 1e-04."""
    return f"{value:.0e}".replace("e-0", "e-")


def _is_lone(case: CaseEntry) -> bool:
    """Say whether there is one bare input and one bare output, as for a model's forward pass."""
    paths = [item.path for item in case.tensors]
    return paths.count("input") == 1 and paths.count("output") == 1
