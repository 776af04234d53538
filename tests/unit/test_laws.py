"""The noise of devices, as a law, and how far the noise of every law goes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.codec import decode_law, encode_law
from sfumato.core.calibration import NOISES, NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw, block_deviations, noise_deviation, sum_quantile
from sfumato.releases.uncertainty import simulate_noise


def test_it_is_normal_and_on_no_grid():
    law = LocalLaw("hadamard", 121, 0.002)
    assert (law.kind, law.step) == ("gaussian", 0.0)
    with pytest.raises(AttributeError):
        law.deviation = 0.0


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3"])
def test_sizes(size):
    with pytest.raises(ParameterError, match="size"):
        LocalLaw("bit", size, 0.1)


@pytest.mark.parametrize("deviation", [0.0, -0.1, float("nan"), float("inf"), "0.1"])
def test_deviations(deviation):
    with pytest.raises(ParameterError, match="deviation"):
        LocalLaw("bit", 3, deviation)


def test_plain_data_and_back():
    law = LocalLaw("hadamard", 121, 0.002)
    assert encode_law(law) == {"kind": "local", "randomizer": "hadamard", "size": 121, "deviation": 0.002}
    assert decode_law(encode_law(law)) == law


@pytest.mark.parametrize("change", [{"more": 1}, {"size": 0}, {"deviation": 0.0}, {"deviation": None}])
def test_other_data_are_refused(change):
    with pytest.raises(ParameterError):
        decode_law({**encode_law(LocalLaw("bit", 3, 0.1)), **change})


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_deviation_is_that_of_the_law(kind, size):
    """A fixed seed: 200,000 draws of each coefficient hit the deviation within one percent."""
    certificate = Certificate("l2", 1.0, "replace", "proved", "k-norm")
    if kind == "blocks":
        blocks = (size // 2, size - size // 2) if size > 1 else (1,)
        certificate = Certificate("l1-linf", 1, "replace", "enforced", "blocks", -10, blocks=blocks)
    law = NoiseLaw(kind, size, -10, Fraction(3 * 2**20 if kind == "gaussian" else 3 * 2**10), certificate)
    drawn = simulate_noise(law, 200_000, np.random.default_rng(1))
    assert np.sqrt((drawn**2).mean()) == pytest.approx(noise_deviation(law), rel=0.01)


def test_blocks_by_themselves_and_in_a_file():
    certificate = Certificate("l1-linf", 6, "replace", "enforced", "blocks", -2, blocks=(1, 4))
    law = NoiseLaw("blocks", 5, -2, Fraction(8), certificate)
    assert block_deviations(law) == [(1, pytest.approx(2 * math.sqrt(2))), (4, pytest.approx(2 * math.sqrt(10)))]
    assert noise_deviation(law) == pytest.approx(2 * math.sqrt((2 + 40) / 5))
    plain = encode_law(law)
    assert plain["certificate"]["blocks"] == [1, 4]
    assert decode_law(plain) == law
    without = {key: value for key, value in plain["certificate"].items() if key != "blocks"}
    for wrong in (without, {**plain["certificate"], "norm": "l1"}, {**plain["certificate"], "blocks": [0, 5]}):
        with pytest.raises(ParameterError):
            decode_law({**plain, "certificate": wrong})


def test_devices_state_the_deviation_itself():
    assert noise_deviation(LocalLaw("bit", 9, 0.25)) == 0.25


# --- sums of noise ------------------------------------------------------------------------------------------------


def laplace_law(scale, kind="laplace"):
    certificate = Certificate("l1", 2, "replace", "enforced", "statistics", 0)
    return NoiseLaw(kind, 10, 0, Fraction(scale), certificate)


def exact_tails(scale, times, parts, whole, miss, kind="laplace"):
    """How often a sum of discrete noise, in weights ``parts / whole``, exceeds its quantile, and 2.5 less."""
    reach = int(60 * scale) + 20
    steps = np.arange(-reach, reach + 1.0)
    one = np.exp(-(np.abs(steps) / scale) if kind == "laplace" else -(steps**2) / (2 * scale))
    one /= one.sum()
    total = np.ones(1)
    for many, part in zip(times, parts, strict=True):
        spread = np.zeros((len(one) - 1) * part + 1)
        spread[::part] = one
        for _ in range(many):
            total = np.convolve(total, spread)
    far = sum_quantile(laplace_law(scale, kind), np.array(parts) / whole, np.array(times, float), miss)
    places = (np.arange(len(total)) - len(total) // 2) / whole
    return total[places > far].sum(), total[places > far - 2.5].sum()


@pytest.mark.few(16)
@pytest.mark.parametrize("miss", [0.2, 0.025, 1e-3, 1e-6])
@pytest.mark.parametrize("scale", [0.3, 2, 9])
@pytest.mark.parametrize(
    ("times", "parts", "whole"), [((1, 0), (1, 1), 1), ((4, 3), (1, 1), 2), ((5, 2), (2, 1), 3), ((9, 1), (1, 9), 10)]
)
def test_a_sum_of_noise_exceeds_its_quantile_no_more_often_than_stated(times, parts, whole, scale, miss):
    beyond, nearer = exact_tails(scale, times, parts, whole, miss)
    assert beyond <= miss
    if miss > 1e-4:  # what is rarer is bounded by Chernoff
        assert nearer > miss


@pytest.mark.few(9)
@pytest.mark.parametrize("miss", [0.2, 0.025, 1e-3])
@pytest.mark.parametrize("variance", [0.1, 1, 30])
@pytest.mark.parametrize(("times", "parts", "whole"), [((1, 0), (1, 1), 1), ((4, 3), (1, 1), 2), ((5, 2), (2, 1), 3)])
def test_a_sum_of_gaussian_noise_does_neither(times, parts, whole, variance, miss):
    beyond, nearer = exact_tails(variance, times, parts, whole, miss, "gaussian")
    assert beyond <= miss < nearer


def test_sums_of_gaussian_noise_and_of_nothing():
    law = laplace_law(25, "gaussian")
    found = sum_quantile(law, np.array([0.5, 2.0]), np.array([4.0, 1.0]), 0.025)
    assert found == pytest.approx(5 * math.sqrt(4 * 0.25 + 4) * 1.959964 + 1)
    assert sum_quantile(law, np.array([0.0, 1.0]), np.array([3.0, 0.0]), 0.01) == 0.0


@pytest.mark.parametrize("scale", [Fraction(1, 10**6), 2**45])
def test_extreme_scales_have_quantiles(scale):
    found = sum_quantile(laplace_law(scale), np.array([0.5]), np.array([8.0]), 0.01)
    assert math.isfinite(found) and found >= 0
    assert found <= 2 or found == pytest.approx(float(scale) * 4.82, rel=0.01)
