"""A published statistic: one number or a few, with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LARGEST_LATTICE
from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import LARGEST_FACTOR, LARGEST_GRID, MOST_SPLITS, Grid, Quantiles, check_level
from sfumato.bases.statistics.sums import UNIT, Given, StatisticBasis, SumOfRecords, Tally, Total
from sfumato.bases.statistics.tree import HIGHEST, LARGEST_FAN, QuantileTree
from sfumato.bases.unit import in_units, records_in_units
from sfumato.checks import finite_number, one_of, positive_number, probability, whole_number
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box, Categorical, Column
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.laws import INDEPENDENT
from sfumato.releases.base import SumsRelease
from sfumato.releases.file.certified import check_certificate, granted_of, sum_norm
from sfumato.releases.uncertainty import widths_of_each
from sfumato.upwards import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueRelease(Shown, SumsRelease):
    """A statistic of private records, perturbed once (or chosen once: then there is no noise law).

    Parameters
    ----------
    domain, summary, rows
        The columns it is about, what was summed and how that is read, and the public number of records (or None).
    numbers
        The noisy numbers behind it (read-only).
    """

    kind: ClassVar[str] = "value"

    law: NoiseLaw | None  # type: ignore[assignment]
    summary: StatisticBasis
    rows: int | None

    @property
    def statistic(self) -> str:
        """What it is, in a word."""
        return self.summary.statistic

    @property
    def value(self) -> Any:
        """The statistic: a number, or an array (``labels`` names its entries); a date, of a column of dates."""
        return self._in_units(self.estimate)

    @property
    def estimate(self) -> Floats:
        """The same as numbers, dates as days since 1970."""
        numbers = self.summary.steadied(self.numbers, self.law, self.rows)
        return np.asarray(self.summary.estimate(self.box, numbers, self.rows))

    @property
    def kinds(self) -> tuple[Column, ...]:
        """The columns in whose units the entries of ``value`` are, if they are: one for each, or one for all."""
        return self.box.columns if self.statistic in ("mean", "median", "quantiles") else ()

    def _in_units(self, numbers: Floats) -> Any:
        kinds = self.kinds
        if len(kinds) > 1:
            return records_in_units(self.box, numbers[None, :])[0]
        return in_units(kinds[0], numbers) if kinds else _plain(numbers)

    @property
    def labels(self) -> list[list[str]]:
        """Names of the entries along each axis of ``value``; none for a single number."""
        return self.summary.labels(self.box)

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper limits of the same statistic of the records themselves, for all its entries at once.

        They speak of the records, brought into the box, not of a population that these were drawn from.

        Formal guarantee: with probability at least ``confidence`` over the noise, whatever the data, all limits hold.
        Those of quantiles hold for every usual definition of one; of those that were chosen (``interval="none"``) they
        are the box's bounds unless other levels tell more. Those of a sum, where the number of records is private,
        allow for the rounding of up to ``2**31`` of them.
        """
        low, high = self.limits(confidence)
        return self._in_units(low), self._in_units(high)

    def limits(self, confidence: float) -> tuple[Floats, Floats]:
        """The same as numbers."""
        probability("confidence", confidence)
        widths = self.summary.own_widths(self.law, self.guarantee, confidence, self.rows)
        if widths is None:
            assert self.law is not None
            sizes = np.abs(self.numbers)
            rounded = np.where(sizes > 2.0**53 * self.law.step, sizes * 2.0**-52, 0.0)  # to doubles, at the door
            widths = widths_of_each(self.law, confidence) + rounded
        low, high = self.summary.limits(self.box, self.numbers, widths, self.rows)
        value = self.estimate
        return np.asarray(np.minimum(low, value)), np.asarray(np.maximum(high, value))

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        value = self.value
        shown = (
            f"{np.shape(value)} numbers" if np.ndim(value) else f"{value:.6g}" if isinstance(value, float) else value
        )
        return f"<ValueRelease {self.statistic} of {printable(', '.join(self.box.names))}: {shown}; {self.guarantee}>"

    def fields(self) -> dict[str, Any]:
        return {"summary": self.summary.to_json(), "rows": self.rows}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"summary", "rows"}, "the content")
        exact_keys(arrays, {"numbers"}, "the file")
        summary, promised = statistic_from_json(fields["summary"], box), common["guarantee"]
        rows = decode_rows(fields["rows"], promised)
        if arrays["numbers"].shape != (summary.size(box),):
            raise ParameterError(f"the statistic needs {summary.size(box)} numbers, got {arrays['numbers'].shape}")
        if common["law"] is None and (
            promised.mu is not None or promised.confidence != 1 or promised.delta or promised.model != "central"
        ):
            raise ParameterError("a choice is pure: its guarantee has no mu and is not random")
        _check_law(common["law"], summary, box, granted_of(promised))
        return cls(**common, domain=box, summary=summary, numbers=arrays["numbers"], rows=rows)


