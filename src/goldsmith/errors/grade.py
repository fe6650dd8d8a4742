"""What can keep submissions from being graded."""

from __future__ import annotations

from goldsmith.errors.base import GoldsmithError, UsageError


class NothingHandedIn(UsageError):
    template = (
        "{where} matches no submission; give a folder, a .zip or .tar file, a .py file, a git revision, or a folder of "
        "these."
    )
    where: str


class OneOrClass(UsageError):
    template = (
        "{folder} may be one submission, or a class in which {entry} is one: say --one if each folder that you name is "
        "a submission, --class if each of its entries is."
    )
    folder: str
    entry: str


class BadArchive(GoldsmithError):
    template = "the archive {name} is not opened: {problem}; have it submitted again as a plain folder or .zip."
    name: str
    problem: str


class NoFreshGold(GoldsmithError):
    template = "no gold could be made from a secret seed for {assignment}: {problem}"
    assignment: str
    problem: str
