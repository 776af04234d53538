"""Which questions a summary answers well, from its basis, box, noise law and number of records alone.

The reference questions are bumps ``exp(-(x - c)^2 / (2 w^2))`` and soft edges, of one column or multiplied over
several, at places all over the columns. Widths and places are shares of a column, so that one figure serves every
column with as many frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from sfumato.bases.moments.quadrature import line_coefficients, nested_axis
from sfumato.core.box import Categorical, Interval, Periodic
from sfumato.core.calibration import NoiseLaw
from sfumato.releases.summary.answers import half_widths
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.uncertainty import DRAWS, coverage_rank, half_width_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Shape = Callable[[Floats, float, int], Floats]

WIDTHS = (*(float(f"{m}e{k}") for k in (-3, -2, -1) for m in (1, 1.5, 2, 3, 4, 5, 7)), 1.0)  # shares of a column
WELL, ROUGHLY = 0.01, 0.05  # errors of a question with values between 0 and 1
MOST_COLUMNS = 4  # that a reference question is about
_WIDEST = 0.5  # of a kernel in a picture
_PLACES = np.linspace(0.0, 1.0, 9)
_LEAST_NODES = 1024
_SIMULATED = 4096  # numbers of a summary up to which a band at many points is simulated
_HELD = 2**22  # weights held at once


@dataclass(frozen=True, eq=False)
class Errors:
    """How wrong the answers to a kind of question can be, by its width: noise, and what the basis misses, at most."""

    widths: Floats
    noise: Floats
    approximation: Floats

    @property
    def total(self) -> Floats:
        """Both together."""
        return np.asarray(self.noise + self.approximation)

    def narrowest(self, limit: float = WELL) -> float | None:
        """The width from which on every wider one has a total of at most ``limit``; None if the widest has not."""
        beyond = np.flatnonzero(~(self.total <= limit))
        first = int(beyond[-1]) + 1 if len(beyond) else 0
        return float(self.widths[first]) if first < len(self.widths) else None

    def at(self, width: float) -> tuple[float, float, float]:
        """Noise, approximation and total of the width nearest to this one."""
        i = int(np.abs(np.log(self.widths / width)).argmin())
        return float(self.noise[i]), float(self.approximation[i]), float(self.total[i])


def verdict(error: float) -> str:
    """A word for the error of a question whose answer is a share.

    >>> [verdict(error) for error in (0.004, 0.03, 0.2)]
    ['well', 'roughly', 'not']
    """
    return "well" if error <= WELL else "roughly" if error <= ROUGHLY else "not"


def numeric(release: SummaryRelease) -> tuple[int, ...]:
    """The positions of numeric columns."""
    return tuple(j for j, kind in enumerate(release.box.columns) if isinstance(kind, Interval))


def lines(release: SummaryRelease) -> tuple[int, ...]:
    """The positions of numeric columns that do not go round a circle: those that have means and correlations."""
    return tuple(j for j in numeric(release) if not isinstance(release.box.columns[j], Periodic))


def categorical(release: SummaryRelease) -> tuple[int, ...]:
    """The positions of categorical columns."""
    return tuple(j for j, kind in enumerate(release.box.columns) if isinstance(kind, Categorical))


def together(release: SummaryRelease) -> int:
    """How many columns a question can be about."""
    taking = np.count_nonzero(release.indices.frequencies, axis=1)
    return int(taking.max(initial=0))


def records(release: SummaryRelease) -> float:
    """The number of records, or the noisy one; at least one."""
    return max(1.0, float(release.numbers[0] if release.rows is None else release.rows))


def sampling_error(release: SummaryRelease) -> float:
    """``n^(-1/2)``: about how far a share among n people drawn at random is from that of all people (95 %), at most."""
    return 1.0 / math.sqrt(records(release))


# --- functions of one column ------------------------------------------------------------------------------


def bumps(places: Floats, width: float, degree: int) -> Floats:
    """``(q, N)`` cosine coefficients of bumps of height one at places in [0, 1]."""
    unit = _nodes(degree)
    return line_coefficients(np.exp(-0.5 * ((unit - places[:, None]) / width) ** 2))


def edges(places: Floats, width: float, degree: int) -> Floats:
    """The same for soft edges, which rise from zero to one: a soft range is the product or difference of two."""
    unit = _nodes(degree)
    return line_coefficients((1 + erf((unit - places[:, None]) / (math.sqrt(2) * width))) / 2)


def _nodes(degree: int) -> Floats:
    count = max(_LEAST_NODES, 8 * degree)
    return np.asarray((np.cos((np.arange(count) + 0.5) * (math.pi / count)) + 1) / 2)


# --- questions --------------------------------------------------------------------------------------------


def product_weights(frequencies: Indices, axes: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Weights ``(q, k)`` of moments of these ``(k, columns)`` frequencies, and what they leave out.

    They are those of products of functions of one column each, of which ``axes`` holds ``(q, N_j)`` coefficients.
    """
    kept, whole = np.ones((len(axes[0]), len(frequencies))), np.ones(len(axes[0]))
    for axis, own in zip(axes, frequencies.T, strict=True):
        kept *= axis[:, own]
        whole *= np.abs(axis).sum(axis=1)
    # Sums of many coefficients of an exact question differ by rounding only.
    missed = np.maximum(whole - np.abs(kept).sum(axis=1) - 1e-12 * whole, 0.0)
    return kept, missed


