"""The whole recipe: imports, cases that work, and a TODO with the reason for each part that could not be called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from goldsmith.drafts.recipe_text import DraftCase, snake


@dataclass(frozen=True)
class Names:
    """How a recipe imports from a module: `prefix` is the prefix of a module's real name in a workspace, `searches` are
    folders for `sys.path`, by module."""

    prefix: str
    searches: Mapping[str, str]

    def short(self, module: str) -> str:
        return module.removeprefix(self.prefix)


def head_of(drafts: Sequence[DraftCase], names: Names) -> str:
    """Write the imports of these cases."""
    text = "\n".join(draft.text() for draft in drafts)
    used = {(names.short(module), name) for draft in drafts for module, name in draft.imports}
    folders = list(dict.fromkeys(filter(None, (names.searches.get(module) for module, _ in sorted(used)))))
    lines = []
    if folders:
        lines += ["import sys", "from pathlib import Path", ""]
    lines += ["import jax"] if re.search(r"\bjax\.", text) else []
    lines += ["import jax.numpy as jnp"] if re.search(r"\bjnp\.", text) else []
    lines += ["import numpy as np"] if re.search(r"\bnp\.", text) else []
    lines += ["import torch"] if re.search(r"\btorch\.", text) else []
    lines += ["from flax import nnx"] if re.search(r"\bnnx\.", text) else []
    lines += [""] if len(lines) and lines[-1] else []
    lines += ["import goldsmith as gs"]
    if folders:
        lines += ["", *(f'sys.path.insert(0, str(Path(__file__).parent / "{folder}"))' for folder in folders)]
    for module in sorted({module for module, _ in used}):
        found = sorted({name for its, name in used if its == module})
        line = f"from {module} import {', '.join(found)}"
        if len(line) > 110:
            line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in found) + ")"
        lines.append(line)
    return "\n".join(lines)


def write_recipe(
    assignment: str, drafts: Sequence[DraftCase], left_out: Mapping[str, str], names: Names, notes: Sequence[str] = ()
) -> str:
    """Write the recipe. Where no case runs, it says how to continue."""
    drafts, constants = _with_constants(drafts)
    title = f'"""Gold for {assignment}: what `goldsmith generate` records on the solution. A start; make it yours."""'
    taken = frozenset(name for draft in drafts for _, name in draft.imports) | {"gs", "np", "torch", "sys", "Path"}
    taken |= {"jax", "jnp", "nnx"}
    parts = [f"{title}\n\n{head_of(drafts, names)}"]
    if constants:
        parts[0] += "\n\n" + "\n".join(f"{name} = dict({settings})" for name, settings in constants.items())
    if notes:
        parts[0] += "\n\n" + "\n".join(f"# {note}" for note in notes)
    parts += [draft.text(taken) for draft in drafts]
    parts += [_todo(part, why, names) for part, why in left_out.items()]
    if not drafts:
        parts.append(
            "# No part could be called with arguments that were guessed. Write the first case from a TODO above:\n"
            "# what goes in through case.input, models through case.model, what comes out to case.record; then run\n"
            f"# `goldsmith generate {assignment}` again."
        )
    parts.append('if __name__ == "__main__":\n    gs.main()')
    return "\n\n\n".join(parts) + "\n"


_MODEL = re.compile(r"^(\w+ = case\.model\()(\w+), ((?:(?!, weights=|, train=|, name=).)*)(.*)\)$")


def _with_constants(drafts: Sequence[DraftCase]) -> tuple[list[DraftCase], dict[str, str]]:
    """Move long settings with which several cases build the same model into constants."""
    used: Counter[tuple[str, str]] = Counter()
    for draft in drafts:
        for line in _lines(draft):
            found = _MODEL.match(line)
            if found and len(found.group(3)) > 45:
                used[found.group(2), found.group(3)] += 1
    constants: dict[tuple[str, str], str] = {}
    for kind, settings in dict(used.most_common()):
        begins = sum(number for (other, text), number in used.items() if other == kind and text.startswith(settings))
        if begins > (1 if len(settings) > 200 else 2) and kind not in {known for known, _ in constants}:
            constants[kind, settings] = "CONFIG" if not constants else snake(kind).upper()

    def shorten(line: str) -> str:
        for (kind, settings), name in constants.items():
            line = line.replace(f"case.model({kind}, {settings}", f"case.model({kind}, **{name}")
        return line

    shortened = [
        replace(
            draft,
            setup=replace(draft.setup, lines=tuple(map(shorten, draft.setup.lines))),
            blocks=tuple(replace(block, lines=tuple(map(shorten, block.lines))) for block in draft.blocks),
        )
        for draft in drafts
    ]
    return shortened, {name: settings for (_, settings), name in constants.items()}


def _lines(draft: DraftCase) -> list[str]:
    return [*draft.setup.lines, *(line for block in draft.blocks for line in block.lines)]


def _todo(part: str, why: str, names: Names) -> str:
    module, _, name = part.rpartition(":")
    owner, _, method = name.partition(".")
    function = f"{_as_name(name)}_case"
    reason = " ".join(why.split())
    reason = reason if len(reason) < 200 else f"{reason[:197]}…"
    call = f"case.model({owner}, …).{method}(…)" if method else f"{owner}(…)"
    lines = [
        f"TODO {name}: no case yet. {reason}",
        f"from {names.short(module)} import {owner}",
        "@gs.case",
        f"def {function}(case):",
        f'    case.record("output", {call})  # inputs through case.input("x", lambda: …)',
    ]
    return "\n".join(f"# {line}" for line in lines)


def _as_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()
