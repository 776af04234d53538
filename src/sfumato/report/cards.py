"""Cards for notebooks: a release in a few lines, from the standard library alone."""

from __future__ import annotations

import html

from sfumato.core.privacy import Guarantee
from sfumato.plotting.sampled import HEADLINE, sampled
from sfumato.plotting.words import Drawable, Functions, linked, number, quantity, subject, widths
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.machine import MachineRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.value import ValueRelease
from sfumato.report.bayes import bayes_rows
from sfumato.report.curves import curve_rows
from sfumato.report.machines import machine_rows
from sfumato.report.parts import NOISES, column_rows, printable
from sfumato.report.summaries import summary_rows
from sfumato.report.values import value_rows

_FEW_COLUMNS = 12  # that a card of a summary lists


def card(release: Drawable) -> str:
    """A small card for notebooks."""
    told, rows = _told(release)
    value = '<div style="overflow-wrap:anywhere">'
    cells = "".join(
        f'<div style="opacity:.65">{html.escape(printable(name))}</div>{value}{html.escape(printable(text))}</div>'
        for name, text in rows
    )
    return (
        '<div style="max-width:44em;padding:.7em 1em;border:1px solid rgba(128,128,128,.35);border-radius:6px;'
        'border-left:4px solid #4f8a99;line-height:1.45">'
        f'<div style="font-weight:600;margin-bottom:.4em;overflow-wrap:anywhere">{html.escape(printable(told))}</div>'
        f"{_random_box(release.guarantee)}"
        f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em">{cells}</div></div>'
    )


def _told(release: Drawable) -> tuple[str, list[tuple[str, str]]]:
    """What a release is, and what there is to say of it."""
    rows = [
        ("guarantee", str(release.guarantee)),
        ("box", ", ".join(f"{row['name']}: {row['values']}" for row in column_rows(release))),
    ]
    what, names = quantity(release), ", ".join(release.box.names)
    if isinstance(release, MachineRelease):
        return f"{what} of {release.response.name} from {names}", [*rows, *machine_rows(release)]
    if isinstance(release, CurveRelease):
        return f"{what} of {release.response.name} on {names}", [*rows, *curve_rows(release)]
    if isinstance(release, NaiveBayesRelease):
        return f"{what} of {release.response.name} from {names}", [*rows, *bayes_rows(release)]
    if isinstance(release, ValueRelease):
        law = release.law
        noise = None if law is None else f"{NOISES[law.kind]}, scale {number(law.deviation)}"
        return f"{what} of {subject(release)}", [*value_rows(release, noise), *rows]
    if isinstance(release, SummaryRelease):
        few = len(release.box.names) <= _FEW_COLUMNS
        told = rows if few else [rows[0], ("box", f"{len(release.box.names)} columns")]
        return f"{what} of {names if few else told[1][1]}", [*told, *summary_rows(release)]
    return f"{what} {linked(release)} {names}", [*rows, *_function_rows(release)]


def _random_box(guarantee: Guarantee) -> str:
    """A warning in a card: a promise that is random is not to be mistaken for the other one."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is None:
        return ""
    how = f"gamma {random.gamma}; rule {random.how}; oracle: {random.oracle or 'not told'}"
    return (
        '<div style="margin:.2em 0 .6em;padding:.45em .8em;border:1px solid #b4602a;border-left-width:5px;'
        'border-radius:4px;overflow-wrap:anywhere">'
        f'<b style="color:#b4602a">{HEADLINE.capitalize()}</b><br>{html.escape(printable(how))}</div>'
    )


def _function_rows(release: Functions) -> list[tuple[str, str]]:
    """What a card says of a function."""
    one = next(iter(release.parts.values())) if isinstance(release, GroupedDensityRelease) else release
    rows = [("basis", f"{one.basis!r}, {release.law.size:,} coefficients")]
    if isinstance(one, DensityRelease):
        rows.append(("bandwidth", ", ".join(widths(one))))
    if isinstance(release, GroupedDensityRelease):
        counts = ", ".join(f"{name}: {part.count:,.0f}" for name, part in release.parts.items())
        rows.append((f"records by {release.by}", counts))
    elif isinstance(release, DensityRelease):
        rows.append(("records", f"{release.count:,.0f}"))
    return rows
