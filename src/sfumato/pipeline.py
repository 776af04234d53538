"""The one line from private records to a published function, on one screen.

records -> Box -> Target -> coefficients on a Basis -> Certificate -> charge -> noise -> Release
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sfumato.accounting.charge import Payer, Told, charged, check_payer, said_if_paid
from sfumato.accounting.events import Event, event_of_release, event_of_selection
from sfumato.bases.base import Basis
from sfumato.checks import did_you_mean, positive_integer, probability, shown, true_or_false
from sfumato.codec import encode_box, encode_unit
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.mechanism import publish
from sfumato.core.privacy import Guarantee, Privacy, part_of
from sfumato.core.quantize import exact_doubles
from sfumato.engines.engine import Engine, Records, engine_for
from sfumato.errors import (
    InterruptedReleaseError,
    NothingThereWarning,
    ParameterError,
    ParameterTypeError,
    PrivateDataError,
    SchemaError,
)
from sfumato.faces import nothing_there
from sfumato.paid_choice import First, Settled, expected, first_of, measure, tune
from sfumato.rehearsal import rehearse as run_on_made_up
from sfumato.rehearsal import rehearse_order
from sfumato.releases.base import Receipt
from sfumato.releases.file.container import check_room
from sfumato.releases.writer import digest
from sfumato.selection import check_jointly, pick, pick_jointly
from sfumato.steps import step
from sfumato.targets.base import Ballot, Choosing, Errors, InsideNoise, Published, Target, Undecided, door_of
from sfumato.targets.density.tuned import Tuned
from sfumato.targets.sampled import warn_of_random
from sfumato.values import silently


@dataclass(frozen=True)
class Plan:
    """What a release would be, from public quantities only: nothing has been read or spent.

    ``noise_error`` bounds the error that the noise makes anywhere in the box, with probability
    ``confidence``; ``mean_noise_error`` is the mean of the largest. ``approximation_error`` bounds the rest:
    for a black box that declared its smoothness (else None); for a density, on reference densities with features of
    about the bandwidth; for a learner, what fewer directions than its landmarks have miss of reference labels.
    ``lower_bound``: no pure mechanism does better than this order on every data set, for epsilon up to 1 (the paper's
    Theorem 8; for densities a packing bound). ``noise`` says in words where noise goes. Errors of quantiles are
    ``ranks``, as a share of the records; those that are chosen, not perturbed, have no ``law``.
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
    ranks: bool = False

    @property
    def total_error(self) -> float | None:
        """The promised error: noise plus approximation, where the latter is known."""
        return None if self.approximation_error is None else self.noise_error + self.approximation_error

    def __str__(self) -> str:
        known = self.approximation_error is not None
        shares = " of the records, in rank," if self.ranks else ""
        rest = f"{self.approximation_error:.4g}" if known else "unknown (declare the target's smoothness)"
        return "\n".join(
            [
                f"basis                 {self.basis}"
                + ("" if self.law is None else f" ({self.law.size} coefficients)"),
                f"guarantee             {self.guarantee}",
                f"noise                 {self.noise}",
                f"largest noise error   {self.noise_error:.4g}{shares} with confidence {self.confidence:g}",
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
        near = did_you_mean(basis, ("auto",)) if isinstance(basis, str) else ""
        raise ParameterTypeError(
            f"basis must be 'auto' or a basis such as sf.Bernstein, got basis={shown(basis)}{near}"
        )
    target.check_box(box)


Finish = Callable[[Any, Receipt | None], Any]
Then = Callable[[Any], Any]


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
            return _choosing(self.target).method(self.basis, self.privacy)
        return self.target.noise_words(self.basis, self.box, self.law)

    def event(self) -> Event:
        """What a ledger is charged for it."""
        label = self.target.describe()[0][1]
        if self.law is None:
            return event_of_selection(_choosing(self.target).method(self.basis, self.privacy), self.privacy, label)
        inside = None
        if isinstance(self.target, InsideNoise) and self.target.door(self.privacy) != self.privacy:
            inside = self.target.inside
        return event_of_release(self.law, self.guarantee, label, inside=inside)

    def draw(self, gathered: Any, ledger: Payer | None, finish: Finish | None = None) -> Any:
        """Compute, charge, and only then open the door; returns what ``finish`` makes of public numbers and receipt.

        Without it, the numbers: they are a step on the way, and no file will hold them by themselves.
        """
        return (self._choose if self.law is None else self._perturb)(gathered, ledger, finish)

    def _perturb(self, gathered: Any, ledger: Payer | None, finish: Finish | None) -> Any:
        assert self.law is not None
        step(self.target.work)
        with silently():
            private = self.target.coefficients(gathered, self.basis, self.box, self.law.certificate)
        if private.certificate != self.law.certificate or private.size != self.law.size:
            raise PrivateDataError("the target computed a vector that is not the one it certified")
        step("drawing noise")
        told = Told()
        with finishable() as safe, charged(ledger, self.event(), told) as receipt:
            noisy, law, _ = publish(private, door_of(self.target, self.privacy), self.noise)
            assert law == self.law
            return safe(partial(_made, noisy, receipt, finish, told), receipt)

    def _choose(self, gathered: Any, ledger: Payer | None, finish: Finish | None) -> Any:
        target = _choosing(self.target)
        method = target.method(self.basis, self.privacy)
        step(self.target.work)
        with silently():
            ballots = target.ballots(gathered, self.basis, self.box, self.privacy)
        for one in ballots:
            if one.wanted:
                check_jointly(one.scores, one.wanted, part_of(self.privacy, one.part))
        step("choosing in private")
        told = Told()
        with finishable() as safe, charged(ledger, self.event(), told) as receipt, silently():
            places = [_cast(one, part_of(self.privacy, one.part), method) for one in ballots]
            return safe(partial(_made, target.picked(self.basis, places), receipt, finish, told), receipt)


@contextmanager
def finishable() -> Iterator[Callable[[Callable[[], Any], Receipt | None], Any]]:
    """Around a charge and what follows it: an interrupt that comes once the noise is drawn can finish the release.

    Yields what is to be called with the rest of the work, which has public numbers to go by, and the receipt.
    """
    left: list[tuple[Callable[[], Any], Receipt | None]] = []

    def safe(rest: Callable[[], Any], receipt: Receipt | None) -> Any:
        left.append((rest, receipt))
        return rest()

    try:
        yield safe
    except KeyboardInterrupt:
        if not left:
            raise
        rest, receipt = left[0]
        paid = "" if receipt is None else f" and entry {receipt.entry} of account {receipt.account!r} was charged"
        raise InterruptedReleaseError(paid, rest) from None


def _made(values: Any, receipt: Receipt | None, finish: Finish | None, told: Told) -> Any:
    """What becomes of public numbers; the ledger is told the digest of a release."""
    if finish is None:
        return values
    made = finish(values, receipt)
    told.release = "" if receipt is None else digest(made)
    return made


def _cast(one: Ballot, grant: Privacy, method: str) -> list[int]:
    """What is chosen on one ballot, for its part of the grant."""
    if one.wanted:
        return pick_jointly(one.scores, one.wanted, int(one.sensitivity), grant)
    return [pick(exact_doubles(one.scores), one.sensitivity, grant, method)]


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
    told = (repr(target), list(box.names))  # in the description, and once more in the content of some kinds
    check_room(encode_box(box), encode_unit(privacy.unit), told, told)
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
    if door != privacy:  # noise inside the coefficients and noise at the door keep the grant together
        promise = _together(target, promise, privacy)
    return Prepared(target, box, privacy, rows, chosen, noise, law, promise)


def _together(target: Target, door: Guarantee, privacy: Privacy) -> Guarantee:
    assert isinstance(target, InsideNoise)
    delta = None if privacy.rho is not None else privacy.delta
    return replace(door, epsilon=privacy.epsilon, delta=delta, rho=privacy.rho, mu=target.together(door.mu))


def _public_rows(privacy: Privacy) -> bool:
    """Whether the number of rows is public: only where neighbours replace single rows."""
    return privacy.neighbours == "replace" and privacy.unit == "row"


def _number_of(gathered: Any, privacy: Privacy) -> int | None:
    """The number of rows where it is public, refusing none then; None where it is private."""
    rows: int | None = gathered.rows if _public_rows(privacy) else None
    if rows == 0:
        raise SchemaError(
            "the data have no records, only a schema: nothing was released (their number is public where "
            "neighbours='replace' and unit='row')"
        )
    return rows


def _looked_at(made: Any) -> Any:
    """The same release; it is warned of where its own public numbers seem to tell of no record."""
    try:
        missed = nothing_there(made)
    except KeyboardInterrupt:
        raise InterruptedReleaseError("", lambda: made) from None
    except Exception as error:  # a defect of ours, which must not take what is paid for along
        warnings.warn(f"the release could not be looked at ({type(error).__name__}: {error})", stacklevel=3)
        missed = []
    for words in missed:
        warnings.warn(NothingThereWarning(words, made), stacklevel=3)
    return made


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
    rows = n if _public_rows(privacy) else None
    settled = Settled(target, basis, privacy, _free(basis, noise))
    settled = expected(settled, first_of(settled, box, rows, prepare), box, rows)
    prepared = prepare(settled.target, box, settled.privacy, rows, basis=settled.basis, noise=noise)
    warn_of_random(prepared.guarantee.confidence, privacy, 2)
    errors, epsilon = prepared.errors(n, probability("confidence", confidence)), privacy.epsilon or 0.0
    return Plan(
        basis=prepared.basis,
        law=prepared.law,
        guarantee=settled.promise(prepared.guarantee, privacy),
        confidence=confidence,
        mean_noise_error=errors.mean_noise,
        noise_error=errors.noise,
        approximation_error=errors.approximation,
        lower_bound=errors.lower_bound / epsilon if errors.lower_bound and 0 < epsilon <= 1 else None,
        noise=prepared.noise_words(),
        ranks=errors.ranks,
    )


def release(
    target: Target,
    data: Any = None,
    box: Box | None = None,
    privacy: Privacy | None = None,
    *,
    basis: Basis | Tuned | str = "auto",
    noise: str = "auto",
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
    rehearse: bool | str = "auto",
) -> Any:
    """Publish a function of private data.

    Parameters
    ----------
    target
        What to publish: ``sf.KDE(bandwidth=2.5)``, ``sf.Statistic("mean", "age")``, ``sf.BlackBox(...)``.
    data
        A numpy or sparse (csr) array, an ``(X, y)`` pair, a pandas, polars, pyarrow (or any Arrow) table or column, a
        LazyFrame, a dict of columns (arrays, series, lists), a CSV or Parquet file's path, a Dask or Spark DataFrame.
    box
        The public domain of the function. Bounds are never inferred.
    privacy
        What you grant: ``sf.Privacy(epsilon=1.0)``, ``(epsilon, delta)`` or ``rho``.
    basis
        Such as ``sf.Bernstein(20, order=3)``; ``"auto"``: by public quantities; ``sf.Tuned([...])``: by the data, paid.
    noise
        ``"auto"``: the K-norm noise of the certificate for pure epsilon, else Gaussian; ``"laplace"`` is the paper's.
    engine
        What sums over records: ``sf.engines.Dask()``, ``Spark()``; ``"auto"``: these for their frames, else memory.
    ledger
        The account that pays, ``sf.Ledger("budget.db").account("clinic-2026")``, before anything is published.
    rehearse
        ``"auto"``: a function of yours is first run on two made-up tables of at most 100 records, of the data's schema
        and within the box, where its failures can be told; nothing is spent if it fails. It never sees the data for
        that. ``True``: so is what is ours, up to the release's own words, as on the command line. ``False``: nothing.

    Formal guarantee: the release, and all that is ever computed from it, satisfies ``release.guarantee``.
    """
    _check(target, box, privacy, basis)
    check_payer(ledger)
    if rehearse != "auto":
        true_or_false("rehearse", rehearse)
    engine = engine_for(engine, data)
    assert box is not None and privacy is not None
    with silently():
        records = engine.open(data, box, privacy.unit, target.columns)
        gathered = target.gather(records, box, engine)
    rows, settle = _number_of(gathered, privacy), partial(prepare, noise=noise)
    with said_if_paid(ledger) as payer:
        tuned = replace(tune(target, gathered, box, rows, privacy, basis, payer, settle), free=_free(basis, noise))
        first = first_of(tuned, box, rows, settle)
        left = expected(tuned, first, box, rows)
        prepared = settle(left.target, box, left.privacy, rows, basis=left.basis)
        warn_of_random(prepared.guarantee.confidence, privacy, 2)
        order = _Order(tuned, first, left, prepared, privacy, _chosen_by(basis))
        if rehearse is not False:
            _rehearsed(order, records, rehearse is True)
        return _looked_at(order.run((records, engine), gathered, payer))


def _rehearsed(order: _Order, records: Records, whole: bool) -> None:
    """Run a function of the caller's on made-up records; or the whole order, as far as it is ours."""
    prepared = order.prepared
    law, rows = prepared.law, prepared.rows
    if law is not None:
        run_on_made_up(prepared.target, records, prepared.box, prepared.basis, law.certificate.bound, rows, 3)
    if whole:
        rehearse_order(prepared.target, prepared.box, order.privacy, rows, 0 if law is None else law.size, order.run)


@dataclass(frozen=True)
class _Order:
    """A release that public quantities have settled; what comes first is not yet paid."""

    tuned: Settled
    first: First | None
    left: Settled
    prepared: Prepared
    privacy: Privacy
    chosen: str

    def run(
        self, source: tuple[Records, Engine], gathered: Any, ledger: Payer | None, then: Then = lambda made: made
    ) -> Any:
        """Publish what comes first, if anything does, and then the release; ``then`` is done with it in the charge."""
        left, prepared = self.left, self.prepared
        if self.first is not None:
            left, prepared = _informed(self.tuned, self.first, prepared, source, ledger)
        promise = left.promise(prepared.guarantee, self.privacy, source[0].assumptions)

        def finish(values: Any, receipt: Receipt | None) -> Any:
            return then(_finish(prepared, promise, self.chosen, values, receipt))

        return prepared.draw(gathered, ledger, finish)


def _informed(
    tuned: Settled, first: First, prepared: Prepared, source: tuple[Records, Engine], ledger: Payer | None
) -> tuple[Settled, Prepared]:
    """What is left once that which comes first is paid and published, and it prepared."""
    box, rows, settle = prepared.box, prepared.rows, partial(prepare, noise=prepared.noise)
    tuned = replace(tuned, target=prepared.target, basis=prepared.basis)
    then = [prepared.event()]
    if isinstance(prepared.target, Undecided):
        then += [
            settle(other, box, prepared.privacy, rows, basis=prepared.basis).event()
            for other in prepared.target.others()
        ]
    left = measure(tuned, first, then, source, box, rows, ledger, settle)
    return left, settle(left.target, box, left.privacy, rows, basis=left.basis)


def _free(basis: Any, noise: str) -> bool:
    """Whether the caller has named neither."""
    return isinstance(basis, str) and noise == "auto"


def _finish(prepared: Prepared, promise: Guarantee, chosen: str, values: Any, receipt: Receipt | None) -> Any:
    """The release that a target makes of public numbers."""
    step("working out the release")
    rest = (prepared.law, promise, receipt, prepared.privacy, chosen)
    return prepared.target.finish(Published(values, prepared.basis, prepared.box, prepared.rows, *rest))


def _chosen_by(basis: Any) -> str:
    return "data" if isinstance(basis, Tuned) else "auto" if isinstance(basis, str) else "caller"
