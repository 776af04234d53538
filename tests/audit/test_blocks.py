"""Noise in blocks: its exact law on small lattices, what sums of records in strata move, and what must be caught.

A statistical test here is wrong with probability at most 1e-9.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness.exact import lattice_law, max_log_ratio, shifted
from harness.laws import fits_cells, fits_distribution
from mpmath import mp, mpf
from scipy.stats import gamma

import sfumato as sf
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate, certify_sum
from sfumato.core.mechanism import draw

PURE = sf.Privacy(epsilon=1.0)


def law_of(blocks, bound, epsilon):
    certificate = Certificate("l1-linf", bound, "replace", "enforced", "blocks", exponent=0, blocks=blocks)
    return calibrate(certificate, sum(blocks), sf.Privacy(epsilon=epsilon))[0]


def parts(vector, blocks):
    return np.split(np.asarray(vector), np.cumsum(blocks)[:-1])


def norm(vector, blocks):
    return sum(int(np.abs(part).max()) for part in parts(vector, blocks))


def pmf_of(blocks, scale, radius):
    """The product of the blocks' laws, each proportional to ``exp(-max |x| / scale)`` on a cube of this radius."""
    scale = mpf(scale.numerator) / scale.denominator
    own = [lattice_law(lambda x: mp.e ** (-max(map(abs, x)) / scale), size, radius) for size in blocks]
    return {sum(points, ()): mp.fprod(law[x] for law, x in zip(own, points, strict=True))
            for points in itertools.product(*own)}  # fmt: skip


def relative(number):
    return number * (1 + mpf(10) ** -12)


# --- the law, by enumeration ------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize(("blocks", "radius"), [((1, 1), 8), ((1, 2), 2), ((1, 1, 1), 2), ((3,), 2)])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_the_loss_of_a_shift_is_its_norm_over_the_scale(blocks, radius, epsilon):
    """Every integer shift of norm up to three: at most epsilon within the bound, attained, and more beyond it.

    Cutting the law off at a radius changes no ratio where both centres are inside.
    """
    law = law_of(blocks, 2, epsilon)
    assert law.kind == "blocks"
    pmf = pmf_of(blocks, law.scale, radius)
    seen = set()
    for shift in itertools.product(range(-2, 3), repeat=sum(blocks)):
        size = norm(shift, blocks)
        if not 0 < size <= 3:
            continue
        loss = max_log_ratio(pmf, shifted(pmf, shift))
        assert abs(loss - size * epsilon / 2) < 1e-9 * epsilon
        seen.add(size)
        assert (loss <= relative(epsilon)) == (size <= 2)
    assert seen >= {1, 2}


def test_blocks_lose_less_than_one_cube_would_need():
    """What moves two blocks by one each moves their cube by one only: noise for the cube would lose twice epsilon."""
    law = law_of((1, 1), 2, 1.0)
    cube = Certificate("linf", 1, "replace", "enforced", "k-norm", exponent=0)
    wrong = pmf_of((1, 1), calibrate(cube, 2, PURE)[0].scale, 12)
    assert max_log_ratio(wrong, shifted(wrong, (1, 1))) > 1.99
    right = pmf_of((1, 1), law.scale, 12)
    assert max_log_ratio(right, shifted(right, (1, 1))) <= relative(1)


def test_negative_control_halved_noise_is_caught():
    pmf = pmf_of((1, 2), law_of((1, 2), 2, 1.0).scale / 2, 6)
    assert max_log_ratio(pmf, shifted(pmf, (1, 0, -1))) > 1.99


# --- strata ---------------------------------------------------------------------------------------------------------


def strata(records):
    """Two strata of a count and a mark, and one pooled number: integers of size at most one."""
    total = np.zeros(5, dtype=np.int64)
    for label, mark, pooled in records:
        if label is not None:
            total[2 * label : 2 * label + 2] += 1, mark
        total[4] += pooled
    return total


ONES = list(itertools.product([0, 1, None], [-1, 1], [-1, 1]))
BLOCKS = (2, 2, 1)


