"""What a release shows of itself: a picture, a page, a card in a notebook.

The painters sit above the releases, and are imported only when they are asked for.
"""

from __future__ import annotations

import os
from typing import Any


class Shown:
    """A release that can be drawn and described."""

    def plot(self, ax: Any = None, confidence: float = 0.95) -> Any:
        """Draw a release, with the band of its error; returns the matplotlib axes.

        Parameters
        ----------
        ax
            Axes to draw on: one for one column, a pair for two (one for a classifier). By default a new figure is made.
        """
        from sfumato.drawing import plot

        return plot(self, ax, confidence)

    def report(self, path: str | os.PathLike[str], confidence: float = 0.95) -> None:
        """Write one self-contained HTML page: the picture, the guarantee in words, what it rests on, its error."""
        from sfumato.pages import write

        write(self, path, confidence)

    def _repr_html_(self) -> str:
        """A small card for notebooks."""
        from sfumato.pages import card

        return card(self)
