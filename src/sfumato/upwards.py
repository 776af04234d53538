"""What a release does with the help of those who sit above it: files, pictures, pages, cards, questions in words.

The package tells here where they are, so that no room imports from a higher one, and each is imported when asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# By what they do; ``sfumato/__init__.py`` fills it in.
UPWARDS: dict[str, Callable[..., Any]] = {}


class Shown:
    """A release that can be drawn and described."""

    def plot(
        self,
        ax: Any = None,
        confidence: float = 0.95,
        map: bool = False,
        group: str | int | float | None = None,
    ) -> Any:
        """Draw a release, with the band of its error; returns the matplotlib axes.

        Parameters
        ----------
        ax
            Axes to draw on: one for one column, a pair for two (one for a classifier). By default a new figure is made.
        map
            Draw two columns to scale; longitudes and latitudes are without being asked.
        group
            The one of a release's groups to draw; all by default.
        """
        return UPWARDS["plot"](self, ax, confidence, map, group)

    def report(self, path: str | os.PathLike[str], confidence: float = 0.95, **look: Any) -> None:
        """Write one self-contained HTML page: the picture, the guarantee in words, what it rests on, its error.

        ``look`` is ``map`` and ``group``, as for ``plot``.
        """
        UPWARDS["report"](self, path, confidence, **look)

    def _repr_html_(self) -> str:
        """A small card for notebooks."""
        card: str = UPWARDS["card"](self)
        return card
