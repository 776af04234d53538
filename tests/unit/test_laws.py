"""The noise of devices, as a law, and how far the noise of every law goes."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.codec import decode_law, encode_law
from sfumato.core.calibration import NOISES, NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.errors import ParameterError
from sfumato.laws import LocalLaw, noise_deviation
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


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_deviation_is_that_of_the_law(kind, size):
    """A fixed seed: 200,000 draws of each coefficient hit the deviation within one percent."""
    certificate = Certificate("l2", 1.0, "replace", "proved", "k-norm")
    law = NoiseLaw(kind, size, -10, Fraction(3 * 2**20 if kind == "gaussian" else 3 * 2**10), certificate)
    drawn = simulate_noise(law, 200_000, np.random.default_rng(1))
    assert np.sqrt((drawn**2).mean()) == pytest.approx(noise_deviation(law), rel=0.01)


def test_devices_state_the_deviation_itself():
    assert noise_deviation(LocalLaw("bit", 9, 0.25)) == 0.25
