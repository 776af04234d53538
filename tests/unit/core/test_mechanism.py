"""The door: private numbers do not print, travel or leave without the noise that was calibrated for them."""

import copy
import pickle

import numpy as np
import pytest

from sfumato.core import mechanism
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, draw, publish
from sfumato.core.privacy import Privacy
from sfumato.errors import PrivateDataError

SECRET = 0.123456789
REAL = Certificate("linf", 0.1, "replace", "proved", "page")
EXACT = Certificate("l1", 3, "replace", "enforced", "page", -4)


@pytest.fixture
def private():
    return Private(np.array([SECRET, SECRET]), REAL)


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, lambda p: f"{[p]}"])
def test_private_numbers_do_not_print(private, show):
    text = show(private)
    assert "2 private numbers" in text
    assert "123" not in text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_private_numbers_refuse_to_be_pickled(private, protocol):
    for thing in (private, [private], {"a": private}):
        with pytest.raises(PrivateDataError, match="pickled"):
            pickle.dumps(thing, protocol)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda p: copy.deepcopy([p])])
def test_private_numbers_refuse_to_be_copied(private, duplicate):
    with pytest.raises(PrivateDataError, match="copied"):
        duplicate(private)


def test_private_numbers_have_no_dictionary_and_no_array_face(private):
    assert not hasattr(private, "__dict__")
    assert not hasattr(private, "__array__")
    with pytest.raises(TypeError):
        vars(private)
    with pytest.raises(TypeError):
        iter(private)
    with pytest.raises(TypeError):
        private[0]


def test_private_numbers_know_how_many_they_are(private):
    assert len(private) == 2


@pytest.mark.parametrize(
    ("values", "certificate"),
    [
        (np.zeros(3, dtype=np.int64), REAL),
        (np.zeros(3, dtype=np.float32), REAL),
        (np.zeros((3, 1)), REAL),
        (np.array(0.0), REAL),
        (np.zeros(3), EXACT),
        (np.zeros(3, dtype=np.int32), EXACT),
        (np.zeros(3, dtype=np.uint64), EXACT),
    ],
)
def test_private_numbers_must_be_of_the_certificates_kind(values, certificate):
    with pytest.raises(PrivateDataError):
        Private(values, certificate)


def test_the_refusal_does_not_show_the_numbers():
    with pytest.raises(PrivateDataError) as error:
        Private(np.array([[SECRET]]), REAL)
    assert "123" not in str(error.value)


def test_publish_refuses_a_law_of_another_certificate(private):
    other = Certificate("linf", 0.05, "replace", "proved", "page")
    law, _ = calibrate(other, 2, Privacy(epsilon=1.0))
    with pytest.raises(PrivateDataError, match="calibrated for another"):
        publish(private, law)


def test_publish_refuses_a_law_of_another_size(private):
    law, _ = calibrate(REAL, 3, Privacy(epsilon=1.0))
    with pytest.raises(PrivateDataError, match="calibrated for another"):
        publish(private, law)


def test_publish_refuses_a_law_of_other_neighbours(private):
    other = Certificate("linf", 0.1, "add-remove", "proved", "page")
    law, _ = calibrate(other, 2, Privacy(epsilon=1.0, neighbours="add-remove"))
    with pytest.raises(PrivateDataError):
        publish(private, law)


def test_publish_rounds_to_the_grid_and_adds_the_draw(private, monkeypatch):
    law, _ = calibrate(REAL, 2, Privacy(epsilon=1.0))
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([0, 5]))
    clean, noisy = publish(private, law)
    assert abs(clean - SECRET) <= law.step / 2
    assert noisy == clean + 5 * law.step
    assert clean / law.step == int(clean / law.step)


def test_publish_takes_integers_as_they_are(monkeypatch):
    law, _ = calibrate(EXACT, 3, Privacy(epsilon=1.0))
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([0, 1, -2]))
    found = publish(Private(np.array([16, -16, 1], dtype=np.int64), EXACT), law)
    assert found.tolist() == [1.0, -15 / 16, -1 / 16]


@pytest.mark.parametrize(
    ("norm", "privacy", "noise"),
    [
        ("l1", Privacy(epsilon=1.0), "laplace"),
        ("l2", Privacy(rho=1.0), "gaussian"),
        ("linf", Privacy(epsilon=1.0), "linf"),
        ("l2", Privacy(epsilon=1.0), "l2"),
    ],
)
def test_every_noise_gives_one_number_per_coefficient(norm, privacy, noise):
    certificate = Certificate(norm, 0.1, "replace", "proved", "page")
    law, _ = calibrate(certificate, 5, privacy, noise)
    assert draw(law).shape == (5,)
    assert draw(law).dtype == np.int64
    found = publish(Private(np.zeros(5), certificate), law)
    assert found.shape == (5,)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()


def test_publish_draws_anew_each_time(private):
    """Two draws agree with probability below 1e-4 each coordinate; 40 of them below 1e-100."""
    law, _ = calibrate(REAL, 2, Privacy(epsilon=1.0))
    assert len({tuple(publish(private, law)) for _ in range(40)}) > 1
