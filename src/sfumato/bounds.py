"""``sf.private_bounds`` and ``sf.private_box``: where values are, at a price."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sfumato.accounting.charge import Payer, check_payer, said_if_paid
from sfumato.bases.statistics.magnitudes import WIDEST
from sfumato.checks import probability, shown
from sfumato.core.box import Box, Column, Integer, Interval
from sfumato.core.privacy import Privacy, part_of
from sfumato.engines.engine import Engine
from sfumato.errors import BudgetExceededError, ParameterError, ParameterTypeError
from sfumato.pipeline import release
from sfumato.releases.value import ValueRelease
from sfumato.targets.bounds import Bounds
from sfumato.targets.statistic import Statistic

_ROOM = 1 / 8  # of the distance between two quantiles, on both sides of them
_DIGITS = 6  # of a quantile's level
_ONE_PLACE = 1 / 64  # of a column: quantiles that are nearer say that most records share a value, not where others are


def private_bounds(
    data: Any,
    column: str | None = None,
    privacy: Privacy | None = None,
    *,
    miss: float = 0.001,
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
) -> ValueRelease:
    """Bounds between which nearly all values of a column lie, rounded outwards to powers of two.

    Use public bounds where there are any: they cost nothing and leak nothing. ``tuple(bounds.value)`` goes into a box.

    Parameters
    ----------
    data, privacy, engine, ledger
        As for ``sf.release``: this is a release, and is paid for like one.
    column
        The column's name; None for an array of one column.
    miss
        How probable it is that noise alone makes the bounds wider than any value.

    Formal guarantee: ``privacy``. Values in cells of few records (of the order of 20 at epsilon 1) may lie outside; if
    no cell has more, the bounds are those of the cell that looks fullest, which may be noise alone.

    >>> import numpy as np
    >>> private_bounds(np.linspace(3, 100, 5000), privacy=Privacy(epsilon=1.0)).value.tolist()
    [2.0, 128.0]
    """
    if column is not None and not isinstance(column, str):
        raise ParameterTypeError(f"column must be a name, got column={shown(column)}")
    limits = (-WIDEST, WIDEST)
    box = Box([limits]) if column is None else Box({column: limits})
    found: ValueRelease = release(Bounds(miss), data, box, privacy, engine=engine, ledger=ledger)
    return found


def private_box(
    data: Any,
    box: Box,
    privacy: Privacy,
    *,
    share: float = 0.95,
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
) -> tuple[Box, list[ValueRelease]]:
    """A narrower box, which holds most records, for whatever is the worse for an empty box: learners above all.

    Two quantiles of each numeric column are chosen in private, and the bounds moved towards them, to an eighth of their
    distance away; never outwards. Circles, dates and categories stay as they are, and so does a column of which nearly
    all records share a value. Records outside of the new box are brought to its edges by whatever is released in it.

    Parameters
    ----------
    data, engine, ledger
        As for ``sf.release``: these are releases, one for each column, and are paid for like any.
    box
        The public bounds.
    privacy
        The grant of all of them together; a tenth of what there is is a good part.
    share
        How many of the records lie between the two quantiles of a column.

    Returns
    -------
    The box, and what was released of each column.

    Formal guarantee: ``privacy``, by basic composition of joint choices (docs/proofs/selection.md). The box is made of
    what they published, so releases in it keep their own guarantees.

    >>> import numpy as np
    >>> records = np.linspace(35, 65, 20_000)[:, None]
    >>> inner, paid = private_box(records, Box([(0, 1000)]), Privacy(epsilon=0.5))
    >>> bool(30 < inner.low[0] < 40 and 60 < inner.high[0] < 70), len(paid)
    (True, 1)
    """
    columns, numeric = _columns(box, privacy)
    tail, part = round((1 - probability("share", share)) / 2, _DIGITS), part_of(privacy, Fraction(1, len(numeric)))
    if tail == 0:
        raise ParameterError.of("share", f"must be at most {1 - 2 * 10.0**-_DIGITS}, got share={share!r}")
    check_payer(ledger)
    if ledger is not None and not ledger.would_cost(*[part] * len(numeric)).fits:
        raise BudgetExceededError(
            f"the account cannot pay for all {len(numeric)} columns, {privacy!r}: nothing was released"
        )
    releases = []
    with said_if_paid(ledger) as payer:
        for name in numeric:
            target = Statistic("quantiles", name, probabilities=[tail, round(1 - tail, _DIGITS)], interval="none")
            found: ValueRelease = release(target, data, box, part, engine=engine, ledger=payer)
            columns[name] = _narrowed(columns[name], *found.value.tolist())
            releases.append(found)
    return Box(columns if box.named else list(columns.values())), releases


def _columns(box: Any, privacy: Any) -> tuple[dict[str, Column], list[str]]:
    """The columns by name, and the names of those that can be narrowed."""
    if not isinstance(box, Box) or not isinstance(privacy, Privacy):
        raise ParameterTypeError(
            f"box must be an sf.Box and privacy an sf.Privacy, got box={shown(box)}, privacy={shown(privacy)}"
        )
    if box.max_norm is not None:
        raise ParameterError.of(
            "box", "must have no max_norm: records are scaled to it as they are, got a box with one"
        )
    columns = dict(zip(box.names, box.columns, strict=True))
    numeric = [name for name, column in columns.items() if type(column) in (Interval, Integer)]
    if not numeric:
        raise ParameterError.of("box", f"must have a numeric column with two ends, got {box!r}")
    return columns, numeric


def _narrowed(column: Column, low: float, high: float) -> Column:
    """The column with bounds around these two values, and some room."""
    assert isinstance(column, Interval)
    wide = high - low
    if wide < _ONE_PLACE * (column.high - column.low):
        return column
    low, high = max(column.low, low - _ROOM * wide), min(column.high, high + _ROOM * wide)
    if not isinstance(column, Integer):
        return Interval(low, high)
    return Integer(max(column.low, math.floor(low)), min(column.high, math.ceil(high)))
