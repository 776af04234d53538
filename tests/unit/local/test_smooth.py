"""Smooth queries: moments that devices report answer like those of a central summary."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box({"age": (0, 110), "group": sf.Categorical(["a", "b", "c"]), "sick": sf.Categorical([0, 1])})
EXACT = sf.Privacy(epsilon=1e6)


def collected(protocol, records):
    collector = protocol.collector()
    assert collector.add_batch(protocol.encode_many(records)) == len(records)
    return collector.release()


def people(count, seed=1):
    generator = np.random.default_rng(seed)
    return np.stack([110 * generator.beta(2, 3, count), 10 + 50 * generator.beta(3, 4, count)], axis=1)


def answers_to_all(protocol, records):
    """Every person's answer to every question, without noise."""
    whole = sf.local.SmoothQueries(
        protocol.box, epsilon=1.0, degree=protocol.degree, interactions=protocol.interactions, randomizer="laplace"
    )
    columns = np.array(records, dtype=np.float64).T.copy()
    return whole.answers(columns, np.arange(len(records), dtype=np.uint64))


# --- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "questions"),
    [
        ({"degree": 5}, 24),
        ({"degree": (3, 7)}, 20),
        ({"degree": [3, 7]}, 20),
        ({"degree": 5, "interactions": 1}, 8),
        ({"degree": 4, "interactions": "cross"}, 7),
        ({}, 35),
    ],
)
def test_questions_are_moments(options, questions):
    protocol = sf.local.SmoothQueries(PLANE, epsilon=1.0, seed=1, **options)
    assert protocol.questions == questions
    assert protocol.asked(np.arange(5000, dtype=np.uint64)).max() == questions - 1


def test_categories_have_frequencies_of_their_own():
    assert sf.local.SmoothQueries(MIXED, epsilon=1.0, degree=4, seed=1).questions == 4 * 3 * 2 - 1
    assert sf.local.SmoothQueries(MIXED, epsilon=1.0, degree=(4, 9, 9), seed=1).questions == 4 * 3 * 2 - 1


@pytest.mark.parametrize(
    "options",
    [
        {"degree": 1},
        {"degree": 0},
        {"degree": (3, 4, 5)},
        {"degree": 2.5},
        {"degree": 5, "interactions": "some"},
        {"degree": 5, "interactions": 0},
        {"degree": 1025},
        {"randomizer": "hadamard"},
        {"randomizer": "privunit"},
    ],
)
def test_what_makes_no_moments_is_refused(options):
    with pytest.raises(ParameterError):
        sf.local.SmoothQueries(PLANE, epsilon=1.0, **options)


def test_numpy_numbers_are_numbers():
    assert len(sf.local.SmoothQueries(PLANE, epsilon=1.0, interactions=np.int64(1)).fingerprint) == 8


def test_too_many_moments_are_refused():
    with pytest.raises(ParameterError, match="lower degree"):
        sf.local.SmoothQueries(sf.Box([(0, 1)] * 9), epsilon=1.0, degree=6)


# --- answers ----------------------------------------------------------------------------------------------------


def test_an_answer_is_a_cosine_scaled_to_unit_range():
    protocol = sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=4, seed=1)
    users, columns = np.arange(200, dtype=np.uint64), people(200).T.copy()
    found = protocol.answers(columns.copy(), users)
    for i in range(200):
        first, second = protocol.indices.frequencies[1 + protocol.asked(users)[i]]
        x, y = 2 * columns[0, i] / 110 - 1, 2 * (columns[1, i] - 10) / 50 - 1
        moment = math.cos(first * math.acos(x)) * math.cos(second * math.acos(y))
        assert found[i] == pytest.approx((1 + moment) / 2, abs=1e-12)
        assert 0 <= found[i] <= 1


def test_all_answers_are_each_answer():
    protocol = sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=4, seed=1)
    users, records = np.arange(50, dtype=np.uint64), people(50)
    whole = answers_to_all(protocol, records)
    assert whole.shape == (50, 15)
    assert whole[np.arange(50), protocol.asked(users)] == pytest.approx(protocol.answers(records.T.copy(), users))


