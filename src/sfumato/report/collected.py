"""The page and the card of what people's devices reported: nobody was trusted, how many reported, how far off it is."""

from __future__ import annotations

import html
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.core.box import Categorical
from sfumato.plotting.collected import collected_figure, size_of
from sfumato.plotting.collected_panels import Collected, Line, one_column, reports_of, seen_of, shape_words
from sfumato.plotting.samples import grid
from sfumato.plotting.words import listed, number, plain, short
from sfumato.releases.collected import CollectedDensity
from sfumato.releases.marginals import MarginalsRelease
from sfumato.report.drawings import _picture
from sfumato.report.numbers import above, readable
from sfumato.report.parts import column_rows, printable

_MOST_LINES = 120  # of the table of shares
_FEW_NAMES = 6  # that a title can list
_TITLES = {"collected-density": "Density", "marginals": "Tables", "summary": "Summary"}
_RANDOMIZERS = {
    "hadamard": "one sign of a public pattern, flipped at random",
    "bit": "one bit about one public question, flipped at random",
    "likelihood": "one bit: whether a public random number could be the answer plus noise",
    "loglog": "the number of one of several public random numbers",
    "laplace": "every answer, each with Laplace noise of its own",
    "privunit": "the number of one of many public directions",
    "chebyshev": "one bit: whether a few columns are all one, flipped at random",
}


def collected_page(release: Collected, confidence: float, name: str, template: Any, promise: dict[str, Any]) -> str:
    """The page as text; ``name`` is what the code on it calls the file of the release."""
    page: str = template.render(collected_facts(release, confidence, name, promise))
    return page


def collected_facts(release: Collected, confidence: float, name: str, promise: dict[str, Any]) -> dict[str, Any]:
    """Everything that the template says."""
    names, randomizer = release.box.names, release.law.randomizer  # type: ignore[attr-defined]
    return {
        "title": _TITLES[release.kind],
        "where": listed(names) if len(names) <= _FEW_NAMES else f"{len(names)} columns",
        "kind": release.kind,
        "promise": promise,
        "short": short(release.guarantee),
        "confidence": f"{100 * confidence:.10g} %",
        "reports": f"{reports_of(release):,}",
        "shape": shape_words(release),
        "randomizer": randomizer,
        "sent": _RANDOMIZERS.get(randomizer, randomizer),
        "error": _error(release, confidence),
        "shares": _share_rows(release, confidence) if isinstance(release, MarginalsRelease) else [],
        "columns": column_rows(release),  # type: ignore[arg-type]
        "target": release.target,
        "receipt": release.receipt,
        "pictures": _pictures(release, confidence),
        "code": _code(release, name),
        "version": __version__,
    }


def _pictures(release: Collected, confidence: float) -> list[dict[str, Any]]:
    """The drawing for wide and for narrow screens."""
    seen = seen_of(release, confidence)
    shown = " and ".join(release.box.names[: len(seen.panels)])
    words = f"{_TITLES[release.kind].lower()} of {shown} from people's reports, and how far off it can be"
    sizes = {"wide": size_of(seen), "narrow": size_of(seen, stacked=True)}
    return [_picture(key, words, partial(collected_figure, seen, size)) for key, size in sizes.items()]


def _error(release: Collected, confidence: float) -> dict[str, Any]:
    """How far off typical numbers are."""
    if isinstance(release, CollectedDensity):
        own = [one_column(release, name) for name in release.box.names] if release.box.dimension > 2 else [release]
        widths = [np.subtract(*part.band(grid(part.box, 21), confidence)[::-1]) / 2 for part in own]
        typical = max(float(np.median(width)) for width in widths)
        return {"name": "Band typically within", "typical": readable(typical), "each": above(release.mass_error, 3)}
    if isinstance(release, MarginalsRelease):
        limits = [np.subtract(*release.band(name, confidence)[::-1]) / 2 for name in release.box.names]
        typical = float(np.median(np.concatenate(limits)))
        return {"name": "Shares typically within", "typical": f"{100 * typical:.2g} points", "each": None}
    seen = seen_of(release, confidence)
    curves = [panel for panel in seen.panels if isinstance(panel, Line)]
    each = above(release.noise_sd, 3)
    if not curves:
        return {"name": "Deviation of a moment", "typical": each, "each": each}
    typical = max(float(np.median(curve.high - curve.values)) for curve in curves)
    return {"name": "Density typically within", "typical": readable(typical), "each": each}


