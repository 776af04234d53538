"""The door: private numbers do not print, travel or leave without the noise that their certificate calls for."""

import copy
import pickle

import numpy as np
import pytest

from opening import wide
from sfumato.core import mechanism, sampling
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, draw, publish
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError, PrivateDataError

SECRET = 0.123456789
REAL = Certificate("linf", 0.1, "replace", "proved", "page")
EXACT = Certificate("l1", 3, "replace", "enforced", "page", -4)
PURE = Privacy(epsilon=1.0)


@pytest.fixture
def private():
    return Private(np.array([SECRET, SECRET]), REAL)


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, lambda p: f"{[p]}"])
def test_private_numbers_do_not_print(private, show):
    text = show(private)
    assert "private numbers" in text
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


def test_the_certificate_of_a_private_vector_cannot_be_exchanged(private):
    with pytest.raises(AttributeError):
        private.certificate = Certificate("linf", 1e-9, "replace", "proved", "page")


def test_later_changes_of_the_array_do_not_reach_the_private_vector(monkeypatch):
    values = np.array([1.0, 2.0])
    private = Private(values, REAL)
    values[:] = 99.0
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(2, dtype=np.int64))
    assert publish(private, PURE)[0] == pytest.approx([1.0, 2.0], abs=1e-4)


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
        (wide([0, 1, 2]), REAL),
        (wide([[0, 1, 2]]), EXACT),
    ],
)
def test_private_numbers_must_be_of_the_certificates_kind(values, certificate):
    with pytest.raises(PrivateDataError):
        Private(values, certificate)


def test_the_refusal_does_not_show_the_numbers():
    with pytest.raises(PrivateDataError) as error:
        Private(np.array([[SECRET]]), REAL)
    assert "123" not in str(error.value)


# --- publishing ---------------------------------------------------------------------------------------------


def test_publish_says_what_noise_it_added_and_what_that_promises(private):
    expected_law, expected_guarantee = calibrate(REAL, 2, PURE)
    _, law, guarantee = publish(private, PURE)
    assert law == expected_law
    assert guarantee == expected_guarantee


def test_a_vector_is_published_once(private):
    publish(private, PURE)
    with pytest.raises(PrivateDataError, match="published already"):
        publish(private, PURE)


@pytest.mark.parametrize(
    ("privacy", "noise"),
    [
        (PURE, "gaussian"),
        (PURE, "cauchy"),
        (Privacy(rho=1.0), "laplace"),
        (Privacy(epsilon=1, neighbours="add-remove"), "auto"),
    ],
)
def test_a_refused_publication_publishes_nothing(private, privacy, noise):
    with pytest.raises(ParameterError):
        publish(private, privacy, noise)
    assert publish(private, PURE)[0].shape == (2,)


def test_publish_rounds_to_the_grid_and_adds_the_draw(private, monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([0, 5]))
    (clean, noisy), law, _ = publish(private, PURE)
    assert abs(clean - SECRET) <= law.step / 2
    assert noisy == clean + 5 * law.step
    assert clean / law.step == int(clean / law.step)


def test_publish_takes_integers_as_they_are(monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([0, 1, -2]))
    found, _, _ = publish(Private(np.array([16, -16, 1], dtype=np.int64), EXACT), PURE)
    assert found.tolist() == [1.0, -15 / 16, -1 / 16]


@pytest.mark.parametrize("number", [2**62, -(2**62), 2**63 - 1, 2**80 + 1, -(2**100)])
@pytest.mark.parametrize("noise", [0, 1, -1, 2**62, -(2**62)])
def test_publish_takes_integers_of_any_size(number, noise, monkeypatch):
    """Value and noise are added exactly and rounded once, also where their sum has more than 64 bits."""
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([noise, noise, -noise]))
    private = Private(wide([number, 16, number]), EXACT)
    assert private.size == 3 and repr(private) == "<private numbers>"
    found, law, _ = publish(private, PURE)
    assert found.tolist() == [float(v) * law.step for v in (number + noise, 16 + noise, number - noise)]
    assert private.size == 0


def test_publish_copies_what_it_was_given(monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.array([0, 0]))
    values = np.array([16, 32])
    private = Private(values, EXACT)
    values[:] = 0
    assert publish(private, PURE)[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("values", [[np.inf, -np.inf], [np.nan, 0.0], [1.7e308, -1.7e308], [5e-324, -0.0]])
def test_any_values_are_published_as_finite_numbers(values):
    with np.errstate(all="raise"):  # neither an error nor a warning may depend on a value
        found, _, _ = publish(Private(np.array(values), REAL), PURE)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("norm", "privacy", "noise"),
    [
        ("l1", PURE, "laplace"),
        ("l2", Privacy(rho=1.0), "gaussian"),
        ("linf", PURE, "linf"),
        ("l2", PURE, "l2"),
    ],
)
def test_every_noise_gives_one_number_per_coefficient(norm, privacy, noise):
    certificate = Certificate(norm, 0.1, "replace", "proved", "page")
    found, law, _ = publish(Private(np.zeros(5), certificate), privacy, noise)
    assert law.kind == noise
    assert draw(law).shape == (5,)
    assert draw(law).dtype == np.int64
    assert found.shape == (5,)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("norm", "privacy", "sampler"),
    [
        ("l1", PURE, "discrete_laplace"),
        ("l2", Privacy(rho=1.0), "discrete_gaussian"),
        ("linf", PURE, "linf_knorm"),
        ("l2", PURE, "l2_knorm"),
        ("flow", PURE, "zero_sum"),
    ],
)
def test_every_noise_is_drawn_by_its_own_sampler(norm, privacy, sampler):
    law = calibrate(Certificate(norm, 12, "replace", "enforced", "page", 0), 5, privacy)[0]
    assert mechanism._SAMPLERS[law.kind] is getattr(sampling, sampler)
    assert draw(law).shape == (5,)


def test_publish_draws_anew_each_time():
    """Two draws agree with probability below 1e-3; 40 of them below 1e-100."""
    draws = {tuple(publish(Private(np.zeros(2), REAL), PURE)[0]) for _ in range(40)}
    assert len(draws) > 1


@pytest.mark.parametrize(
    ("bound", "epsilon"), [(1e-295, 1.0), (1e-320, 1.0), (1.0, 1e300), (1e-200, 1e100), (1.0, 1e4)]
)
@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_extreme_parameters_are_refused_or_drawn_but_never_draw_for_ever(norm, bound, epsilon, monkeypatch):
    rounds, words = [], sampling._words

    def counted(count):
        rounds.append(count)
        assert len(rounds) < 2000, "the sampler keeps on rejecting"
        return words(count)

    monkeypatch.setattr(sampling, "_words", counted)
    certificate = Certificate(norm, bound, "replace", "proved", "page")
    try:
        calibrate(certificate, 21, Privacy(epsilon=epsilon))
    except ParameterError:
        return
    found, _, _ = publish(Private(np.zeros(21), certificate), Privacy(epsilon=epsilon))
    assert np.isfinite(found).all()


def test_every_block_has_a_draw_of_its_own_in_its_own_place(monkeypatch):
    asked = []

    def fixed(size, scale):
        asked.append((size, scale))
        return np.full(size, len(asked))

    monkeypatch.setattr(sampling, "linf_knorm", fixed)
    one = Certificate("l1-linf", 4, "replace", "enforced", "blocks", 0, blocks=(2, 1, 3))
    found, law, _ = publish(Private(np.arange(6) * 10, one), PURE)
    assert found.tolist() == [1, 11, 22, 33, 43, 53]
    assert asked == [(2, 4), (1, 4), (3, 4)]
    assert law.kind == "blocks"
