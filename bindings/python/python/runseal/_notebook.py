"""What notebooks show: small tables, escaped, with the verdict first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from . import Comparison, Inspection, Report

_MOST_ROWS = 50


def _table(head: Iterable[str], rows: list[list[str]]) -> str:
    shown = rows[:_MOST_ROWS]
    cells = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in shown
    )
    heads = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    more = len(rows) - len(shown)
    note = f"<p>and {more} more</p>" if more > 0 else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>{note}"


def _verdict(ok: bool, good: str, bad: str) -> str:
    return f"<p><strong>{escape(good if ok else bad)}</strong></p>"


def report_html(report: Report) -> str:
    """A verification, unit by unit, with what does not hold."""
    rows = []
    for unit in report.units:
        state = "valid" if unit.ok else "NOT VALID"
        rows.append([unit.path, unit.format, state, ""])
        for finding in unit.findings:
            place = finding.path or ""
            rows.append(["", finding.rule, place, finding.message])
    head = _verdict(report.ok, "everything holds", "something does not hold")
    return head + _table(["path", "format or rule", "verdict or place", ""], rows)


def inspection_html(inspection: Inspection) -> str:
    """What something is, as the terminal shows it."""
    head = _verdict(inspection.ok, "intact", "NOT INTACT")
    return f"{head}<pre>{escape(inspection.text)}</pre>"


def comparison_html(comparison: Comparison) -> str:
    """Where two differ, as the terminal shows it."""
    head = _verdict(comparison.same, "the same", "they differ")
    return f"{head}<pre>{escape(comparison.text)}</pre>"