def _plain(value: Floats) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _check_law(law: NoiseLaw | None, summary: StatisticBasis, box: Box, who: Privacy) -> None:
    """Refuse noise that was calibrated for something else."""
    if isinstance(summary, Quantiles):
        if law is not None:
            raise ParameterError("a quantile is chosen, not perturbed: it has no noise law")
        return
    if law is None or law.size != summary.size(box):
        raise ParameterError("the noise law and the statistic differ in size")
    certificate = law.certificate
    if (
        isinstance(summary, Given)
        and certificate.known in ("proved", "enforced")
        and (summary.range is None or certificate.bound < summary.widest(certificate.norm) * (1 - 1e-12))
    ):
        raise ParameterError("nothing enforces the sensitivity of a caller's own statistic but a range as narrow as it")
    if certificate.exponent != summary.exponent:
        raise ParameterError("the noise and the statistic are on different grids")
    if isinstance(summary, QuantileTree | CentredSquares) and law.kind not in INDEPENDENT:
        raise ParameterError("limits of quantiles and of squares need noise that is independent from number to number")
    if isinstance(summary, SumOfRecords):
        check_certificate(certificate, summary.certified(box, who, sum_norm(certificate)))


def statistic_from_json(data: Mapping[str, Any], box: Box) -> StatisticBasis:
    """Rebuild what a statistic is written in."""
    names = ("sum", "count", "histogram", "proportions", "mean", "variance", "covariance", "median", "quantiles")
    statistic = one_of("statistic", data["statistic"], (*names, Given.statistic, Magnitudes.statistic))
    if statistic == Magnitudes.statistic:
        exact_keys(data, {"statistic", "threshold"}, "the statistic")
        box.intervals()
        return Magnitudes(positive_number("threshold", data["threshold"]))
    if statistic == Given.statistic:
        exact_keys(data, {"statistic", "length", "range"}, "the statistic")
        limits = None if data["range"] is None else tuple(finite_number("range", end) for end in data["range"])
        if limits is not None and (len(limits) != 2 or limits[0] >= limits[1]):
            raise ParameterError(f"range must be a pair (low, high), got {data['range']!r}")
        return Given(whole_number("length", data["length"], 1, LARGEST_LATTICE), limits)
    if not isinstance(data["complete"], bool):
        raise ParameterError(f"complete must be true or false, got {data['complete']!r}")
    complete = data["complete"]
    if statistic in ("count", "histogram", "proportions"):
        return _tally_from_json(data, statistic, complete, box)
    box.intervals()
    if statistic == "sum":
        exact_keys(data, {"statistic", "complete"}, "the statistic")
        return Total(complete)
    if statistic in ("median", "quantiles"):
        if box.dimension != 1:
            raise ParameterError(f"a {statistic} is of one column, got {list(box.names)}")
        return _quantiles_from_json(data, statistic, complete)
    if "first" in data:
        return _centred_from_json(data, statistic, complete, box)
    exact_keys(data, {"statistic", "complete", "weight"}, "the statistic")
    return Moments(statistic, complete, whole_number("weight", data["weight"], 0, 2**60 - 1))


def _centred_from_json(data: Mapping[str, Any], statistic: str, complete: bool, box: Box) -> CentredSquares:
    names = {"statistic", "complete", "weight", "first", "first_weight", "share", "centres"}
    exact_keys(data, names, "the statistic")
    first = tuple(finite_number("first", number) for number in data["first"])
    weights = [whole_number(name, data[name], 0, 2**60 - 1) for name in ("weight", "first_weight")]
    if statistic != "variance" or len(first) != box.dimension + (weights[1] > 0) or complete == (weights[1] > 0):
        raise ParameterError(f"{len(first)} means do not fit a {statistic} of {box.dimension} columns")
    centres = tuple(whole_number("centres", centre, -UNIT, UNIT) for centre in data["centres"])
    if len(centres) != box.dimension:
        raise ParameterError(f"{len(centres)} centres do not fit {box.dimension} columns")
    return CentredSquares(centres, complete, weights[0], first, weights[1], probability("share", data["share"]))


