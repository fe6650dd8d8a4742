"""The tree of a model's modules, from their dotted names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldsmith.html_report.view import Node, Role

GRAVITY: tuple[Role, ...] = ("source", "hidden", "holds", "wrong", "unpaired", "victim", "unknown", "right")


def tree_of(modules: Mapping[str, Node]) -> tuple[Node, ...]:
    """Nest modules by their dotted names. A name that no module has, such as that of a list of blocks, becomes a node
    with the gravest role inside it."""
    return _below("", dict(sorted(modules.items(), key=lambda item: _natural(item[0]))))


def _below(prefix: str, modules: Mapping[str, Node]) -> tuple[Node, ...]:
    heads = dict.fromkeys(path[len(prefix) :].split(".")[0] for path in modules)
    found = []
    for head in heads:
        path = prefix + head
        children = _below(f"{path}.", {name: node for name, node in modules.items() if name.startswith(f"{path}.")})
        if path in modules:
            found.append(replace(modules[path], name=head, children=children))
        else:
            found.append(Node(head, "", _gravest(children), children=children))
    return tuple(found)


def _gravest(nodes: Sequence[Node]) -> Role:
    return min((node.role for node in nodes), key=GRAVITY.index)


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort numbers by their value."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in name.split(".")]
