"""Whether anybody is there: noisy numbers of records that noise alone would explain.

All of it is computed from what was released, and looks at no record again. Noise goes beyond three of its standard
deviations, to one side, with probability at most 0.0072 (a single Laplace number's; sums, Gaussian and K-norm noise
less), and beyond six with 1.04e-4. So where no record counts, that is told but for one time in 139; and where nine
standard deviations of records count, there is a false alarm at most once in 9,600 times. Of fewer public rows nothing
is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.calibration import NoiseLaw
from sfumato.faces.words import listed, plain
from sfumato.laws import noise_deviation

_FAR = 3  # standard deviations that noise seldom goes to one side
_FEW = 100  # one row in so many is next to none
_MEND = "are these columns numbers in the data, and are categories spelt as there?"


class Presence(NamedTuple):
    """A noisy number of records.

    Parameters
    ----------
    what
        Which ones: "with age", or the name of a group.
    unsure
        The standard deviation of the noise in it.
    rows
        The public number of rows, of which they are some; None where it is private.
    """

    what: str
    number: float
    unsure: float
    rows: int | None = None

    @property
    def absent(self) -> bool:
        """Whether noise alone would explain the number, or one row in a hundred is surely more than there is."""
        far = _FAR * self.unsure
        if self.rows is not None and self.rows < 3 * far:
            return False  # so few rows that their number would often look like none, if all of them count
        return self.number <= far or (self.rows is not None and self.number + far < self.rows / _FEW)

    @property
    def words(self) -> str:
        """The number, and how much of it is noise."""
        of = "" if self.rows is None else f" of {self.rows:,} rows"
        return f"{self.number:,.0f}{of}, with noise of standard deviation {self.unsure:,.3g}"


def sum_of(what: str, values: NDArray[np.float64], law: NoiseLaw, rows: int | None = None) -> Presence:
    """The presence that some of a law's coefficients add up to, each of which counts records."""
    return Presence(what, float(values.sum()), noise_deviation(law) * math.sqrt(values.size), rows)


def absence(whole: Presence | None, parts: Sequence[Presence] = ()) -> list[str]:
    """What there is to warn of: that nobody is there, or in which parts nobody is."""
    if whole is not None and whole.absent:
        return [f"next to no record may be there: the noisy number of records {whole.what} is {whole.words}; {_MEND}"]
    empty = [part for part in parts if part.absent]
    if not empty:
        return []
    told = "; ".join(f"{plain(part.what)}: {part.words}" for part in empty[:3])
    return [f"next to no record may be there of {listed([plain(part.what) for part in empty])} ({told}); {_MEND}"]
