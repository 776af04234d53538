"""Looking at private numbers, which the package itself lets nobody do: for tests only."""

import numpy as np

from sfumato.core.mechanism import Private
from sfumato.core.whole import Wide


def numbers_of(private):
    """The numbers of a ``Private`` vector or a ``Wide`` array: int64 where they fit, else Python's integers."""
    values = private._values if isinstance(private, Private) else private
    if not isinstance(values, Wide):
        return values
    exact = values._high.astype(object) * 2**48 + values._low.astype(object)
    return exact.astype(np.int64) if all(abs(number) < 2**63 for number in exact.flat) else exact


def wide(numbers):
    """A ``Wide`` array of any integers."""
    exact = np.array(numbers, dtype=object)
    return Wide((exact % 2**48).astype(np.int64), (exact // 2**48).astype(np.int64))
