"""Paying for choices that look at the data, before the release itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting.charging import Payer
from sfumato.bases.base import Basis
from sfumato.checks import as_written, share_of
from sfumato.choosing import select
from sfumato.core.box import Box
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import BudgetExceededError, ParameterError, ParameterTypeError
from sfumato.targets.base import Target, Tunable
from sfumato.targets.density.tuned import Tuned
from sfumato.values import silently


@dataclass(frozen=True)
class Settled:
    """What is left to release once every selection is paid: a target, a basis, and the rest of the grant."""

    target: Target
    basis: Basis | str
    privacy: Privacy

    def promise(self, guarantee: Guarantee, granted: Privacy) -> Guarantee:
        """The guarantee of the selections and the release together: what was granted, by basic composition."""
        if self.privacy == granted:
            return guarantee
        return replace(guarantee, epsilon=granted.epsilon, rho=granted.rho, mu=None)


def tune(
    target: Target,
    gathered: Any,
    box: Box,
    n: int | None,
    privacy: Privacy,
    basis: Basis | Tuned | str,
    ledger: Payer | None,
) -> Settled:
    """Select whatever was left to the data, each selection charged as an event of its own."""
    if not isinstance(target, Tunable):
        if isinstance(basis, Tuned):
            raise ParameterTypeError("basis=sf.Tuned(...) is for densities; give this target one basis")
        return Settled(target, basis, privacy)
    questions = target.questions(basis)
    shares = [as_written(question.share) for question in questions]
    left = 1 - sum(shares, Fraction(0))
    if left <= 0:  # before anything is paid
        raise ParameterError(f"the shares of all tuned choices must sum to less than 1, got {float(1 - left):g}")
    if questions and not n:
        raise ParameterError("tuning needs rows, and a public number of them (neighbours='replace', unit='row')")
    if questions:
        target.check_answers(box, basis)
        if ledger is not None and not ledger.would_cost(privacy).fits:
            raise BudgetExceededError(f"the account cannot pay for the selection and the release together: {privacy!r}")
    rest = part_of(privacy, left, privacy.delta) if questions else privacy
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


def part_of(privacy: Privacy, share: Fraction, delta: float = 0.0) -> Privacy:
    """A share of the grant. Selections are pure, so the whole delta is left to the release."""
    if privacy.rho is not None:
        return replace(privacy, rho=share_of(privacy.rho, share))
    assert privacy.epsilon is not None
    return replace(privacy, epsilon=share_of(privacy.epsilon, share), delta=delta)
