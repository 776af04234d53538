"""The one line from private records to a published function, on one screen.

records -> Box -> Target -> coefficients on a Basis -> Certificate -> charge -> noise -> Release
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.charging import Payer, charged, check_payer
from sfumato.accounting.events import Event, event_of_release, event_of_selection
from sfumato.bases.base import Basis
from sfumato.checks import positive_integer, probability, shown
from sfumato.choosing import method_for, pick
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.mechanism import publish
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.core.quantize import exact_doubles
from sfumato.engines.engine import Engine, check_engine
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, PrivateDataError
from sfumato.releases.base import Receipt
from sfumato.targets.base import Choosing, Errors, Published, Target, door_of
from sfumato.targets.density.tuned import Tuned
from sfumato.targets.sampled import warn_of_random
from sfumato.tuning import part_of, tune
from sfumato.values import silently


@dataclass(frozen=True)
class Plan:
    """What a release would be, from public quantities only: nothing has been read or spent.

    ``noise_error`` bounds the error that the noise makes anywhere in the box, with probability
    ``confidence``; ``mean_noise_error`` is the mean of the largest. ``approximation_error`` bounds the rest:
    for a black box that declared its smoothness (else None); for a density, on reference densities with features of
    about the bandwidth; for a learner, what fewer directions than its landmarks have miss of reference labels.
    ``lower_bound``: no pure mechanism does better than this order on every data set, for epsilon up to 1 (the paper's
    Theorem 8; for densities a packing bound). ``noise`` says in words where noise goes. A quantile is chosen, not
    perturbed: its ``law`` is None, and its errors are ranks, as a share of the records.
    """

    basis: Basis
    law: NoiseLaw | None
    guarantee: Guarantee
    confidence: float
    mean_noise_error: float
    noise_error: float
    approximation_error: float | None
    lower_bound: float | None
    noise: str

    @property
    def total_error(self) -> float | None:
        """The promised error: noise plus approximation, where the latter is known."""
        return None if self.approximation_error is None else self.noise_error + self.approximation_error

    def __str__(self) -> str:
        known = self.approximation_error is not None
        rest = f"{self.approximation_error:.4g}" if known else "unknown (declare the target's smoothness)"
        return "\n".join(
            [
                f"basis                 {self.basis}"
                + ("" if self.law is None else f" ({self.law.size} coefficients)"),
                f"guarantee             {self.guarantee}",
                f"noise                 {self.noise}",
                f"largest noise error   {self.noise_error:.4g} with confidence {self.confidence:g}",
                f"  on average          {self.mean_noise_error:.4g}",
                f"approximation error   at most {rest}",
                "lower bound           "
                + ("-" if self.lower_bound is None else f"of the order of {self.lower_bound:.4g}"),
            ]
        )


def _check(target: object, box: object, privacy: object, basis: object) -> None:
    """Refuse what is missing or of the wrong type before any data are read."""
    if not isinstance(target, Target):
        raise ParameterTypeError(f"target must be a target such as sf.KDE or sf.BlackBox, got {type(target).__name__}")
    if not isinstance(box, Box):
        raise ParameterTypeError(
            f"box must be an sf.Box with public bounds (they are never inferred), got {shown(box)}"
        )
    if not isinstance(privacy, Privacy):
        raise ParameterTypeError(f"privacy must be an sf.Privacy, got {shown(privacy)}")
    if not isinstance(basis, Basis | Tuned) and not (isinstance(basis, str) and basis == "auto"):
        raise ParameterTypeError(f"basis must be 'auto' or a basis such as sf.Bernstein, got basis={shown(basis)}")
    target.check_box(box)


@dataclass(frozen=True)
class Prepared:
    """A release as far as public quantities settle it: ``plan`` describes it, and ``release`` runs it.

    ``law`` is None for a target that chooses: its guarantee is that of the choices, which are pure.
    """

    target: Target
    box: Box
    privacy: Privacy
    rows: int | None
    basis: Basis
    noise: str
    law: NoiseLaw | None
    guarantee: Guarantee

    def errors(self, rows: int | None, confidence: float) -> Errors:
        """What error to expect of so many records, whose number need not be public."""
        if self.law is None:
            return _choosing(self.target).predict_ranks(self.basis, self.privacy, rows, confidence)
        return self.target.predict(self.basis, self.box, self.law, rows, confidence)

    def noise_words(self) -> str:
        """Where noise goes, or what is done instead."""
        if self.law is None:
            return f"{method_for(self.privacy)} (errors are ranks, as a share of the records)"
        return self.target.noise_words(self.basis, self.box, self.law)

    def event(self) -> Event:
        """What a ledger is charged for it."""
        label = self.target.describe()[0][1]
        if self.law is None:
            return event_of_selection(method_for(self.privacy), self.privacy, label)
        inside = door_of(self.target, self.privacy) != self.privacy
        return event_of_release(self.law, self.guarantee, label, inside=inside)

    def draw(self, gathered: Any, ledger: Payer | None) -> tuple[Any, Receipt | None]:
        """Compute, charge, and only then open the door; returns public numbers and the receipt."""
        return self._choose(gathered, ledger) if self.law is None else self._perturb(gathered, ledger)

    def _perturb(self, gathered: Any, ledger: Payer | None) -> tuple[Any, Receipt | None]:
        assert self.law is not None
        with silently():
            private = self.target.coefficients(gathered, self.basis, self.box, self.law.certificate)
        if private.certificate != self.law.certificate or private.size != self.law.size:
            raise PrivateDataError("the target computed a vector that is not the one it certified")
        with charged(ledger, self.event()) as receipt:
            noisy, law, _ = publish(private, door_of(self.target, self.privacy), self.noise)
        assert law == self.law
        return noisy, receipt

    def _choose(self, gathered: Any, ledger: Payer | None) -> tuple[Any, Receipt | None]:
        target, method = _choosing(self.target), method_for(self.privacy)
        with silently():
            ballots = target.ballots(gathered, self.basis, self.box, self.privacy)
        with charged(ledger, self.event()) as receipt:
            grants = [part_of(self.privacy, one.part) for one in ballots]
            pairs = zip(ballots, grants, strict=True)
            places = [pick(exact_doubles(one.scores), one.sensitivity, grant, method) for one, grant in pairs]
        return target.picked(self.basis, places), receipt


def prepare(
    target: Target,
    box: Box,
    privacy: Privacy,
    rows: int | None = None,
    *,
    basis: Basis | str = "auto",
    noise: str = "auto",
) -> Prepared:
    """Settle everything that public quantities settle: basis, certificate, noise law and promise.

    Parameters are those of ``release``; ``rows`` is the public number of records, where there is one.
    """
    target = target.settled(box, rows, privacy, basis)
    chosen = basis if isinstance(basis, Basis) else target.choose_basis(box, rows, privacy)
    target.check_basis(chosen, box)
    if isinstance(target, Choosing):
        if noise != "auto":
            raise ParameterError.of("noise", f"must be 'auto' for what is chosen, not perturbed, got noise={noise!r}")
        delta = None if privacy.epsilon is None else 0.0  # selections are pure, whatever delta was granted
        promise = Guarantee(privacy.epsilon, delta, privacy.rho, None, privacy.neighbours, privacy.unit)
        return Prepared(target, box, privacy, rows, chosen, noise, None, promise)
    certificate, door = target.certificate(chosen, box, rows, privacy), door_of(target, privacy)
    noise = target.preferred_noise(certificate, privacy) if noise == "auto" else noise
    law, promise = calibrate(certificate, target.size(chosen, box), door, noise)
    target.check_law(law)
    if door != privacy:  # noise inside the coefficients and noise at the door together: the grant, by basic composition
        promise = replace(promise, epsilon=privacy.epsilon, delta=privacy.delta, mu=None)
    return Prepared(target, box, privacy, rows, chosen, noise, law, promise)


def _public_rows(privacy: Privacy) -> bool:
    """Whether the number of rows is public: only where neighbours replace single rows."""
    return privacy.neighbours == "replace" and privacy.unit == "row"


def _choosing(target: Target) -> Choosing:
    assert isinstance(target, Choosing)
    return target


def plan(
    target: Target,
    box: Box,
    privacy: Privacy,
    n: int | None = None,
    *,
    basis: Basis | Tuned | str = "auto",
    noise: str = "auto",
    confidence: float = 0.95,
) -> Plan:
    """Say what error to expect before anything is read or spent.

    Parameters are those of ``release``; ``n`` is the public number of units, which a black box does not need.
    """
    _check(target, box, privacy, basis)
    if n is not None:
        positive_integer("n", n)
    if isinstance(basis, Tuned):
        raise ParameterError("a tuned basis is only known once it is paid for: plan with one of its candidates")
    prepared = prepare(target, box, privacy, n if _public_rows(privacy) else None, basis=basis, noise=noise)
    warn_of_random(prepared.guarantee.confidence, privacy, 2)
    errors, epsilon = prepared.errors(n, probability("confidence", confidence)), privacy.epsilon or 0.0
    return Plan(
        basis=prepared.basis,
        law=prepared.law,
        guarantee=prepared.guarantee,
        confidence=confidence,
        mean_noise_error=errors.mean_noise,
        noise_error=errors.noise,
        approximation_error=errors.approximation,
        lower_bound=errors.lower_bound / epsilon if errors.lower_bound and 0 < epsilon <= 1 else None,
        noise=prepared.noise_words(),
    )


def release(
    target: Target,
    data: Any = None,
    box: Box | None = None,
    privacy: Privacy | None = None,
    *,
    basis: Basis | Tuned | str = "auto",
    noise: str = "auto",
    engine: Engine | None = None,
    ledger: Payer | None = None,
) -> Any:
    """Publish a function of private data.

    Parameters
    ----------
    target
        What to publish: ``sf.KDE(bandwidth=2.5)``, ``sf.Statistic("mean", "age")``, ``sf.BlackBox(...)``.
    data
        A numpy array, an ``(X, y)`` pair, a pandas, polars, pyarrow (or any Arrow) table, a CSV or Parquet file's path.
    box
        The public domain of the function. Bounds are never inferred.
    privacy
        What you grant: ``sf.Privacy(epsilon=1.0)``, ``(epsilon, delta)`` or ``rho``.
    basis
        Such as ``sf.Bernstein(20, order=3)``; ``"auto"``: by public quantities; ``sf.Tuned([...])``: by the data, paid.
    noise
        ``"auto"``: the K-norm noise of the certificate for pure epsilon, else Gaussian; ``"laplace"`` is the paper's.
    engine
        Where the records are, and what sums over them; the default works in memory.
    ledger
        The account that pays, ``sf.Ledger("budget.db").account("clinic-2026")``, before anything is published.

    Formal guarantee: the release, and all that is ever computed from it, satisfies ``release.guarantee``.
    """
    _check(target, box, privacy, basis)
    check_payer(ledger)
    engine = check_engine(MemoryEngine() if engine is None else engine)
    assert box is not None and privacy is not None
    with silently():
        records = engine.open(data, box, privacy.unit, target.columns)
        gathered = target.gather(records, box, engine)
    rows = gathered.rows if _public_rows(privacy) else None
    tuned = tune(target, gathered, box, rows, privacy, basis, ledger)
    prepared = prepare(tuned.target, box, tuned.privacy, rows, basis=tuned.basis, noise=noise)
    warn_of_random(prepared.guarantee.confidence, privacy, 2)
    values, receipt = prepared.draw(gathered, ledger)
    promise = tuned.promise(prepared.guarantee, privacy)
    promise = replace(promise, assumptions=promise.assumptions + records.assumptions)
    by = "data" if isinstance(basis, Tuned) else "auto" if isinstance(basis, str) else "caller"
    return prepared.target.finish(
        Published(values, prepared.basis, box, rows, prepared.law, promise, receipt, prepared.privacy, by)
    )
