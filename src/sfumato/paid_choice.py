"""Paying for choices that look at the data, before the release itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.charge import Payer
from sfumato.accounting.events import Event
from sfumato.bases.base import Basis
from sfumato.checks import as_written
from sfumato.core.box import Box
from sfumato.core.privacy import Guarantee, Privacy, part_of
from sfumato.engines.engine import Engine, Records
from sfumato.errors import BudgetExceededError, ParameterError, ParameterTypeError
from sfumato.selection import select
from sfumato.steps import step as at_step
from sfumato.targets.base import Measured, Step, Stepwise, Target, Tunable
from sfumato.targets.density.tuned import Tuned
from sfumato.values import silently

Prepare = Callable[..., Any]


@dataclass(frozen=True)
class Settled:
    """What is left to release once every selection is paid: a target, a basis, and the rest of the grant."""

    target: Target
    basis: Basis | str
    privacy: Privacy
    free: bool = True  # neither basis nor noise was named by the caller

    def promise(self, guarantee: Guarantee, granted: Privacy, assumptions: tuple[str, ...] = ()) -> Guarantee:
        """The guarantee of all that was paid together: what was granted, by basic composition, and what it rests on."""
        whole = replace(guarantee, assumptions=guarantee.assumptions + assumptions)
        if self.privacy == granted:
            return whole
        return replace(whole, epsilon=granted.epsilon, rho=granted.rho, mu=None)


def tune(
    target: Target,
    gathered: Any,
    box: Box,
    n: int | None,
    privacy: Privacy,
    basis: Basis | Tuned | str,
    ledger: Payer | None,
    prepare: Callable[..., Any],
) -> Settled:
    """Select whatever was left to the data, each selection charged as an event of its own.

    ``prepare`` settles a release and refuses one that cannot be: it is asked of every outcome before anything is paid.
    """
    at_step("choosing a basis")
    if not isinstance(target, Tunable):
        if isinstance(basis, Tuned):
            raise ParameterTypeError("basis=sf.Tuned(...) is for densities; give this target one basis")
        return Settled(target, basis, privacy)
    questions = target.questions(basis)
    shares = [as_written(question.share) for question in questions]
    left = 1 - sum(shares, Fraction(0))
    if left <= 0:  # before anything is paid
        raise ParameterError(f"the shares of all tuned choices must sum to less than 1, got {float(1 - left):g}")
    rest = part_of(privacy, left, privacy.delta) if questions else privacy
    if questions and not n:
        raise ParameterError("tuning needs rows, and a public number of them (neighbours='replace', unit='row')")
    if questions:
        target.check_answers(box, basis)
        _check_outcomes(target, questions, basis, lambda t, b: prepare(t, box, rest, n, basis=b))
        if ledger is not None and not ledger.would_cost(privacy).fits:
            raise BudgetExceededError(f"the account cannot pay for the selection and the release together: {privacy!r}")
    for question, share in zip(questions, shares, strict=True):
        assert n is not None
        with silently():
            scores, sensitivity = target.scores(question, gathered, box, n, rest, basis)
        part = part_of(privacy, share)
        picked = select(question.candidates, np.asarray(scores), sensitivity=sensitivity, privacy=part, ledger=ledger)
        settled, basis = target.answered(question, picked, basis)
        assert isinstance(settled, Tunable)
        target = settled
    assert not isinstance(basis, Tuned)
    return Settled(target, basis, rest)


@dataclass(frozen=True)
class First:
    """What is published before a release, and it prepared."""

    step: Step
    prepared: Any


def first_of(settled: Settled, box: Box, n: int | None, prepare: Prepare) -> First | None:
    """What a target wants published before itself, if anything: by public quantities."""
    if not isinstance(settled.target, Stepwise):
        return None
    step = settled.target.before(box, n, settled.privacy, settled.free)
    if step is None:
        return None
    grant = part_of(settled.privacy, step.share)
    return First(step, prepare(step.target, step.box or box, grant, n, noise="auto"))


def expected(settled: Settled, first: First | None, box: Box, n: int | None) -> Settled:
    """What is left to release if that which comes first turns out as it may be expected to."""
    if first is None:
        return settled
    if first.step.typical is None:
        return replace(settled, privacy=_rest(settled, first))
    return _after(settled, first, first.step.typical, box, n)


def measure(
    settled: Settled, first: First, then: list[Event], source: tuple[Records, Engine], box: Box, n: int | None,
    ledger: Payer | None, prepare: Prepare,
) -> Settled:  # fmt: skip
    """Publish what comes first, charged as an event of its own, for a part of the grant; what is left to release then.

    ``then`` is what the release itself may be charged for: an account must be able to pay both, whichever it will be.
    ``prepare`` settles a release and refuses one that cannot be: it is asked of the hardest outcome before anything is
    paid.
    """
    if ledger is not None and not all(ledger.would_cost(first.prepared.event(), one).fits for one in then):
        raise BudgetExceededError(
            f"the account cannot pay for both steps of the release, {settled.privacy!r}: nothing was released"
        )
    if first.step.extreme is not None:
        hardest = _after(settled, first, first.step.extreme, box, n)
        prepare(hardest.target, box, hardest.privacy, n, basis=hardest.basis)
    with silently():
        gathered = first.step.target.gather(source[0], first.prepared.box, source[1])
    return _after(settled, first, first.prepared.draw(gathered, ledger), box, n)


def _rest(settled: Settled, first: First) -> Privacy:
    return part_of(settled.privacy, 1 - first.step.share, settled.privacy.delta)


def _after(settled: Settled, first: First, numbers: NDArray[np.float64], box: Box, n: int | None) -> Settled:
    assert isinstance(settled.target, Stepwise)
    rest, measured = _rest(settled, first), Measured(first.step, numbers, first.prepared.law)
    target, basis = settled.target.after(measured, settled.basis, box, n, settled.privacy, rest)
    return replace(settled, target=target, basis=basis, privacy=rest)


def _check_outcomes(target: Tunable, questions: list[Tuned], basis: Any, prepare: Callable[..., Any]) -> None:
    """Refuse candidates of which one could not be released at this privacy."""
    for picked in product(*(question.candidates for question in questions)):
        outcome: Any = (target, basis)
        for question, one in zip(questions, picked, strict=True):
            outcome = outcome[0].answered(question, one, outcome[1])
        prepare(*outcome)
