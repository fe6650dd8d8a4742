"""The text of cases: blocks, each a few lines that record something, and their imports."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from goldsmith.drafts.specs import CAUSAL, Arguments, Array, Built, Code, Group, Literal, Named, Spec, Steps, walk

_WIDTH = 112


@dataclass(frozen=True)
class Block:
    """Lines that are kept or dropped together. `needs` is the label of a block that they depend on, `unless` of one
    that makes them unnecessary; what `may_draw` draws random numbers that make no difference."""

    label: str
    lines: tuple[str, ...]
    imports: frozenset[tuple[str, str]] = frozenset()
    needs: str = ""
    unless: str = ""
    may_draw: bool = False


@dataclass(frozen=True)
class DraftCase:
    """A case to be written: its setup, then blocks."""

    name: str
    title: str
    setup: Block
    blocks: tuple[Block, ...]
    kind: str = "case"
    part: str = ""
    remarks: tuple[str, ...] = ()
    """What is to be said about it in comments."""

    def with_blocks(self, blocks: Iterable[Block]) -> DraftCase:
        return replace(self, blocks=tuple(blocks))

    @property
    def imports(self) -> frozenset[tuple[str, str]]:
        return frozenset().union(self.setup.imports, *(block.imports for block in self.blocks))

    @property
    def names(self) -> frozenset[str]:
        """Return the names that it imports."""
        return frozenset(name for _, name in self.imports)

    def text(self, taken: frozenset[str] = frozenset()) -> str:
        """Write the function for the recipe; `taken` are names that it must not hide."""
        function = f"{self.name}_case" if self.name in taken else self.name
        mark = f'@gs.{self.kind}(name="{self.name}")' if function != self.name else f"@gs.{self.kind}"
        lines = [*self.setup.lines, *(line for block in self.blocks for line in block.lines)]
        body = "\n".join(textwrap.indent(_wrap(line), "    ") for line in [*_comments(self.remarks), *lines])
        return f'{mark}\ndef {function}(case):\n    """{self.title}"""\n{body}'


def _comments(remarks: Iterable[str]) -> list[str]:
    return [f"# {line}" for text in remarks for line in textwrap.wrap(text, _WIDTH - 6)]


@dataclass
class Scope:
    """Lines that are being written, under one `label`, which tells the inputs of one call from those of another."""

    label: str = ""
    weights: str = "stress"
    train: bool = False
    keep_all: bool = False
    lines: list[str] = field(default_factory=list)
    imports: set[tuple[str, str]] = field(default_factory=set)
    models: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)
    """Arguments that stand already, by name: expressions."""

    def block(self, label: str, needs: str = "", unless: str = "") -> Block:
        return Block(label, tuple(self.lines), frozenset(self.imports), needs, unless)

    def use(self, module: str, name: str) -> str:
        self.imports.add((module, name))
        return name

    def bind(self, arguments: Arguments) -> dict[str, str]:
        """Return an expression for every argument, and add the lines that it needs; optimisers come last, since they
        need a model."""
        late = [name for name, spec in arguments.items() if isinstance(spec, Steps)]
        found = {
            name: self.given.get(name) or self.argument(name, spec)
            for name, spec in arguments.items()
            if name not in late
        }
        found |= {name: self.argument(name, arguments[name]) for name in late}
        return {name: found[name] for name in arguments}

    def argument(self, name: str, spec: Spec) -> str:
        name = name.lstrip("*") or "value"
        if isinstance(spec, Array) and spec.draw != CAUSAL:
            return self._input(name, f"lambda: {spec.source()}")
        if isinstance(spec, Literal):
            rich = isinstance(spec.value, str | bytes | list | dict) or self.keep_all
            if rich and not _holds_sets(spec.value) and spec.value is not None:
                return self._input(name, repr(spec.value))
            return repr(spec.value)
        if isinstance(spec, Group):
            if all(isinstance(item, Array | Literal | Group) for item in walk(spec)):
                return self._input(name, f"lambda: {self.source(spec)}")
            parts = [self.argument(f"{name}_{at + 1}", item) for at, item in enumerate(spec.items)]
            return _join(spec, parts)
        if isinstance(spec, Built) and spec.is_model:
            return self.model(name, spec)
        if isinstance(spec, Built) and spec.holds_array:
            array = self._input(name, f"lambda: {self.source(spec.parts()[0])}", assign=False)
            self.lines.append(f"{name} = {self.use(spec.module, spec.name)}({array})")
            return name
        if isinstance(spec, Built):
            return f"{self.use(spec.module, spec.name)}({self.settings(spec, name)})"
        if isinstance(spec, Steps):
            options = ", ".join(f"{key}={value!r}" for key, value in spec.options)
            model = self.models[0] if self.models else "model"
            self.lines.append(f"{name} = torch.optim.{spec.name}({model}.parameters(), {options})")
            return name
        return self.source(spec)

    def model(self, name: str, spec: Built, weights: str | None = None) -> str:
        """Add a line in which the case builds a model; return the variable."""
        settings = self.settings(spec)
        profile = self.weights if weights is None else weights
        options = [f'weights="{profile}"'] if profile != "init" else []
        options += ["train=True"] if self.train else []
        options += [f'name="{name}_{self.label}"'] if self.label else []
        inside = ", ".join([self.use(spec.module, spec.name), *([settings] if settings else []), *options])
        self.lines.append(f"{name} = case.model({inside})")
        self.models.append(name)
        return name

    def settings(self, spec: Built, called: str = "") -> str:
        """Write the arguments that an object is built with, by name.

        Arrays among them are inputs of the case; if there is only one, it has the name that the object is `called`.
        """
        parts = []
        if sum(isinstance(part, Array) for part in walk(spec)) != 1:
            called = ""
        for name, item in spec.arguments:
            inline = not any(isinstance(part, Array) for part in walk(item))
            value = self.source(item) if inline else self.argument(called or name, item)
            parts.append(f"{name}={value}" if name and not name.startswith("*") else f"*{value}" if name else value)
        return ", ".join(parts)

    def source(self, spec: Spec) -> str:
        """Write one expression without recording anything."""
        if isinstance(spec, Array):
            return spec.source()
        if isinstance(spec, Literal):
            return repr(spec.value)
        if isinstance(spec, Group):
            if spec.kind == "list" and len(spec.items) > 1 and len(set(spec.items)) == 1:
                return f"[{self.source(spec.items[0])} for _ in range({len(spec.items)})]"
            return _join(spec, [self.source(item) for item in spec.items])
        if isinstance(spec, Named):
            return spec.name if spec.module == "builtins" else self.use(spec.module, spec.name)
        if isinstance(spec, Code):
            return spec.text
        if isinstance(spec, Built):
            return f"{self.use(spec.module, spec.name)}({self.settings(spec)})"
        raise TypeError(f"{spec} cannot be written down")

    def _input(self, name: str, value: str, assign: bool = True) -> str:
        text = f'case.input("{name}{"_" + self.label if self.label else ""}", {value})'
        if not assign:
            return text
        self.lines.append(f"{name} = {text}")
        return name


def _join(spec: Group, parts: Sequence[str]) -> str:
    if spec.kind == "dict":
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(spec.keys, parts, strict=True)) + "}"
    inside = ", ".join(parts)
    return f"[{inside}]" if spec.kind == "list" else f"({inside}{',' if len(parts) == 1 else ''})"


def _holds_sets(value: object) -> bool:
    if isinstance(value, dict):
        return any(not isinstance(key, str | int) or _holds_sets(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return any(_holds_sets(item) for item in value)
    return isinstance(value, set | frozenset)


def _wrap(line: str) -> str:
    """Wrap a long line that builds a model."""
    head, call, inside = line.partition(" = case.model(")
    if len(line) <= _WIDTH or not call:
        return line
    lines: list[str] = []
    for part in re.split(r", (?=\w+=)", inside.removesuffix(")")):
        if lines and len(lines[-1]) + len(part) < _WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(f"    {part}")
    return f"{head}{call}\n" + ",\n".join(lines) + ",\n)"


def snake(name: str) -> str:
    """Return `RMSNorm` as `rms_norm`."""
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text).lower().strip("_")
