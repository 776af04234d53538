"""How a picture is put on paper: what every kind of picture has a painter for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Painter:
    """Draws one kind of picture, given as data.

    Parameters
    ----------
    needed
        How many axes it takes.
    shape
        Rows and columns of axes, given whether they are stacked for a narrow screen.
    size, page_size
        Inches of a figure of its own, and of one on a page.
    draw
        Draws on axes of the caller's: data and labels only.
    fill
        Draws on axes of ours, and finishes the figure.
    axes
        Makes the axes, where an even grid of them will not do.
    """

    needed: Callable[[Any], int]
    shape: Callable[[Any, bool], tuple[int, int]]
    size: Callable[[Any, bool], tuple[float, float]]
    draw: Callable[[Any, Sequence[Axes]], None]
    fill: Callable[[Figure, Any, Sequence[Axes], bool], None]
    page_size: Callable[[Any, bool], tuple[float, float]] | None = None
    axes: Callable[[Figure, Any, bool], Any] | None = None

    def lay(self, figure: Figure, seen: Any, stacked: bool) -> Any:
        """Axes on a figure of ours: one, or an array of them."""
        if self.axes is not None:
            return self.axes(figure, seen, stacked)
        return figure.subplots(*self.shape(seen, stacked))
