"""A published summary: noisy cosine moments, from which every smooth question about the records can be answered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.lattice.smoothness import Smooth
from sfumato.bases.moments.cosine import Cosines, IndexSet, basis_from_json
from sfumato.bases.moments.quadrature import (
    LARGEST_TENSOR,
    Grid,
    Query,
    balanced,
    coefficients_at,
    grid_for,
    jackson_factors,
    query_values,
    sparse_coefficients,
)
from sfumato.checks import did_you_mean, one_of, probability, shown
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.harmless import printable
from sfumato.laws import LocalLaw, noise_deviation
from sfumato.releases.base import SumsRelease
from sfumato.releases.file.certified import check_certificate, granted_of
from sfumato.releases.rows import as_table, check_rows, randomness, rows_of
from sfumato.releases.summary.answers import Answer, deviations, half_widths
from sfumato.releases.summary.approximation import Enclosed, Lookout, cosines_at, proved_gap
from sfumato.releases.summary.comparison import Comparison, compared
from sfumato.releases.summary.questions import Questions
from sfumato.upwards import UPWARDS, Shown

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Columns = Sequence[str] | str | None

DAMPINGS = ("none", "jackson", "balanced")
_LOOKED_AT = 2**22  # terms that are evaluated at points of a sparse grid, to see what it misses


@dataclass(frozen=True, eq=False, kw_only=True)
class SummaryRelease(Shown, SumsRelease, Questions):
    """The moments of private records, perturbed once.

    Parameters
    ----------
    domain, basis
        The columns, and which moments there are.
    numbers
        Noisy sums over records (read-only): one for each frequency but zero, and one for that too where the number of
        records is private.
    rows
        The public number of records, or None.
    """

    kind: ClassVar[str] = "summary"

    basis: Cosines
    rows: int | None

    @cached_property
    def indices(self) -> IndexSet:
        """The frequencies of the moments."""
        return self.basis.index_set(self.box)

    @cached_property
    def moments(self) -> Floats:
        """``(size,)``: means of ``prod_j cos(r_j arccos x_j)``, in the order of ``indices.frequencies``; unbiased."""
        whole = self.numbers if self.rows is None else np.concatenate([[float(self.rows)], self.numbers])
        moments = np.concatenate([[1.0], whole[1:] / self._total])
        moments.setflags(write=False)
        return moments

    @property
    def _total(self) -> float:
        """The number of records, or the noisy one; at least one."""
        return max(1.0, float(self.rows) if self.rows is not None else float(self.numbers[0]))

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise in each moment."""
        return noise_deviation(self.law) / self._total

    # --- answering ----------------------------------------------------------------------------------------

    def answer(
        self,
        query: Query | str,
        *,
        columns: Columns = None,
        confidence: float = 0.95,
        damping: str = "none",
        smoothness: Smooth | None = None,
    ) -> Answer:
        """The mean of a function over the records (Algorithm 2 of the paper, with the right coefficients).

        Parameters
        ----------
        query
            A public function of ``(m, d)`` points in the user's units (a category is its number, or its position in the
            declared list if it is text) that returns ``(m,)`` numbers. Or a question as text, such as
            ``"mean(exp(-(age-40)**2/200))"`` or ``"correlation(age, bmi)"`` (its grammar: ``sfumato.expressions``).
        columns
            The columns that the function reads, in its order; by default all of the box. With more than four, a sparse
            grid takes the place of a full one: name those that matter.
        damping
            ``"none"``: the function's own coefficients; ``"balanced"``: those that make approximation and noise
            together smallest; ``"jackson"``: the paper's, for reproduction (needs ``smoothness``).
        smoothness
            A promise about the function on the box scaled to the unit cube, from which its approximation error then
            follows; by default that is seen from its coefficients.

        >>> import sfumato as sf
        >>> box, grant = sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0)
        >>> summary = sf.summarize(np.full(10_000, 44.0), box, grant, degree=8)
        >>> abs(summary.answer(lambda p: np.exp(-((p[:, 0] - 40) ** 2) / 800)).value - 0.98) < 0.1
        True
        """
        if isinstance(query, str):
            if columns is not None or smoothness is not None:
                raise ParameterError("a question as text names its columns itself: leave out columns and smoothness")
            asked: Answer = UPWARDS["ask"](self, query, confidence, damping)
            return asked
        answers = self.answer_many(
            [query], columns=columns, confidence=confidence, damping=damping, smoothness=smoothness
        )
        return answers.each(lambda part: part[0])

    def answer_many(
        self,
        queries: Sequence[Query],
        *,
        columns: Columns = None,
        confidence: float = 0.95,
        damping: str = "none",
        smoothness: Smooth | None = None,
    ) -> Answer:
        """The same for several functions at once: an answer of arrays, each entry by itself at this confidence."""
        one_of("damping", damping, DAMPINGS)
        if callable(queries) or not all(callable(query) for query in queries):
            raise ParameterTypeError("queries must be a list of functions of (m, d) points")
        if smoothness is not None and not isinstance(smoothness, Smooth):
            raise ParameterTypeError(f"smoothness must be sf.Smooth(derivatives, bound), got {shown(smoothness)}")
        if damping == "jackson" and smoothness is None:
            raise ParameterError("damping='jackson' needs smoothness=sf.Smooth(derivatives, bound)")
        places = self.places(columns)
        lookout = Lookout(self.box, places, self.among(places)[1])
        if len(places) > LARGEST_TENSOR:
            if damping != "none":
                raise ParameterError(
                    f"damping={damping!r} needs at most {LARGEST_TENSOR} columns: name them in columns"
                )
            found = [self._sparse(query, places, lookout) for query in queries]
        else:
            grid = grid_for(self.box, places, self.indices.shape)
            points = grid.points()
            found = [
                self._followed(query, query_values(query, points), grid, damping, smoothness, confidence, lookout)
                for query in queries
            ]
        weights = np.stack([weights for weights, _, _ in found]) if found else np.zeros((0, self.indices.size))
        known = next((word for word in ("seen", "promised") if any(word == each for *_, each in found)), "proved")
        return replace(self.linear(weights, np.array([missed for _, missed, _ in found]), confidence), known=known)

    def linear(self, weights: Floats, missed: Floats, confidence: float, of: int = 0) -> Answer:
        """``weights`` ``(q, size)`` applied to the moments, where each may also be off by ``missed``.

        ``of``: that these are one block of so many questions, whose errors are to be found in one way.

        Formal guarantee: with probability at least ``confidence`` over the noise, whatever the data, an answer is
        within its error of the records' own mean of the function, if ``missed`` bounds what the weights leave out.
        """
        probability("confidence", confidence)
        values, noise, total = weights @ self.moments, weights[:, 1:], self._total
        if self.rows is not None:
            widths, sd = half_widths(self.law, noise, confidence, of) / total, deviations(self.law, noise) / total
            return Answer(values, widths + missed, sd, missed, confidence)
        # v' - v = (noise of the sum - v' noise of the count) / n, and n is not known exactly either.
        both = (1 + confidence) / 2
        sums = half_widths(self.law, weights, both, of)
        count = np.zeros((1, self.indices.size))
        count[0, 0] = 1.0
        miscount = half_widths(self.law, count, both)[0]
        with np.errstate(all="ignore"):
            least = self.numbers[0] - miscount
            widths = np.where(least > 0, (sums + np.abs(values) * miscount) / max(least, 1e-300), math.inf)
        shifted = weights.copy()
        shifted[:, 0] -= values
        return Answer(values, widths + missed, deviations(self.law, shifted) / total, missed, confidence)

    def sample(self, rows: int, seed: int | None = None) -> pa.Table:
        """A table of made-up records that answers smooth questions about as well as the summary itself.

        They are evenly spaced draws of the nearest measure behind the moments, in random order: each cell of a fine
        grid has its share of the rows up to one. For boxes of up to four columns.

        Parameters
        ----------
        rows
            How many, at least one: as many as there are records, or more.
        seed
            The same seed gives the same rows.

        Formal guarantee: the table is computed from the summary alone; it satisfies ``guarantee`` and costs nothing.

        >>> import sfumato as sf
        >>> box, grant = sf.Box({"age": sf.Integer(0, 110), "sex": sf.Categorical(["f", "m"])}), sf.Privacy(epsilon=1.0)
        >>> summary = sf.summarize({"age": [30, 50] * 5000, "sex": ["f", "m"] * 5000}, box, grant)
        >>> table = summary.sample(1000, seed=1)
        >>> table.num_rows, table.column_names
        (1000, ['age', 'sex'])
        """
        rows, generator, places = check_rows(rows), randomness(seed), tuple(range(self.box.dimension))
        if len(places) > LARGEST_TENSOR:
            raise ParameterError.of(
                "box",
                f"must have at most {LARGEST_TENSOR} columns for rows from a summary, got {len(places)}: summarize "
                "fewer columns",
            )
        axes, measure = self._nearest(places)
        return as_table(self.box, rows_of(self.box, [len(axis.nodes) for axis in axes], measure, rows, generator))

    def compare(self, table: Any, confidence: float = 0.95) -> Comparison:
        """A table's means, spreads, correlations and shares beside the summary's, in units of the summary's error.

        Parameters
        ----------
        table
            A published table (``sf.synthesize``), or any table with the box's columns: one that is public, or that
            stays where it is, as what is computed from it here is no release. Circles are left out.
        confidence
            What each of the summary's errors holds with.

        >>> import sfumato as sf
        >>> box, grant = sf.Box({"age": (0, 110), "sex": sf.Categorical(["f", "m"])}), sf.Privacy(epsilon=1.0)
        >>> summary = sf.summarize({"age": [30.0, 50.0] * 5000, "sex": ["f", "m"] * 5000}, box, grant, degree=3)
        >>> found = summary.compare({"age": [60.0, 60.0], "sex": ["f", "m"]})
        >>> [line.what for line in found.lines], found.worst.apart > 1
        (['mean', 'spread', 'share', 'share'], True)
        """
        return compared(self, table, confidence)

    def places(self, columns: Columns) -> tuple[int, ...]:
        """The positions of named columns; all by default."""
        if columns is None:
            return tuple(range(self.box.dimension))
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for name in names:
            if name not in self.box.names:
                near = did_you_mean(name, self.box.names)
                raise ParameterError(f"column {name!r} is unknown; the summary has {list(self.box.names)}{near}")
        if not names or len({*names}) < len(names):
            raise ParameterError(f"columns must be different names, one or more, got {list(names)!r}")
        return tuple(self.box.names.index(name) for name in names)

    def among(self, places: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The positions of all moments of these columns alone, and their frequencies."""
        own = self.indices.frequencies[:, list(places)]
        rows = np.flatnonzero(np.count_nonzero(own, axis=1) == self._taking_part)
        return rows, own[rows]

    @cached_property
    def _taking_part(self) -> NDArray[np.int64]:
        """How many columns take part in each moment."""
        return np.asarray(np.count_nonzero(self.indices.frequencies, axis=1))

    def _followed(
        self, query: Query, values: Floats, grid: Grid, damping: str, smoothness: Smooth | None, confidence: float,
        lookout: Lookout,
    ) -> tuple[Floats, float, str]:  # fmt: skip
        """Weights of moments, how far they are from the query at its worst place, and how that is known."""
        weights, missed = self._on_grid(values, grid, damping, smoothness, confidence)
        if damping == "none" and smoothness is not None:
            return weights, missed, "promised"
        rows, frequencies = self.among(grid.columns)
        if isinstance(query, Enclosed):
            chosen = np.zeros(grid.shape)
            chosen[tuple(frequencies.T)] = weights[rows]
            proved = proved_gap(query, grid, chosen, missed)
            if math.isfinite(proved):
                return weights, proved, "proved"
        return weights, max(missed, lookout.gap(query, weights[rows])), "seen"

    def _on_grid(
        self, values: Floats, grid: Grid, damping: str, smoothness: Smooth | None, confidence: float
    ) -> tuple[Floats, float]:
        rows, frequencies = self.among(grid.columns)
        tensor, at = grid.coefficients(values), tuple(frequencies.T)
        kept = np.zeros(tensor.shape, dtype=np.bool_)
        kept[at] = True
        chosen = np.where(kept, tensor, 0.0)
        if damping == "jackson":
            assert smoothness is not None
            chosen = self._damped(chosen, grid, smoothness.derivatives)
        if damping == "none" and smoothness is not None:
            missed = self._promised(smoothness, grid)
        else:
            missed = _left_out(tensor - chosen, grid)
        weights = np.zeros(self.indices.size)
        weights[rows] = chosen[at]
        if damping == "balanced":
            other = balanced(values, grid, kept, self._reach(np.eye(1, self.indices.size, 1)[0], confidence))
            left, moved = _left_out(tensor - other, grid), np.zeros(self.indices.size)
            moved[rows] = other[at]
            # Between points of the grid a balanced function may be further off, and then plain truncation is better.
            if left + self._reach(moved, confidence) < missed + self._reach(weights, confidence):
                weights, missed = moved, left
        return weights, max(0.0, missed)

    def _reach(self, weights: Floats, confidence: float) -> float:
        """How far noise moves a weighted sum of moments, as far as the number of records is known."""
        noise = weights[None, :] if self.rows is None else weights[None, 1:]
        return float(half_widths(self.law, noise, confidence)[0]) / self._total

    def _damped(self, tensor: Floats, grid: Grid, derivatives: int) -> Floats:
        """The paper's damping of every numeric column."""
        for i, (place, axis) in enumerate(zip(grid.columns, grid.axes, strict=True)):
            if not isinstance(self.box.columns[place], Categorical):
                factors = np.zeros(len(axis.nodes))
                own = jackson_factors(self.indices.shape[place], derivatives)
                factors[: len(own)] = own
                tensor = tensor * factors.reshape([-1 if k == i else 1 for k in range(tensor.ndim)])
        return tensor

    def _promised(self, smoothness: Smooth, grid: Grid) -> float:
        """What truncated Chebyshev series miss of so smooth a function (docs/proofs/moments.md, Theorem 5)."""
        if (self.indices.ways is not None and self.indices.ways < len(grid.columns)) or self.indices.cross is not None:
            raise ParameterError("a promised smoothness bounds the error of full interactions only")
        missed, magnified, order = 0.0, 1.0, smoothness.derivatives
        for place, axis in zip(grid.columns, grid.axes, strict=True):
            top = self.indices.shape[place] - 1
            if isinstance(self.box.columns[place], Categorical):
                continue
            if top < order:
                raise ParameterError(f"smoothness of order {order} needs degree {order + 1} or more, got {top + 1}")
            # Frequencies beyond the summary's are lost; from this one on they are also taken for one that it has.
            mistaken = 2 * len(axis.nodes) - top
            bound = smoothness.bound / 2.0**order  # on [-1, 1]
            missed += magnified * bound * (_tail(top, order - 1) + _tail(mistaken - 1, order - 1))
            magnified *= 4 / math.pi**2 * math.log(top + 1) + 3
        return missed

    def _sparse(self, query: Query, places: Sequence[int], lookout: Lookout) -> tuple[Floats, float, str]:
        found = sparse_coefficients(query, self.box, places)
        rows, frequencies = self.among(places)
        values, beyond = coefficients_at(found, frequencies)
        weights = np.zeros(self.indices.size)
        weights[rows] = values
        # A function that is narrow for the sparse grid shows at the points themselves, where the sum of cosines is off.
        some = slice(0, max(1, _LOOKED_AT // len(rows)))
        there = cosines_at(np.arccos(np.clip(found.points[some], -1.0, 1.0)), frequencies) @ values
        off = float(np.abs(found.at_points[some] - there).max())
        return weights, max(beyond + found.change, off, lookout.gap(query, values)), "seen"

    # --- what the file holds ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        names = printable(", ".join(self.box.names))
        return f"<SummaryRelease of {names}: {self.indices.size} moments; {self.guarantee}>"

    def fields(self) -> dict[str, Any]:
        return {"basis": self.basis.to_json(), "rows": self.rows}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"basis", "rows"}, "the content")
        exact_keys(arrays, {"numbers"}, "the file")
        basis, rows, promised, law = (
            basis_from_json(fields["basis"]),
            fields["rows"],
            common["guarantee"],
            common["law"],
        )
        public = (promised.neighbours, promised.unit) == ("replace", "row")
        if (rows is not None) != public or decode_rows(rows, promised) != rows:
            raise ParameterError(f"a number of rows is there just where the guarantee makes it public, got {rows!r}")
        size = basis.size(box) - public  # counted only: a hostile file's frequencies are not written down
        if arrays["numbers"].shape != (size,) or law.size != size:
            raise ParameterError(f"the summary needs {size} numbers, got {arrays['numbers'].shape}")
        if isinstance(law, LocalLaw) is not (promised.model == "local"):
            raise ParameterError("the noise and the promise are of different models")
        if not isinstance(law, LocalLaw):
            norm = one_of("norm", law.certificate.norm, ("linf", "l1", "l2"))
            check_certificate(law.certificate, basis.index_set(box).certified(granted_of(promised), norm))
        return cls(**common, domain=box, basis=basis, numbers=arrays["numbers"], rows=rows)


def _tail(top: int, order: int) -> float:
    """A bound on the Chebyshev coefficients beyond ``top``, where a derivative of this order varies by at most 2."""
    return 4 / (math.pi * order * math.prod(top - i for i in range(order)))


def _left_out(rest: Floats, grid: Grid) -> float:
    """A bound on the largest value of a sum of cosines ``rest``: the sum of their sizes, or what is seen on the grid.

    Of frequencies below 1/k of the number of points, values between points exceed those at points by at most a factor
    ``1 / cos(pi / 2k)`` along each column (docs/proofs/moments.md, Theorem 6); higher ones count with their size. The
    smaller the share, the smaller the factor: the smallest one that loses hardly anything is taken.
    """
    whole = float(np.abs(rest).sum())
    for part in (16, 8, 4, 2):
        low, factor = rest.copy(), 1.0
        for i, (place, axis) in enumerate(zip(grid.columns, grid.axes, strict=True)):
            if not isinstance(grid.box.columns[place], Categorical):
                low[(slice(None),) * i + (slice(len(axis.nodes) // part, None),)] = 0.0
                factor /= math.cos(math.pi / (2 * part))
        high = whole - float(np.abs(low).sum())
        if high <= 0.02 * whole:
            break
    return min(whole, high + factor * float(np.abs(grid.evaluate(low)).max()))
