"""The one line from private records to a published function, on one screen.

records -> Box -> Target -> coefficients on a Basis -> Certificate -> charge -> noise -> Release
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.charging import Payer, charged, check_payer
from sfumato.accounting.events import event_of_release, event_of_selection
from sfumato.bases.base import Basis
from sfumato.checks import positive_integer, probability, shown
from sfumato.choosing import method_for, pick
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.core.quantize import exact_doubles
from sfumato.engines.engine import Engine, Records, check_engine
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, PrivateDataError
from sfumato.targets.base import Chosen, Published, Target
from sfumato.targets.sampled import warn_of_random
from sfumato.targets.tuning import Tuned
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


def _certify(
    target: Target, box: Box, privacy: Privacy, n: int | None, basis: Basis | str
) -> tuple[Basis, Certificate]:
    """The basis and how far neighbours move the coefficients in it, from public quantities only."""
    chosen = basis if isinstance(basis, Basis) else target.choose_basis(box, n, privacy)
    target.check_basis(chosen, box)
    return chosen, target.certificate(chosen, box, n, privacy)


def _whole(at_door: Guarantee, door: Privacy, granted: Privacy) -> Guarantee:
    """What noise inside the coefficients and noise at the door promise together: the grant, by basic composition."""
    if door == granted:
        return at_door
    return replace(at_door, epsilon=granted.epsilon, delta=granted.delta, mu=None)


def _computed(target: Target, gathered: Any, basis: Basis, box: Box, law: NoiseLaw) -> Private:
    """The private vector, which must be the one that was certified."""
    with silently():
        private = target.coefficients(gathered, basis, box, law.certificate)
    if private.certificate != law.certificate or private.size != law.size:
        raise PrivateDataError("the target computed a vector that is not the one it certified")
    return private


def _resting_on(records: Records, promise: Guarantee) -> Guarantee:
    """The promise, with what reading the records rests on."""
    return replace(promise, assumptions=promise.assumptions + records.assumptions)


def _chosen_basis(target: Target, box: Box, privacy: Privacy, n: int | None, basis: Any, noise: str) -> Basis:
    """What a target that chooses chooses from."""
    if isinstance(basis, Basis):
        raise ParameterTypeError(f"a statistic needs no basis, got basis={shown(basis)}")
    if noise != "auto":
        raise ParameterError(f"quantiles are chosen, not perturbed: use noise='auto', got noise={noise!r}")
    return target.choose_basis(box, n, privacy)


def _choice_promise(privacy: Privacy) -> Guarantee:
    """Selections are pure, whatever delta was granted."""
    delta = None if privacy.epsilon is None else 0.0
    return Guarantee(privacy.epsilon, delta, privacy.rho, None, privacy.neighbours, privacy.unit)


def _plan_choices(
    target: Target, box: Box, privacy: Privacy, n: int | None, basis: Any, noise: str, confidence: float
) -> Plan:
    chosen = _chosen_basis(target, box, privacy, n, basis, noise)
    errors = target.predict_ranks(chosen, privacy, n, confidence)
    return Plan(
        basis=chosen,
        law=None,
        guarantee=_choice_promise(privacy),
        confidence=confidence,
        mean_noise_error=errors.mean_noise,
        noise_error=errors.noise,
        approximation_error=errors.approximation,
        lower_bound=None,
        noise=f"{method_for(privacy)} (errors are ranks, as a share of the records)",
    )


def _release_choices(
    target: Target, gathered: Any, box: Box, n: int | None, privacy: Privacy, basis: Any, noise: str,
    ledger: Payer | None, records: Records,
) -> Any:  # fmt: skip
    """Choose instead of measuring: private scores of public candidates -> charge -> choice -> Release."""
    chosen = _chosen_basis(target, box, privacy, n, basis, noise)
    method, promise = method_for(privacy), _resting_on(records, _choice_promise(privacy))
    with silently():
        ballots = target.ballots(gathered, chosen, box, privacy)
    with charged(ledger, event_of_selection(method, privacy, target.describe()[0][1])) as receipt:
        places = [pick(exact_doubles(b.scores), b.sensitivity, part_of(privacy, b.part), method) for b in ballots]
    return target.finish(Chosen(target.picked(chosen, places), chosen, box, n, promise, receipt))


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
    target = target.settled(box, n, privacy, basis)
    if target.chooses:
        return _plan_choices(target, box, privacy, n, basis, noise, probability("confidence", confidence))
    chosen, certificate = _certify(target, box, privacy, n, basis)
    noise = target.preferred_noise(certificate, privacy) if noise == "auto" else noise
    law, at_door = calibrate(certificate, target.size(chosen, box), target.door(privacy), noise)
    guarantee = _whole(at_door, target.door(privacy), privacy)
    warn_of_random(guarantee.confidence, privacy, 2)
    epsilon = privacy.epsilon or 0.0
    errors = target.predict(chosen, box, law, n, probability("confidence", confidence))
    return Plan(
        basis=chosen,
        law=law,
        guarantee=guarantee,
        confidence=confidence,
        mean_noise_error=errors.mean_noise,
        noise_error=errors.noise,
        approximation_error=errors.approximation,
        lower_bound=errors.lower_bound / epsilon if errors.lower_bound and 0 < epsilon <= 1 else None,
        noise=target.noise_words(chosen, box, law),
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
        The account that pays, ``sf.Ledger("budget.db").account("clinic-2026")``, before any noise is drawn.

    Formal guarantee: the release, and all that is ever computed from it, satisfies ``release.guarantee``.
    """
    _check(target, box, privacy, basis)
    check_payer(ledger)
    engine = check_engine(MemoryEngine() if engine is None else engine)
    assert box is not None and privacy is not None
    with silently():
        records = engine.open(data, box, privacy.unit, target.columns)
        gathered = target.gather(records, box, engine)
    # The number of rows is public only where neighbours replace single rows.
    n = gathered.rows if privacy.neighbours == "replace" and privacy.unit == "row" else None
    tuned = tune(target, gathered, box, n, privacy, basis, ledger)
    target, rest = tuned.target.settled(box, n, tuned.privacy, tuned.basis), tuned.privacy
    if target.chooses:
        return _release_choices(target, gathered, box, n, rest, basis, noise, ledger, records)
    chosen, certificate = _certify(target, box, rest, n, tuned.basis)
    door = target.door(rest)
    noise = target.preferred_noise(certificate, rest) if noise == "auto" else noise
    law, at_door = calibrate(certificate, target.size(chosen, box), door, noise)
    target.check_law(law)
    warn_of_random(at_door.confidence, privacy, 2)
    private = _computed(target, gathered, chosen, box, law)
    event = event_of_release(law, _whole(at_door, door, rest), target.describe()[0][1], inside=door != rest)
    with charged(ledger, event) as receipt:
        noisy, law, at_door = publish(private, door, noise)
    by = "data" if isinstance(basis, Tuned) else "auto" if isinstance(basis, str) else "caller"
    promised = _resting_on(records, tuned.promise(_whole(at_door, door, rest), privacy))
    return target.finish(Published(noisy, chosen, box, n, law, promised, receipt, rest, by))
