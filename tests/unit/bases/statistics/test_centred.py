"""Variances in two steps: what pays for the means, squares about them, and limits that allow for both."""

import dataclasses
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.centred import CentredSquares, share_of_means
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.sums import UNIT
from sfumato.core.privacy import Privacy
from sfumato.errors import BudgetExceededError, ParameterError

BOX = sf.Box({"x": (0, 110)})
ROWS = 10_000
VALUES = np.clip(np.random.default_rng(3).gamma(2, 8, size=ROWS), 0, 110)
PURE = Privacy(epsilon=1.0)


def centred(mean, missing="none", box=BOX):
    """Squares about a published mean, given in half-widths from the middle."""
    counted = [] if missing == "none" else [float(ROWS)]
    first = np.array([mean * ROWS] * box.dimension + counted)
    means = Moments("mean", missing == "none", UNIT if counted else 0)
    return CentredSquares.counting(box, first, means, 0.1, ROWS, PURE, "l1")


# --- what pays for what ----------------------------------------------------------------------------------------------


def test_the_share_of_the_means_falls_with_the_records():
    shares = [share_of_means(1, rows, PURE) for rows in (10**3, 10**4, 10**6)]
    assert shares == sorted(shares, reverse=True) and shares[-1] < 0.03
    assert share_of_means(1, 100, PURE) is None  # one step is better
    assert share_of_means(1, 10**4, Privacy(rho=0.5)) < shares[1]


@pytest.mark.parametrize("rows", [10**3, 10**4, 10**5])
def test_the_share_is_the_one_of_least_predicted_error(rows):
    """The noise of the squares and the mean square of what the centre is off, over shares."""
    shares = np.linspace(0.01, 0.9, 400)
    error = 7 / 3 / (rows * (1 - shares)) + 8 / (rows * shares) ** 2
    found = share_of_means(1, rows, PURE)
    assert np.interp(found, shares, error) <= 1.05 * error.min()


def test_small_tables_and_other_relations_take_one_step():
    variance = sf.Statistic("variance")
    assert isinstance(sf.plan(variance, BOX, PURE, n=100).basis, Moments)
    assert isinstance(sf.plan(variance, BOX, Privacy(epsilon=1.0, neighbours="add-remove"), n=ROWS).basis, Moments)
    assert isinstance(sf.plan(variance, BOX, PURE, n=ROWS, noise="laplace").basis, Moments)
    planned = sf.plan(variance, BOX, PURE, n=ROWS)
    assert isinstance(planned.basis, CentredSquares) and planned.guarantee.epsilon == 1.0
    assert 0 < planned.mean_noise_error < planned.noise_error


def test_both_steps_are_charged_and_together_they_are_the_grant(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=Privacy(epsilon=1.0))
    sf.release(sf.Statistic("variance"), VALUES, BOX, PURE, ledger=account)
    events = [entry.event for entry in account.history()]
    assert len(events) == 2 and sum(event.epsilon for event in events) == pytest.approx(1.0)
    assert "mean" in events[0].what and "variance" in events[1].what