def _share_rows(release: MarginalsRelease, confidence: float) -> list[dict[str, Any]]:
    """Column, category, share and limits."""
    rows = (row for name in release.box.names for row in _one_column(release, name, confidence))
    return list(islice(rows, _MOST_LINES))


def _one_column(release: MarginalsRelease, name: str, confidence: float) -> list[dict[str, Any]]:
    kind = release.box.columns[release.box.names.index(name)]
    assert isinstance(kind, Categorical)
    found = zip(kind.categories, release.table(name), *release.band(name, confidence), strict=True)
    return [
        {"column": name, "category": str(category), **{key: f"{100 * value:.3g} %" for key, value in limits.items()}}
        for category, share, low, high in found
        for limits in ({"share": share, "low": low, "high": high},)
    ]


def _code(release: Collected, name: str) -> str:
    """How to read the release."""
    lines = ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]
    names = list(release.box.names)
    if isinstance(release, CollectedDensity):
        middle = [float(f"{m:.4g}") for m in (release.box.low + release.box.high) / 2]
        points = middle if len(names) == 1 else [middle]
        return "\n".join([*lines, f"release({points!r})", f"low, high = release.band({points!r})", "release.plot()"])
    if isinstance(release, MarginalsRelease):
        some = names[: release.ways]
        return "\n".join([*lines, f"release.table({some!r})  # an axis for each column, categories as declared",
                          f"low, high = release.band({some!r})", "release.plot()"])  # fmt: skip
    numeric = [n for n, c in zip(names, release.box.columns, strict=True) if not isinstance(c, Categorical)]
    first = f"release.mean({numeric[0]!r})" if numeric else f"release.share({{{names[0]!r}: ...}})"
    return "\n".join([*lines, f"{first}  # an answer with its error", "release.answer(lambda points: ...)",
                      "release.plot()"])  # fmt: skip


def collected_card(release: Collected) -> str:
    """A small card for notebooks."""
    title = f"{_TITLES[release.kind]} of {', '.join(release.box.names[:_FEW_NAMES])}"
    if len(release.box.names) > _FEW_NAMES:
        title += f" and {len(release.box.names) - _FEW_NAMES} more columns"
    columns = [f"{row['name']}: {plain(row['values'], 80)}" for row in column_rows(release)[:_FEW_NAMES]]  # type: ignore[arg-type]
    more = [] if len(release.box.names) <= _FEW_NAMES else ["\N{HORIZONTAL ELLIPSIS}"]
    randomizer = release.law.randomizer  # type: ignore[attr-defined]
    rows = [
        ("guarantee", str(release.guarantee)),
        ("trust", "nobody: every report was randomised on its person's own device"),
        ("reports", f"{reports_of(release):,}, {randomizer}: {_RANDOMIZERS.get(randomizer, '')}"),
        ("content", shape_words(release)),
        ("deviation", f"about {number(_deviation(release))} of each number"),
        ("box", "; ".join(columns + more)),
    ]
    cells = "".join(
        f'<div style="opacity:.65">{name}</div><div style="overflow-wrap:anywhere">{html.escape(printable(text))}</div>'
        for name, text in rows
    )
    return (
        '<div style="max-width:44em;padding:.7em 1em;border:1px solid rgba(128,128,128,.35);border-radius:6px;'
        'border-left:4px solid #4f8a99;line-height:1.45">'
        f'<div style="font-weight:600;margin-bottom:.4em;overflow-wrap:anywhere">{html.escape(printable(title))}</div>'
        f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em">{cells}</div></div>'
    )


def _deviation(release: Collected) -> float:
    if isinstance(release, CollectedDensity | MarginalsRelease):
        return float(release.law.deviation)
    return float(release.noise_sd)
