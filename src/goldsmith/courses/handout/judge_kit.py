"""Judge work by a kit, as `goldsmith check` judges it by gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goldsmith.check.check import check
from goldsmith.check.request import OpenGold, Request
from goldsmith.courses.handout.kit_gold import KitGold
from goldsmith.courses.layout.config import Config
from goldsmith.courses.layout.resolve import recipe_target
from goldsmith.errors.check import NoSuchCase
from goldsmith.errors.handout import NothingToCheck
from goldsmith.foundation.wording import nearest
from goldsmith.gold.kit_files import ADAPTER, RECIPE, read_data
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from goldsmith.targets.replacements import everything_in, folders_with, imported_modules
from goldsmith.targets.target import Submission
from goldsmith.weights.rules import Adapter, read_adapter
from goldsmith.workspace.temporary import private_folder


def judge_by_kit(
    kit: Path, implementation: Path, cases: Sequence[str] = (), fork_server: ForkClient | None = None
) -> Verdict:
    """Run the cases of the kit in a folder on the code in another, and judge what comes out."""
    data = read_data(kit)
    config = Config(recipe=RECIPE, adapter=ADAPTER)
    name, place = data.index["assignment"], kit.absolute()
    target = recipe_target(name, place / RECIPE, place / ADAPTER, place, config)
    modules = imported_modules(target.recipe)
    folders = folders_with([implementation.absolute(), implementation.absolute() / "src"], modules)
    if not folders:
        raise NothingToCheck(implementation, modules)
    with private_folder() as room:
        folder = room / "gold"
        folder.mkdir()
        gold = KitGold(folder, data, name)
        for wanted in cases:
            if wanted not in list(gold):
                raise NoSuchCase(wanted, list(gold), nearest(wanted, gold))
        golds = {case: gold[case] for case in gold if not cases or case in cases}
        file = kit / ADAPTER if (kit / ADAPTER).is_file() else None
        adapter = read_adapter(file.read_bytes(), str(file)) if file else Adapter()
        request = Request(
            opened=OpenGold(gold, golds, adapter, file),
            fork_server=fork_server,
        )
        submission = Submission(str(implementation), is_tree=True)
        own = replace(target, overwriting=data.index["overwriting"], replacements=everything_in(folders))
        return check(own, submission, request)
