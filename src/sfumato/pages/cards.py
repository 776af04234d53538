"""Cards for notebooks: a release in a few lines, from the standard library alone."""

from __future__ import annotations

import html
from typing import Any

from sfumato.core.privacy import Guarantee
from sfumato.faces import face_of
from sfumato.faces.promise import HEADLINE, sampled
from sfumato.pages.text import printable


def card(release: Any) -> str:
    """A small card for notebooks."""
    face = face_of(release)
    cells = "".join(
        f'<div style="opacity:.65">{_safe(name)}</div><div style="overflow-wrap:anywhere">{_safe(text)}</div>'
        for name, text in face.card_rows()
    )
    return (
        '<div style="max-width:44em;padding:.7em 1em;border:1px solid rgba(128,128,128,.35);border-radius:6px;'
        'border-left:4px solid #4f8a99;line-height:1.45">'
        f'<div style="font-weight:600;margin-bottom:.4em;overflow-wrap:anywhere">{_safe(face.heading)}</div>'
        f"{_random_box(release.guarantee)}{_boxes('Is anybody there?', face.nothing_there())}"
        f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em">{cells}</div></div>'
    )


def _safe(text: str) -> str:
    return html.escape(printable(text))


def _random_box(guarantee: Guarantee) -> str:
    """A warning in a card: a promise that is random is not to be mistaken for the other one."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is None:
        return ""
    how = f"gamma {random.gamma}; rule {random.how}; oracle: {random.oracle or 'not told'}"
    return _boxes(HEADLINE.capitalize(), [how])


def _boxes(head: str, lines: list[str]) -> str:
    return "".join(
        '<div style="margin:.2em 0 .6em;padding:.45em .8em;border:1px solid #b4602a;border-left-width:5px;'
        'border-radius:4px;overflow-wrap:anywhere">'
        f'<b style="color:#b4602a">{head}</b><br>{_safe(line)}</div>'
        for line in lines
    )
