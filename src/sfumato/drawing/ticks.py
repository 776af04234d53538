"""Ticks that do not run into each other: as many as there is room for, hours and degrees where they belong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.extras import need
from sfumato.faces.scales import Axis as Column
from sfumato.faces.words import distinct, plain, power, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

Floats = NDArray[np.float64]

_MOST = 9
_MOST_DATES = 7
_DATE = 8  # characters of a date and of the gap beside it
_NAME = 18  # characters of a name that stands upright
_GAP = 2  # characters between the words of two ticks
_SHORTEN = (1, 2, 3, 4, 6, 12)  # every how manieth of given ticks is kept


def plain_ticks(axis: Axis, largest: float) -> str:
    """Plain tick numbers on an axis; returns the power of ten that they leave to the title."""
    exponent = exponent_of(largest)
    formatter = need("matplotlib.ticker", "plot").ScalarFormatter(useOffset=False)
    formatter.set_scientific(exponent != 0)
    formatter.set_powerlimits((exponent, exponent))
    axis.set_major_formatter(formatter)
    axis.get_offset_text().set_visible(False)
    return factor(exponent)


def exponent_of(largest: float) -> int:
    """The power of ten that is told apart from numbers of this size; zero for everyday ones."""
    exponent = math.floor(math.log10(largest)) if largest > 0 else 0
    return 0 if -2 <= exponent < 6 else exponent


def factor(exponent: int) -> str:
    """The same for the end of a title."""
    return f" ({power(exponent)})" if exponent else ""


def level_words(levels: Sequence[float]) -> tuple[list[str], str]:
    """Levels as few digits as tell them apart, and the power of ten that they leave to the title."""
    exponent = exponent_of(max(map(abs, levels)))
    words = [f"{level / 10.0**exponent:.3g}" for level in levels]
    even = len({f"{after - before:.6g}" for before, after in pairwise(levels)}) == 1
    if even and not any("e" in word for word in words):
        digits = max(len(word.partition(".")[2]) for word in words)
        words = [f"{level / 10.0**exponent:.{digits}f}" for level in levels]
    return [word.replace("-", "\N{MINUS SIGN}") for word in words], factor(exponent)


def name_axes(ax: Axes, columns: Sequence[Column], chars: int) -> None:
    """Name the columns along both axes, or along the first, and put ticks where there is room for them.

    The axes must have their limits; ``chars`` is about how many characters fit along the lower one.
    """
    across = column_ticks(ax.xaxis, ax.get_xlim(), chars, columns[0])
    ax.set_xlabel(wrap(plain(columns[0].name) + across, chars), parse_math=False)
    if len(columns) > 1:
        # Numbers above each other need a line each, however long they are; panels are about as high as wide.
        up = column_ticks(ax.yaxis, ax.get_ylim(), None, columns[1], most=max(3, min(_MOST, chars // 5)))
        ax.set_ylabel(wrap(plain(columns[1].name) + up, chars), parse_math=False)


def column_ticks(axis: Axis, limits: tuple[float, float], chars: int | None, column: Column, most: int = _MOST) -> str:
    """Ticks of a column, dates or numbers, as ``number_ticks`` puts them."""
    if column.dated:
        date_ticks(axis, most if chars is None else chars // _DATE)
        return ""
    return number_ticks(axis, limits, chars, column.ticks, most=most)


def date_ticks(axis: Axis, most: int) -> None:
    """Dates along an axis of days since 1970, which is how matplotlib counts them too; about so many at most."""
    dates = need("matplotlib.dates", "plot")
    locator = dates.AutoDateLocator(minticks=3, maxticks=max(3, min(_MOST_DATES, most)))
    axis.set_major_locator(locator)
    axis.set_major_formatter(dates.ConciseDateFormatter(locator))
    axis.get_offset_text().set_visible(True)  # the year, where no tick tells it


def number_ticks(
    axis: Axis,
    limits: tuple[float, float],
    chars: int | None,
    given: Sequence[float] = (),
    whole: bool = False,
    most: int = _MOST,
) -> str:
    """Ticks of numbers that fit; returns the power of ten that they leave to the title.

    Parameters
    ----------
    chars
        How many characters fit along the axis; None where numbers stand above each other.
    given
        Where ticks are to stand, if that is known; if there are too many, some.
    whole
        Whether there is nothing between whole numbers.
    most
        So many at most.
    """
    if given:
        step = next((s for s in _SHORTEN if _fits([f"{tick:g}" for tick in given[::s]], chars)), _SHORTEN[-1])
        axis.set_ticks(list(given[::step]), [f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in given[::step]])
        return ""
    low, high = min(limits), max(limits)
    exponent = exponent_of(max(abs(low), abs(high)))
    locator = need("matplotlib.ticker", "plot").MaxNLocator
    every = [locator(count, steps=[1, 2, 2.5, 5, 10], integer=whole) for count in range(most, 1, -1)]
    axis.set_major_locator(next((one for one in every if _fits(_told(one, low, high, exponent), chars)), every[-1]))
    return plain_ticks(axis, max(abs(low), abs(high)))


def upright(names: Sequence[str], chars: int) -> bool:
    """Whether names do not fit beside each other."""
    return len(names) * (max(map(len, names), default=0) + 1) > chars


def name_ticks(axis: Axis, places: NDArray[Any], names: Sequence[str], chars: int) -> None:
    """Names along the lower axis: beside each other where they fit into so many characters, else upright."""
    turned = upright(names, chars)
    words = distinct(names, _NAME if turned else max(map(len, names)))
    axis.set_ticks(list(places), words, parse_math=False, rotation=90 if turned else 0)


def _told(locator: Any, low: float, high: float, exponent: int) -> list[str]:
    ticks = np.asarray(locator.tick_values(low, high)) / 10.0**exponent
    digits = max(len(f"{tick:.6g}".partition(".")[2]) for tick in ticks)
    return [f"{tick:.{digits}f}" for tick in ticks]


def _fits(words: Sequence[str], chars: int | None) -> bool:
    """Whether words fit beside each other, each of which stands in the middle of an equal part."""
    return chars is None or not words or len(words) * (max(map(len, words)) + _GAP) <= chars
