"""Drawing a release into a file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.drawing import plot
from sfumato.errors import ParameterError
from sfumato.extras import need

FORMATS = (".png", ".svg", ".pdf")
_DPI = 160


def check_format(path: Path) -> None:
    """Refuse a name whose ending says no format."""
    if path.suffix.lower() not in FORMATS:
        raise ParameterError(f"{path}: the name of a picture must end in {', '.join(FORMATS)}", parameter="plot")


def draw(release: Any, path: Path, confidence: float = 0.95, **look: Any) -> None:
    """Draw a release into a file whose name says which format.

    Parameters
    ----------
    path
        Ends in .png, .svg or .pdf.
    look
        What else ``plot`` takes: ``map`` and ``group``.
    """
    check_format(path)
    matplotlib = need("matplotlib", "plot")
    matplotlib.use("Agg")  # files only: no window, no display needed
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # its first run tells about fonts
    axes = plot(release, confidence=confidence, **look)
    figure = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()[0].figure
    try:
        figure.savefig(path, dpi=_DPI)
    finally:
        need("matplotlib.pyplot", "plot").close(figure)
