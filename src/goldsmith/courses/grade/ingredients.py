"""What verdicts depend on besides the submission, each hashed by itself, so that of two runs one can say what was
another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from goldsmith._version import __version__
from goldsmith.check.request import open_gold
from goldsmith.courses.grade.grades import UNSANDBOXED
from goldsmith.generate.cache_key import BEARING, content_key, verdict_inputs
from goldsmith.generate.sources import recipe_hash
from goldsmith.gold.manifest import Manifest
from goldsmith.sandbox.capabilities import probe
from goldsmith.targets.target import Submission

if TYPE_CHECKING:
    from goldsmith.courses.grade.grader import Grader


class Ingredients(msgspec.Struct, frozen=True, kw_only=True):
    """Hashes, but for what people can read. `values` and `tolerances` are parts of `gold`: gold may have other
    tolerances for the same values."""

    goldsmith: str
    """Its version, and that of its method."""
    gold: str
    """All that gold's manifest says."""
    values: str
    """Gold's values, by the hashes of its arrays."""
    tolerances: str
    """Its tolerances, rulers and what was chosen by scores."""
    recipe: str
    """The recipe, without the points that it gives."""
    solution: str
    """The solution's files."""
    starter: str
    """The starter's files, and those that the recipe reads."""
    adapter: str
    """The adapter; empty where there is none."""
    settings: str
    """Settings of the course and the assignment that verdicts depend on."""
    packages: tuple[str, ...]
    """Python and the packages that verdicts depend on, with their versions."""
    options: dict[str, str | int | float | bool | None]
    """Options of the run, and what follows from them."""
    sandbox: str
    """The layers of the sandbox of the machine that ran it."""

    @property
    def key(self) -> str:
        """Return the key of everything but the sandbox's layers: verdicts do not depend on those."""
        return content_key(msgspec.structs.replace(self, sandbox=""))


def version_words(method: int) -> str:
    """Return this goldsmith's version, and `method`, that of how it judges submissions."""
    return f"{__version__}, method {method}"


def gold_hashes(manifest: Manifest) -> tuple[str, str]:
    """Return the hashes of gold's values, and of its tolerances."""
    cases = manifest.cases
    tolerances = [[[(item.path, item.tolerance) for item in case.tensors], case.choices or ()] for case in cases]
    values = [(case.name, case.variant, [item.sha256 for item in case.tensors]) for case in cases]
    return content_key(values), content_key([tolerances, manifest.rulers])


def ingredients_of(grader: Grader, method: int, manifest: Manifest | None = None) -> Ingredients:
    """Look at the files as they are now, with the gold of another `manifest` if there is one."""
    target = grader.target
    manifest = manifest or open_gold(target, Submission(""), allow_stale=grader.allow_stale).manifest
    values, tolerances = gold_hashes(manifest)
    sources, adapter, settings, shared, versions = verdict_inputs(target, manifest)
    return Ingredients(
        goldsmith=version_words(method),
        gold=content_key(manifest),
        values=values,
        tolerances=tolerances,
        recipe=recipe_hash(target.recipe),
        solution=content_key(sources[0]),
        starter=content_key(sources[1:]),
        adapter=adapter,
        settings=content_key([target.name, settings, shared]),
        packages=tuple(f"{name} {version}" for name, version in zip(BEARING, versions[1:], strict=True) if version),
        options={
            **msgspec.to_builtins(grader.options),
            "case_timeout": grader.case_timeout,
            "memory": grader.memory,
            "device_memory": grader.device_memory,
            "sandboxed": grader.sandboxed,
            "loopback": grader.sandbox.loopback,
        },
        sandbox=probe().name if grader.sandboxed else UNSANDBOXED,
    )
