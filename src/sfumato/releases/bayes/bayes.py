"""A published naive Bayes classifier: labels and probabilities at any point, and how certain they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.bayes.attributes import Attributes, alone
from sfumato.bases.bayes.contributions import certify_columns, tables_of
from sfumato.bases.density.binning import MassLattice
from sfumato.bases.density.shares import check_cells
from sfumato.bases.points import point_columns
from sfumato.checks import one_of, probability
from sfumato.codec import exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.base import Release
from sfumato.releases.bayes.likelihoods import Counted, Likelihood, Normal, Smoothed
from sfumato.releases.density.density import DensityRelease, decode_lattice
from sfumato.releases.density.grouped import INDEPENDENT
from sfumato.releases.density.masses import INCLUDES
from sfumato.releases.file.certified import check_certificate, granted_of, sum_norm
from sfumato.releases.machine.response import Response, response_from_json
from sfumato.upwards import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class NaiveBayesRelease(Shown, Release):
    """A naive Bayes classifier that was learned from private records, perturbed once.

    Points are a table with the box's columns, a mapping from their names to values, or an array with one column each.
    A missing value, or a category that was not declared, says nothing about the class.

    Parameters
    ----------
    domain, response
        The columns it reads, and the classes.
    likelihoods
        For each column, how probable its values are in each class.
    """

    kind: ClassVar[str] = "naive-bayes"

    domain: Box
    response: Response
    likelihoods: tuple[Likelihood, ...]

    @property
    def box(self) -> Box:
        return self.domain

    @property
    def classes(self) -> tuple[Any, ...]:
        """The declared classes."""
        assert self.response.classes is not None
        return self.response.classes

    @cached_property
    def counts(self) -> Floats:
        """``(classes,)``: how many records of each class there are, from all columns together; at least one."""
        weights = [1 / likelihood.uncertainty for likelihood in self.likelihoods]
        mean = np.average([one.counts for one in self.likelihoods], axis=0, weights=weights)
        found: Floats = np.maximum(mean, 1.0)
        found.setflags(write=False)
        return found

    def _evidence(self, points: Any, outside: str) -> Floats:
        """``(m, classes)``: the logarithm of each class's share times the likelihoods of all columns."""
        total = np.log(self.counts)[None, :]
        shares = self.counts / self.counts.sum()
        for likelihood, values in zip(self.likelihoods, point_columns(self.box.names, points), strict=True):
            own, strength = likelihood(values, outside), likelihood.strength
            pooled = (own @ shares)[:, None]
            # As many records as the noise is worth are taken to be like all records: nothing is impossible.
            steady = (own * self.counts + strength * pooled) / (self.counts + strength)
            total = total + np.log(np.where(pooled > 0, np.maximum(steady, 1e-300), 1.0))
        return total

    def predict_proba(self, points: Any, outside: str = "clip") -> Floats:
        """``(m, classes)``: the probability of each class, in the order of ``classes``."""
        evidence = self._evidence(points, outside)
        odds = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, points: Any, outside: str = "clip") -> NDArray[Any]:
        """``(m,)``: the most probable class of each point; records outside the box are moved to its edge."""
        return np.asarray(np.array(self.classes)[self._evidence(points, outside).argmax(axis=1)])

    def band(
        self, points: Any, confidence: float = 0.95, include: str = "total", outside: str = "refuse"
    ) -> tuple[Floats, Floats]:
        """``(m, classes)`` limits of the probabilities that the same likelihoods give without noise.

        Formal guarantee: with probability at least ``confidence`` over the noise, all of them hold at once, for the
        product of the columns' likelihoods as they are, without the steadying that ``predict_proba`` adds
        (docs/proofs/naive-bayes.md). They are cautious: every column may be off by as much as the noise allows.
        """
        low, high = self._score_limits(points, confidence, one_of("include", include, INCLUDES), outside)
        best = np.maximum(high.max(axis=1, keepdims=True), -1e300)
        with np.errstate(all="ignore"):
            low, high = np.exp(low - best), np.exp(high - best)
            others_high, others_low = high.sum(axis=1, keepdims=True) - high, low.sum(axis=1, keepdims=True) - low
            least = np.where(low + others_high > 0, low / (low + others_high), 0.0)
            most = np.where(high + others_low > 0, high / (high + others_low), 1.0)
        return least, most

    def certain(self, points: Any, confidence: float = 0.95, outside: str = "clip") -> NDArray[np.bool_]:
        """``(m,)``: whether noise alone cannot have changed the label, with this confidence for all points at once."""
        low, high = self._score_limits(points, confidence, "noise", outside)
        # The label that was told: steadying can prefer another one than the limits do.
        rows, best = np.arange(len(low)), self._evidence(points, outside).argmax(axis=1)
        others = high.copy()
        others[rows, best] = -np.inf
        return np.asarray(low[rows, best] > others.max(axis=1))

    def _score_limits(self, points: Any, confidence: float, include: str, outside: str) -> tuple[Floats, Floats]:
        """Limits of the logarithms of ``N^(1-l) prod_j N f_j`` for each class: each factor has limits of its own."""
        probability("confidence", confidence)
        columns = point_columns(self.box.names, points)
        share = 1 - (1 - confidence) / (2 * len(self.classes) * len(columns))
        low, high = (np.zeros((len(columns[0]), len(self.classes))) for _ in range(2))
        with np.errstate(divide="ignore"):
            for likelihood, values in zip(self.likelihoods, columns, strict=True):
                ends = likelihood.limits(values, share, include, outside)
                low, high = low + np.log(np.maximum(ends[0], 0.0)), high + np.log(np.maximum(ends[1], 0.0))
            # The column with the surest count tells how many records there are.
            surest = min(self.likelihoods, key=lambda one: one.uncertainty)
            least, most = (np.maximum(end, 1.0) for end in surest.count_limits(share))
            power = len(columns) - 1
            return low - power * np.log(most), high - power * np.log(least)

    def __repr__(self) -> str:
        name = printable(self.response.name)
        return f"<NaiveBayesRelease of {name} {list(self.classes)} on {self.box!r}: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {f"{i}.{name}": v for i, one in enumerate(self.likelihoods) for name, v in one.arrays().items()}

    def fields(self) -> dict[str, Any]:
        smooth = {str(i): o.densities[0].fields() for i, o in enumerate(self.likelihoods) if isinstance(o, Smoothed)}
        return {"response": self.response.to_json(), "densities": smooth}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"response", "densities"}, "the content")
        response, law = response_from_json(fields["response"]), common["law"]
        if response.classes is None or law.kind not in INDEPENDENT:
            raise ParameterError("a naive Bayes classifier needs classes, and independent noise")
        if any(density.get("rows") is not None for density in fields["densities"].values()):
            raise ParameterError("the number of records of a class is private")
        smooth, unread, parts, classes = dict(fields["densities"]), dict(arrays), [], len(response.classes)
        lattices = [decode_lattice(smooth[str(i)]["basis"]) if str(i) in smooth else None for i in range(box.dimension)]
        if not all(lattice is None or isinstance(lattice, MassLattice) for lattice in lattices):
            raise ParameterError("a naive Bayes classifier has lattices of masses")
        sizes = Attributes(tuple(lattices)).sizes(box)  # type: ignore[arg-type]
        for i, size in enumerate(sizes):
            numbers, own = unread.pop(f"{i}.numbers"), resized(law, size)
            if numbers.shape != (len(response.classes), size):
                raise ParameterError(f"column {box.names[i]!r} has numbers of shape {numbers.shape}")
            measures = unread.pop(f"{i}.measures") if str(i) in smooth else None
            one = {**common, "law": own}
            parts.append(_part(alone(box, i), numbers, own, one, smooth.pop(str(i), None), measures))
        exact_keys(unread, set(), "the file")
        exact_keys(smooth, set(), "the densities")
        if law.size != sum(sizes) * len(response.classes):
            raise ParameterError("the noise law and the numbers differ in size")
        kernels = {i: p.densities[0].masses.kernel for i, p in enumerate(parts) if isinstance(p, Smoothed)}
        for i, part in enumerate(parts):
            if isinstance(part, Smoothed):
                check_cells(alone(box, i), part.densities[0].masses.cells, classes)
        tables = tables_of(box, lattices, kernels, classes)  # type: ignore[arg-type]
        needed = certify_columns(sum_norm(law.certificate), tables, granted_of(common["guarantee"]))
        check_certificate(law.certificate, needed)
        return cls(**common, domain=box, response=response, likelihoods=tuple(parts))


def _part(
    box: Box, numbers: Floats, law: NoiseLaw, common: dict[str, Any], smooth: dict[str, Any] | None, measures: Any
) -> Likelihood:
    if smooth is None:
        return (Counted if isinstance(box.columns[0], Categorical) else Normal)(box, numbers, law)
    densities = [
        DensityRelease.part(common, box, smooth, {"masses": n, "measure": m})
        for n, m in zip(numbers, measures, strict=True)
    ]
    return Smoothed(box, numbers, law, tuple(densities))


def resized(law: NoiseLaw, size: int) -> NoiseLaw:
    """The law of a part: its numbers are independent of the others."""
    return NoiseLaw(law.kind, size, law.exponent, law.scale, law.certificate)