def test_an_account_that_cannot_pay_for_both_pays_for_none(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", limit=Privacy(epsilon=0.5))
    with pytest.raises(BudgetExceededError, match="both steps"):
        sf.release(sf.Statistic("variance"), VALUES, BOX, PURE, ledger=account)
    assert not account.history()


# --- squares ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [-1.5, -0.8, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("missing", ["none", "drop"])
def test_without_noise_the_mean_square_about_the_centre_is_told(mean, missing):
    basis = centred(mean, missing)
    found = basis.estimate(BOX, basis.contributions(BOX, VALUES[:, None]).sum(axis=0) / UNIT, ROWS)
    z = (VALUES - 55) / 55
    assert float(found) == pytest.approx(55**2 * min(1.0, ((z - np.clip(mean, -1, 1)) ** 2).mean()), rel=1e-6)


def test_a_missing_record_adds_nothing_and_is_not_counted():
    basis = centred(-0.6, "drop")
    there, gone = basis.contributions(BOX, np.array([[20.0], [np.nan]]))
    assert there[1] == basis.weight > 0 and (gone == 0).all()


def test_limits_hold_when_both_noises_are_at_their_ends():
    basis = centred(-0.6)
    z = (VALUES - 55) / 55
    for off, moved in ((300.0, 40.0), (-300.0, -40.0), (300.0, -40.0)):
        first = z.sum() + off
        shifted = dataclasses.replace(basis, first=(first,), centres=(round(first / ROWS * UNIT),))
        sums = shifted.contributions(BOX, VALUES[:, None]).sum(axis=0) / UNIT + moved
        low, high = shifted.limits(BOX, sums, np.array([40.0, 300.0]), ROWS)
        assert low <= VALUES.var() <= high
        assert high - low < 55**2 * 0.02


def test_the_law_of_the_means_is_that_of_their_share():
    release = sf.release(sf.Statistic("variance", missing="none"), VALUES, BOX, PURE)
    law = release.summary.first_law(release.guarantee)
    assert law.kind == "laplace" and law.deviation == pytest.approx(2 / release.summary.share)
    for rho in (0.1, 0.5):
        release = sf.release(sf.Statistic("variance", missing="none"), VALUES, BOX, Privacy(rho=rho))
        law = release.summary.first_law(release.guarantee)
        assert law.kind == "gaussian"
        assert law.deviation == pytest.approx(2 / math.sqrt(2 * rho * release.summary.share), rel=1e-3)


def test_it_is_kept_in_a_file(tmp_path):
    box = sf.Box({"x": (0, 110), "y": (0, 110)})
    release = sf.release(sf.Statistic("variance"), np.stack([VALUES, VALUES[::-1]], axis=1), box, PURE)
    release.save(tmp_path / "one.sfumato")
    read = sf.load(tmp_path / "one.sfumato")
    assert (read.value == release.value).all() and read.summary == release.summary
    assert all((a == b).all() for a, b in zip(read.interval(), release.interval(), strict=True))


def test_a_file_with_the_wrong_number_of_means_is_refused():
    from sfumato.releases.value import statistic_from_json

    data = {**centred(0.5).to_json(), "first": [1.0, 2.0]}
    with pytest.raises(ParameterError, match="2 means do not fit a variance of 1 columns"):
        statistic_from_json(data, BOX)


# --- a count that tells nothing ---------------------------------------------------------------------------------------


def test_nothing_is_taken_to_be_missing_unless_the_count_tells():
    basis = Moments("mean", False, UNIT)
    law = sf.plan(sf.Statistic("mean"), BOX, PURE, n=ROWS).law
    near, far = (np.array([100.0, ROWS - short]) for short in (3.0, 300.0))
    assert basis.steadied(near, law, ROWS).tolist() == [100.0, ROWS]
    assert basis.steadied(far, law, ROWS).tolist() == far.tolist()
    assert basis.steadied(near, law, None) is near  # where the number of rows is private nothing is known


def test_centres_lie_within_their_columns():
    CentredSquares((UNIT, -UNIT), True, 0, (0.0, 0.0), 0, 0.1)
    with pytest.raises(ParameterError, match="within their columns"):
        CentredSquares((UNIT + 1,), True, 0, (0.0,), 0, 0.1)


def test_no_number_of_columns_and_no_means_make_a_record_too_large():
    """What a record may add to a sum is bounded, and the second step is not refused once the first is paid."""
    box = sf.Box({f"x{j}": (0, 1) for j in range(150)})
    numbers = np.array([float(ROWS)] * 151)
    both = [
        CentredSquares.counting(box, numbers, Moments("mean", False, UNIT), 0.25, ROWS, PURE, norm)
        for norm in ("l1", "l2")
    ]
    assert max(one.largest() for one in both) <= 2**38
