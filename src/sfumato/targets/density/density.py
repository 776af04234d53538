"""The density of one to three numeric columns: a kernel density estimate, published once.

Records are counted on a fine public grid of cells; each cell gives fixed integer shares to the lattice points, so the
coefficients are an integer matrix applied to the counts, and one record is a vector that the matrix bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis, LatticeBasis
from sfumato.bases.density.binning import Binning, MassLattice, SplitLattice, check_dimension
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import check_points, node_positions
from sfumato.bases.density.prediction import Prediction, predict, search
from sfumato.bases.density.reconstruction import PolynomialReconstruction, reconstruction
from sfumato.bases.density.rule import choose, noise_to_mass
from sfumato.bases.density.shares import apply_shares, certify_masses, check_table, pure_norm, shape_of_cells
from sfumato.bases.lattice.bernstein import Bernstein
from sfumato.bases.unit import to_unit
from sfumato.checks import did_you_mean, finite_number, one_of, positive_integer, positive_number, shown
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.neighbours import rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Wide
from sfumato.engines.cells import Cells
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Counts
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.faces.views import check_numeric
from sfumato.laws import noise_deviation
from sfumato.releases.density.density import Choice, DensityRelease
from sfumato.releases.density.grouped import INDEPENDENT, GroupedDensityRelease
from sfumato.releases.density.masses import NoisyMasses
from sfumato.releases.file.container import LARGEST_ARRAYS, MOST_PARTS
from sfumato.releases.uncertainty import half_width_of, mean_largest
from sfumato.targets.base import Errors, Published, Target
from sfumato.targets.density.bandwidth import DROWNED, rule_of_thumb
from sfumato.targets.density.scores import cross_validation, noise_energy, reconstruction_miss
from sfumato.targets.density.tuned import Tuned

_EXPECTED_ROWS = 10_000  # where the number of rows is private and nobody says what to expect


@dataclass(frozen=True)
class KDE(Target):
    """Publish the kernel density estimate of the box's columns.

    Parameters
    ----------
    bandwidth
        The Gaussian kernel's standard deviation in the columns' own units: a number, one per column, or a symmetric
        positive-definite covariance matrix. ``"auto"`` takes a public rule (number of rows, box, privacy);
        ``sf.Tuned([...])`` selects from a list by the data and pays for it. On ``sf.Periodic`` columns it is wrapped.
    by
        A categorical column of the box: one density for each of its categories, for the price of one.
    post
        ``"simplex"``: what is released is the kernel density of a probability measure (non-negative, of mass one);
        ``"none"``: an unbiased linear reconstruction, which may dip below zero.
    missing
        ``"drop"``: records with a missing value count for nothing, and the density is that of the others.
        ``"none"``: you state publicly that nothing is missing; should something be, it is put in the box's middle.
    expected_rows
        A public guess of the number of rows, where that number itself is private; it only steers accuracy.

    Formal guarantee: each record moves the coefficients by at most what ``certificate`` says, whatever it holds
    (docs/proofs/split-lattice.md, binning.md, lattice-l1.md).

    >>> KDE(2.5).describe()[0]
    ('target', 'density')
    """

    bandwidth: Any = "auto"
    kernel: str = "gaussian"
    by: str | None = None
    post: str = "simplex"
    missing: str = "drop"
    expected_rows: int | None = None

    bases = (Binning, SplitLattice, Bernstein)

    def __post_init__(self) -> None:
        one_of("kernel", self.kernel, ("gaussian",))
        one_of("post", self.post, ("simplex", "none"))
        one_of("missing", self.missing, ("drop", "none"))
        if self.expected_rows is not None:
            positive_integer("expected_rows", self.expected_rows)
        if self.by is not None and not isinstance(self.by, str):
            raise ParameterTypeError.of("by", f"must be the name of a categorical column, got by={shown(self.by)}")
        object.__setattr__(self, "bandwidth", _frozen(self.bandwidth))

    def check_box(self, box: Box) -> None:
        """Refuse columns that no density can be drawn over, before any data are read."""
        domain = self.domain(box)
        for name, column in zip(domain.names, domain.columns, strict=True):
            if isinstance(column, Categorical):
                raise ParameterError(
                    f"column {name!r} is categorical; a density needs numeric columns. For one density per category "
                    f"use sf.KDE(..., by={name!r})"
                )
        check_dimension(domain)
        if not isinstance(self.bandwidth, str | Tuned):
            node_positions(domain, self.gaussian(domain))  # refuses a bandwidth that does not fit the box

    def domain(self, box: Box) -> Box:
        """The box without the column that tells groups apart."""
        if self.by is None:
            return box
        if self.by not in box.names or not isinstance(box.columns[box.names.index(self.by)], Categorical):
            raise ParameterError.of(
                "by",
                f"must name a categorical column of the box ({list(box.names)}), got by={self.by!r}"
                f"{did_you_mean(self.by, box.names)}; declare it as {{{self.by!r}: sf.Categorical([...])}}",
            )
        columns = {n: c for n, c in zip(box.names, box.columns, strict=True) if n != self.by}
        return Box(columns, max_norm=box.max_norm)

    def groups(self, box: Box) -> tuple[str | int | float, ...]:
        """The declared categories; one nameless group where there is no ``by``."""
        if self.by is None:
            return ("",)
        column = box.columns[box.names.index(self.by)]
        assert isinstance(column, Categorical)
        return column.categories

    def gaussian(self, domain: Box) -> GaussianKernel:
        """The kernel, once the bandwidth is a number."""
        return GaussianKernel.of(self.bandwidth, domain)

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> KDE:
        """The same with a number for a bandwidth, by the public rule where none was given."""
        if isinstance(self.bandwidth, Tuned):
            raise ParameterError("a tuned bandwidth is only known once it is paid for: plan with a number instead")
        if not isinstance(self.bandwidth, str):
            return self
        one_of("bandwidth", self.bandwidth, ("auto",))
        return replace(self, bandwidth=rule_of_thumb(self.domain(box), self._rows(n), privacy))

    def _rows(self, n: int | None) -> int:
        return max(1, n or self.expected_rows or _EXPECTED_ROWS)

    def gather(self, records: Records, box: Box, engine: Engine) -> Totals:
        return engine.fold(records, Counts(Cells(box, self._cells(box))))

    def _cells(self, box: Box) -> tuple[int, ...]:
        sizes = iter(shape_of_cells(self.domain(box), len(self.groups(box))))
        return tuple(len(self.groups(box)) if name == self.by else next(sizes) for name in box.names)

    def rehearse(self, data: Any, box: Box, basis: Basis) -> NDArray[np.float64]:
        return np.asarray(self.influence(box, basis, len(data))(data).sum(axis=0))

    def influence(self, box: Box, basis: Basis, n: int) -> Callable[[Any], NDArray[np.float64]]:
        """Each record's share of the density on the lattice: nothing for one with a missing value."""
        if not isinstance(basis, LatticeBasis) or self.by is not None or isinstance(self.bandwidth, str | Tuned):
            raise ParameterError(
                "densities are compared on the lattice of sf.Bernstein(k), with a bandwidth, without by"
            )
        kernel, points = self.gaussian(box), to_unit(box, basis.lattice(box), "clip")

        def shares(records: Any) -> NDArray[np.float64]:
            numbers = np.asarray(records, dtype=np.float64)
            if numbers.shape not in ((len(records), box.dimension), (len(records),) * (box.dimension == 1)):
                raise ParameterError(f"the records have shape {numbers.shape}, the box {box.dimension} columns")
            cleaned = box.clean(numbers.reshape(len(records), box.dimension))
            values = kernel.values(box, (cleaned - box.low) / (box.high - box.low), points) / n
            return np.where(np.isnan(cleaned).any(axis=1, keepdims=True), 0.0, values)

        return shares

    def questions(self, basis: Any) -> list[Tuned]:
        return [q for q in (self.bandwidth, basis) if isinstance(q, Tuned)]

    def check_answers(self, box: Box, basis: Any) -> None:
        if self.by is not None:
            raise ParameterError("tuning on the data is for densities without by=; tune first, then group")
        for bandwidth in self.bandwidth.candidates if isinstance(self.bandwidth, Tuned) else (self.bandwidth,):
            target = replace(self, bandwidth=bandwidth)
            target.check_box(box)
            for candidate in basis.candidates if isinstance(basis, Tuned) else (basis,):
                if isinstance(basis, Tuned) or not isinstance(basis, str):
                    target.check_basis(candidate, box)

    def scores(
        self, question: Tuned, counts: Totals, box: Box, n: int, privacy: Privacy, basis: Any
    ) -> tuple[list[float], float]:
        domain, tally = self.domain(box), counts.counts(self._cells(box))
        if question is self.bandwidth:
            settled = [replace(self, bandwidth=b) for b in question.candidates]
            kernels = [target.gaussian(domain) for target in settled]
            extra = [noise_energy(kernel, domain, noise_per_record(privacy) / n) for kernel in kernels]
            return cross_validation(domain, kernels, tally, n, extra)
        target = self.settled(box, n, privacy)
        kernel, noise = target.gaussian(domain), []
        for candidate in question.candidates:
            target.check_basis(candidate, box)
            law, _ = calibrate(target.certificate(candidate, box, n, privacy), target.size(candidate, box), privacy)
            noise.append(target.predict(candidate, box, law, n, 0.95).mean_noise)
        return reconstruction_miss(domain, kernel, question.candidates, tally, n, noise)

    def answered(self, question: Tuned, picked: Any, basis: Any) -> tuple[KDE, Any]:
        return (replace(self, bandwidth=picked), basis) if question is self.bandwidth else (self, picked)

    def check_basis(self, basis: Basis, box: Box) -> None:
        super().check_basis(basis, box)
        domain = self.domain(box)
        basis.size(domain)  # refuses a lattice that does not fit the box
        if isinstance(self.bandwidth, str):
            return
        for axis, cells in enumerate(shape_of_cells(domain, len(self.groups(box)))):
            check_table(basis, domain, axis, cells)
        if isinstance(basis, MassLattice):
            check_points(domain, self.gaussian(domain), basis)
        self._check_file(basis, box)
        if isinstance(basis, Bernstein) and not self.gaussian(self.domain(box)).diagonal:
            raise ParameterError("sf.Bernstein needs a bandwidth per column; use basis='auto' with a bandwidth matrix")

    def _check_file(self, basis: Basis, box: Box) -> None:
        """Refuse more groups than one file holds, before anything is paid."""
        domain, groups = self.domain(box), len(self.groups(box))
        nodes = math.prod(len(axis) for axis in node_positions(domain, self.gaussian(domain)))
        most = min(MOST_PARTS, LARGEST_ARRAYS // (8 * (nodes + basis.size(domain))))
        if groups > most:
            raise ParameterError.of(
                "by", f"must have at most {most} categories with this bandwidth, got {groups}: publish some at a time"
            )

    def check_drawable(self, box: Box, basis: Any) -> None:
        check_numeric(self.domain(box))

    def check_law(self, law: NoiseLaw) -> None:
        super().check_law(law)
        if self.by is not None and law.kind not in INDEPENDENT:
            raise ParameterError(
                f"noise={law.kind!r} ties all groups together; with by= use noise='auto'", parameter="noise"
            )

    def size(self, basis: Basis, box: Box) -> int:
        return basis.size(self.domain(box)) * len(self.groups(box))

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> MassLattice:
        """The lattice of least regret for what the projection makes of it; without one, of least predicted error."""
        if self.post == "none":
            return self.linear_basis(box, n, privacy)
        domain = self.domain(box)
        cells = shape_of_cells(domain, len(self.groups(box)))
        return chosen(domain, self.gaussian(domain), privacy, self._rows_of_one(box, n), cells)

    def linear_basis(self, box: Box, n: int | None, privacy: Privacy) -> MassLattice:
        """The lattice of least predicted error for a linear reconstruction."""
        return min(self._predictions(box, n, privacy), key=lambda p: p.error).basis

    def _rows_of_one(self, box: Box, n: int | None) -> int:
        """How many rows a group may have."""
        return max(1, self._rows(n) // len(self.groups(box)))

    def _predictions(
        self, box: Box, n: int | None, privacy: Privacy, bases: Sequence[MassLattice] | None = None
    ) -> list[Prediction]:
        domain, rows = self.domain(box), self._rows_of_one(box, n)
        return predictions(domain, self.gaussian(domain), privacy, rows, None if bases is None else tuple(bases))

    def certificate(self, basis: Basis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A record is one cell's shares (docs/proofs/split-lattice.md, binning.md, zero-sum.md, lattice-l1.md)."""
        if isinstance(basis, Bernstein) and (self.by, privacy.neighbours, privacy.unit) != (None, "replace", "row"):
            raise ParameterError(  # before anything is paid
                "sf.Bernstein needs a public number of rows (neighbours='replace', unit='row', no by); use basis='auto'"
            )
        domain, norm = self.domain(box), "l1" if privacy.rho is None and privacy.delta == 0 else "l2"
        if norm == "l1" and self.by is None and isinstance(basis, MassLattice):
            norm = pure_norm(domain, basis.size(domain), privacy)
        cells = shape_of_cells(domain, len(self.groups(box)))
        return certify_masses(norm, basis, domain, self.gaussian(domain), cells, privacy)

    def coefficients(self, counts: Totals, basis: Basis, box: Box, certificate: Certificate) -> Private:
        domain, groups = self.domain(box), len(self.groups(box))
        values = counts.counts(self._cells(box))
        if self.by is not None:
            values = np.moveaxis(values, box.names.index(self.by), 0)
        parts = values.reshape(groups, *shape_of_cells(domain, groups))
        if self.missing == "none" and self.by is None:
            # Every record is in a cell: the public middle takes those that were in none.
            parts = parts.copy()
            middle = tuple(size // 2 for size in parts.shape[1:])
            parts[(0, *middle)] += counts.rows - int(parts.sum())
        kernel = self.gaussian(domain)
        return Private(Wide.joined([apply_shares(basis, domain, kernel, p) for p in parts]), certificate)

    def predict(self, basis: Basis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        domain = self.domain(box)
        kernel, rows = self.gaussian(domain), self._rows(n)
        linear = reconstruction(domain, kernel, basis, (noise_deviation(law) / rows) ** 2)
        count = {1: 400, 2: 40, 3: 14}[domain.dimension]  # points along each axis
        axes = np.meshgrid(*([np.linspace(0, 1, count)] * domain.dimension), indexing="ij")
        unit = np.stack([a.ravel() for a in axes], axis=1)
        still = (0,) * domain.dimension
        weights = linear.weights(unit, still)
        one = replace(law, size=basis.size(domain))
        scale = linear.largest_sum if isinstance(linear, PolynomialReconstruction) else 1.0
        high = float(half_width_of(weights, one, confidence).max()) * scale / rows
        mean = mean_largest(weights, one) * scale / rows
        # As many bumps as fit side by side cannot all be told apart with less error.
        bumps = math.prod(w / (2 * d) for w, d in zip(domain.high - domain.low, kernel.resolution, strict=True))
        packing = math.log(max(1.0, bumps)) * kernel.peak(domain) / (2 * rows)
        return Errors(mean, high, linear.typical_miss(still, rows), packing or None)

    def finish(self, published: Published) -> DensityRelease | GroupedDensityRelease:
        domain, groups = self.domain(published.box), self.groups(published.box)
        kernel, basis = self.gaussian(domain), published.basis
        law = replace(published.law, size=basis.size(domain))
        known = published.rows if self.by is None else None  # how many fall into a group is private
        complete = self.missing == "none" and known is not None
        parts = [
            NoisyMasses(domain, kernel, basis, values, law, known, complete, shape_of_cells(domain, len(groups)))
            for values in published.values.reshape(len(groups), -1)
        ]
        common: dict[str, Any] = {
            "guarantee": published.guarantee,
            "law": law,
            "target": self.describe(),
            "receipt": published.receipt,
        }
        choice = self._explain(published)
        releases = [DensityRelease.build(masses, self.post, choice, common) for masses in parts]
        if self.by is None:
            return releases[0]
        whole = {**common, "law": published.law}
        return GroupedDensityRelease(**whole, by=self.by, parts=dict(zip(groups, releases, strict=True)))

    def _explain(self, published: Published) -> Choice:
        """Why this basis: its predicted error beside the best of each kind."""
        domain, basis = self.domain(published.box), published.basis
        rows = published.rows
        told = {"caller": "given by the caller", "data": "selected by the data, which was paid for", "auto": ""}
        reason = told[published.chosen_by]
        if not isinstance(basis, MassLattice):
            errors = self.predict(basis, published.box, published.law, rows, 0.95)
            return Choice(repr(basis), False, math.hypot(errors.mean_noise, errors.approximation or 0.0), reason)
        alone = bool(reason) or self.post == "simplex"
        found = self._predictions(published.box, rows, published.privacy, [basis] if alone else None)
        own = next(p for p in found if p.basis == basis)
        if reason:
            return Choice(repr(basis), False, own.error, reason)
        if alone:
            return Choice(repr(basis), True, own.error, self._ruled(published, own))
        best: dict[str, float] = {}
        for prediction in found:
            name = type(prediction.basis).__name__
            best[name] = min(best.get(name, math.inf), prediction.error)
        beside = ", ".join(f"best {name} {error:.3g}" for name, error in sorted(best.items()))
        why = (
            f"least predicted error, {own.error:.3g} (noise {own.noise:.3g}), of {len(found)} lattices over "
            f"{list(domain.names)}; {beside}"
        )
        return Choice(repr(basis), True, own.error, why)

    def _ruled(self, published: Published, own: Prediction) -> str:
        """The rule in words."""
        domain = self.domain(published.box)
        kernel, rows = self.gaussian(domain), self._rows_of_one(published.box, published.rows)
        noise = noise_to_mass(domain, kernel, noise_per_record(published.privacy) / rows)
        return (
            f"least regret over made-up data, from smooth to points of mass, where noise is {noise:.3g} of the mean "
            f"mass within a bandwidth; predicted without projection: error {own.error:.3g} (noise {own.noise:.3g})"
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (
            ("target", "density"),
            ("kernel", self.kernel),
            ("bandwidth", repr(self.bandwidth)),
            ("group by", "-" if self.by is None else self.by),
            ("post-processing", self.post),
            ("missing values", self.missing),
        )


@lru_cache(maxsize=64)
def predictions(
    domain: Box, kernel: GaussianKernel, privacy: Privacy, rows: int, bases: tuple[MassLattice, ...] | None
) -> list[Prediction]:
    """The predicted errors of the given lattices, or of all that are worth considering."""
    pure = privacy.rho is None and privacy.delta == 0
    unit, nodes = noise_per_record(privacy) / rows, node_positions(domain, kernel)

    def deviation(basis: MassLattice) -> float:
        return unit if pure else unit * basis.longest(domain, nodes)

    if bases is None:
        return search(domain, kernel, pure, rows, deviation)
    return predict(domain, kernel, bases, rows, deviation)


@lru_cache(maxsize=64)
def chosen(domain: Box, kernel: GaussianKernel, privacy: Privacy, rows: int, cells: tuple[int, ...]) -> MassLattice:
    """The lattice by the rule.

    Shares among several points need less Gaussian noise: the rule is asked again with what its first answer needs.
    """
    deviation = noise_per_record(privacy) / rows
    found = choose(domain, kernel, deviation, cells)
    if privacy.rho is None and privacy.delta == 0:
        return found
    return choose(domain, kernel, deviation * found.longest(domain, node_positions(domain, kernel)), cells)


def noise_per_record(privacy: Privacy) -> float:
    """The standard deviation of the noise in a mass, in records, when a record has norm one."""
    records = float(rows_per_unit(privacy.unit))
    replacing = privacy.neighbours == "replace"
    if privacy.rho is None and privacy.delta == 0:
        unit = Certificate("l1", records * (2 if replacing else 1), privacy.neighbours, "proved", "binning")
    else:
        unit = Certificate("l2", records * (math.sqrt(2) if replacing else 1), privacy.neighbours, "proved", "binning")
    return min(noise_deviation(calibrate(unit, 1, privacy)[0]), DROWNED)


def _frozen(bandwidth: Any, depth: int = 0) -> Any:
    """Lists and arrays as tuples, so that the target cannot change. A matrix may hold zeros and negative numbers."""
    if isinstance(bandwidth, np.ndarray):
        bandwidth = bandwidth.tolist()
    if isinstance(bandwidth, Sequence) and not isinstance(bandwidth, str):
        return tuple(_frozen(value, depth + 1) for value in bandwidth)
    if isinstance(bandwidth, str):
        return one_of("bandwidth", bandwidth, ("auto",))
    if isinstance(bandwidth, Tuned):
        return bandwidth
    return positive_number("bandwidth", bandwidth) if depth < 2 else finite_number("bandwidth", bandwidth)