def noise_errors(release: SummaryRelease, weights: Floats, confidence: float, at_once: bool = False) -> Floats:
    """How far noise moves weighted sums of moments, each by itself with this confidence or all at once.

    The first weight is of frequency zero, and the sums are at most one in size.
    """
    widths = _widths_at_once if at_once else half_widths
    if release.rows is not None:
        return np.asarray(widths(release.law, weights[:, 1:], confidence) / records(release))
    both = (1 + confidence) / 2  # the sum, and the count that divides it
    miscount = float(half_widths(release.law, np.ones((1, 1)), both)[0])
    least = float(release.numbers[0]) - miscount
    if least <= 0:
        return np.full(len(weights), math.inf)
    return np.asarray((widths(release.law, weights, both) + miscount) / least)


def _widths_at_once(law: NoiseLaw, weights: Floats, confidence: float) -> Floats:
    """Simulated where the law is small, else each with its part of what may be missed."""
    if coverage_rank(confidence) <= DRAWS and law.size <= _SIMULATED and len(weights) * law.size <= _HELD:
        # All numbers have the same law, and any of them may stand for those that are used.
        whole = np.zeros((len(weights), law.size))
        whole[:, : weights.shape[1]] = weights
        return half_width_of([whole], law, confidence)
    return half_widths(law, weights, 1 - (1 - confidence) / max(1, len(weights)))


def errors_by_width(
    release: SummaryRelease,
    places: Sequence[int],
    confidence: float = 0.95,
    shape: Shape = bumps,
    widths: Sequence[float] = WIDTHS,
) -> Errors:
    """How wrong answers about products of bumps (or edges) of numeric columns can be, wherever in the columns they lie.

    The noise holds with this confidence for each question by itself; what the basis misses is bounded whatever the
    records are. Of nine places along the columns the worst one counts, for each of the two.
    """
    frequencies, chosen, missed = release.among(places)[1], [], []
    noisy = 0 if release.rows is None else 1  # from which weight on
    for width in widths:
        axes = [shape(_PLACES, width, release.indices.shape[j]) for j in places]
        weights, left_out = product_weights(frequencies, axes)
        chosen.append(weights[int(np.argmax(np.linalg.norm(weights[:, noisy:], axis=1)))])
        missed.append(float(left_out.max()))
    block = max(1, _HELD // len(chosen[0]))
    noise = [
        noise_errors(release, np.stack(chosen[start : start + block]), confidence)
        for start in range(0, len(chosen), block)
    ]
    return Errors(np.array(widths), np.concatenate(noise), np.array(missed))


def drawn_width(errors: Errors) -> float:
    """A width for a picture: the narrowest that is answered well, or roughly, or the one that is off least."""
    for limit in (WELL, ROUGHLY):
        found = errors.narrowest(limit)
        if found is not None and found <= _WIDEST:
            return found
    some = errors.widths <= _WIDEST
    return float(errors.widths[some][np.argmin(errors.total[some] / errors.widths[some] ** 0.5)])


@dataclass(frozen=True, eq=False)
class Limits:
    """Values with limits that hold for all of them at once: ``low <= value <= high``."""

    value: Floats
    low: Floats
    high: Floats


def density(release: SummaryRelease, places: Sequence[int], units: Floats, width: float, confidence: float) -> Limits:
    """A kernel density estimate, in records per unit of the columns, at ``(m, k)`` points that are shares of columns.

    With this confidence that of the records lies within the limits at all points at once, whatever they are.
    """
    axes = [bumps(at, width, release.indices.shape[j]) for at, j in zip(units.T, places, strict=True)]
    spans = [kind.high - kind.low for kind in map(release.box.columns.__getitem__, places)]  # type: ignore[union-attr]
    height = math.prod(1 / (width * span * math.sqrt(2 * math.pi)) for span in spans)
    rows, frequencies = release.among(places)
    weights, missed = product_weights(frequencies, axes)
    return _limits(release, weights @ release.moments[rows], weights, missed, confidence, height)


def shares(release: SummaryRelease, place: int, confidence: float) -> Limits:
    """The share of each category of a column, with limits that hold for all of them at once."""
    weights, missed = category_weights(release, [place])
    rows = release.among([place])[0]
    return _limits(release, weights @ release.moments[rows], weights, missed, confidence, 1.0)


def _limits(
    release: SummaryRelease, value: Floats, weights: Floats, missed: Floats, confidence: float, height: float
) -> Limits:
    """Of answers between zero and one, times ``height``."""
    reach = noise_errors(release, weights, confidence, at_once=True) + missed
    parts = (np.clip(part, 0.0, 1.0) * height for part in (value, value - reach, value + reach))
    return Limits(*parts)


def hardest(release: SummaryRelease, count: int) -> tuple[int, ...]:
    """So many numeric columns, those with the fewest frequencies."""
    order = sorted(numeric(release), key=lambda j: release.indices.shape[j])
    return tuple(sorted(order[:count]))


def errors_by_columns(
    release: SummaryRelease, confidence: float = 0.95, shape: Shape = bumps, most: int = MOST_COLUMNS
) -> list[Errors]:
    """The same for questions about one column, two columns at once, ..., as many as the summary can answer."""
    most = min(most, together(release), len(numeric(release)))
    return [errors_by_width(release, hardest(release, count), confidence, shape) for count in range(1, most + 1)]


def category_weights(release: SummaryRelease, places: Sequence[int]) -> tuple[Floats, Floats]:
    """The shares of all combinations of categories of these columns: weights of their moments, what is left out."""
    transforms = [nested_axis(release.indices.shape[j]).transform.T for j in places]
    grid = np.indices([len(transform) for transform in transforms]).reshape(len(places), -1)
    axes = [transform[own] for transform, own in zip(transforms, grid, strict=True)]
    return product_weights(release.among(places)[1], axes)


def share_error(release: SummaryRelease, places: Sequence[int], confidence: float = 0.95) -> tuple[float, float]:
    """Noise, and what the basis misses, of the share of one combination of categories: the largest of all."""
    weights, missed = category_weights(release, places)
    return float(noise_errors(release, weights, confidence).max()), float(missed.max())
