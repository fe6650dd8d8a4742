"""Credentials of the kind that get committed by mistake. Few patterns, each nearly certain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from goldsmith.foundation.secret_files import CREDENTIALS

_PATTERNS = {
    "a private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY(?: BLOCK)?-----\s*\\?n?\"?,?\s*\"?[A-Za-z0-9+/=]{8,}",
    "an AWS access key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})\b",
    "a GitLab token": r"\bglpat-[A-Za-z0-9_-]{20,}\b",
    "a Slack token": r"\bxox[abposr]-[A-Za-z0-9-]{10,}\b",
    "an API key": r"\b(?:sk-[A-Za-z0-9_-]{32,}|hf_[A-Za-z0-9]{30,}|AIza[0-9A-Za-z_-]{35})\b",
    "a password": r"(?i)(?<![a-z])(?:password|passwd|secret[_-]?key|api[_-]?key|(?:auth|access)[_-]?token)"
    r"\\?[\"']?\s*[:=]\s*\\?[\"'][^\"'\s{}<>$\\]{8,}\\?[\"']",
    "credentials in a URL": r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@{}<>$]{1,80}:[^\s/@{}<>$]{3,80}"
    r"@(?!localhost|127\.)[^\s/]+",
}
_COMPILED = {what: re.compile(pattern) for what, pattern in _PATTERNS.items()}
_EXAMPLE = re.compile(
    r"(?i)example|changeme|placeholder|your[_-]|dummy|xxxx|\*\*\*\*|\.\.\.|not-needed|-local|fixture|token@|password@"
)


def find_secrets(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with credentials and what they are; placeholders do not count."""
    name = PurePosixPath(file).name
    if name in CREDENTIALS:
        yield 1, f"a file of credentials ({name})"
    for what, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            if not _EXAMPLE.search(match[0]):
                yield text.count("\n", 0, match.start()) + 1, what
