"""Judge work by a kit, as `goldsmith check` judges it by gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.check.check import check
from goldsmith.check.request import OpenGold, Request
from goldsmith.courses.handout.kit_gold import KitGold
from goldsmith.courses.layout.config import AssignmentConfig, Config
from goldsmith.errors.check import NoSuchCase
from goldsmith.errors.handout import NothingToCheck
from goldsmith.generate.options import options_from
from goldsmith.gold.kit_files import ADAPTER, RECIPE, read_data
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from goldsmith.targets.lone_recipe import LoneRecipe
from goldsmith.targets.replacements import everything_in, folders_with, imported_modules
from goldsmith.targets.target import Project, Submission
from goldsmith.weights.rules import Adapter, read_adapter
from goldsmith.workspace.temporary import private_folder


@dataclass(frozen=True)
class KitRecipe(LoneRecipe):
    """The recipe of a kit, with what the course says about its assignment."""

    settings: AssignmentConfig = field(default_factory=AssignmentConfig)

    @property
    def config(self) -> AssignmentConfig:
        return self.settings


def judge_by_kit(
    kit: Path, implementation: Path, cases: Sequence[str] = (), fork_server: ForkClient | None = None
) -> Verdict:
    """Run the cases of the kit in a folder on the code in another, and judge what comes out."""
    data = read_data(kit)
    config = Config(recipe=RECIPE, adapter=ADAPTER)
    settings = AssignmentConfig(overwriting=data.index["overwriting"])
    name = data.index["assignment"]
    recipe = KitRecipe(name, (kit / RECIPE).absolute(), Project(kit.absolute(), config), settings=settings)
    modules = imported_modules(recipe.recipe)
    folders = folders_with([implementation.absolute(), implementation.absolute() / "src"], modules)
    if not folders:
        raise NothingToCheck(implementation, modules)
    with private_folder() as room:
        folder = room / "gold"
        folder.mkdir()
        gold = KitGold(folder, data, name)
        for wanted in cases:
            if wanted not in list(gold):
                raise NoSuchCase(wanted, list(gold))
        golds = {case: gold[case] for case in gold if not cases or case in cases}
        file = kit / ADAPTER if (kit / ADAPTER).is_file() else None
        adapter = read_adapter(file.read_bytes(), str(file)) if file else Adapter()
        request = Request(
            options=msgspec.structs.replace(options_from(config), seed=data.index["seed"]),
            case_timeout=config.case_timeout,
            opened=OpenGold(gold, golds, adapter, file),
            fork_server=fork_server,
        )
        submission = Submission(str(implementation), is_tree=True)
        return check(recipe.running_on(everything_in(folders)), submission, request)