def loss_of(scale):
    """The largest loss over all pairs of neighbouring tables of one record, by the norm that Theorem 1 is about."""
    return max(norm(strata([a]) - strata([b]), BLOCKS) for a in ONES for b in ONES) / scale


def test_a_record_that_changes_its_class_costs_no_more_than_epsilon():
    """A record has norm two at most: one for its stratum, one for the pooled number; both relations, by hunt."""
    bound = certify_sum("l1-linf", 2, 0, PURE, BLOCKS).bound
    moved = [norm(strata([a]) - strata([b]), BLOCKS) for a in ONES for b in ONES]
    assert max(moved) == bound == 4
    changed = [norm(strata([a]) - strata([b]), BLOCKS) for a in ONES for b in ONES if a[0] == 0 and b[0] == 1]
    assert max(changed) == bound  # the bound is attained by a record that leaves one stratum and enters another
    alone = [norm(strata([a]), BLOCKS) for a in ONES]
    assert max(alone) == certify_sum("l1-linf", 2, 0, sf.Privacy(epsilon=1, neighbours="add-remove"), BLOCKS).bound == 2
    law = calibrate(certify_sum("l1-linf", 2, 0, PURE, BLOCKS), 5, PURE)[0]
    assert loss_of(law.scale) == 1


def test_negative_control_strata_as_if_a_record_could_not_change_its_class():
    """Noise for one stratum's change by one, as under parallel composition: enumeration finds twice epsilon."""
    wrong = law_of((1, 1), 1, 1.0)
    pmf = pmf_of((1, 1), wrong.scale, 12)
    assert max_log_ratio(pmf, shifted(pmf, (1, 0))) <= relative(1)  # added or removed: it would be right
    assert max_log_ratio(pmf, shifted(pmf, (1, -1))) > 1.99  # replaced, and its class with it


def test_negative_control_a_pooled_number_with_half_its_range():
    """A number from -1 to 1 moves by two; who counts its size only has half the noise that it needs."""
    wrong = law_of((1, 1), 1, 1.0)
    pmf = pmf_of((1, 1), wrong.scale, 12)
    assert max_log_ratio(pmf, shifted(pmf, (0, 2))) > 1.99


# --- what is drawn ------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize("factor", [1, 1.3])
def test_draws_have_the_enumerated_law(factor):
    """Cells of a lattice of blocks (1, 2), within a radius of 2; another scale is rejected."""
    law, draws = law_of((1, 2), 2, 2.0), 4000
    found = np.stack([draw(law) for _ in range(draws)])
    wanted = pmf_of((1, 2), law.scale * round(factor * 10) / 10, 5)  # beyond it lies less than a hundredth
    cells = list(itertools.product(range(-2, 3), repeat=3))
    places = {cell: i for i, cell in enumerate(cells)}
    inside = np.array([places[tuple(x)] for x in found.tolist() if tuple(x) in places])
    chances = np.array([float(wanted[cell]) for cell in cells])
    assert fits_cells(np.bincount(inside, minlength=len(cells)), chances / chances.sum()) == (factor == 1)


@pytest.mark.few(1)
@pytest.mark.parametrize("factor", [0.97, 1, 1.03])
def test_the_norm_of_a_draw_is_gamma_distributed(factor):
    """Blocks' norms are Gamma(N_b) and independent, so their sum is Gamma(N): an error of 3 % is rejected."""
    law = law_of((100, 1, 59), 2**30, 1.0)
    norms = np.array([norm(draw(law), (100, 1, 59)) for _ in range(1200)]) / float(law.scale)
    assert fits_distribution(norms * factor, gamma(160).cdf, cells=8) == (factor == 1)


def test_blocks_are_independent_of_each_other():
    """Within a block the radius is common: sizes go together (by .17 for three); between blocks they do not."""
    law = law_of((3, 3), 2**20, 1.0)
    sizes = np.abs(np.stack([draw(law) for _ in range(4000)]).astype(float))
    found = np.corrcoef(sizes.T)
    assert found[0, 1] > 0.07  # 6 deviations of a correlation, 1 / sqrt(4000), from that of three
    assert np.abs(found[:3, 3:]).max() < 0.11  # 7 of them
