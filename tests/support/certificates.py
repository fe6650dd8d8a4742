"""Certificates for tests, as people make them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def certificates(folder: Path) -> dict[str, str]:
    """An authority and a certificate that it has signed, as `openssl` makes them."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("certificates are made by openssl, which is not installed")
    folder.mkdir()
    (folder / "extensions").write_text("subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
        ["req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2"],
        ["req", *new, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=grader"],
        ["x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
         "-extfile", "extensions", "-out", "own.pem"],
    ):  # fmt: skip
        subprocess.run([program, *command], cwd=folder, check=True, capture_output=True)
    names = {"--tls-ca-file": "ca.pem", "--tls-cert": "own.pem", "--tls-key": "own.key"}
    return {option: str(folder / name) for option, name in names.items()}
