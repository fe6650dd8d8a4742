"""The blocks of examples/porting in Flax NNX, Flax linen and Equinox, beside torch's: right ones and wrong ones.

python scripts/jax_table.py [--write] [FRAMEWORK | VERSION ...]

Prints a table, and exits with 1 if goldsmith is wrong about one, or takes longer than fifteen seconds for it; `--write`
puts the table into measurements/ports.md. Needs `make .venv/bin/.jax`. Seconds are those of the clock, for the whole
command with both of its processes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from porting_table import INIT, INPUT, PAGE, cell, run_goldsmith

BEGIN, END = "<!-- begin: printed by scripts/jax_table.py -->", "<!-- end of JAX -->"
LONGEST_S = 15.0
_SIZES = ", ".join(map(str, INIT))
FRAMEWORKS = {
    "nnx": ("{name}", f"{_SIZES}, rngs=nnx.Rngs(0)"),
    "linen": ("initialised", f"{{name}}, {_SIZES}"),
    "equinox": ("batched", f"{{name}}, {_SIZES}"),
}
"""What is named in a framework's file, and what it is built with."""


@dataclass(frozen=True)
class Version:
    """A version of a block, in all three frameworks; which module is wrong, by the reference's name, if one is."""

    what: str
    block: str
    name: str
    wrong: str = ""


VERSIONS = (
    Version("Llama: right", "LlamaBlock", "LlamaBlock"),
    Version("RoPE turns other pairs", "LlamaBlock", "WrongRope", "self_attn"),
    Version("causal mask off by one", "LlamaBlock", "WrongMask", "self_attn"),
    Version("scale of attention", "LlamaBlock", "WrongLlamaScale", "self_attn"),
    Version("epsilon of one norm", "LlamaBlock", "WrongLlamaEps", "post_attention_layernorm"),
    Version("GELU, not SiLU", "LlamaBlock", "WrongAct", "mlp"),
    Version("norms after, not before", "LlamaBlock", "WrongLlamaOrder", "LlamaBlock"),
    Version("ViT: right", "ViTBlock", "ViTBlock"),
    Version("epsilon of one norm", "ViTBlock", "WrongEps", "layernorm_after"),
    Version("GELU's approximation", "ViTBlock", "WrongGelu", "mlp"),
    Version("scale of attention", "ViTBlock", "WrongScale", "attention"),
    Version("a causal mask", "ViTBlock", "WrongCausal", "attention"),
    Version("softmax over queries", "ViTBlock", "WrongAxis", "attention"),
    Version("norms after, not before", "ViTBlock", "WrongOrder", "ViTBlock"),
)


@dataclass(frozen=True)
class Row:
    """What goldsmith says of one version in one framework, and in how much time."""

    version: Version
    framework: str
    said: str
    wall_s: float

    @property
    def is_right(self) -> bool:
        return self.said == (self.version.wrong or "agrees") and self.wall_s < LONGEST_S


def command_line(version: Version, framework: str) -> list[str]:
    """Return the arguments of goldsmith that compare a version with its reference, in the example's folder."""
    target, built_with = (text.format(name=version.name) for text in FRAMEWORKS[framework])
    file = f"{framework}_{'wrong' if version.wrong else 'blocks'}.py"
    return [
        "parity", f"old/blocks.py:{version.block}", f"in_jax/{file}:{target}",
        "--init", _SIZES, "--init-candidate", built_with, "--input", f"torch.randn({', '.join(map(str, INPUT))})",
    ]  # fmt: skip


def rows(only: Sequence[str] = (), options: Sequence[str] = ()) -> Iterator[Row]:
    """Yield what goldsmith says, version by version; `only` names frameworks and versions."""
    for version in VERSIONS:
        for framework in FRAMEWORKS:
            if not only or framework in only or version.name in only:
                said, _, wall_s = run_goldsmith([*command_line(version, framework), *options])
                yield Row(version, framework, said, wall_s)


def table(found: Sequence[Row]) -> str:
    """Return the rows in Markdown: a line for each version, two columns for each framework."""
    told = {(row.version, row.framework): row for row in found}
    lines = [f"| the port | wrong is | {' | s | '.join(FRAMEWORKS)} | s |", f"|---|---|{'---|---:|' * len(FRAMEWORKS)}"]
    for version in dict.fromkeys(row.version for row in found):
        cells = [version.what, cell(version.wrong)]
        for framework in FRAMEWORKS:
            row = told.get((version, framework))
            cells += [cell(row.said), f"{row.wall_s:.1f}"] if row else ["", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    found = []
    for row in rows([argument for argument in arguments if argument != "--write"]):
        found.append(row)
        if not row.is_right:
            print(f"{row.framework} {row.version.name}: {row.said}, {row.wall_s:.1f} s", file=sys.stderr)
    print(table(found))
    right = sum(row.is_right for row in found)
    print(f"\n{right} of {len(found)} are judged right, and in time", file=sys.stderr)
    if "--write" in arguments:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{table(found)}\n{END}{page.partition(END)[2]}")
    return 0 if right == len(found) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
