"""No hunted pair of neighbours beats a certificate; a certificate that is too small is caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from harness.hunter import hunt

import sfumato as sf
from opening import numbers_of
from sfumato.core.certificate import certify_sum
from sfumato.core.mechanism import Private
from sfumato.core.quantize import truncate_records
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Contributions
from sfumato.engines.tables import open_table

BOX = sf.Box([(0, 1)])
BASIS = sf.Bernstein(degree=12, order=2)
BANDWIDTH = 0.1
N = 8


def lattice_values(target: sf.BlackBox, basis=BASIS, box=BOX):
    """What the mechanism would round: the target's private lattice values, opened for the audit."""

    def statistic(data: np.ndarray) -> np.ndarray:
        certificate = target.certificate(basis, box, None, sf.Privacy(epsilon=1.0))
        private = target.coefficients(open_table(data, box, "row"), basis, box, certificate)
        assert isinstance(private, Private)
        return private._values

    return statistic


def kde(data):
    def density(points):
        return np.exp(-((points - data.reshape(1, -1)) ** 2) / (2 * BANDWIDTH**2)).mean(axis=1)

    return density


KDE = sf.BlackBox(kde, sensitivity=1 / N)


def test_black_box_density_stays_within_its_certificate_and_nearly_attains_it():
    bound = KDE.certificate(BASIS, BOX, N, sf.Privacy(epsilon=1.0)).bound
    found = hunt(lattice_values(KDE), np.zeros(1), np.ones(1), N, "linf")
    assert 0.95 * bound <= found.distance <= bound * (1 + 1e-12)


def test_negative_control_a_missing_factor_two_is_caught():
    """Labels in [-1, 1] move a mean by 2 / n; the hunter finds a pair that beats the stated 1 / n."""
    forgetful = sf.BlackBox(lambda data: lambda points: np.full(len(points), data.mean()), sensitivity=1 / N)
    bound = forgetful.certificate(BASIS, BOX, N, sf.Privacy(epsilon=1.0)).bound
    found = hunt(lattice_values(forgetful), -np.ones(1), np.ones(1), N, "linf")
    assert found.distance > 1.9 * bound


def test_range_bounds_a_function_that_lies_about_its_sensitivity():
    """With a declared range the width of the range is enforced, whatever fit does."""
    wild = sf.BlackBox(lambda data: lambda points: 1e9 * data.sum() * points[:, 0], sensitivity=5.0, range=(0, 1))
    certificate = wild.certificate(BASIS, BOX, N, sf.Privacy(epsilon=1.0))
    assert certificate.known == "enforced"
    found = hunt(lattice_values(wild), -np.ones(1), np.ones(1), N, "linf")
    assert found.distance <= certificate.bound


@dataclass(frozen=True)
class Truncated:
    """Records as they are, under an enforced budget."""

    exponent: int
    budget: int
    norm: str

    def size(self, box):
        return box.dimension

    def contributions(self, box, records):
        return truncate_records(records, self.exponent, self.budget, self.norm)


@pytest.mark.few(1)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_fixed_point_sums_stay_within_their_enforced_certificate(norm, relation):
    exponent, budget = -10, 2**10
    privacy = sf.Privacy(epsilon=1.0, neighbours=relation)
    box = sf.Box([(-5, 5), (-5, 5), (-5, 5)])

    def statistic(data: np.ndarray) -> np.ndarray:
        engine = MemoryEngine(chunk_rows=3)
        one = Contributions(box, Truncated(exponent, budget, norm), budget)
        return numbers_of(engine.fold(engine.open(data, box, "row"), one).wide())

    certificate = certify_sum(norm, budget, exponent, privacy)
    found = hunt(statistic, np.full(3, -50.0), np.full(3, 50.0), 5, norm, relation)
    assert 0.95 * certificate.bound <= found.distance <= certificate.bound


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_negative_control_unenforced_budgets_are_caught(norm):
    exponent, budget = -10, 2**10
    statistic = lambda data: np.trunc(np.ldexp(data, -exponent)).sum(axis=0)  # noqa: E731
    certificate = certify_sum(norm, budget, exponent, sf.Privacy(epsilon=1.0))
    found = hunt(statistic, np.full(3, -50.0), np.full(3, 50.0), 5, norm)
    assert found.distance > certificate.bound


def test_persons_move_a_sum_by_no_more_than_their_rows():
    """Replacing a person with up to 3 rows, by one with any other number of rows: the certificate holds."""
    rng = np.random.default_rng(5)
    privacy = sf.Privacy(epsilon=1.0, unit=sf.Person(0, max_rows=3))
    exponent, budget = -10, 2**10
    bound = certify_sum("l1", budget, exponent, privacy).bound
    worst = 0.0
    for _ in range(300):
        others = [(i, v) for i in range(4) for v in rng.uniform(-3, 3, size=rng.integers(0, 6))]
        sums = []
        for _ in range(2):
            mine = [(99, v) for v in rng.choice([-3.0, 3.0], size=rng.integers(0, 8))]
            rows = others + mine
            table = open_table(np.array(rows).reshape(-1, 2), sf.Box([(0, 99), (-3, 3)]), privacy.unit)
            values = table.native[:, 1:]
            sums.append(truncate_records(values, exponent, budget, "l1").sum())
        worst = max(worst, abs(int(sums[0]) - int(sums[1])))
    assert 0.9 * bound <= worst <= bound
