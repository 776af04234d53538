"""One self-contained HTML page about a release, for people who will not run any code; and a card for notebooks.

Everything on the page is public: it is computed from the release alone. The face of a release supplies what there is to
say, the templates the words around it, and jinja2 escapes whatever a user or a file may have named.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato import drawing
from sfumato._version import __version__
from sfumato.checks import probability
from sfumato.codec import write_plain
from sfumato.extras import need
from sfumato.faces import CONFIDENCE, Face, face_of
from sfumato.faces.tested import PublicTest, tested_facts
from sfumato.pages.cards import card
from sfumato.pages.pictures import pictures
from sfumato.pages.text import printable

__all__ = ["card", "check_installed", "facts", "render", "write"]


def check_installed() -> None:
    """Say in time that an extra is missing."""
    need("jinja2", "plot")
    drawing.check_installed()


def write(
    release: Any,
    path: str | os.PathLike[str],
    confidence: float = CONFIDENCE,
    tested: PublicTest | None = None,
    **look: Any,
) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    tested
        How a classifier did on public records.
    look
        ``map`` and ``group``, as for ``plot``.
    """
    write_plain(path, render(release, confidence, Path(path).stem, tested, **look).encode("utf-8"))


def render(
    release: Any,
    confidence: float = CONFIDENCE,
    name: str = "release",
    tested: PublicTest | None = None,
    map: bool = False,
    group: str | int | float | None = None,
) -> str:
    """The page as text; ``name`` is what the code on it calls the file of the release."""
    probability("confidence", confidence)
    check_installed()
    face = face_of(release, confidence, map, group)
    page: str = _template(face.kind).render(facts(face, name, tested))
    return page


@cache
def _template(kind: str) -> Any:
    """The template of a kind, or the common one, which says what a terminal says."""
    jinja = need("jinja2", "plot")
    folder = files("sfumato.pages") / "templates"
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(lambda part: _text(folder / part)),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.select_template([f"{kind}.html", "page.html"])


def _text(template: Any) -> str | None:
    return template.read_text("utf-8") if template.is_file() else None


def facts(face: Face, name: str, tested: PublicTest | None = None) -> dict[str, Any]:
    """Everything that the template says."""
    return {
        **face.common_page(),
        **face.page(),
        "test": None if tested is None else tested_facts(tested),
        "rows": face.rows(),
        "pictures": pictures(face),
        "code": face.code(name),
        "version": __version__,
    }
