"""What notebooks show: small tables, escaped, with the verdict first."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from . import Comparison, Inspection, Report

_MOST_ROWS = 50

# What reorders or hides text is written out, as in pages and on terminals.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


# How runs end that did not do what they were to do.
_NOT_GOOD = {"failed", "not accepted", "REFUSE", "FAILURE"}


def _shown(text: str) -> str:
    return escape(_HIDDEN.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", text))


def _table(head: Iterable[str], rows: list[list[str]]) -> str:
    shown = rows[:_MOST_ROWS]
    cells = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{_shown(cell)}</td>" for cell in row) + "</tr>"
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
    level = report.data["level"]
    for unit in report.units:
        state = ("meets its document" if level == "document" else "intact") if unit.ok else "NOT INTACT"
        words = [state, *(str(unit.data[word]) for word in ("outcome", "signed") if unit.data.get(word))]
        rows.append([unit.path, unit.format, ", ".join(words), ""])
        for finding in unit.findings:
            place = finding.path or ""
            rows.append(["", finding.rule, place, finding.message])
    good = "everything holds"
    if level == "document":
        good = "everything meets its document; hashes and repeated statements were not compared"
    elif any(unit.data.get("outcome") in _NOT_GOOD for unit in report.units):
        good = "everything is intact, and not everything ended well"
    head = _verdict(report.ok, good, "something does not hold")
    return head + _table(["path", "format or rule", "verdict or place", ""], rows)


def inspection_html(inspection: Inspection) -> str:
    """What something is, as the terminal shows it."""
    head = _verdict(inspection.ok, "intact", "NOT INTACT")
    return f"{head}<pre>{_shown(inspection.text)}</pre>"


def comparison_html(comparison: Comparison) -> str:
    """Where two differ, as the terminal shows it."""
    head = _verdict(comparison.same, "the same", "they differ")
    return f"{head}<pre>{_shown(comparison.text)}</pre>"
