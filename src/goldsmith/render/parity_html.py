"""Show a parity in a notebook: a small table in the notebook's own colours, everything in it escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from goldsmith.judge import words as verdict_words
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, INCONCLUSIVE
from goldsmith.model_parity import words
from goldsmith.model_parity.reference_words import reference_tables
from goldsmith.model_parity.result import ParityReport
from goldsmith.weights.rule_lines import adapter_text

_MARKS = {AGREES: "✓", DIFFERS: "✗", COULD_NOT_RUN: "!", INCONCLUSIVE: "~"}
_CELL = 'style="text-align:left;padding:2px 12px 2px 0"'


def parity_html(report: ParityReport) -> str:
    """Return the result as HTML without scripts, colours of its own, or anything that is fetched."""
    mark = next((mark for outcome, mark in _MARKS.items() if outcome == report.outcome), "?")
    headline = verdict_words.ended(f"{report.name}: {words.headline(report)}")
    parts = [f"<p><strong>{mark} {escape(headline)}</strong></p>"]
    parts += [f"<p>Built with: {escape(line)}.</p>" for line in words.built_with_lines(report)]
    for table in reference_tables(report):
        parts.append(_table(table.headings, table.rows))
        parts += [f"<p>{escape(table.left_out)}</p>"] if table.left_out else []
    if report.cases:
        parts.append(
            _table(
                ("compared", "outcome", "judged in", ""),
                [
                    (case.name, verdict_words.OUTCOMES[case.outcome], case.judged_in, why)
                    for case, why in verdict_words.rows(report.cases)
                ],
            )
        )
    shown = [item for item in report.modules if item.role not in ("", "holds")]
    if shown and report.outcome != AGREES:
        rows = [(item.label, item.role, _far(item.relative), _far(item.relative_alone)) for item in shown]
        parts.append(_table(("module", "", "off where it stands", "off alone"), rows))
    parts += [f"<p>{escape(line)}.</p>" for line in words.module_summary(report)[:1]]
    if report.adapter_lines and report.outcome != AGREES:
        parts.append(f"<pre>{escape(adapter_text(report.adapter_lines))}</pre>")
    if report.notes:
        parts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in report.notes) + "</ul>")
    return f'<div class="goldsmith-parity">{"".join(parts)}</div>'


def _far(relative: float | None) -> str:
    return "" if relative is None else f"{relative:.1e}"


def _table(headings: tuple[str, ...], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th {_CELL}>{escape(item)}</th>" for item in headings)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{escape(item)}</td>' for item in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
