"""Gold: its files, manifest, verification, documentation and publication.

Nothing here knows about terminals, the folders of a course, or pytest. NumPy and torch are imported
only by the functions that touch arrays.
"""

from goldsmith.gold.advice import Advice, advise
from goldsmith.gold.arrays import as_numpy, is_array, is_tensor, leaf_facts, leaves_of, walk
from goldsmith.gold.difference import TensorChange, gold_changes
from goldsmith.gold.documentation import render_readme
from goldsmith.gold.facts import CaseFacts, Environment, FileFacts, LeafFacts
from goldsmith.gold.files import SUFFIXES, TRACE_SUFFIX, read_back, read_payload, write_payload, write_trace
from goldsmith.gold.inspection import inspect_gold
from goldsmith.gold.loading import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import (
    MANIFEST,
    README,
    CheckEntry,
    FileEntry,
    Manifest,
    Provenance,
    Stamp,
    case_entry,
    encode,
    keep_stamp,
    read_manifest,
)
from goldsmith.gold.publication import Staging
from goldsmith.gold.verification import Check, Evidence, verify

__all__ = [
    "MANIFEST",
    "README",
    "SUFFIXES",
    "TRACE_SUFFIX",
    "Advice",
    "CaseFacts",
    "Check",
    "CheckEntry",
    "Environment",
    "Evidence",
    "FileEntry",
    "FileFacts",
    "Gold",
    "GoldCase",
    "LeafFacts",
    "Manifest",
    "Provenance",
    "Staging",
    "Stamp",
    "TensorChange",
    "advise",
    "as_numpy",
    "case_entry",
    "encode",
    "gold_changes",
    "inspect_gold",
    "is_array",
    "is_tensor",
    "keep_stamp",
    "leaf_facts",
    "leaves_of",
    "load_gold",
    "read_back",
    "read_manifest",
    "read_payload",
    "render_readme",
    "verify",
    "walk",
    "write_payload",
    "write_trace",
]
