"""The noise of devices, as a law."""

import pytest

from sfumato.errors import ParameterError
from sfumato.releases.codec import decode_law, encode_law
from sfumato.releases.local_law import LocalLaw


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
