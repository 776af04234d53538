"""Plans: what error so many people give, how many people an error takes."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError

PLANE = sf.Box([(0, 1), (0, 1)])
GROUPS = sf.Box({name: sf.Categorical([0, 1]) for name in "abc"})
PROTOCOLS = {
    "hadamard": sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=1, randomizer="hadamard"),
    "bit": sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=1, randomizer="bit"),
    "laplace": sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=1, randomizer="laplace"),
    "likelihood": sf.local.Density(PLANE, epsilon=1.0, lattice=4, seed=1, randomizer="likelihood"),
    "loglog": sf.local.Density(PLANE, epsilon=1.0, lattice=4, seed=1, randomizer="loglog"),
    "privunit": sf.local.Density(PLANE, epsilon=1.0, lattice=2, seed=1, randomizer="privunit"),
    "smooth": sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=5, seed=1),
    "marginals": sf.local.Marginals(GROUPS, epsilon=1.0, seed=1),
    "one-way": sf.local.Marginals(GROUPS, epsilon=1.0, ways=1, seed=1, randomizer="hadamard"),
}


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return PROTOCOLS[request.param]


def test_people_for_an_error_and_error_of_people_are_inverse(protocol):
    for people in (1000, 123_456, 10**8):
        plan = sf.local.plan(protocol, people=people)
        assert plan.people == people
        back = sf.local.plan(protocol, error=plan.error)
        assert abs(back.people - people) <= 1
        assert back.error == pytest.approx(plan.error, rel=1e-3)
        assert sf.local.plan(protocol, error=plan.error).error <= plan.error * (1 + 1e-12)


def test_errors_fall_with_the_root_of_people_and_grow_with_confidence(protocol):
    few, many = sf.local.plan(protocol, people=10_000), sf.local.plan(protocol, people=1_000_000)
    assert few.deviation == pytest.approx(10 * many.deviation)
    assert few.error == pytest.approx(10 * many.error)
    assert sf.local.plan(protocol, people=10_000, confidence=0.999).error > few.error > few.deviation


def test_predictions_in_closed_form():
    gain, people = math.tanh(0.5), 1_000_000
    deviation = {name: sf.local.plan(protocol, people=people).deviation for name, protocol in PROTOCOLS.items()}
    assert deviation["hadamard"] == pytest.approx(127 / 128 / (gain * 1000), rel=1e-6)
    assert deviation["bit"] == pytest.approx(math.sqrt(121) / (2 * gain * 1000), rel=1e-6)
    assert deviation["laplace"] == pytest.approx(math.sqrt(2 * 121**2 + 0.25) / 1000, rel=1e-6)
    assert deviation["smooth"] == pytest.approx(math.sqrt(24) / (gain * 1000), rel=1e-6)


@pytest.mark.parametrize("name", ["hadamard", "bit", "smooth"])
def test_the_prediction_is_what_a_release_says(name):
    """Up to chance in how often each question was asked: 20,000 people or more for each."""
    protocol = (
        PROTOCOLS[name]
        if name != "hadamard"
        else sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=1, randomizer="hadamard")
    )
    people = 200_000 if name == "hadamard" else 1_000_000
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(np.random.default_rng(1).uniform(size=(people, 2))))
    release = collector.release()
    said = release.noise_sd if name == "smooth" else release.mass_error
    assert said == pytest.approx(sf.local.plan(protocol, people=people).deviation, rel=0.05)


def test_it_says_what_it_found():
    text = str(sf.local.plan(PROTOCOLS["hadamard"], people=1_000_000))
    assert "1,000,000" in text
    assert "127 questions" in text
    assert "0.002147 of each" in text
    assert "confidence 0.95" in text


def test_one_of_people_and_error():
    for wrong in ({}, {"people": 10, "error": 0.1}):
        with pytest.raises(ParameterTypeError, match="give people or error"):
            sf.local.plan(PROTOCOLS["bit"], **wrong)
    with pytest.raises(ParameterTypeError, match="protocol must be one of"):
        sf.local.plan(PLANE, people=10)


@pytest.mark.parametrize(
    "wrong", [{"people": 0}, {"people": 1.5}, {"error": 0.0}, {"error": -1.0}, {"people": 9, "confidence": 1.0}]
)
def test_numbers_that_make_no_plan_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"people|error|confidence"):
        sf.local.plan(PROTOCOLS["bit"], **wrong)
