"""Any procedure that turns data into a function: ``fit(data) -> f``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.bases.base import LatticeBasis, values_on
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.lattice.smoothness import Smoothness
from sfumato.bases.origins import Clipped
from sfumato.checks import finite_number, shown
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine, Records, whole_of
from sfumato.engines.table import Columns, Table
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.function import FunctionRelease
from sfumato.releases.uncertainty import sup_noise
from sfumato.targets.base import Errors, Published, Target, clipped
from sfumato.targets.sampled import Sensitivity, bound_of, certify, check_sampled, check_sensitivity, how_known
from sfumato.values import silently, unraised

Floats = NDArray[np.float64]
Function = Callable[[Floats], ArrayLike]

_POINTS_AT_ONCE = 4096


@dataclass(frozen=True)
class BlackBox(Target):
    """Publish the function that a procedure of yours computes from the data.

    Parameters
    ----------
    fit
        ``fit(data)`` sees the whole table (for a path: a pyarrow table) and returns a function that maps
        ``(m, l)`` points in user units to ``(m,)`` values.
    sensitivity
        S: for all neighbouring tables (one row changed) and every point y, ``|f(y) - f'(y)| <= S``. Values beyond
        about 2**51 S are clamped (a declared range that would be is refused). Or what ``sf.sample_sensitivity`` made:
        the release is then *random* differentially private.
    range, fallback
        Optional public bounds of the values, and the public value that stands in wherever ``fit`` or the
        function fails or returns something that is not a finite number (default: the middle of the range, or 0).
    smoothness
        Optional: ``sf.Smooth``, ``sf.Hoelder`` or ``sf.Linear``; picks the degree and gives total bands.
    columns
        The data columns that ``fit`` needs, where they are not just those of the box: a list of names, or names
        with bounds as in a box (``{"bp": (60, 220)}``), which are then cleaned too, and decide with those of the box
        which rows of a person count. In a CSV file, columns without bounds are text.

    Formal guarantee: if S holds, with these replacements, for every pair of neighbours, the release is private
    as its guarantee says. Values are clipped to ``range``, so ``min(S, high - low)`` is what is paid for.

    >>> BlackBox(lambda data: None, sensitivity=0.1, range=(0, 1)).fallback
    0.5
    """

    fit: Callable[[Any], Function]
    sensitivity: Sensitivity = None  # type: ignore[assignment]  # missing is refused below, in words
    range: tuple[float, float] | None = None
    fallback: float | None = None
    smoothness: Smoothness | None = None
    columns: Columns = None

    bases = (LatticeBasis,)
    yours = "fit"

    def __post_init__(self) -> None:
        if not callable(self.fit):
            raise ParameterTypeError(f"fit must be callable, fit(data) -> function, got fit={shown(self.fit)}")
        if self.sensitivity is None:
            raise ParameterTypeError("sensitivity is missing: state how far one row can move the function at any point")
        object.__setattr__(self, "sensitivity", check_sensitivity(self.sensitivity))
        low, high = -np.inf, np.inf
        if self.range is not None:
            if not isinstance(self.range, Sequence | np.ndarray) or len(self.range) != 2:
                raise ParameterTypeError(f"range must be a pair (low, high), got range={shown(self.range)}")
            low, high = finite_number("range[0]", self.range[0]), finite_number("range[1]", self.range[1])
            if low >= high:
                raise ParameterError(f"range must have low < high, got range={self.range!r}")
            object.__setattr__(self, "range", (low, high))
        middle = 0.0 if self.range is None else low / 2 + high / 2
        fallback = middle if self.fallback is None else finite_number("fallback", self.fallback)
        if not low <= fallback <= high:
            raise ParameterError(f"fallback must lie in range={self.range!r}, got fallback={self.fallback!r}")
        object.__setattr__(self, "fallback", fallback)
        if isinstance(self.columns, str):
            raise ParameterTypeError(f"columns must be a list of names or a mapping, got columns={shown(self.columns)}")
        if self.smoothness is not None and not isinstance(self.smoothness, Smoothness):
            raise ParameterTypeError(
                f"smoothness must be sf.Smooth, sf.Hoelder or sf.Linear, got {shown(self.smoothness)}"
            )

    @property
    def largest(self) -> float | None:  # type: ignore[override]
        """The largest size that a value can have, if a range was declared."""
        return None if self.range is None else max(abs(self.range[0]), abs(self.range[1]))

    def gather(self, records: Records, box: Box, engine: Engine) -> Table:
        return whole_of(records, "a black box")

    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> LatticeBasis:
        if self.smoothness is None:
            raise ParameterError(
                "basis is missing: pass basis=sf.Bernstein(degree=..., order=...), or declare "
                "BlackBox(smoothness=sf.Smooth(...)) to have it chosen"
            )
        strength = privacy.epsilon if privacy.epsilon is not None else (2 * (privacy.rho or 0.0)) ** 0.5
        return self.smoothness.basis(box, bound_of(self.sensitivity), strength)

    def certificate(self, basis: LatticeBasis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """The stated (or sampled) pointwise bound holds at each lattice point: docs/proofs/bernstein.md, sampler.md."""
        note = "it holds for fit as run, with failures and non-finite values replaced by the fallback"
        check_sampled(self.sensitivity, n, basis.size(box), (box, basis))
        unit = certify(self.sensitivity, "linf", "bernstein", note, privacy)
        if self.range is None or unit.norm != "linf" or self.range[1] - self.range[0] >= unit.bound:
            return unit
        return Clipped(self.range).certificate(box, privacy)

    def coefficients(self, table: Table, basis: LatticeBasis, box: Box, certificate: Certificate) -> Private:
        lattice = basis.lattice(box)
        records = table.native  # not inside: a file that cannot be read is an error, not a failure of fit
        values = np.full(len(lattice), np.nan)
        with unraised(), silently():  # an error, even sys.exit(), would be an output: any failure yields the fallback
            function = self.fit(records)
            parts = np.array_split(lattice, max(1, len(lattice) // _POINTS_AT_ONCE))
            values = np.concatenate([values_on(function, part) for part in parts])
        return Private(self._repair(values), certificate)

    def _repair(self, values: Floats) -> Floats:
        """Replace what is not a finite number by the fallback and clip to the declared range."""
        assert self.fallback is not None  # __post_init__ has set it
        finite = np.where(np.isfinite(values), values, self.fallback)
        return finite if self.range is None else np.clip(finite, *self.range)

    def rehearse(self, data: Any, box: Box, basis: LatticeBasis) -> Floats:
        """Run ``fit`` on **made-up or public** data with errors showing, and return the lattice values.

        ``sf.release`` must hide every failure of ``fit`` behind the fallback; it does this first, on records that it
        makes up.
        """
        if box is None or basis is None:
            raise ParameterTypeError("a black box is a function: give box= and basis=sf.Bernstein(k) to look at it on")
        return clipped(values_on(self.fit(data), basis.lattice(box)), self.range)

    def predict(self, basis: LatticeBasis, box: Box, law: NoiseLaw, n: int | None, confidence: float) -> Errors:
        mean, high = sup_noise(basis, box, law, confidence)
        smoothness = self.smoothness
        error = None if smoothness is None else smoothness.approximation_error(basis, box)
        return Errors(mean, high, error, law.certificate.bound)

    def finish(self, published: Published) -> FunctionRelease:
        assert isinstance(published.basis, LatticeBasis)
        return FunctionRelease(
            guarantee=published.guarantee,
            law=published.law,
            target=self.describe(),
            receipt=published.receipt,
            expansion=Expansion(published.basis, published.box, published.values),
            smoothness=self.smoothness,
            origin=Clipped(self.range) if self.range and published.law.certificate.known == "enforced" else None,
        )

    def describe(self) -> tuple[tuple[str, str], ...]:
        return (
            ("target", "black box"),
            (f"{how_known(self.sensitivity)} sensitivity", repr(bound_of(self.sensitivity))),
            ("range", "not declared" if self.range is None else repr(tuple(map(float, self.range)))),
            ("fallback", repr(self.fallback)),
        )
