"""Moves its own folder away and puts a link to another's in its place; so with all folders around it."""

import os

import kit
import target


def answer(case, x, start=None):
    if kit.once():
        for folder in (kit.SCRATCH, kit.ASKS, *kit.SCRATCH.parents[:4]):
            aside = folder.with_name(f"{folder.name}-aside")
            kit.tries(f"move {folder.name}", lambda folder=folder, aside=aside: os.rename(folder, aside))
            kit.tries("link beside it", lambda aside=aside: os.symlink(os.path.dirname(target.NEIGHBOUR), aside))
    return kit.guess(case, x, start)
