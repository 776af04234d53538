"""No hunted pair of neighbours beats the certificate of a statistic, and the bounds that are called tight are reached.

Hunts are deterministic: they raise no false alarms. The proofs are in docs/proofs/statistics.md.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from harness.empirical import epsilon_lower_bound
from harness.hunter import hunt
from harness.sums import (
    AFAR,
    GRANTS,
    LINE,
    PLANE,
    RELATIONS,
    TARGETS,
    Alone,
    chosen,
    ends,
    measure,
    summed,
    telling_records,
    worst_pair,
)
from scipy.spatial.distance import cdist

import sfumato as sf
from sfumato.bases.statistics.centred import CentredSquares
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import Grid
from sfumato.bases.statistics.sums import UNIT, Tally, Total, root
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.core.calibration import calibrate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.mechanism import draw


def farthest_covariance(columns, norm):
    """The real maximum over two records of z, z^2 and all products, for one record in steps: docs/proofs."""
    if norm == "l1":
        return UNIT * columns * (columns + 2) ** 2 / (2 * (columns + 1))
    return UNIT * 2 * math.sqrt((columns + 1) ** 2 // 4)


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.few(16)
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("name", list(TARGETS))
def test_hunted_records_attain_the_certificate_and_never_exceed_it(name, norm, relation, missing):
    privacy = sf.Privacy(**GRANTS[norm], neighbours=relation)
    _, box, basis, certificate = chosen(name, missing, privacy)
    assert (certificate.norm, certificate.known, certificate.proof) == (norm, "enforced", "statistics")
    found = worst_pair(Alone(box, basis), box, norm, relation)
    assert found <= certificate.bound * (1 + 1e-12)  # cdist adds up doubles
    assert found >= 0.95 * certificate.bound


@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
def test_the_farthest_records_of_a_covariance_are_those_of_the_proof(columns, norm):
    """All ones against minus 1/(d+1) in L1; half of the columns stay and half change sign in L2."""
    box = sf.Box([(-1, 1)] * columns)
    basis = Moments("covariance", True, 0)
    first, second = np.ones((1, columns)), np.full((1, columns), -1 / (columns + 1))
    if norm == "l2":
        second = np.where(np.arange(columns) < (columns - 1) // 2, 1.0, -1.0)[None, :]
    found = measure(basis.contributions(box, first) - basis.contributions(box, second), norm)[0]
    real = farthest_covariance(columns, norm)
    assert abs(found - real) <= columns**2
    assert found <= basis.pair(box, norm)
    assert basis.pair(box, norm) >= real


@pytest.mark.few(6)
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize(
    "name", ["sum far from zero", "variance", "covariance of two", "histogram", "bounds", "median"]
)
def test_hunts_through_the_whole_target_find_nothing_worse(name, norm, relation, missing):
    privacy = sf.Privacy(**GRANTS[norm], neighbours=relation)
    target, box, basis, certificate = chosen(name, missing, privacy)
    low, high = ends(box)

    def statistic(data):
        # What lies in the lowest tenth beyond the box is missing; the rest of what is beyond is clipped.
        gone = data < low - 0.2 * (high - low)
        return summed(target, box, basis, certificate, np.where(gone, np.nan, data)).astype(np.float64)

    wide = 0.3 * (high - low)
    found = hunt(statistic, low - wide, high + wide, 3, norm, relation, restarts=6, steps=25)
    assert found.distance <= certificate.bound * (1 + 1e-12)
    assert found.distance >= 0.5 * certificate.bound


@pytest.mark.few(12)
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3, 0.05])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", ["mean", "mean of three", "covariance of three", "histogram", "bounds"])
def test_a_grant_with_delta_takes_the_smaller_noise_for_a_bound_that_holds(name, epsilon, delta):
    """Laplace or Gaussian, by public numbers: never more than the other, and certified in the norm that it needs."""
    privacy = sf.Privacy(epsilon=epsilon, delta=delta)
    target, box, basis, certificate = chosen(name, "drop", privacy)
    law, promise = calibrate(certificate, basis.size(box), privacy, target.preferred_noise(certificate, privacy))
    assert law.kind == {"l1": "laplace", "l2": "gaussian"}[certificate.norm]
    assert promise.delta == (0.0 if law.kind == "laplace" else delta)
    assert worst_pair(Alone(box, basis), box, certificate.norm, "replace") <= certificate.bound * (1 + 1e-12)
    deviations = {"laplace": math.sqrt(2) * basis.apart(box, privacy, "l1") / epsilon,
                  "gaussian": basis.apart(box, privacy, "l2") * noise_multiplier(epsilon, delta)}  # fmt: skip
    assert deviations[law.kind] == min(deviations.values())


@pytest.mark.few(20)
@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("name", list(TARGETS))
def test_what_records_add_is_what_the_target_sums(name, norm):
    """The hunt looks at records alone: their sum is what is published, bit by bit, in any order."""
    target, box, basis, certificate = chosen(name, "drop", sf.Privacy(**GRANTS[norm]))
    records = telling_records(box)
    total = Alone(box, basis)(records).sum(axis=0)
    assert (summed(target, box, basis, certificate, records) == total).all()
    assert (summed(target, box, basis, certificate, records[::-1].copy()) == total).all()


# --- variances in two steps -------------------------------------------------------------------------------------------

CENTRES = {"middle": (0.0, 0.0), "aside": (40.0, -75.0), "ends": (100.0, -100.0), "beyond": (1e9, -1e9)}


def squares(centre, box, missing, norm, kind=CentredSquares):
    """Squares about published means of a hundred records, of which these are the sums."""
    means = Moments("mean", missing == "none", 0 if missing == "none" else UNIT)
    first = np.array([*CENTRES[centre][: box.dimension], *([] if missing == "none" else [100.0])])
    return kind.counting(box, first, means, 0.1, 100, sf.Privacy(**GRANTS[norm]), norm)


@pytest.mark.few(12)
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("centre", list(CENTRES))
@pytest.mark.parametrize("box", [LINE, PLANE], ids=["line", "plane"])
def test_hunted_records_attain_the_certificate_of_squares_about_any_centre(box, centre, norm, missing):
    privacy = sf.Privacy(**GRANTS[norm])
    basis = squares(centre, box, missing, norm)
    found, bound = worst_pair(Alone(box, basis), box, norm, "replace"), basis.apart(box, privacy, norm)
    assert 0.95 * bound <= found <= bound * (1 + 1e-12)
    assert basis.largest() >= np.abs(Alone(box, basis)(telling_records(box))).max()


class AboutTheMiddle(CentredSquares):
    """Forgets that squares about a centre aside reach further."""

    def pair(self, box, norm):
        return UNIT * box.dimension if norm == "l1" else root(UNIT**2 * box.dimension)


@pytest.mark.parametrize("norm", list(GRANTS))
def test_negative_control_squares_bounded_as_if_about_the_middle_are_caught(norm):
    basis = squares("aside", LINE, "none", norm, AboutTheMiddle)
    found = worst_pair(Alone(LINE, basis), LINE, norm, "replace")
    assert found > 1.5 * basis.apart(LINE, sf.Privacy(**GRANTS[norm]), norm)


# --- persons ----------------------------------------------------------------------------------------------------------

MOST = 3
PERSON = sf.Person("who", max_rows=MOST)
TABLED = (
    "count of categories",
    "sum",
    "sum far from zero",
    "mean",
    "variance",
    "covariance of two",
    "histogram of two",
    "median",
)


def with_person(box, rows, others):
    """A table of others, one row each, and of one person with these rows."""
    low, high = ends(box)
    crowd = (low + high) / 2 + np.zeros((others, box.dimension))
    table = pd.DataFrame(np.concatenate([crowd, np.asarray(rows).reshape(-1, box.dimension)]), columns=box.names)
    table["who"] = [f"other {i}" for i in range(others)] + ["one"] * len(rows)
    return table


@functools.cache
def corners(box):
    """Few records that are far apart, one of an unknown category where there are any, and one with nothing in it."""
    sides = [(0.0, 2.0) if isinstance(c, sf.Categorical) else (c.low, c.high) for c in box.columns]
    inner = [3.0 if isinstance(c, sf.Categorical) else c.low + 0.25 * (c.high - c.low) for c in box.columns]
    return (*itertools.product(*sides), tuple(inner), (np.nan,) * box.dimension)


@pytest.mark.few(1)
@pytest.mark.parametrize("missing", ["drop", "none"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("name", TABLED)
def test_persons_with_any_number_of_rows_stay_within_the_certificate(name, norm, relation, missing):
    """Every number of rows on both sides, more than are kept too; rows that are all alike reach furthest."""
    privacy = sf.Privacy(**GRANTS[norm], neighbours=relation, unit=PERSON)
    target, box, basis, certificate = chosen(name, missing, privacy)
    rng = np.random.default_rng(0)
    places = corners(box)
    alike = [[place] * rows for place in places for rows in range(MOST + 2)]
    mixed = [[places[i] for i in rng.integers(len(places), size=rng.integers(1, MOST + 2))] for _ in range(12)]
    sums = [
        summed(target, box, basis, certificate, with_person(box, rows, 2), PERSON).astype(np.float64)
        for rows in alike + mixed
    ]
    nobody = summed(target, box, basis, certificate, with_person(box, [], 2), PERSON).astype(np.float64)
    others = np.array(sums if relation == "replace" else [nobody])
    found = cdist(np.array(sums), others, {"l1": "cityblock", "l2": "euclidean"}[norm]).max()
    assert found <= certificate.bound * (1 + 1e-12)
    # These corners have the worst pair of z and z^2 (1 and -1/2), and nearly that of z, z^2 and products.
    assert found >= 0.95 * certificate.bound


def test_a_person_who_comes_with_other_numbers_of_rows_is_why_single_counts_under_replacement():
    """Two records of a sum far from zero differ by half of what one alone adds."""
    box, basis = AFAR, Total(True)
    row = basis.apart(box, sf.Privacy(epsilon=1.0), "l1")
    person = basis.apart(box, sf.Privacy(epsilon=1.0, unit=PERSON), "l1")
    assert (row, person) == (UNIT // 2, MOST * UNIT)


# --- negative controls: the hunter must catch them --------------------------------------------------------------------


class ForgottenSquares(Moments):
    """As if a variance were a mean: the square is summed, but not certified."""

    def pair(self, box, norm):
        return Moments("mean", self.complete, self.weight).pair(box, norm)

    def single(self, box, norm):
        return Moments("mean", self.complete, self.weight).single(box, norm)


class Uncentred(Moments):
    """The square itself instead of the square less one half."""

    def contributions(self, box, records):
        whole = super().contributions(box, records)
        whole[:, 1] += UNIT // 2
        return whole


class OneCell(Tally):
    """As if a record that moves left one cell only."""

    def pair(self, box, norm):
        return 1


class NearlySquares(Moments):
    """The square's rounding forgotten, and one more mistake: 9/4 taken for its value at z = 1, z' = -1, which is 2."""

    def pair(self, box, norm):
        return 2 * UNIT * box.dimension


class OneLayer(QuantileTree):
    """As if a record were counted in the cells alone, and not in the layers above."""

    def pair(self, box, norm):
        return 2 if norm == "l1" else math.sqrt(2)

    def single(self, box, norm):
        return 1


TREE = ("median", (0.5,), Grid(-2, 9, 0), False, 3, 2)
BROKEN = {
    "squares forgotten, two records": (ForgottenSquares("variance", True, 0), LINE, "l1", "replace"),
    "squares forgotten, one record, L1": (ForgottenSquares("variance", False, 0), LINE, "l1", "add-remove"),
    "squares forgotten, one record, L2": (ForgottenSquares("variance", False, 0), LINE, "l2", "add-remove"),
    "only corners looked at": (NearlySquares("variance", True, 0), PLANE, "l1", "replace"),
    "square not centred, L1": (Uncentred("variance", False, 0), LINE, "l1", "add-remove"),
    "square not centred, L2": (Uncentred("variance", False, 0), LINE, "l2", "add-remove"),
    "two cells taken for one, L1": (OneCell("histogram", (4,), False), LINE, "l1", "replace"),
    "two cells taken for one, L2": (OneCell("histogram", (4,), False), LINE, "l2", "replace"),
    "layers forgotten, two records": (OneLayer(*TREE), LINE, "l1", "replace"),
    "layers forgotten, two records, L2": (OneLayer(*TREE), LINE, "l2", "replace"),
    "layers forgotten, one record": (OneLayer(*TREE), LINE, "l1", "add-remove"),
}


@pytest.mark.parametrize("mistake", list(BROKEN))
def test_negative_control_wrong_summaries_are_caught(mistake):
    basis, box, norm, relation = BROKEN[mistake]
    bound = basis.apart(box, sf.Privacy(**GRANTS[norm], neighbours=relation), norm)
    assert worst_pair(Alone(box, basis), box, norm, relation) > 1.02 * bound


@pytest.mark.parametrize("norm", list(GRANTS))
@pytest.mark.parametrize("statistic", ["mean", "variance", "covariance"])
def test_the_count_is_free_and_a_weight_that_is_five_percent_heavier_is_caught(statistic, norm):
    """A record whose value is missing takes its weight along."""
    free = Moments.counting(statistic, PLANE, False, norm, True)
    bound = Moments(statistic, True, 0).pair(PLANE, norm)
    privacy = sf.Privacy(**GRANTS[norm])
    assert free.apart(PLANE, privacy, norm) == bound
    heavy = replace(free, weight=free.weight * 21 // 20)
    assert heavy.apart(PLANE, privacy, norm) > bound
    assert worst_pair(Alone(PLANE, free), PLANE, norm, "replace") <= bound
    assert worst_pair(Alone(PLANE, heavy), PLANE, norm, "replace") > 1.01 * bound


def test_negative_control_a_promise_that_nothing_is_missing_must_be_kept_by_the_sum_itself():
    """The bound for complete records, with records that may go missing: the hunt finds them."""
    bound = Total(True).apart(AFAR, sf.Privacy(epsilon=1.0), "l1")
    assert worst_pair(Alone(AFAR, Total(False)), AFAR, "l1", "replace") > 1.9 * bound
    assert worst_pair(Alone(AFAR, Total(True)), AFAR, "l1", "replace") == bound


def test_negative_control_a_persons_rows_forgotten_are_caught():
    row = chosen("mean", "drop", sf.Privacy(epsilon=1.0))[3].bound
    target, box, basis, certificate = chosen("mean", "drop", sf.Privacy(epsilon=1.0, unit=PERSON))
    sums = [
        summed(target, box, basis, certificate, with_person(box, [[x]] * MOST, 1), PERSON).astype(np.float64)
        for x in (-2, 6)
    ]
    assert np.abs(sums[0] - sums[1]).sum() == MOST * row


# --- counts behind quantiles, attacked --------------------------------------------------------------------------------


def attacked_tree(relation, fewer=Fraction(1), draws=40_000):
    """The best threshold of the likelihood ratio, on the pair that is furthest apart; wrong one time in 1e9."""
    privacy = sf.Privacy(epsilon=1.0, neighbours=relation)
    target, box = sf.Statistic("median"), LINE
    basis = QuantileTree(*TREE)
    certificate = target.certificate(basis, box, 3, privacy)
    law = calibrate(certificate, basis.size(box), privacy, target.preferred_noise(certificate, privacy))[0]
    law = replace(law, scale=law.scale * fewer)
    tables = ([-2.0, 1.0, -2.0], [-2.0, 1.0, 6.0] if relation == "replace" else [-2.0, 1.0])
    ends = [summed(target, box, basis, certificate, np.array(rows)[:, None]) for rows in tables]

    def sampler(numbers):
        return lambda m: numbers + draw(replace(law, size=m * law.size)).reshape(m, law.size)

    def ratio(noisy):
        return np.abs(noisy - ends[0]).sum(axis=1) - np.abs(noisy - ends[1]).sum(axis=1)

    return epsilon_lower_bound(sampler(ends[0]), sampler(ends[1]), draws, ratio)


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_in_several_layers_survive_the_attack(relation):
    assert 0.6 < attacked_tree(relation) <= 1.0


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", RELATIONS)
def test_negative_control_noise_for_one_layer_is_caught_by_attack(relation):
    assert attacked_tree(relation, Fraction(1, 2)) > 1.2
