"""Whether anybody is there: noisy numbers of records that noise alone would explain.

All of it is computed from what was released, and looks at no record again. Noise goes beyond three of its standard
deviations, to one side, with probability at most 0.0072 (a single Laplace number's; sums, Gaussian and K-norm noise
less), and beyond six with 1.04e-4. So where no record counts, that is told but for one time in 139; and where nine
standard deviations of records count, there is a false alarm at most once in 9,600 times. Of fewer public rows nothing
is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.box import Interval
from sfumato.core.calibration import NoiseLaw
from sfumato.faces.words import listed, plain
from sfumato.laws import noise_deviation, sum_deviation
from sfumato.releases.summary.summary import SummaryRelease

_FAR = 3  # standard deviations that noise seldom goes to one side
_FEW = 100  # one row in so many is next to none
_RARE = 20  # one record in so many is rare
_QUIET, _BEYOND, _TELLING = 0.03, 4, 4  # noise of moments that can be told from -1/3; how far it goes; how many tell
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
        if not self.tells:
            return False
        far = _FAR * self.unsure
        return self.number <= far or (self.rows is not None and self.number + far < self.rows / _FEW)

    @property
    def tells(self) -> bool:
        """Whether there are rows enough: the number of fewer would often look like none, if all of them count."""
        return self.rows is None or self.rows >= 3 * _FAR * self.unsure

    def clear_of(self, many: float) -> bool:
        """Whether noise is small beside so many records: a group that looks like none is then a rare one."""
        return _FAR * self.unsure <= many / _RARE

    @property
    def words(self) -> str:
        """The number, and how much of it is noise."""
        of = "" if self.rows is None else f" of {self.rows:,} rows"
        return f"{self.number:,.0f}{of}, with noise of standard deviation {self.unsure:,.3g}"


def sum_of(what: str, values: NDArray[np.float64], law: NoiseLaw, rows: int | None = None) -> Presence:
    """The presence that some of a law's coefficients add up to, each of which counts records."""
    return Presence(what, float(values.sum()), sum_deviation(law, values.size), rows)


def small_sums(names: Sequence[str], largest: Presence) -> list[str]:
    """The same of sums, in units of the largest value that a record can add: small values look like few records."""
    if not largest.tells or largest.number > _FAR * largest.unsure:
        return []
    plural, many = ("s", "are") if len(names) > 1 else ("", "is")
    return [
        f"next to no record may be there: the noisy sum{plural} of {listed(list(names))} {many} no more than noise, of "
        f"standard deviation {largest.unsure:,.3g} largest values; {_MEND}"
    ]


def moments_alone(release: SummaryRelease) -> list[str]:
    """Columns of numbers whose released moments noise alone would explain.

    A missing value has the moments of an even angle, all zero, which hardly any column of numbers has: of values that
    are spread evenly over their bounds the second is -1/3. Where noise is not far below that nothing is said.
    """
    if release.rows is None:
        what, unsure = f"with {listed(list(release.box.names))}", noise_deviation(release.law)
        if found := absence(Presence(what, float(release.numbers[0]), unsure)):
            return found
    if release.noise_sd > _QUIET:
        return []
    empty = []
    for place, (name, column) in enumerate(zip(release.box.names, release.box.columns, strict=True)):
        own = release.moments[release.among([place])[0]][1:]
        if isinstance(column, Interval) and len(own) >= _TELLING and np.abs(own).max() <= _BEYOND * release.noise_sd:
            empty.append(name)
    if not empty:
        return []
    what = f"the moments of {listed(empty)} are no more than noise, as those of missing values are"
    return [f"next to no record may be there: {what}; {_MEND}"]


def absence(whole: Presence | None, parts: Sequence[Presence] = ()) -> list[str]:
    """What there is to warn of: that nobody is there, or in which parts nobody is."""
    if whole is not None and whole.absent:
        return [f"next to no record may be there: the noisy number of records {whole.what} is {whole.words}; {_MEND}"]
    empty = [part for part in parts if part.absent]
    if not empty:
        return []
    told = "; ".join(f"{plain(part.what)}: {part.words}" for part in empty[:3])
    return [f"next to no record may be there of {listed([plain(part.what) for part in empty])} ({told}); {_MEND}"]
