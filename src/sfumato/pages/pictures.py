"""The pictures of a page: inline SVG that takes its colours and fonts from it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from sfumato.drawing import svg_of
from sfumato.drawing.style import ACCENT, HAIR, INK, MUTED, SERIES, WARN
from sfumato.errors import ParameterError
from sfumato.extras import need
from sfumato.faces import Face
from sfumato.faces.words import plain

_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    HAIR: "var(--hair)",
    ACCENT: "var(--accent)",
    WARN: "var(--warn)",
}
_VARIABLES |= {colour: f"var(--series-{place})" for place, colour in enumerate(SERIES) if place}


def pictures(face: Face) -> list[dict[str, Any]]:
    """The drawing for wide and for narrow screens; none where paper cannot show the release."""
    try:
        seen = face.picture()
    except ParameterError:
        return []
    return [_picture(key, face.picture_words, seen) for key in ("wide", "narrow")]


def _picture(key: str, words: str, seen: Any) -> dict[str, Any]:
    root = ET.fromstring(svg_of(seen, stacked=key == "narrow"))  # noqa: S314 - matplotlib wrote it a line ago
    _clean(root, f"{key}-")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", plain(words, 300))
    svg = need("markupsafe", "plot").Markup(ET.tostring(root, encoding="unicode"))
    return {"class": key, "words": f"{words[0].upper()}{words[1:]}.", "svg": svg}


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
