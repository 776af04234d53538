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

from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.moments import Moments, half_width
from sfumato.core.box import Categorical, Integer
from sfumato.core.calibration import NoiseLaw
from sfumato.faces.words import listed, plain
from sfumato.laws import noise_deviation, sum_deviation
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

_FAR = 3  # standard deviations that noise seldom goes to one side
_FEW = 100  # one row in so many is next to none
_RARE = 20  # one record in so many is rare
_QUIET, _BEYOND, _TELLING = 0.03, 4, 2  # noise of moments that can be told from -1/3; how far it goes; how many tell
_WHOLE = 4  # moments of whole numbers: of five of them, all equally frequent, the first two are zero
_MARGIN = 1.0  # how far from zero a learner's function is where it tells something
_UNLIKELY = 0.01  # that moments of records lie where noise alone would leave them
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


def quiet(many: int) -> float:
    """Up to which noise, as a share of all records, so many moments of a column tell that it has none.

    Of moments that could be anything from -1 to 1, all are so near to zero in one column of a hundred.
    """
    return float(min(_QUIET, _UNLIKELY ** (1 / many) / (2 * _BEYOND)))


def columns_alone(names: Sequence[str]) -> list[str]:
    """The warning of columns whose moments noise alone would explain."""
    if not names:
        return []
    what = f"the moments of {listed(list(names))} are no more than noise, as those of missing values are"
    return [f"next to no record may be there: {what}; {_MEND}"]


def is_silent(moments: NDArray[np.float64], unsure: float) -> bool:
    """Whether moments of a column, as shares of all records, are no more than noise, where that can be told."""
    many = moments.size
    return many >= _TELLING and unsure <= quiet(many) and bool(np.abs(moments).max() <= _BEYOND * unsure)


def moments_alone(release: SummaryRelease) -> list[str]:
    """Columns whose released moments noise alone would explain.

    A missing value has the moments of an even angle, all zero, which hardly any column has: of values that are spread
    evenly over their bounds the second is -1/3, of so many categories, all equally frequent, one in so many. Two
    categories have a single moment, which is zero where both are equally frequent: of these nothing is said.
    """
    if release.rows is None:
        what, unsure = f"with {listed(list(release.box.names))}", noise_deviation(release.law)
        if found := absence(Presence(what, float(release.numbers[0]), unsure)):
            return found
    own = {name: release.moments[release.among([j])[0]] for j, name in enumerate(release.box.names)}
    kinds = dict(zip(release.box.names, release.box.columns, strict=True))
    last = {name: len(kind.categories) if isinstance(kind, Categorical) else None for name, kind in kinds.items()}
    silent = [name for name, found in own.items() if is_silent(found[1 : last[name]], release.noise_sd)]
    return columns_alone([name for name in silent if not isinstance(kinds[name], Integer) or own[name].size > _WHOLE])


def squares_alone(release: ValueRelease, summary: Moments | CentredSquares) -> list[str]:
    """Columns whose mean and mean square are no more than noise: what is missing was taken for the middle of the box.

    A mean alone says nothing: many a column has it in the middle.
    """
    if summary.statistic == "mean" or release.rows is None or release.law is None:
        return []
    count, noise = release.box.dimension, noise_deviation(release.law)
    means, spread = release.numbers[:count], np.atleast_1d(np.asarray(release.value))
    if isinstance(summary, CentredSquares):
        means = np.array(summary.first[:count])
        noise = max(noise, noise_deviation(summary.first_law(release.guarantee)))
    with np.errstate(all="ignore"):  # of the narrowest columns both are 0, and nothing can be said
        squares = (np.diag(spread) if spread.ndim == 2 else spread) / half_width(release.box) ** 2
    found = zip(release.box.names, means / release.rows, squares, strict=True)
    return columns_alone([name for name, *own in found if is_silent(np.array(own), noise / release.rows)])


def nothing_learned(largest: float, noise: float, response: str) -> list[str]:
    """Of a learner whose functions are nowhere beyond what noise alone makes of them, if that is half a margin or less.

    Where without noise they would go four times as far as noise does, there is a false alarm once in 10,000 times.
    """
    if largest > noise or noise > _MARGIN / 2:
        return []
    return [
        f"next to nothing may be there: what was learned is nowhere beyond {largest:.3g}, and noise alone goes up to "
        f"{noise:.3g}; is {plain(response)} spelt as in the data, are the columns numbers there, or do they tell "
        "nothing of it?"
    ]


def absence(whole: Presence | None, parts: Sequence[Presence] = ()) -> list[str]:
    """What there is to warn of: that nobody is there, or in which parts nobody is."""
    if whole is not None and whole.absent:
        return [f"next to no record may be there: the noisy number of records {whole.what} is {whole.words}; {_MEND}"]
    empty = [part for part in parts if part.absent]
    if not empty:
        return []
    told = "; ".join(f"{plain(part.what)}: {part.words}" for part in empty[:3])
    return [f"next to no record may be there of {listed([plain(part.what) for part in empty])} ({told}); {_MEND}"]