@pytest.mark.parametrize("interactions", ["full", 1, "cross"])
def test_answers_average_to_the_moments_of_a_central_summary(interactions):
    """The same quantity, bit by bit the same frequencies, in the same order, also of categories."""
    generator = np.random.default_rng(3)
    codes = np.stack([generator.uniform(0, 110, 500), generator.integers(0, 3, 500), generator.integers(0, 2, 500)])
    records = {"age": codes[0], "group": np.array(["a", "b", "c"])[codes[1].astype(int)], "sick": codes[2]}
    import pandas as pd

    central = sf.summarize(pd.DataFrame(records), MIXED, EXACT, degree=4, interactions=interactions)
    protocol = sf.local.SmoothQueries(MIXED, epsilon=1.0, degree=4, interactions=interactions, seed=1)
    assert protocol.questions == len(central.moments) - 1
    mine = 2 * answers_to_all(protocol, codes.T).mean(axis=0) - 1
    assert mine == pytest.approx(central.moments[1:], abs=1e-3)


def test_what_is_missing_is_the_middle_on_the_device(monkeypatch):
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**31, dtype=np.uint32))
    protocol = sf.local.SmoothQueries(MIXED, epsilon=1.0, degree=4, seed=1)
    for user in range(30):
        assert protocol.encode([None, "z", 7], user=user) == protocol.encode([55, "a", 0], user=user)


# --- releases ---------------------------------------------------------------------------------------------------


def test_a_release_answers_like_a_central_summary():
    """One collection answers bumps, densities at two bandwidths, and shares, each within its own error."""
    records = people(200_000)
    protocol = sf.local.SmoothQueries(PLANE, epsilon=20.0, degree=4, seed=1)
    release = collected(protocol, records)
    central = sf.summarize(records, PLANE, EXACT, degree=4)
    assert type(release) is type(central)
    assert release.guarantee.model == "local"
    assert np.abs(release.moments - central.moments).max() < 7 * release.noise_sd
    for width in (400, 4000):
        query = lambda p, w=width: np.exp(-((p[:, 0] - 40) ** 2) / w)  # noqa: E731
        mine, theirs = release.answer(query, confidence=1 - 1e-9), central.answer(query)
        assert abs(mine.value - theirs.value) <= mine.error
        assert mine.approximation == pytest.approx(theirs.approximation)
        assert mine.noise_sd > 0


def test_a_release_of_categories_answers_shares():
    generator = np.random.default_rng(3)
    groups = generator.choice(3, p=[0.5, 0.3, 0.2], size=100_000)
    sick = generator.random(100_000) < 0.1 + 0.3 * groups
    records = np.stack([np.full(100_000, 40.0), groups, sick], axis=1)
    numbers = sf.Box({"age": (0, 110), "group": sf.Categorical([0, 1, 2]), "sick": sf.Categorical([0, 1])})
    release = collected(sf.local.SmoothQueries(numbers, epsilon=20.0, degree=2, seed=1), records)
    answer = release.answer(lambda p: (p[:, 0] == 2) & (p[:, 1] == 1), columns=["group", "sick"], confidence=1 - 1e-9)
    assert answer.approximation == pytest.approx(0.0, abs=1e-12)
    assert abs(answer.value - np.mean((groups == 2) & sick)) <= answer.error < 0.1


@pytest.mark.parametrize("randomizer", ["bit", "likelihood", "loglog", "laplace"])
def test_randomizers(randomizer):
    box, records = sf.Box([(0, 1)]), np.random.default_rng(1).beta(2, 5, size=(40_000, 1))
    protocol = sf.local.SmoothQueries(box, epsilon=1.0, degree=3, randomizer=randomizer, seed=1)
    release = collected(protocol, records)
    exact = 2 * answers_to_all(protocol, records).mean(axis=0) - 1
    assert np.abs(release.moments[1:] - exact).max() < 7 * release.noise_sd
    assert release.rows == 40_000
    assert ("randomizer", randomizer) in release.target


def test_the_noise_is_that_of_the_law():
    release = collected(sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=3, seed=1), people(8000))
    least = 1 / (math.tanh(0.5) * math.sqrt(8000 / 8))
    assert least <= release.noise_sd < 1.1 * least
    assert release.law.kind == "gaussian"
    assert release.law.size == 8
