"""Everything that a verdict depends on, in its present state, and a cache key made from it.

The manifest's hashes from when gold was made are not enough: verdicts are also given with stale gold.
"""

from __future__ import annotations

import hashlib
import platform
from typing import Any

import msgspec

from goldsmith._version import __version__
from goldsmith.generate.freshness import file_hashes
from goldsmith.generate.sources import hash_sources
from goldsmith.gold.facts import installed_version
from goldsmith.gold.manifest import Manifest
from goldsmith.targets.target import Target
from goldsmith.workspace.snapshot import file_hash

PACKAGES = ("numpy", "torch", "safetensors")
BEARING = ("Python", *PACKAGES)
"""What the versions at the end of `verdict_inputs` are of, after goldsmith's own."""


def verdict_inputs(target: Target, manifest: Manifest) -> list[Any]:
    """Return sources, files that the recipe reads, adapter, settings and versions; not the recipe's cases, nor their
    gold.

    Solutions may be missing, as in the students' copy.
    """
    assert target.solution is not None
    assert target.files is not None
    now, shared = hash_sources(target, target.placed if target.solution.is_here else ()), target.files
    return [
        [now.solution, now.starter, file_hashes(target, manifest.provenance.reads)],
        file_hash(target.adapter) if target.adapter.is_file() else "",
        [manifest.seed, target.threads, target.stand_ins, target.overwriting],
        [shared.shared, target.packages, shared.own_shared, target.forbidden],
        [__version__, platform.python_version(), *(installed_version(name) or "" for name in PACKAGES)],
    ]


def content_key(facts: Any) -> str:
    """Return a hash that is the same for the same facts."""
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()
