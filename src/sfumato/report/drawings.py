"""The pictures of a page: inline SVG that takes its colours and fonts from it."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError
from sfumato.extras import need
from sfumato.plotting import bayes_figure, figure, machine_figure, plain, quantity, style, summary_figure, value_figure
from sfumato.plotting.bayes import size_of as size_of_bayes
from sfumato.plotting.figures import Figures
from sfumato.plotting.learners import axes_needed, size_of
from sfumato.plotting.likelihoods import evidence
from sfumato.plotting.machines import Panel, Regions, Slopes, machine_panels
from sfumato.plotting.panels import ACCENT, HAIR, INK, MUTED, SERIES, WARN
from sfumato.plotting.samples import View
from sfumato.plotting.summaries import in_words
from sfumato.plotting.summaries import size_of as size_of_summary
from sfumato.plotting.summary_panels import seen_of
from sfumato.plotting.values import size_of as size_of_value
from sfumato.plotting.words import Functions, Learners, subject
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.density import DensityRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.summary import SummaryRelease

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    HAIR: "var(--hair)",
    ACCENT: "var(--accent)",
    WARN: "var(--warn)",
}
_VARIABLES |= {colour: f"var(--series-{place})" for place, colour in enumerate(SERIES) if place}


def pictures(release: Functions, seen: Sequence[View]) -> list[dict[str, Any]]:
    """The drawing for wide and for narrow screens."""
    what = "the band of its noise" if not isinstance(release, DensityRelease | GroupedDensityRelease) else "its band"
    words = f"{quantity(release)} over {' and '.join(release.box.names)}, with {what}"
    return [_picture(key, words, partial(figure, seen, size)) for key, size in _sizes(seen).items()]


def machine_pictures(release: Learners, confidence: float) -> list[dict[str, Any]]:
    """The same for a learner or a curve; none where it cannot be drawn."""
    try:
        panels = machine_panels(release, confidence)
    except ParameterError:
        return []
    told = f"{quantity(release)} of {release.response.name} over {' and '.join(release.box.names)}"
    words = f"{told}, and how far the noise can have changed it"
    return [_picture(key, words, partial(machine_figure, panels, size)) for key, size in _machine_sizes(panels).items()]


def bayes_pictures(release: NaiveBayesRelease, confidence: float) -> list[dict[str, Any]]:
    """The same for a naive Bayes classifier; none where it has too many classes."""
    try:
        seen = evidence(release, confidence)
    except ParameterError:
        return []
    shown = " and ".join(release.box.names[one.column] for one in seen.attributes)
    words = f"shares of the classes of {release.response.name}, and how likely values of {shown} are in each"
    sizes = {"wide": size_of_bayes(seen), "narrow": size_of_bayes(seen, stacked=True)}
    return [_picture(key, words, partial(bayes_figure, seen, size)) for key, size in sizes.items()]


def value_pictures(seen: Figures) -> list[dict[str, Any]]:
    """The same for a statistic; none where it is along too many columns."""
    if seen.value.ndim > 2:
        return []
    words = f"{quantity(seen.release)} of {subject(seen.release)}, and its limits"
    high = size_of_value(seen)[1]
    sizes = {"wide": (8.2, high), "narrow": (3.5, high + 0.5)}
    return [_picture(key, words, partial(value_figure, seen, size)) for key, size in sizes.items()]


def summary_pictures(release: SummaryRelease, confidence: float) -> list[dict[str, Any]]:
    """The same for a summary."""
    seen = seen_of(release, confidence)
    sizes = {"wide": size_of_summary(seen), "narrow": size_of_summary(seen, stacked=True)}
    return [_picture(key, in_words(release), partial(summary_figure, seen, size)) for key, size in sizes.items()]


def _sizes(seen: Sequence[View]) -> dict[str, tuple[float, float]]:
    """Inches; a drawing of many panels grows downwards."""
    if seen[0].panels == 2:
        return {"wide": (8.8, 4.3 * len(seen)), "narrow": (3.5, 7.0 * len(seen))}
    if len(seen) > 1:
        return {"wide": (9.2, 3.6), "narrow": (3.5, 3.1 * len(seen))}
    more = 0.22 * max(0, len(seen[0].samples) - 1)  # for a longer legend
    return {"wide": (8.2, 4.5), "narrow": (3.5, 3.6 + more)}


def _machine_sizes(panels: Sequence[Panel]) -> dict[str, tuple[float, float]]:
    wide, high = size_of(panels)
    count = axes_needed(panels)
    each = high + 1.4 if isinstance(panels[0], Slopes) else 4.4 if isinstance(panels[0], Regions) else 3.4
    return {"wide": (max(8.2, min(wide, 9.2)), high), "narrow": (3.5, each * count + 0.8)}


def _picture(key: str, words: str, paint: Callable[[bool], Figure]) -> dict[str, Any]:
    """Inline SVG that takes its colours and fonts from the page."""
    settings = {**style(), "svg.fonttype": "none", "svg.hashsalt": "sfumato"}
    buffer = io.BytesIO()
    with need("matplotlib", "plot").rc_context(settings):
        paint(key == "narrow").savefig(buffer, format="svg", transparent=True)
    root = ET.fromstring(buffer.getvalue())  # noqa: S314 - matplotlib wrote it a line ago
    _clean(root, f"{key}-")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", plain(words, 300))
    return {"class": key, "svg": need("markupsafe", "plot").Markup(ET.tostring(root, encoding="unicode"))}


def _clean(element: ET.Element, prefix: str) -> None:
    """Drop namespaces, style sheets and metadata, make identifiers unique, turn our colours into variables."""
    element.tag = element.tag.rpartition("}")[2]
    for name, value in list(element.attrib.items()):
        del element.attrib[name]
        bare = name.rpartition("}")[2]
        if bare == "id":
            value = prefix + value
        elif bare == "href" and value.startswith("#"):
            value = f"#{prefix}{value[1:]}"
        elif bare in ("style", "fill", "stroke", "clip-path"):
            value = value.replace("url(#", f"url(#{prefix}")
            for colour, variable in _VARIABLES.items():
                value = value.replace(colour, variable)
        element.set(bare, value)
    for child in list(element):
        if child.tag.rpartition("}")[2] in ("metadata", "style"):
            element.remove(child)
        else:
            _clean(child, prefix)
