"""Guard: is any solution visible in what students get? Reads, compares, reports; changes nothing and runs nothing."""

from goldsmith.guard.leaks import Finding, Guarded, leaks_in, secrets_of
from goldsmith.guard.public import PublicFile, public_at, public_files, public_in, staged_files
from goldsmith.guard.similarity import parts_to_write, similarity
from goldsmith.guard.sweep import guarded_by, injected_findings, sweep

__all__ = [
    "Finding",
    "Guarded",
    "PublicFile",
    "guarded_by",
    "injected_findings",
    "leaks_in",
    "parts_to_write",
    "public_at",
    "public_files",
    "public_in",
    "secrets_of",
    "similarity",
    "staged_files",
    "sweep",
]
