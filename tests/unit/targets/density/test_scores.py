"""Scores by which a bandwidth or a basis is selected: what they are, and what their sensitivity is."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density.binning import Binning, SplitLattice
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.errors import ParameterError
from sfumato.targets.density.scores import _coarsen, cross_validation, noise_energy, reconstruction_miss

BOX = sf.Box([(0, 8)])
CELLS = 64


def counts_of(cells, shape=(CELLS,)):
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(np.asarray(cells, dtype=np.int64).reshape(-1, len(shape)).T), 1)
    return counts


def by_hand(places, n, width):
    """The textbook formula, pair by pair."""

    def normal(d, b):
        return math.exp(-0.5 * (d / b) ** 2) / (math.sqrt(2 * math.pi) * b)

    first = sum(normal(a - b, math.sqrt(2) * width) for a in places for b in places) / n**2
    second = sum(normal(a - b, width) for i, a in enumerate(places) for j, b in enumerate(places) if i != j)
    return -(first - 2 * second / (n * (n - 1)))


@pytest.mark.parametrize("missing", [0, 3])
def test_cross_validation_is_the_textbook_formula_on_the_middles_of_cells(missing):
    cells = np.random.default_rng(0).integers(0, CELLS, size=12)
    n = len(cells) + missing
    found, _ = cross_validation(BOX, [GaussianKernel.of(0.7, BOX)], counts_of(cells), n, [0.25])
    assert found[0] == pytest.approx(by_hand((cells + 0.5) / CELLS * 8, n, 0.7) - 0.25, rel=1e-12)


def test_matrices_and_widths_agree():
    box = sf.Box([(0, 1), sf.Periodic(0, 2)])
    cells = np.random.default_rng(1).integers(0, 16, size=(30, 2))
    kernels = [GaussianKernel.of([0.2, 0.3], box), GaussianKernel.of([[0.04, 1e-12], [1e-12, 0.09]], box)]
    assert not kernels[1].diagonal
    (one, other), _ = cross_validation(box, kernels, counts_of(cells, (16, 16)), 30, [0.0, 0.0])
    assert one == pytest.approx(other, rel=1e-9)


def test_the_sensitivity_is_that_of_the_proof():
    kernel = GaussianKernel.of(0.7, BOX)
    peak = kernel.peak(BOX)
    double = peak / math.sqrt(2)
    for n in (1, 2, 50):
        _, found = cross_validation(BOX, [kernel], counts_of([5] * n), n, [0.0])
        wanted = (4 * peak - 2 * double * (n - 1) / n + double**2 / (4 * peak)) / n
        assert found == pytest.approx(wanted, rel=2e-6)
        assert found >= wanted
    _, circle = cross_validation(sf.Box([sf.Periodic(0, 8)]), [kernel], counts_of([5] * 50), 50, [0.0])
    assert found < circle <= 4.1 * peak / 50


def test_the_sensitivity_is_that_of_the_narrowest_kernel_and_never_vanishes():
    kernels = [GaussianKernel.of(w, BOX) for w in (0.2, 2.0)]
    narrow, both = (cross_validation(BOX, ks, counts_of([5]), 10, [0.0] * len(ks))[1] for ks in (kernels[:1], kernels))
    assert narrow == both
    huge = cross_validation(BOX, kernels, counts_of([5]), 10**15, [0.0, 0.0])[1]
    assert huge > 1e-10 * kernels[0].peak(BOX)  # sums of doubles have errors that n does not divide


def test_a_large_public_part_widens_the_sensitivity_by_its_rounding():
    kernel = [GaussianKernel.of(0.7, BOX)]
    plain, large = (cross_validation(BOX, kernel, counts_of([5]), 10, [more])[1] for more in (0.0, 2.0**60))
    assert large >= plain + 2**10


def test_the_right_kernel_has_the_best_score():
    cells = np.clip(np.random.default_rng(2).normal(32, 8, size=5000).astype(int), 0, CELLS - 1)
    kernels = [GaussianKernel.of(w, BOX) for w in (0.13, 0.3, 4.0)]
    found, _ = cross_validation(BOX, kernels, counts_of(cells), 5000, [0.0] * 3)
    assert np.argmax(found) == 1


def test_a_kernel_that_no_lattice_resolves_is_refused():
    box = sf.Box([(0, 1)] * 3)
    with pytest.raises(ParameterError, match="too large a lattice"):
        cross_validation(box, [GaussianKernel.of(0.01, box)], np.zeros((4, 4, 4), dtype=np.int64), 5, [0.0])


def test_coarser_counts_keep_every_record():
    counts = np.random.default_rng(3).integers(0, 9, size=(32, 64))
    coarse = _coarsen(counts, 16)
    assert coarse.shape == (16, 16) and coarse.sum() == counts.sum()
    assert coarse[0, 0] == counts[:2, :4].sum()
    assert (_coarsen(counts, 64) == counts).all()


@pytest.mark.parametrize("width", [1.0, 110.0, 0.01])
def test_noise_energy_is_the_integrated_square_of_the_noise_in_the_columns_units(width):
    box = sf.Box([(0, width)])
    kernel, deviation, rng = GaussianKernel.of(0.05 * width, box), 0.01, np.random.default_rng(4)
    nodes, points = np.arange(21) / 20, np.linspace(0, 1, 1001)
    table = kernel.axis_values(box.intervals()[0], 0, points, nodes)
    squares = (table @ rng.normal(scale=deviation, size=(21, 500))) ** 2
    assert noise_energy(kernel, box, deviation) == pytest.approx(float(squares.mean()) * width, rel=0.1)


BASES = (Binning(4), Binning(17), SplitLattice(9, 0.5), sf.Bernstein(12))


def test_finer_bases_miss_less():
    kernel = GaussianKernel.of(1.0, BOX)
    found, sensitivity = reconstruction_miss(BOX, kernel, BASES[:2], counts_of([32] * 10), 10, [0.0, 0.0])
    assert found[0] < found[1] < 0
    assert sensitivity > 0


def test_the_miss_of_one_place_is_within_half_the_sensitivity_of_one_row():
    kernel = GaussianKernel.of(1.0, BOX)
    for cell in (0, 20, 63):
        found, sensitivity = reconstruction_miss(BOX, kernel, BASES, counts_of([cell]), 1, [0.0] * 4)
        assert -min(found) <= sensitivity / 2


def test_public_noise_counts_against_a_basis():
    kernel = GaussianKernel.of(1.0, BOX)
    (one, other), _ = reconstruction_miss(BOX, kernel, BASES[:1] * 2, counts_of([3, 9]), 2, [0.0, 0.5])
    assert one - other == pytest.approx(0.5)


def test_no_records_miss_nothing():
    found, sensitivity = reconstruction_miss(BOX, GaussianKernel.of(1.0, BOX), BASES, counts_of([]), 5, [0.0] * 4)
    assert found == [0.0] * 4 and sensitivity > 0


def test_a_kernel_that_is_no_product_is_refused():
    box = sf.Box([(0, 1), (0, 1)])
    kernel = GaussianKernel.of([[0.04, 0.01], [0.01, 0.04]], box)
    with pytest.raises(ParameterError, match="bandwidth per column"):
        reconstruction_miss(box, kernel, [Binning(4)], np.zeros((8, 8), dtype=np.int64), 5, [0.0])
