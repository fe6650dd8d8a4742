"""Write pages to files: only where there is nothing yet, or an earlier page."""

from __future__ import annotations

from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.log_injection import say
from goldsmith.gold.manifest import read_manifest
from goldsmith.html_report.page import GENERATOR, render_report
from goldsmith.html_report.parity_page import parity_report
from goldsmith.html_report.verdict_page import verdict_report
from goldsmith.judge.evidence import Evidence
from goldsmith.judge.verdicts import Verdict
from goldsmith.model_parity.result import ParityReport
from goldsmith.targets.target import Subject

_HEAD_BYTES = 2000


def require_place(path: Path) -> None:
    """Raise unless a page can be written to `path` without replacing anything but an earlier page."""
    if path.is_dir() or (path.exists() and GENERATOR.encode() not in path.read_bytes()[:_HEAD_BYTES]):
        raise BadOption("--html", path, "a file that does not exist yet, or a page that goldsmith has written")
    if not path.absolute().parent.is_dir():
        raise BadOption("--html", path, "a file in a folder that exists")


def write_verdict_page(path: Path, subject: Subject, verdict: Verdict, evidence: Evidence) -> None:
    """Write the page of a verdict, and say so."""
    recorded = read_manifest(subject.gold).provenance.environment
    write_page(path, render_report(verdict_report(verdict, evidence, recorded)))


def write_parity_page(path: Path, report: ParityReport, evidence: Evidence) -> None:
    """Write the page of a parity, and say so."""
    write_page(path, render_report(parity_report(report, evidence)))


def write_page(path: Path, page: str) -> None:
    try:
        write_durably(path, page.encode())
    except OSError as error:
        raise CannotWrite(path, error.strerror or str(error)) from None
    say(f"Wrote {path}; open it in a browser.", stderr=True)
