"""A published density: evaluate it anywhere, with honest bands, and ask it what a distribution can answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import MAX_CELLS, Basis, LatticeBasis
from sfumato.bases.density.binning import MassLattice, along, check_dimension, lattice_from_json
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import Heap, Mixture, node_positions
from sfumato.bases.density.questions import position, within
from sfumato.bases.density.shares import RESPONSE_BITS, certify_masses, check_cells, check_table, shape_of_cells
from sfumato.bases.lattice.bernstein import basis_from_json
from sfumato.bases.lattice.expansion import Expansion, SubBox, column_axis, sub_boxes
from sfumato.bases.unit import in_units, number_of, to_unit
from sfumato.checks import finite_number, one_of, probability, whole_number
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box, Integer, Periodic
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.density.conditional import Conditional
from sfumato.releases.density.distribution import Distribution, around_whole_numbers
from sfumato.releases.density.masses import INCLUDES, NoisyMasses, kept_box, kept_kernel
from sfumato.releases.file.certified import as_stated, check_certificate, granted_of, sum_norm
from sfumato.releases.function import FunctionRelease
from sfumato.releases.uncertainty import half_width_of

Floats = NDArray[np.float64]

_EDGES, _MOST_EDGES = 4, 400  # where shares are asked for limits of quantiles: for each lattice point, and in all


@dataclass(frozen=True)
class Choice:
    """Which basis a density is written in, and why: all from public quantities.

    ``predicted_error`` is the mean largest error to expect, for densities with features about as wide as the kernel.
    """

    basis: str
    automatic: bool
    predicted_error: float
    reason: str

    def __str__(self) -> str:
        return f"{self.basis}: {self.reason}"


@dataclass(frozen=True, eq=False, kw_only=True)
class DensityRelease(FunctionRelease, Distribution):
    """The kernel density estimate of private records, perturbed once.

    Call it at points in user units. ``probability``, ``marginal``, ``conditional``, ``quantile``, ``mean``, ``mode``
    and ``sample`` are computed from it and cost no further privacy. ``choice`` says which basis it is written in.

    Parameters
    ----------
    masses
        The noisy coefficients and the facts about them.
    post
        ``"simplex"``: the density of a probability measure. ``"none"``: a linear reconstruction, possibly negative.
    kept
        Which columns of the original box remain; the others have been integrated out.
    """

    kind: ClassVar[str] = "density"

    expansion: Mixture | Expansion  # type: ignore[assignment]
    masses: NoisyMasses
    post: str
    choice: Choice
    kept: tuple[int, ...]

    @property
    def box(self) -> Box:
        return self.expansion.box

    @property
    def basis(self) -> Basis:  # type: ignore[override]
        """The public basis that the noisy coefficients belong to."""
        return self.masses.lattice

    @property
    def coefficients(self) -> Floats:
        """The noisy coefficients (read-only): sums over records."""
        return self.masses.values

    @property
    def bandwidth(self) -> Floats:
        """The kernel's standard deviation along each column, in its units; ``covariance`` is the whole matrix."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def covariance(self) -> Floats:
        """The kernel's covariance matrix, in the columns' units: a matrix that was passed."""
        return np.array(kept_kernel(self.masses.kernel, self.kept).covariance)

    @property
    def count(self) -> float:
        """How many records it describes: the public number of rows, or a noisy count, which may be 0."""
        return self.masses.counted

    def count_band(self, confidence: float = 0.95) -> tuple[float, float]:
        """Limits for the number of records without missing values."""
        probability("confidence", confidence)
        if self.masses.counts_everyone:
            return self.count, self.count
        ones = [np.ones((1, self.masses.law.size))]
        width = float(half_width_of(ones, self.masses.law, confidence)[0])
        middle = float(self.masses.values.sum())
        most = np.inf if self.masses.rows is None else float(self.masses.rows)
        low, high = max(0.0, min(middle - width, most)), max(0.0, min(middle + width, most))
        return min(low, self.count), max(high, self.count)

    def band(
        self, points: ArrayLike, confidence: float = 0.95, include: str = "total", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """Lower and upper limits that hold at all the points at once with at least this confidence.

        Parameters
        ----------
        include
            ``"noise"``: for what the same basis would show without noise. ``"total"`` (default): for the kernel
            density estimate of the private records, if they lie alike in neighbouring cells of the lattice as far as
            its masses are smooth; where these are rough, no more is assumed than by ``"worst"``: for that estimate
            whatever the records are. (With a bandwidth matrix, and on the Bernstein lattice, ``"total"`` assumes
            instead that records are missed by no more than samples of public reference densities.)

        Formal guarantee: with probability at least ``confidence`` over the noise all limits hold
        (docs/proofs/placement.md). They come from an unconstrained linear reconstruction; that the density is
        non-negative and at most the kernel's peak, and the released value itself, only move them in ways that keep
        what they held.
        """
        probability("confidence", confidence)
        one_of("include", include, INCLUDES)
        unit = to_unit(self.box, points, outside)
        value = self(points, outside)
        orders = self.expansion.derivatives
        low, high = self.masses.limits(unit, orders, self.kept, confidence, include)
        if not any(orders):
            peak = kept_kernel(self.masses.kernel, self.kept).peak(self.box)
            if include != "noise":
                low, high = np.clip(low, 0.0, peak), np.clip(high, 0.0, peak)
        return np.minimum(low, value), np.maximum(high, value)

    def probability_band(
        self, over: SubBox | None = None, confidence: float = 0.95, include: str = "total"
    ) -> tuple[float, float]:
        """Limits for the share of the records that lie in a sub-box; ``include`` is as for ``band``.

        Formal guarantee: with probability at least ``confidence`` over the noise the limits hold, for the share of the
        records themselves, not of their kernel density estimate (docs/proofs/placement.md).
        """
        basis, box = self._asked(confidence, include)
        pieces = _pieces(self.box, around_whole_numbers(self.box, over))
        some = [i for i, ranges in enumerate(pieces) if ranges != [(0.0, 1.0)]]
        if not some:
            return 1.0, 1.0
        asked = [within(basis, box, i, [pieces[i]], *self._records_along(i)) for i in some]
        low, high = self.masses.answer_limits(asked, [self.kept[i] for i in some], confidence, include)
        value = self.probability(over)
        return min(max(float(low[0]), 0.0), value), max(min(float(high[0]), 1.0), value)

    def quantile_band(
        self, level: ArrayLike, column: str | int | None = None, confidence: float = 0.95, include: str = "total"
    ) -> tuple[Any, Any]:
        """Limits for quantiles of a column's records, at all levels at once; ``include`` is as for ``band``.

        Formal guarantee: as for ``probability_band``, of the smallest value that so large a share of records does not
        exceed.
        """
        basis, box = self._asked(confidence, include)
        values, axis = self.quantile(level, column), column_axis(self.box, column)
        kind = self.box.intervals()[axis]
        edges = _half_way(kind) if isinstance(kind, Integer) else _evenly(_EDGES * basis.shape(box)[axis])
        asked = within(
            basis, box, axis, [[(0.0, edge)] for edge in edges.tolist()], 0.5 / self.masses.cells[self.kept[axis]]
        )
        low, high = self.masses.answer_limits([asked], [self.kept[axis]], confidence, include)
        width, levels = kind.high - kind.low, np.asarray(level, dtype=np.float64)
        ends = kind.low + width * np.concatenate([[0.0], edges, [1.0]])
        above = np.array([ends[:-1][np.append(True, high < q)].max() for q in levels.ravel()])
        below = np.array([ends[1:][np.append(low >= q, True)].min() for q in levels.ravel()])
        if isinstance(kind, Integer):  # between two whole numbers there is nobody
            above, below = np.ceil(above), np.floor(below)
        found = np.asarray(number_of(kind, values) if levels.ndim == 0 else [number_of(kind, v) for v in values])
        above, below = np.minimum(above, found.ravel()), np.maximum(below, found.ravel())
        return in_units(kind, above.reshape(levels.shape)), in_units(kind, below.reshape(levels.shape))

    def mean_band(
        self, column: str | int | None = None, confidence: float = 0.95, include: str = "total"
    ) -> tuple[Any, Any]:
        """Limits for the mean of a column's records; ``include`` is as for ``band``. A circle has no such limits.

        Formal guarantee: as for ``probability_band``.
        """
        basis, box = self._asked(confidence, include)
        axis = column_axis(self.box, column)
        kind = self.box.intervals()[axis]
        if isinstance(kind, Periodic):
            raise ParameterError(
                f"column {self.box.names[axis]!r} goes round a circle: ask for probability_band instead"
            )
        low, high = self.masses.answer_limits(
            [position(basis, box, axis, self._records_along(axis)[1])], [self.kept[axis]], confidence, include
        )
        value = number_of(kind, self.mean(column))
        middles = [
            np.clip(kind.low + (kind.high - kind.low) * (0.5 + end[0]), kind.low, kind.high) for end in (low, high)
        ]
        ends = [float(end) for end in middles]
        return in_units(kind, min(ends[0], value)), in_units(kind, max(ends[1], value))

    def _records_along(self, axis: int) -> tuple[float, bool]:
        """Half the side of the cells that records are counted in, and whether they all lie on lattice points."""
        return 0.5 / self.masses.cells[self.kept[axis]], self.kept[axis] in self.masses.whole

    def _asked(self, confidence: float, include: str) -> tuple[MassLattice, Box]:
        """The lattice of the columns that are there, for questions about records."""
        probability("confidence", confidence)
        one_of("include", include, INCLUDES[1:])
        self._refuse_derivatives()
        if not isinstance(self.basis, MassLattice):
            raise ParameterError("the Bernstein lattice has no limits for shares of records; release with basis='auto'")
        return along(self.basis, self.kept, self.masses.domain.dimension), self.box

    def integrate(self, over: SubBox | None = None) -> float:
        return self.expansion.integrate(over)

    def _heap(self) -> Heap | None:
        self._refuse_derivatives()
        return self.expansion.heap() if isinstance(self.expansion, Mixture) else None

    def _refuse_derivatives(self) -> None:
        if any(self.expansion.derivatives):
            raise ParameterError("ask the density itself, not its derivative, for probabilities, quantiles and samples")

    def _on_grid(self, axes: list[Floats]) -> Floats:
        self._refuse_derivatives()
        if isinstance(self.expansion, Mixture):
            return self.expansion.on_grid(axes)
        return super()._on_grid(axes)

    def marginal(self, columns: str | int | Sequence[str | int]) -> DensityRelease:
        """The density of some of the columns, whatever the others are."""
        listed = [columns] if isinstance(columns, str | int) else list(columns)
        axes = sorted({column_axis(self.box, c) for c in listed})
        if not axes or len(axes) == self.box.dimension:
            raise ParameterError(f"columns must be some, not all, of {self.box.names}, got columns={columns!r}")
        if not isinstance(self.expansion, Mixture) or isinstance(self.basis, LatticeBasis):
            raise ParameterError("the Bernstein lattice has no marginals; release with basis='auto'")
        if any(self.expansion.derivatives):
            raise ParameterError("take the marginal of the density itself, not of its derivative")
        rest = tuple(i for i in range(self.box.dimension) if i not in axes)
        measure = self.expansion.measure.sum(axis=rest)
        few = Mixture(kept_box(self.box, axes), kept_kernel(self.expansion.kernel, axes), measure)
        return replace(self, expansion=few, kept=tuple(self.kept[i] for i in axes))

    def conditional(self, given: Mapping[str, float]) -> Conditional:
        """The density of the other columns where the given ones have these values: ``{"age": 40}``."""
        return Conditional.of(self, given)

    def derivative(self, column: str | int | None = None) -> DensityRelease:
        return replace(self, expansion=self.expansion.derivative(column))

    def __repr__(self) -> str:
        return f"<DensityRelease on {self.box!r} in {self.basis!r}: {self.guarantee}>"

    @classmethod
    def build(cls, masses: NoisyMasses, post: str, choice: Choice, common: dict[str, Any]) -> DensityRelease:
        """A release of noisy masses, with the measure behind them."""
        every = tuple(range(masses.domain.dimension))
        return cls(**common, expansion=masses.surface(post), masses=masses, post=post, choice=choice, kept=every)

    def arrays(self) -> dict[str, Floats]:
        found = {"masses": self.masses.values}
        if isinstance(self.expansion, Mixture):
            found["measure"] = self.expansion.measure
        return found

    def fields(self) -> dict[str, Any]:
        if len(self.kept) < self.masses.domain.dimension or any(self.expansion.derivatives):
            raise ParameterError(
                "save the density itself; marginals and derivatives can be computed from it at any time"
            )
        return {
            "basis": self.basis.to_json(),
            "covariance": [list(row) for row in self.masses.kernel.covariance],
            "rows": self.masses.rows,
            "complete": self.masses.complete,
            "cells": list(self.masses.cells),
            "post": self.post,
            "choice": vars(self.choice),
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        found = cls.part(common, box, fields, arrays)
        # A part of a curve, a classifier or of groups may have been saved by itself, with the certificate of the whole.
        given, grant, cells = common["law"].certificate, granted_of(common["guarantee"]), found.masses.cells
        bits = RESPONSE_BITS[box.dimension] if given.proof == "nadaraya-watson" else 0
        norm = given.norm if given.norm == "flow" else sum_norm(given)
        if norm == "l2" and found.masses.rows is None and max(cells) < shape_of_cells(box, 1)[0]:
            return cls.part(as_stated(common), box, fields, arrays)  # how many groups there were is not in the file
        if norm == "l2":
            check_cells(box, cells, 1)
        needed = certify_masses(norm, found.masses.lattice, box, found.masses.kernel, cells, grant, bits)
        check_certificate(given, needed)
        return found

    @classmethod
    def part(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        """The same for one of several densities that share a certificate, which is not looked at here."""
        exact_keys(fields, {"basis", "covariance", "rows", "complete", "cells", "post", "choice"}, "the content")
        check_dimension(box)
        kernel = GaussianKernel.of([[finite_number("covariance", v) for v in row] for row in fields["covariance"]], box)
        lattice = decode_lattice(fields["basis"])
        cells = tuple(whole_number("cells", size, 1, MAX_CELLS) for size in fields["cells"])
        if arrays["masses"].shape != (lattice.size(box),):
            raise ParameterError(f"the lattice has {lattice.size(box)} points, got {arrays['masses'].shape} masses")
        if len(cells) != box.dimension:
            raise ParameterError(f"cells need one number for each column, got cells={fields['cells']!r}")
        for axis, count in enumerate(cells):
            check_table(lattice, box, axis, count)  # also refuses widths that do not fit the box
        post = one_of("post", fields["post"], ("simplex", "none"))
        rows = decode_rows(fields["rows"], common["guarantee"])
        if not isinstance(fields["complete"], bool):
            raise ParameterError(f"complete must be true or false, got {fields['complete']!r}")
        polynomial = post == "none" and isinstance(lattice, LatticeBasis)
        exact_keys(arrays, {"masses"} if polynomial else {"masses", "measure"}, "the file")
        masses = NoisyMasses(box, kernel, lattice, arrays["masses"], common["law"], rows, fields["complete"], cells)
        node_positions(box, kernel)  # refuses a kernel that is too narrow
        surface = masses.surface(post) if polynomial else Mixture(box, kernel, arrays["measure"])
        if post == "simplex" and (arrays["measure"].min() < 0 or abs(arrays["measure"].sum() - 1) > 1e-6):
            raise ParameterError("the measure is not a probability measure, as post='simplex' says it is")
        choice = decode_choice(fields["choice"])
        every = tuple(range(box.dimension))
        return cls(**common, expansion=surface, masses=masses, post=post, choice=choice, kept=every)


def _pieces(box: Box, over: SubBox) -> list[list[tuple[float, float]]]:
    """Along each column, the pieces of a sub-box, in [0, 1]."""
    corners = sub_boxes(box, over)
    starts, stops = ((np.array([c[k] for c in corners]) - box.low) / (box.high - box.low) for k in (0, 1))
    return [sorted(set(zip(starts[:, i].tolist(), stops[:, i].tolist(), strict=True))) for i in range(box.dimension)]


def _half_way(kind: Integer) -> Floats:
    """The places half-way between whole numbers, in [0, 1] of the column."""
    between = np.arange(math.ceil(kind.low), math.floor(kind.high)) + 0.5
    return np.asarray((between - kind.low) / (kind.high - kind.low), dtype=np.float64)[
        :: 1 + len(between) // _MOST_EDGES
    ]


def _evenly(count: int) -> Floats:
    size = min(count, _MOST_EDGES)
    return np.arange(1, size) / size


def decode_lattice(data: Mapping[str, Any]) -> Basis:
    """Rebuild the basis of a density."""
    if data.get("name") == "bernstein":
        return basis_from_json(dict(data))
    return lattice_from_json(data)


def decode_choice(data: Mapping[str, Any]) -> Choice:
    """Rebuild the reasons for a basis."""
    exact_keys(data, set(Choice.__dataclass_fields__), "the choice")
    error = finite_number("predicted_error", data["predicted_error"])
    if not isinstance(data["automatic"], bool):
        raise ParameterError(f"automatic must be true or false, got {data['automatic']!r}")
    return Choice(printable(data["basis"]), data["automatic"], error, printable(data["reason"]))
