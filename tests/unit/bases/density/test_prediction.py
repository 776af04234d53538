"""Predicted errors: public, repeatable, sensible, and about right."""

import inspect

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.density import prediction
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.prediction import FACTORS, Study, misses, predict, references, search

LINE = sf.Box({"t": (0, 10)})
DAY = sf.Box({"hour": sf.Periodic(0, 24)})
PLANE = sf.Box({"x": (0, 10), "y": (0, 5)})


def errors(box, bandwidth, bases, rows, deviation):
    return predict(box, GaussianKernel.of(bandwidth, box), bases, rows, lambda _: deviation)


@pytest.mark.parametrize("box", [LINE, DAY, PLANE])
def test_more_noise_is_never_predicted_to_be_better(box):
    bases = [sf.Binning(9), sf.SplitLattice(7, 0.4)]
    for basis in bases:
        found = [errors(box, 1.0, [basis], 1000, d)[0] for d in (1e-5, 1e-3, 1e-2, 1e-1)]
        assert [f.noise for f in found] == sorted(f.noise for f in found)
        assert [f.error for f in found] == sorted(f.error for f in found)


def test_more_rows_are_never_predicted_to_be_worse():
    found = [errors(LINE, 1.0, [sf.Binning(9)], rows, 1e-3)[0].error for rows in (10, 100, 1000, 10**6)]
    assert found == sorted(found, reverse=True)


def test_the_same_question_has_the_same_answer():
    first = errors(LINE, 1.0, [sf.Binning(9)], 1000, 1e-3)
    prediction._axis_study.cache_clear()
    assert errors(LINE, 1.0, [sf.Binning(9)], 1000, 1e-3) == first


def test_nothing_but_public_quantities_can_be_asked():
    assert list(inspect.signature(predict).parameters) == ["box", "kernel", "bases", "rows", "deviation"]
    assert list(inspect.signature(search).parameters) == ["box", "kernel", "pure", "rows", "deviation"]


def test_units_do_not_matter():
    """A box a thousand times as wide, and a bandwidth as well: densities are a thousandth."""
    one = errors(LINE, 1.0, [sf.Binning(9), sf.SplitLattice(9, 0.5)], 1000, 1e-3)
    two = errors(sf.Box({"t": (0, 10_000)}), 1000.0, [sf.Binning(9), sf.SplitLattice(9, 500.0)], 1000, 1e-3)
    assert [1000 * p.error for p in two] == pytest.approx([p.error for p in one], rel=1e-9)


@pytest.mark.slow
def test_predicted_noise_is_the_noise_of_releases():
    """Post "none", a given lattice, no data to approximate: the mean largest error is the one that was predicted."""
    basis, rows = sf.Binning(12), 1000
    box, privacy = sf.Box({"t": (0, 10)}), sf.Privacy(epsilon=1.0)
    predicted = errors(box, 1.0, [basis], rows, 2 * np.sqrt(2) / rows)[0].noise
    data, grid = np.random.default_rng(1).uniform(0, 10, rows), np.linspace(0, 10, 200)
    exact = sf.release(sf.KDE(1.0, post="none", missing="none"), data, box, sf.Privacy(epsilon=1e6), basis=basis)(grid)
    noisy = [
        np.abs(
            sf.release(sf.KDE(1.0, post="none", missing="none"), data, box, privacy, basis=basis)(grid) - exact
        ).max()
        for _ in range(150)
    ]
    assert np.mean(noisy) == pytest.approx(predicted, rel=0.5)  # each smooths as much as seems right to it


def test_a_long_column_is_predicted_from_a_part_of_it():
    """Thirty bandwidths say what a thousand do: the largest noise grows only slowly."""
    parts = [errors(sf.Box([(0, w)]), 1.0, [sf.Binning(w + 1)], 1e5, 1e-4)[0].noise for w in (29, 31, 200)]
    assert parts[1] == pytest.approx(parts[0], rel=0.2)
    assert parts[2] == pytest.approx(parts[1], rel=0.5)


# --- the search -------------------------------------------------------------------------------------------------

SEARCHED = [(LINE, 0.5), (LINE, 10.0), (DAY, 1.0), (PLANE, [0.5, 0.5])]


@pytest.mark.few(2)
@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize(("box", "bandwidth"), SEARCHED)
def test_what_is_searched_fits_the_box_and_differs(box, bandwidth, pure):
    found = [p.basis for p in search(box, GaussianKernel.of(bandwidth, box), pure, 1000, lambda _: 1e-3)]
    assert len(found) == len(set(found)) > 3
    assert {type(b).__name__ for b in found} == {"Binning", "SplitLattice"}
    for basis in found:
        assert min(basis.shape(box)) >= 2


@pytest.mark.few(1)
@pytest.mark.parametrize("deviation", [1e-6, 1e-3, 1e-1])
@pytest.mark.parametrize(("box", "bandwidth"), [(LINE, 0.5), (DAY, 1.0)])
def test_the_search_finds_about_the_best_of_all(box, bandwidth, deviation):
    kernel = GaussianKernel.of(bandwidth, box)
    found = min(p.error for p in search(box, kernel, True, 1000, lambda _: deviation))
    every = [
        prediction._lattice(box, kernel, spacing, width)
        for spacing in prediction._SPACINGS
        for width in prediction._WIDTHS["pure"]
    ]
    best = min(p.error for p in predict(box, kernel, every, 1000, lambda _: deviation))
    assert best * (1 - 1e-12) <= found <= 1.1 * best


def test_less_noise_calls_for_a_finer_lattice():
    kernel = GaussianKernel.of(0.5, LINE)
    sizes = []
    for deviation in (1e-1, 1e-3, 1e-6):
        best = min(search(LINE, kernel, True, 1e6, lambda _, d=deviation: d), key=lambda p: p.error)
        sizes.append(best.basis.size(LINE))
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


# --- references -------------------------------------------------------------------------------------------------


def test_references_are_densities_with_the_stated_features():
    places = (np.arange(2000) + 0.5) / 2000
    table = references(0.05, places)
    assert table.shape == (2 + 3 * len(FACTORS), 2000)
    assert table.min() >= 0
    assert table.sum(axis=1) == pytest.approx(1.0)
    narrow = table[2]  # factor 0.7, centre 0.2
    bump = narrow[(places > 0.15) & (places < 0.25)]
    curvature = -np.diff(np.log(bump), 2).mean() * 2000**2
    assert curvature**-0.5 == pytest.approx(0.7 * 0.05, rel=0.05)


def test_misses_are_means_and_scatter():
    """One reference, one point: |mean of k - g| and two standard errors, together."""
    known, kernel, given = np.array([[0.25, 0.75]]), np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]])
    study = Study.of(known, kernel, given)
    mean, square = 0.25 * -1 + 0.75 * 1, 0.25 + 0.75
    assert misses([study], 100)[0] == pytest.approx(np.hypot(mean, 2 * np.sqrt(square / 100)))
    assert misses([study], np.inf)[0] == pytest.approx(mean)