def _tally_from_json(data: Mapping[str, Any], statistic: str, complete: bool, box: Box) -> Tally:
    edges = data.get("edges")  # of equal cells there are none
    exact_keys(data, {"statistic", "complete", "shape", *([] if edges is None else ["edges"])}, "the statistic")
    shape = tuple(whole_number("shape", count, 1, LARGEST_LATTICE) for count in data["shape"])
    for column, count in zip(box.columns, shape, strict=True):
        if statistic != "count" and isinstance(column, Categorical) and len(column.categories) != count:
            raise ParameterError(f"a column of {len(column.categories)} categories cannot have {count} cells")
    if statistic == "count" and set(shape) != {1}:
        raise ParameterError(f"a count has one cell, got shape={shape!r}")
    if edges is None:
        return Tally(statistic, shape, complete)
    sides = tuple(None if side is None else tuple(finite_number("edges", edge) for edge in side) for side in edges)
    for column, count, side in zip(box.columns, shape, sides, strict=True):
        ascending = side is None or (len(side) == count + 1 and all(a < b for a, b in pairwise(side)))
        if not ascending or (side is not None and (statistic != "histogram" or isinstance(column, Categorical))):
            raise ParameterError(
                f"edges must ascend, one more than there are cells along a numeric column, got {side!r}"
            )
    return Tally(statistic, shape, complete, sides)


def _quantiles_from_json(data: Mapping[str, Any], statistic: str, complete: bool) -> Quantiles | QuantileTree:
    asked = tuple(check_level(level) for level in data["asked"])
    if not asked or (statistic == "median" and asked != (0.5,)):
        raise ParameterError(f"the levels do not fit a {statistic}: {asked!r}")
    if "height" in data:
        return _tree_from_json(data, statistic, asked, complete)
    jointly = data.get("splits")  # of levels that are chosen one by one there are none
    names = {"statistic", "complete", "asked", "grid", "flank", "share"}
    exact_keys(data, names if jointly is None else {*names, "splits"}, "the statistic")
    flank, share = finite_number("flank", data["flank"]), finite_number("share", data["share"])
    if not (0 <= flank <= 0.5 and 0 <= share < 1 and (flank > 0) == (share > 0)):
        raise ParameterError(f"flank and share must be small and come together, got {flank!r}, {share!r}")
    step = ("first", "count", "digits", *(["factor"] if "factor" in data["grid"] else []))
    splits = 0 if jointly is None else whole_number("splits", jointly, 2, MOST_SPLITS)
    if splits and share:
        raise ParameterError("levels that are chosen jointly have none beside them")
    return Quantiles(statistic, asked, _grid_from_json(data["grid"], step), complete, flank, share, splits)


def _tree_from_json(data: Mapping[str, Any], statistic: str, asked: tuple[float, ...], complete: bool) -> QuantileTree:
    exact_keys(data, {"statistic", "complete", "asked", "grid", "fan", "height", "absent"}, "the statistic")
    grid = _grid_from_json(data["grid"], ("first", "count", "digits", "factor"))
    fan, height = whole_number("fan", data["fan"], 2, LARGEST_FAN), whole_number("height", data["height"], 1, HIGHEST)
    if grid.count < 2 or not fan ** (height - 1) < grid.count <= fan**height:
        raise ParameterError(f"{height} layers, each {fan} times the one above, do not fit {grid.count} cells")
    if not isinstance(data["absent"], bool) or (data["absent"] and complete):
        raise ParameterError(f"absent must be true or false, and false where nothing is missing: {data['absent']!r}")
    return QuantileTree(statistic, asked, grid, complete, fan, height, data["absent"])


def _grid_from_json(data: Mapping[str, Any], names: Sequence[str]) -> Grid:
    limits = {
        "first": (-(2**80), 2**80),
        "count": (1, LARGEST_GRID),
        "digits": (-300, 300),
        "factor": (1, LARGEST_FACTOR),
    }
    exact_keys(data, {*names}, "the grid")
    return Grid(**{name: whole_number(name, data[name], *limits[name]) for name in names})
