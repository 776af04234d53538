"""Which questions a summary answers well: errors from public quantities that the summary's own answers confirm."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.releases.summary.quality import (
    WIDTHS,
    Errors,
    bumps,
    categorical,
    density,
    drawn_width,
    edges,
    errors_by_columns,
    errors_by_width,
    hardest,
    noise_errors,
    numeric,
    product_weights,
    sampling_error,
    share_error,
    shares,
    together,
    verdict,
)
from sfumato.releases.uncertainty import simulate_noise
from unit.drawing.summary_support import LINE, MIXED, PLANE, SEX, WARD, summary

MIDDLE = np.array([0.5])


def bump(centre, width):
    return lambda p: np.exp(-0.5 * (((p - centre) / width) ** 2).sum(axis=1))


# --- functions of one column ------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.01, 0.1, 0.5])
def test_coefficients_give_the_function_back(width):
    unit = np.linspace(0, 1, 57)
    waves = np.cos(np.outer(np.arange(1024), np.arccos(2 * unit - 1)))
    assert bumps(MIDDLE, width, 8) @ waves == pytest.approx(np.exp(-0.5 * ((unit - 0.5) / width) ** 2)[None], abs=1e-9)
    rising = np.array([[(1 + math.erf((u - 0.5) / (math.sqrt(2) * width))) / 2 for u in unit]])
    assert edges(MIDDLE, width, 8) @ waves == pytest.approx(rising, abs=1e-9)


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("columns", "degree", "interactions"),
    [(LINE, 8, "full"), (PLANE, 6, "full"), (PLANE, 8, "cross"), ({**PLANE, "z": (0, 1)}, 6, 2)],
)
@pytest.mark.parametrize("place", [0.5, 0.25, 1.0])
def test_what_the_basis_misses_is_bounded_whatever_the_records_are(columns, degree, interactions, place):
    box = sf.Box(columns)
    used = min(2, box.dimension)
    spot = box.low + place * (box.high - box.low)
    release = summary(columns, degree, interactions, 50, data=np.tile(spot, (50, 1)), epsilon=1e6)
    found = errors_by_width(release, range(used))
    for width, missed in zip(found.widths, found.approximation, strict=True):
        if width >= 0.05:
            own = bump(spot[:used], width * (box.high - box.low)[:used])
            answer = release.answer(own, columns=box.names[:used])
            assert abs(answer.value - 1.0) <= missed + 1e-3  # contributions are rounded
            assert answer.approximation <= missed + 1e-6


def test_the_bound_on_what_is_missed_is_nearly_attained():
    release = summary(LINE, 8, count=50, data=np.full(50, 55.0), epsilon=1e6)
    found = errors_by_width(release, [0], widths=[0.1])
    assert abs(release.answer(bump(55.0, 11.0)).value - 1) >= 0.95 * found.approximation[0] > 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize("noise", ["linf", "laplace"])
def test_the_noise_is_that_of_the_summarys_own_answers(noise):
    release = summary(PLANE, 6, noise=noise)
    for width in (0.1, 0.3):
        found = errors_by_width(release, [0, 1], widths=[width])
        own = [release.answer(bump([110 * u, 10 + 50 * u], [110 * width, 50 * width])) for u in np.linspace(0, 1, 9)]
        assert found.noise[0] == pytest.approx(max(a.error - a.approximation for a in own), rel=0.15)


def test_a_private_number_of_records_adds_its_own_noise():
    release = summary(LINE, 8, neighbours="add-remove")
    assert release.rows is None
    found = errors_by_width(release, [0], widths=[0.2])
    answer = release.answer(bump(55.0, 22.0))
    assert answer.error <= found.total[0] < 2 * answer.error
    assert sampling_error(release) == pytest.approx(20_000**-0.5, rel=1e-6)


def test_too_few_records_for_any_answer():
    release = summary(LINE, 8, count=2, neighbours="add-remove", epsilon=0.01)
    assert np.isinf(errors_by_width(release, [0]).total).all()
    limits = density(release, [0], MIDDLE[:, None], 0.2, 0.95)
    assert limits.low[0] == 0 and limits.high[0] == pytest.approx(1 / (22 * math.sqrt(2 * math.pi)))


def test_errors_at_many_points_at_once_are_wider():
    release = summary(LINE, 8)
    frequencies = release.among([0])[1]
    weights, _ = product_weights(frequencies, [bumps(np.linspace(0, 1, 30), 0.2, 8)])
    single, many = (noise_errors(release, weights, 0.95, at_once) for at_once in (False, True))
    assert (many > single).all() and (many < 3 * single).all()
    tiny = noise_errors(release, weights, 0.999999, at_once=True)  # beyond simulation: each with its part
    assert (tiny > many).all()


def test_narrowest():
    widths, zero = np.array([0.1, 0.2, 0.3, 0.4]), np.zeros(4)
    assert Errors(widths, np.array([0.5, 0.02, 0.005, 0.005]), zero).narrowest() == 0.3
    assert Errors(widths, np.array([0.005, 0.02, 0.005, 0.005]), zero).narrowest() == 0.3  # not 0.1: 0.2 is worse
    assert Errors(widths, np.array([0.5, 0.02, 0.005, 0.02]), zero).narrowest() is None
    assert Errors(widths, zero + 0.001, zero).narrowest() == 0.1
    assert Errors(widths, zero + math.inf, zero).narrowest() is None
    assert Errors(widths, zero + 0.001, zero + 0.002).at(0.29) == pytest.approx((0.001, 0.002, 0.003))
    assert [verdict(error) for error in (0.01, 0.05, math.inf)] == ["well", "roughly", "not"]


def test_errors_fall_with_the_degree_and_with_the_number_of_records():
    small, fine, many = summary(degree=6), summary(degree=16), summary(degree=6, count=200_000)
    assert errors_by_width(fine, [0]).narrowest() < errors_by_width(small, [0]).narrowest()
    assert (errors_by_width(many, [0]).noise < 0.11 * errors_by_width(small, [0]).noise + 1e-12).all()


def test_the_width_of_a_picture():
    widths = np.array(WIDTHS)
    well = Errors(widths, np.where(widths >= 0.07, 0.001, 1.0), 0 * widths)
    rough = Errors(widths, np.where(widths >= 0.15, 0.03, 1.0), 0 * widths)
    assert drawn_width(well) == 0.07 and drawn_width(rough) == 0.15
    assert drawn_width(Errors(widths, np.ones(len(widths)), 0 * widths)) == 0.5


# --- columns ----------------------------------------------------------------------------------------------


def test_which_columns():
    release = summary(MIXED, (7, 5, 9, 9), 2)
    assert numeric(release) == (0, 1) and categorical(release) == (2, 3) and together(release) == 2
    assert hardest(release, 1) == (1,) and hardest(release, 2) == (0, 1)
    assert len(errors_by_columns(release)) == 2 and len(errors_by_columns(release, most=1)) == 1
    assert together(summary(MIXED, 3, 1)) == 1 and together(summary(PLANE, 3, "cross")) == 1
    assert errors_by_columns(summary(SEX)) == []


def test_a_column_without_frequencies():
    found = errors_by_width(summary({**LINE, **SEX}, (1, 2)), [0])
    assert (found.noise == 0).all() and (found.approximation > 0.1).all()


@pytest.mark.parametrize("place", [[2], [3], [2, 3]])
def test_shares_of_categories_are_exact(place):
    release = summary(MIXED, 5, 2)
    noise, missed = share_error(release, place)
    first = {release.box.names[j]: release.box.columns[j].categories[0] for j in place}
    assert missed < 1e-9 and noise >= release.share(first).error * 0.999


def test_shares_at_once():
    release = summary(WARD, count=3000)
    found = shares(release, 0, 0.95)
    own = [release.share({"ward": name}).value for name in WARD["ward"].categories]
    assert found.value == pytest.approx(own) and found.value.sum() == pytest.approx(1)
    assert (found.low < found.value).all() and (found.value < found.high).all()


# --- densities --------------------------------------------------------------------------------------------


def test_densities_are_those_that_the_summary_answers():
    release = summary(PLANE, 8)
    unit = np.array([[0.1, 0.4], [0.5, 0.5], [1.0, 0.0]])
    box = release.box
    found = density(release, [0, 1], unit, 0.3, 0.95)
    points = box.low + unit * (box.high - box.low)
    own = release.kde(points, bandwidth=[33.0, 15.0])
    assert found.value == pytest.approx(own.value, rel=1e-6, abs=1e-12)
    assert (found.high - found.value >= own.error * 0.99).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("grant", [{}, {"delta": 1e-6}, {"neighbours": "add-remove"}])
def test_limits_of_a_density_hold_at_all_points_at_once(grant):
    """One false alarm in 10**9: of 400 noises no more than this many may leave the limits anywhere."""
    release, draws = summary(LINE, 8, count=5000, **grant), 400
    unit = np.linspace(0, 1, 41)[:, None]
    found = density(release, [0], unit, 0.3, 0.95)
    noise = simulate_noise(release.law, draws, np.random.default_rng(7))
    missed = 0
    for own in noise:
        moved = type(release)(**{**vars_of(release), "numbers": release.numbers + own})
        limits = density(moved, [0], unit, 0.3, 0.95)
        missed += bool(((found.value < limits.low) | (found.value > limits.high)).any())
    assert missed <= binom.isf(1e-9, draws, 0.05)


def vars_of(release):
    names = ("guarantee", "law", "target", "receipt", "domain", "basis", "numbers", "rows")
    return {name: getattr(release, name) for name in names}
