"""Published marginal tables of categorical columns, collected from people's own devices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.bases.base import frozen
from sfumato.bases.density.measure import to_simplex
from sfumato.bases.tables.shrinkage import posterior_medians, shrunk_to_zero
from sfumato.bases.tables.walsh import Walsh, signs
from sfumato.checks import did_you_mean, positive_integer, probability
from sfumato.codec import exact_keys
from sfumato.core.box import Box
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.base import Release
from sfumato.releases.collected.density import check_reports
from sfumato.upwards import Shown

Floats = NDArray[np.float64]

_FITS = 200  # rounds of proportional fitting, at most
_UNKNOWN = 1e5  # variances from here on mean that nobody was asked
_ENOUGH = 1e-9  # how far sums may be from the shares


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalsRelease(Shown, Release):
    """Tables of up to ``ways`` categorical columns.

    Parameters
    ----------
    coefficients, variances
        Unbiased Walsh coefficients and a bound on the variance of each (read-only).
    reports
        How many reports they rest on: public.
    """

    kind: ClassVar[str] = "marginals"

    domain: Box
    ways: int
    coefficients: Floats
    variances: Floats
    reports: int

    def __post_init__(self) -> None:
        for name in ("coefficients", "variances"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def of(cls, protocol: Any, coefficients: Floats, variances: Floats, reports: int) -> Self:
        """The release that follows from a protocol's unbiased coefficients."""
        about = (
            ("target", f"{protocol.ways}-way marginals, collected from devices"),
            ("randomizer", protocol.randomizer),
            ("reports", str(reports)),
        )
        known = variances[variances < _UNKNOWN]
        law = LocalLaw(protocol.randomizer, len(coefficients), math.sqrt(float(known.max(initial=0.0) or _UNKNOWN)))
        return cls(
            guarantee=protocol.guarantee, law=law, target=about, domain=protocol.box, ways=protocol.ways,  # type: ignore[arg-type]
            coefficients=coefficients, variances=variances, reports=reports,
        )  # fmt: skip

    @classmethod
    def of_joints(
        cls, protocol: Any, means: Floats, variances: Floats, unknown: NDArray[np.bool_], reports: int
    ) -> Self:
        """The same from the shares of people for whom all of a few binary columns are one (Algorithm 6).

        ``(-1)^(sum of bits) = prod (1 - 2 x_j)``, which is a sum over subsets of columns of products of x_j.
        """
        walsh: Walsh = protocol.walsh
        columns, masks = walsh.terms
        place = {tuple(c[m > 0].tolist()): i for i, (c, m) in enumerate(zip(columns, masks, strict=True))}
        known = np.where(unknown, 1e6, variances)
        found, spread = np.ones(walsh.size), np.zeros(walsh.size)
        for i, (c, m) in enumerate(zip(columns, masks, strict=True)):
            own = c[m > 0].tolist()
            for order in range(1, len(own) + 1):
                for among in combinations(own, order):
                    found[i] += (-2.0) ** order * means[place[among]]
                    spread[i] += 4.0**order * known[place[among]]
        return cls.of(protocol, found, spread, reports)

    @classmethod
    def of_shares(
        cls, protocol: Any, shares: Floats, variances: Floats, unknown: NDArray[np.bool_], reports: int
    ) -> Self:
        """The same from the shares of all categories of single columns, one column after the other.

        The coefficients of a column get such a variance that its least certain share has the one that it was told with.
        """
        walsh: Walsh = protocol.walsh
        found, spread, start = [], [], 0
        for kind, bits, nobody in zip(protocol.box.columns, walsh.bits, unknown, strict=True):
            size, cells = len(kind.categories), 2**bits
            padded = np.zeros(cells)
            padded[:size] = shares[start : start + size]
            found.append((signs(bits) @ padded)[1:])
            most = float(variances[start : start + size].max()) * cells**2 / (cells - 1)
            spread.append(np.full(cells - 1, 1e6 if nobody else most))
            start += size
        return cls.of(protocol, np.concatenate(found), np.concatenate(spread), reports)

    @property
    def box(self) -> Box:
        return self.domain

    @cached_property
    def walsh(self) -> Walsh:
        """What the coefficients belong to."""
        return Walsh(self.box, self.ways)

    @cached_property
    def _single(self) -> Floats:
        """Coefficients of one column, as likely as all of them together make them; zero for the others."""
        result, single = np.zeros(self.walsh.size), self.walsh.orders == 1
        result[single] = posterior_medians(self.coefficients[single], self.variances[single])
        return result

    @cached_property
    def _beyond(self) -> Floats:
        """What several columns have in common beyond their shares, pulled to nothing; zero for single columns."""
        result, orders = np.zeros(self.walsh.size), self.walsh.orders
        columns, masks = self.walsh.terms
        single = orders == 1
        where = {(int(c[0]), int(m[0])): i for i, (c, m) in enumerate(zip(columns[single], masks[single], strict=True))}
        for order in range(2, self.ways + 1):
            own = np.flatnonzero(orders == order)
            parts = np.array([[where[pair] for pair in zip(c[:order], m[:order], strict=True)]
                              for c, m in zip(columns[own].tolist(), masks[own].tolist(), strict=True)])  # fmt: skip
            independent = self._single[parts].prod(axis=1)
            known = self.variances[own] < _UNKNOWN
            asked = own[known]
            result[asked] = shrunk_to_zero(self.coefficients[asked] - independent[known], self.variances[asked])
        return result

    def table(self, columns: Sequence[str] | str, raw: bool = False) -> Floats:
        """The share of people in every combination of categories, one axis for each column, as declared.

        Tables are nowhere negative, sum to one, and agree with each other on single columns. ``raw``: the unbiased
        estimate instead, which need not.
        """
        places = self._places(columns)
        order = np.argsort(places)
        increasing = [places[i] for i in order]
        if raw:
            return np.transpose(self.walsh.table(increasing, self.coefficients), np.argsort(order))
        margins = [self._margin(place) for place in increasing]
        if len(margins) == 1:
            return margins[0]
        # Independent columns, and what they have in common: without it the table is exactly that of their shares.
        common = self.walsh.table(increasing, self._beyond) - 0.5 ** sum(self.walsh.bits[j] for j in increasing)
        table = np.maximum(reduce(np.multiply.outer, margins) + common, 1e-12)
        return np.transpose(_fitted(table, margins), np.argsort(order))

    def _margin(self, place: int) -> Floats:
        return to_simplex(self.walsh.table([place], self._single))

    def band(self, columns: Sequence[str] | str, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper limits of every cell of a table, each by itself with this confidence.

        They come from the unbiased estimate, up to the normal approximation of sums of that many reports.
        """
        probability("confidence", confidence)
        places = self._places(columns)
        increasing = sorted(places)
        tensor = self.walsh.tensor(increasing, self.variances)
        cells = math.prod(2 ** self.walsh.bits[j] for j in increasing)
        tensor[(0,) * tensor.ndim] = 0.0  # the first coefficient is one, whatever happens
        # Coefficients that are told apart from each other; those of Algorithm 6 share their noise, and may add it up.
        shared = ("randomizer", "chebyshev") in self.target
        deviation = (float(np.sqrt(tensor).sum()) if shared else math.sqrt(float(tensor.sum()))) / cells
        width = -float(ndtri((1 - confidence) / 2)) * deviation
        raw, value = self.table(columns, raw=True), self.table(columns)
        return np.minimum(np.clip(raw - width, 0.0, 1.0), value), np.maximum(np.clip(raw + width, 0.0, 1.0), value)

    def tables(self) -> Iterator[tuple[tuple[str, ...], Floats]]:
        """All tables of ``ways`` columns, with their names."""
        for names in combinations(self.box.names, self.ways):
            yield names, self.table(names)

    def _places(self, columns: Sequence[str] | str) -> list[int]:
        names = [columns] if isinstance(columns, str) else list(columns)
        for name in names:
            if name not in self.box.names:
                near = did_you_mean(name, self.box.names)
                raise ParameterError(f"column {name!r} is unknown; the release has {list(self.box.names)}{near}")
        if not 1 <= len({*names}) == len(names) <= self.ways:
            raise ParameterError(f"columns must be 1 to {self.ways} different names, got {names!r}")
        return [self.box.names.index(name) for name in names]

    def __repr__(self) -> str:
        return f"<MarginalsRelease, {self.ways} ways, of {self.box.dimension} columns: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {"coefficients": self.coefficients, "variances": self.variances}

    def fields(self) -> dict[str, Any]:
        return {"ways": self.ways, "reports": self.reports}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"ways", "reports"}, "the content")
        exact_keys(arrays, {"coefficients", "variances"}, "the file")
        walsh = Walsh(box, positive_integer("ways", fields["ways"]))
        if any(values.shape != (walsh.size,) for values in arrays.values()) or common["law"].size != walsh.size:
            raise ParameterError(f"these marginals have {walsh.size} coefficients, the file has not")
        if not (arrays["variances"] > 0).all():
            raise ParameterError("variances must be positive")
        check_reports(fields["reports"], common)
        numbers: dict[str, Any] = dict(arrays)
        return cls(**common, domain=box, ways=fields["ways"], reports=fields["reports"], **numbers)


def _fitted(table: Floats, margins: Sequence[Floats]) -> Floats:
    """Proportional fitting of a positive table to the shares of single columns, exact however slowly it converges."""
    for _ in range(_FITS):
        furthest = 0.0
        for axis, margin in enumerate(margins):
            sums = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
            furthest = max(furthest, float(np.abs(sums - margin).max()))
            ratio = margin / np.maximum(sums, 1e-300)
            table = table * ratio.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
        if furthest < _ENOUGH:
            break
    # Nothing is above its share now, and what is missing along all columns is spread independently.
    missing = []
    for axis, margin in enumerate(margins):
        sums = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
        ratio = np.minimum(1.0, margin / np.maximum(sums, 1e-300))
        table = table * ratio.reshape([-1 if i == axis else 1 for i in range(table.ndim)])
    for axis, margin in enumerate(margins):
        sums = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
        missing.append(np.maximum(margin - sums, 0.0))
    total = float(missing[0].sum())
    if total > 0:
        table = table + reduce(np.multiply.outer, missing) / total ** (table.ndim - 1)
    return np.asarray(table / table.sum())
