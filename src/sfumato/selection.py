"""``sf.select`` and ``sf.AboveThreshold``: choosing by private scores, paid from an account."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.charge import Payer, charged
from sfumato.accounting.events import event_of_selection
from sfumato.checks import one_of, shown
from sfumato.core import jointly, selection
from sfumato.core.certificate import Certificate
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.targets.sampled import Sensitivity, certify, check_sampled, check_sensitivity, warn_of_random
from sfumato.values import check_here, doubles

Candidate = TypeVar("Candidate")


def select(
    candidates: Sequence[Candidate],
    scores: Any,
    *,
    sensitivity: Sensitivity,
    privacy: Privacy,
    method: str = "auto",
    ledger: Payer | None = None,
) -> Candidate:
    """Return one of the public ``candidates``, one with a high private score, privately.

    Parameters
    ----------
    scores
        One private number per candidate: a list, an array or a series. Each is read as the nearest double, whatever the
        type of the others; what is not a number (None, text, a list) counts as the worst.
    sensitivity
        How far neighbours move any one score as it is read, also where one of them is not a number. Stated by you, and
        trusted: see docs/sharp-edges.md. Or what ``sf.sample_sensitivity`` made of the vector of all scores: then the
        choice is *random* differentially private.
    privacy
        A grant in epsilon or in rho.
    method
        ``"permute-and-flip"`` (for epsilon; never worse than the exponential mechanism) or ``"exponential"``
        (for rho, where it is epsilon**2 / 8-zCDP). ``"auto"`` picks by the grant.
    ledger
        The account that pays, before anything is chosen.

    Formal guarantee: ``privacy``, exactly, by integer arithmetic on rounded scores (docs/proofs/selection.md).

    >>> select(["low", "high"], [0.0, 1e9], sensitivity=1.0, privacy=Privacy(epsilon=1.0))
    'high'
    """
    if not isinstance(privacy, Privacy):
        raise ParameterTypeError(f"privacy must be an sf.Privacy, got {shown(privacy)}")
    candidates = list(candidates)
    bound, confidence = _read_sensitivity(sensitivity, privacy, len(candidates))
    check_here("scores", scores)
    array = doubles(scores)
    if not candidates:
        raise ParameterError("candidates must be at least one, got none: there is nothing to choose")
    if array.ndim != 1 or len(array) != len(candidates):
        raise ParameterError(f"scores must be one number per candidate ({len(candidates)}), got shape {array.shape}")
    one_of("method", method, ("auto", "permute-and-flip", "exponential"))
    if method == "permute-and-flip" and privacy.epsilon is None:
        raise ParameterError("permute-and-flip has no bound in rho; use method='exponential' or grant epsilon")
    if method == "auto":
        method = method_for(privacy)
    what = f"one of {len(candidates)} candidates"
    if confidence < 1:
        what += f", random differential privacy: {sensitivity.assumptions[0]}"  # type: ignore[union-attr]
    with charged(ledger, event_of_selection(method, privacy, what, confidence)):
        return candidates[pick(array, bound, privacy, method)]


def _read_sensitivity(sensitivity: Sensitivity, privacy: Privacy, size: int) -> tuple[float, float]:
    """The bound on every score, whatever the norm of all of them, and the confidence that it holds with."""
    known = check_sensitivity(sensitivity)
    if not isinstance(known, Certificate):
        return known, 1.0
    if known.norm == "user" or known.relation != privacy.neighbours:
        raise ParameterError(
            f"sensitivity must bound the scores in 'l1', 'l2' or 'linf' for neighbours={privacy.neighbours!r}, got one "
            f"in {known.norm!r} for {known.relation!r}"
        )
    certified = certify(known, "linf", "selection", "", privacy)
    check_sampled(known, None, size, None)
    privacy.check_confidence(certified.confidence)
    warn_of_random(certified.confidence, privacy, 3)
    return float(certified.bound), certified.confidence


def pick(scores: NDArray[np.float64], sensitivity: float, privacy: Privacy, method: str) -> int:
    """The place of a high score; paying is the caller's affair."""
    if method == "permute-and-flip":
        assert privacy.epsilon is not None
        return selection.permute_and_flip(scores, sensitivity, privacy.epsilon)
    return selection.exponential_mechanism(scores, sensitivity, _pure_epsilon(privacy))


def pick_jointly(ranks: NDArray[np.int64], wanted: Sequence[int], sensitivity: int, privacy: Privacy) -> list[int]:
    """The places of several values at once; paying is the caller's affair."""
    return jointly.joint_exponential(ranks, wanted, sensitivity, _pure_epsilon(privacy))


def check_jointly(ranks: NDArray[np.int64], wanted: Sequence[int], privacy: Privacy) -> None:
    """Refuse what ``pick_jointly`` would, before it is paid for."""
    jointly.check_jointly(ranks, wanted, _pure_epsilon(privacy))


def method_for(privacy: Privacy) -> str:
    """The better of the two ways to choose that has a bound in the grant's currency."""
    return "exponential" if privacy.epsilon is None else "permute-and-flip"


def _pure_epsilon(privacy: Privacy) -> float:
    """The exponential mechanism's epsilon: as granted, or from rho = epsilon**2 / 8, rounded to the safe side."""
    if privacy.epsilon is not None:
        return privacy.epsilon
    assert privacy.rho is not None
    return math.sqrt(8 * privacy.rho) * (1 - 2.0**-50)


class AboveThreshold(selection.AboveThreshold):
    """Answer "is it above the threshold?" for any number of private values until the first yes.

    Parameters
    ----------
    threshold
        Public.
    sensitivity
        How far neighbours move any one of the values. Stated by you, and trusted.
    privacy
        Pure epsilon for the whole sequence, whatever its length.
    ledger
        The account that pays, before the first question.

    Formal guarantee: the sequence of answers is ``epsilon``-DP (docs/proofs/selection.md). After the first
    yes the object refuses further questions; make a new one and pay again.

    >>> AboveThreshold(threshold=0.0, sensitivity=1e-6, privacy=Privacy(epsilon=1.0)).above(1.0)
    True
    """

    __slots__ = ()

    def __init__(self, threshold: float, sensitivity: float, privacy: Privacy, ledger: Payer | None = None) -> None:
        if not isinstance(privacy, Privacy):
            raise ParameterTypeError(f"privacy must be an sf.Privacy, got {shown(privacy)}")
        selection.check_threshold(threshold, sensitivity, privacy)  # before anything is paid
        with charged(ledger, event_of_selection("above-threshold", privacy, "above threshold")):
            super().__init__(threshold, sensitivity, privacy)
