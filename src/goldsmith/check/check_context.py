"""The context that all workspaces of one check share: the assignment, its gold, and how submissions are run."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from goldsmith.check.replay_strategy import ReplayStrategy
from goldsmith.check.replay_workspace import ReplayWorkspace, recipe_placements
from goldsmith.check.request import OpenGold, Request, needed_ruler
from goldsmith.frameworks.framework import registered
from goldsmith.gold.load import GoldCase
from goldsmith.gold.rulers import Ruler, ruler_for
from goldsmith.judge.case import Judge
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import ForkClient
from goldsmith.runs.setting import Setting, options_for, setting_of
from goldsmith.source_code.compiled_parts import CompiledParts
from goldsmith.targets.target import NOTEBOOK_PACKAGES, Placement, Target
from goldsmith.workspace.copies import Workspace, make_workspaces


@dataclass(frozen=True)
class CheckContext:
    """Opens workspaces with submissions to one assignment. `allowance` is the time that all their runs share."""

    target: Target
    opened: OpenGold
    request: Request
    fork_server: ForkClient
    allowance: Allowance | None = None

    @property
    def golds(self) -> Mapping[str, GoldCase]:
        return self.opened.golds

    @cached_property
    def judge(self) -> Judge:
        return Judge(self.golds, self.opened.adapter, self.target.overwriting == "differs", self.ruler)

    @property
    def compiled_judge(self) -> Judge:
        """Return the judge of what is compiled: by the ruler for that, if there is one."""
        there = msgspec.structs.replace(self.setting, compiled=True)
        ruler = ruler_for(self.opened.gold.manifest.rulers, there) or self.ruler
        return Judge(self.golds, self.opened.adapter, self.target.overwriting == "differs", ruler)

    @cached_property
    def setting(self) -> Setting:
        return self.request.setting or setting_of(self.target.device)

    @cached_property
    def ruler(self) -> Ruler | None:
        return needed_ruler(self.opened.gold.manifest.rulers, self.setting, self.target.name)

    @property
    def ruler_notes(self) -> tuple[str, ...]:
        """Say by which ruler it was judged; what to do where there is none for another device."""
        name = self.setting.name
        if self.request.confined is not None:  # students are told nothing that they could do nothing about
            return ()
        if self.ruler is not None:
            return (f"judged in {name}, by the ruler that was measured on {self.ruler.environment.device}",)
        if not name:
            return ()
        command = f"goldsmith calibrate {self.target.name} {options_for(self.setting)}"
        return (f"no ruler for {name}: gold's own tolerances were used; measure one with `{command}`",)

    @contextlib.contextmanager
    def open_workspace(
        self,
        placed: Sequence[Placement],
        beside: Sequence[Path] = (),
        corrections: tuple[CompiledParts, ...] = (),
    ) -> Iterator[ReplayWorkspace]:
        """Make a workspace with `placed` and the course's own recipe and adapter in it, and without others' work. The
        parts in `corrections` are the solution's there."""
        hidden = (*self.request.hidden_files, *beside)
        everything = [*placed, *recipe_placements(self.target, self.opened.adapter_file)]
        reads, temporary_folder = self.opened.gold.manifest.provenance.reads, self.request.temporary_folder
        with make_workspaces(
            self.target, everything, 1, reads=reads, temporary_folder=temporary_folder, hidden_files=hidden
        ) as (workspace,):
            yield ReplayWorkspace(
                replace(self.target, seed=self.opened.gold.manifest.seed),
                workspace,
                self.golds,
                self._adapter_in(workspace),
                self.target.case_timeout,
                self.request.watcher,
                self.fork_server,
                confined=self.request.confined,
                stand_ins=(*NOTEBOOK_PACKAGES, *self.target.stand_ins),
                written=self.opened.gold.manifest.provenance.written,
                library=self._library,
                given=self.opened.given,
                allowance=self.allowance,
                corrections=corrections,
                setting=self.setting,
            )

    @property
    def _library(self) -> str:
        """Return the library whose models the recipe is written for: the only one that gold was made with; else none,
        and each model is then one of its own library."""
        known = self.opened.gold.manifest.provenance.environment.libraries.keys() & {item.name for item in registered()}
        return next(iter(known)) if len(known) == 1 else ""

    def _adapter_in(self, workspace: Workspace) -> Path | None:
        """Return where the worker finds the adapter: placed beside the recipe, or, in place, where it is."""
        if self.opened.adapter_file is None or workspace.in_place:
            return self.opened.adapter_file and self.opened.adapter_file.absolute()
        return workspace.folder / self.target.adapter.name

    def strategy(self, workspace: ReplayWorkspace, *, traces: bool = True) -> ReplayStrategy:
        """Make the strategy that runs the cases of the submission in a workspace."""
        return ReplayStrategy(self.judge, workspace, traces)


def may_train(recipe: Path, placed: Iterable[Placement]) -> bool:
    """Say whether children need optimisers, as far as the recipe and what was submitted show: one that makes them all
    the same imports what they need itself."""
    files = (item.read() for item in placed if item.target.suffix == ".py")
    return any(b"optim" in text for text in itertools.chain([recipe.read_bytes()], files))
