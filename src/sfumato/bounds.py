"""``sf.private_bounds``: bounds of a column, paid for, for those who have no public ones."""

from __future__ import annotations

from typing import Any

from sfumato.accounting.charge import Payer
from sfumato.bases.statistics.magnitudes import WIDEST
from sfumato.checks import shown
from sfumato.core.box import Box
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine
from sfumato.errors import ParameterTypeError
from sfumato.pipeline import release
from sfumato.releases.value import ValueRelease
from sfumato.targets.bounds import Bounds


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
