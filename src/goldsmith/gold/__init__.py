"""Gold: its files, manifest, verification, documentation and publication.

Nothing here knows about terminals, the folders of a course, or pytest. NumPy and torch are imported
only by the functions that touch arrays.
"""

from goldsmith.gold.advice import Advice, advise, heed
from goldsmith.gold.arrays import (
    JUDGED_SECTIONS,
    array_hash,
    as_numpy,
    difference_of,
    is_array,
    is_tensor,
    judged_leaves,
    judged_part,
    leaf_facts,
    leaves_of,
    numbers_of,
    walk,
)
from goldsmith.gold.calibration import (
    CONTROLS,
    FLOAT32,
    FLOAT64,
    NOISE,
    OTHER_SEED,
    Calibrated,
    Calibration,
    Trials,
    calibrate,
)
from goldsmith.gold.difference import TensorChange, gold_changes
from goldsmith.gold.documentation import render_readme
from goldsmith.gold.facts import CaseFacts, Environment, FileFacts, LeafFacts, OptimiserFacts, WeightFacts
from goldsmith.gold.files import (
    REFERENCE_SUFFIX,
    SUFFIXES,
    TRACE_SUFFIX,
    read_arrays,
    read_back,
    read_payload,
    write_arrays,
    write_payload,
    write_trace,
)
from goldsmith.gold.inspection import inspect_gold
from goldsmith.gold.loading import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import (
    MANIFEST,
    README,
    CaseEntry,
    CheckEntry,
    FileEntry,
    Manifest,
    Provenance,
    Stamp,
    TensorEntry,
    case_entry,
    encode,
    keep_stamp,
    read_manifest,
)
from goldsmith.gold.mapped import Bfloat16, mapped
from goldsmith.gold.publication import Staging
from goldsmith.gold.tolerances import Pinned, Tolerance, excess
from goldsmith.gold.verification import Check, Evidence, check_tolerances, verify

__all__ = [
    "CONTROLS",
    "FLOAT32",
    "FLOAT64",
    "JUDGED_SECTIONS",
    "MANIFEST",
    "NOISE",
    "OTHER_SEED",
    "README",
    "REFERENCE_SUFFIX",
    "SUFFIXES",
    "TRACE_SUFFIX",
    "Advice",
    "Bfloat16",
    "Calibrated",
    "Calibration",
    "CaseEntry",
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
    "OptimiserFacts",
    "Pinned",
    "Provenance",
    "Staging",
    "Stamp",
    "TensorChange",
    "TensorEntry",
    "Tolerance",
    "Trials",
    "WeightFacts",
    "advise",
    "array_hash",
    "as_numpy",
    "calibrate",
    "case_entry",
    "check_tolerances",
    "difference_of",
    "encode",
    "excess",
    "gold_changes",
    "heed",
    "inspect_gold",
    "is_array",
    "is_tensor",
    "judged_leaves",
    "judged_part",
    "keep_stamp",
    "leaf_facts",
    "leaves_of",
    "load_gold",
    "mapped",
    "numbers_of",
    "read_arrays",
    "read_back",
    "read_manifest",
    "read_payload",
    "render_readme",
    "verify",
    "walk",
    "write_arrays",
    "write_payload",
    "write_trace",
]
