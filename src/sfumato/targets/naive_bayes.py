"""Naive Bayes: for each class and each column its own likelihood, all of them in one joint release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.bases.base import Basis
from sfumato.bases.bayes.attributes import Attributes, alone, numeric
from sfumato.bases.bayes.contributions import apply_table, cells_of, certify_columns, tables_of
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.checks import one_of, shown
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Integers, Wide
from sfumato.engines.cells import Cells
from sfumato.engines.engine import Engine, Records
from sfumato.engines.passes import Values
from sfumato.engines.table import Columns
from sfumato.engines.totals import Totals
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.bayes.likelihoods import Counted, Likelihood, Normal, Smoothed
from sfumato.releases.density.density import Choice, DensityRelease
from sfumato.releases.density.masses import NoisyMasses
from sfumato.releases.file.container import MOST_PARTS
from sfumato.releases.machine.response import Response
from sfumato.targets.base import Errors, Published, Target
from sfumato.targets.density.density import KDE


@dataclass(frozen=True)
class Tallies:
    """A pass: for each column, how many records of each class fall into each cell.

    ``grids`` has for each column of the domain its cells, together with the class.
    """

    domain: Box
    response: Response
    grids: tuple[Cells, ...]
    features = None
    largest = 1

    @property
    def box(self) -> Box:
        """The columns and the response."""
        return self.response.after(self.domain)

    @property
    def size(self) -> int:
        """The cells of all columns."""
        return sum(grid.size for grid in self.grids)

    def add(self, total: Integers, columns: Values) -> None:
        """Each record is in one cell of every column, or in none at all."""
        found = [grid.places([values, columns[-1]]) for grid, values in zip(self.grids, columns[:-1], strict=True)]
        # All columns count the same records: otherwise their counts, and so the classes' shares, would differ.
        there = np.ones(len(columns[-1]), dtype=np.bool_)
        for _, missing in found:
            there &= True if missing is None else ~missing
        for part, (place, _) in zip(self.parts(total), found, strict=True):
            np.add.at(part, place[there], 1)

    def parts(self, total: Integers) -> list[Integers]:
        """The numbers of each column."""
        ends = np.cumsum([grid.size for grid in self.grids])
        return np.split(total, ends[:-1])


@dataclass(frozen=True)
class NaiveBayes(Target):
    """Publish a naive Bayes classifier: the likelihood of every column given the class, and the classes' shares.

    Parameters
    ----------
    response, classes
        The column of the labels (the y of an ``(X, y)`` pair), and the public list of classes. A record whose label is
        not in the list counts for nothing, and neither does one with a missing value or an undeclared category.
    bandwidth
        Of the kernels that smooth numeric columns: ``"auto"`` (a public rule), or one number per numeric column, in its
        units. Categorical columns are counted.
    likelihood
        ``"kernel"``: a density of each numeric column; ``"normal"``: its mean and deviation alone, from noisy moments.
    expected_rows
        A public guess of the number of rows, where that number itself is private; it only steers accuracy.

    Formal guarantee: a record has one share, of sum at most one, for each column, all in the place of its class: it
    moves the numbers by at most what ``certificate`` says, whatever it holds (docs/proofs/naive-bayes.md).

    >>> NaiveBayes("ill", ["no", "yes"]).describe()[0]
    ('target', 'naive Bayes classifier of ill')
    """

    response: str
    classes: Any = None
    bandwidth: Any = "auto"
    likelihood: str = "kernel"
    expected_rows: int | None = None

    bases = (Attributes,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", self._response().classes)
        one_of("likelihood", self.likelihood, ("kernel", "normal"))
        if not isinstance(self.bandwidth, str):
            if not isinstance(self.bandwidth, Sequence | np.ndarray):
                raise ParameterTypeError.of(
                    "bandwidth", f"must be 'auto' or a list, got bandwidth={shown(self.bandwidth)}"
                )
            object.__setattr__(self, "bandwidth", tuple(KDE(b).bandwidth for b in self.bandwidth))
        KDE("auto" if isinstance(self.bandwidth, tuple) else self.bandwidth, expected_rows=self.expected_rows)

    def _response(self) -> Response:
        return Response(self.response, classes=self.classes)

    @property
    def columns(self) -> Columns:  # type: ignore[override]
        """The response's column, which the data must have beside the box's."""
        return {self.response: self._response().column}

    def check_box(self, box: Box) -> None:
        if self.response in box.names:
            raise ParameterError(
                f"the response {self.response!r} must not be among the columns of the box {list(box.names)}"
            )
        if box.max_norm is not None:
            raise ParameterError(
                "naive Bayes reads columns one at a time: a box with max_norm has no meaning here", parameter="box"
            )
        wanted = len(numeric(box))
        if isinstance(self.bandwidth, tuple) and len(self.bandwidth) != wanted:
            raise ParameterError.of(
                "bandwidth", f"needs one number per numeric column ({wanted}), got bandwidth={self.bandwidth!r}"
            )
        for i, density in self._densities(box):
            density.check_box(alone(box, i))

    def _densities(self, box: Box) -> Iterator[tuple[int, KDE]]:
        """For each smoothed column the density that stands for its likelihoods."""
        if self.likelihood == "normal":
            return
        for place, i in enumerate(numeric(box)):
            own = self.bandwidth[place] if isinstance(self.bandwidth, tuple) else self.bandwidth
            yield i, KDE(own, expected_rows=self.expected_rows)

    def _kernels(self, box: Box) -> dict[int, GaussianKernel]:
        return {i: density.gaussian(alone(box, i)) for i, density in self._densities(box)}

    def _part(self, box: Box, privacy: Privacy) -> Privacy:
        """What the grant leaves for one column: all of them share it."""
        part = Fraction(1, box.dimension)
        if privacy.rho is not None:
            return replace(privacy, rho=privacy.rho * float(part))
        assert privacy.epsilon is not None
        share = part if privacy.delta == 0 else Fraction(math.isqrt(part.denominator * 4**20), part.denominator * 2**20)
        return replace(privacy, epsilon=privacy.epsilon * float(share))

    def settled(self, box: Box, n: int | None, privacy: Privacy, basis: Any = "auto") -> NaiveBayes:
        """The same with a bandwidth for every numeric column."""
        part, rows = self._part(box, privacy), None if n is None else max(1, n // len(self.classes))
        found = [d.settled(alone(box, i), rows, part).bandwidth for i, d in self._densities(box)]
        return replace(self, bandwidth=tuple(b[0] if isinstance(b, tuple) else b for b in found))

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> Attributes:
        """For each numeric column the lattice of least predicted error."""
        part, rows = self._part(box, privacy), None if n is None else max(1, n // len(self.classes))
        found = {i: density.linear_basis(alone(box, i), rows, part) for i, density in self._densities(box)}
        return Attributes(tuple(found.get(i) for i in range(box.dimension)))

    def check_basis(self, basis: Basis, box: Box) -> None:
        if not isinstance(basis, Attributes):
            raise ParameterTypeError(
                f"naive Bayes chooses a lattice for each column: use basis='auto', got {shown(basis)}"
            )
        smooth = dict(self._densities(box))
        if len(smooth) > MOST_PARTS // 2:  # each takes as much of a file's header as two groups of a density
            raise ParameterError.of(
                "box", f"must have at most {MOST_PARTS // 2} columns with a kernel, got {len(smooth)}; use normal ones"
            )
        if len(basis.lattices) != box.dimension or {i for i, p in enumerate(basis.lattices) if p} != set(smooth):
            raise ParameterError(f"the basis needs a lattice for each smoothed column, and for no other, got {basis!r}")
        for i, density in smooth.items():
            density.check_basis(basis.lattices[i], alone(box, i))  # type: ignore[arg-type]

    def size(self, basis: Attributes, box: Box) -> int:  # type: ignore[override]
        return len(self.classes) * basis.size(box)

    def gather(self, records: Records, box: Box, engine: Engine) -> Totals:
        """One pass: each column has a grid of its own, together with the class."""
        return engine.fold(records, self._tallies(box))

    def _tallies(self, box: Box) -> Tallies:
        response = self._response()
        grids = [Cells(response.after(alone(box, i)), (self._cells(box, i), len(self.classes)))
                 for i in range(box.dimension)]  # fmt: skip
        return Tallies(box, response, tuple(grids))

    def _cells(self, box: Box, column: int) -> int:
        return cells_of(alone(box, column), len(self.classes))

    def certificate(self, basis: Attributes, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """A record has, in its class's place, a vector for each column: docs/proofs/naive-bayes.md."""
        norm = "l1" if privacy.rho is None and privacy.delta == 0 else "l2"
        return certify_columns(norm, self._tables(basis, box), privacy)

    def _tables(self, basis: Attributes, box: Box) -> list[Any]:
        return tables_of(box, basis.lattices, self._kernels(box), len(self.classes))

    def coefficients(self, totals: Totals, basis: Attributes, box: Box, certificate: Certificate) -> Private:
        tallies = self._tallies(box)
        counts = zip(tallies.grids, tallies.parts(totals.counts((tallies.size,))), strict=True)
        tables = zip(self._tables(basis, box), counts, strict=True)
        return Private(Wide.joined([apply_table(t, c.reshape(grid.shape).T) for t, (grid, c) in tables]), certificate)

    def predict(self, basis: Attributes, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        """The worst of the columns' likelihoods, for classes of equal size."""
        rows = None if n is None else max(1, n // len(self.classes))
        found = [
            density.predict(basis.lattices[i], alone(box, i), replace(law, size=basis.sizes(box)[i]), rows, confidence)  # type: ignore[arg-type]
            for i, density in self._densities(box)
        ]
        if not found:
            return Errors(law.deviation, 3 * law.deviation, 0.0, None)
        worst = max(found, key=lambda errors: errors.noise)
        return Errors(worst.mean_noise, worst.noise, worst.approximation, None)

    def check_law(self, law: NoiseLaw) -> None:
        super().check_law(law)
        if law.kind not in ("laplace", "gaussian"):
            raise ParameterError(f"noise={law.kind!r} ties all columns together; use noise='auto'", parameter="noise")

    def finish(self, published: Published) -> NaiveBayesRelease:
        basis, box, law = published.basis, published.box, published.law
        assert isinstance(basis, Attributes)
        kernels, classes = self._kernels(box), len(self.classes)
        common: dict[str, Any] = {"guarantee": published.guarantee, "target": self.describe()}
        common |= {"receipt": published.receipt}
        parts: list[Likelihood] = []
        start = 0
        for i, size in enumerate(basis.sizes(box)):
            values = published.values[start : start + classes * size].reshape(classes, size)
            start += classes * size
            own, column, lattice = replace(law, size=size), alone(box, i), basis.lattices[i]
            if lattice is None:
                parts.append((Normal if i in numeric(box) else Counted)(column, values, own))
                continue
            choice = Choice(repr(lattice), published.chosen_by == "auto", 0.0, "one likelihood of several")
            masses = [
                NoisyMasses(column, kernels[i], lattice, v, own, None, False, (self._cells(box, i),)) for v in values
            ]
            built = [DensityRelease.build(one, "simplex", choice, {**common, "law": own}) for one in masses]
            parts.append(Smoothed(column, values, own, tuple(built)))
        return NaiveBayesRelease(**common, law=law, domain=box, response=self._response(), likelihoods=tuple(parts))

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (
            ("target", f"naive Bayes classifier of {self.response}"),
            ("classes", ", ".join(map(str, self.classes))),
            ("likelihoods", self.likelihood),
            ("bandwidth", repr(self.bandwidth) if self.likelihood == "kernel" else "-"),
        )
