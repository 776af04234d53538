"""The local model, measured: estimates are unbiased, as precise as they say and no less, and bands cover.

Each test has a false-alarm rate below 1e-8 (``SIGMAS`` standard errors, or ``ALPHA``), and those of a law notice an
error of three percent.
"""

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from harness.laws import ALPHA
from scipy.stats import binom

import sfumato as sf
from sfumato.core.randomizer import Codebook
from sfumato.local.channels import BitChannel, LaplaceChannel, LikelihoodChannel, LogLogChannel, UnitChannel, unit_gain

SIGMAS = 6.3  # beyond this, a normal number lies once in 3e9 times
PLANE = sf.Box([(0, 1), (0, 1)])
LINE = sf.Box([(0, 1)])


def shares(protocol, records):
    """The exact lattice masses of the records, each shared among the points around it."""
    masses = np.ones((len(records), 1))
    for column, size in zip(records.T, protocol.shape, strict=True):
        hats = np.maximum(0.0, 1 - np.abs(column[:, None] * (size - 1) - np.arange(size)))
        masses = (masses[:, :, None] * hats[:, None, :]).reshape(len(records), -1)
    return masses.mean(axis=0)


def collected(protocol, records, run):
    """A release of all records; each run has people, and so questions, of its own."""
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records, first_user=run * len(records)))
    return collector.release()


# --- randomizers ------------------------------------------------------------------------------------------------

VALUES = np.array([0.0, 0.3, 0.5, 1.0])


def errors_of(kind, epsilon, groups, people):
    """``(4, groups)``: errors of estimates from so many people each, over the root of their variance bounds.

    Every group of people is a question of its own, so that one pass gives many independent estimates.
    """
    channel = kind(epsilon, len(VALUES) * groups, 5)
    state, truth = channel.empty(), np.repeat(VALUES, groups)
    asked = np.repeat(np.arange(channel.questions), people)
    for start in range(0, len(asked), 2**15):
        part = asked[start : start + 2**15]
        users = np.arange(start, start + len(part), dtype=np.uint64)
        channel.add(state, channel.send(truth[part], users), part, users)
    means, variances = channel.estimate(state)
    assert np.ptp(variances) == 0
    return (means - truth).reshape(4, groups), float(variances[0])


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "groups", "people", "loosest"),
    [(BitChannel, 8000, 40, 1.5), (LikelihoodChannel, 4000, 150, 1.5), (LogLogChannel, 2000, 150, 1.5)],
)
def test_estimates_are_unbiased_and_their_variance_bound_holds(kind, groups, people, loosest):
    """For answers at the ends and between; the bounds are not loose either. Errors of 3 %: the tests below."""
    errors, bound = errors_of(kind, 1.0, groups, people)
    deviation = math.sqrt(bound / groups)
    assert np.abs(errors.mean(axis=1)).max() < SIGMAS * deviation
    ratio = (errors**2).mean(axis=1) / bound
    spread = SIGMAS * math.sqrt(2.5 / groups)  # of squares: normal ones have 2
    assert ratio.max() < 1 + spread
    assert ratio.min() > 1 / loosest - spread


def test_bits_lose_three_percent_to_nobody():
    """Two million people at either end: the distance of the estimates is one, and 3 % would be seen."""
    errors, bound = errors_of(BitChannel, 1.0, 1, 2_000_000)
    slope_error = float(errors[3, 0] - errors[0, 0])
    assert abs(slope_error) < SIGMAS * math.sqrt(2 * bound) < 0.03


@pytest.mark.parametrize(("kind", "people"), [(LikelihoodChannel, 1_500_000), (LogLogChannel, 500_000)])
@pytest.mark.slow
def test_public_numbers_lose_three_percent_to_nobody(kind, people):
    errors, bound = errors_of(kind, 1.0, 1, people)
    assert abs(float(errors[3, 0])) < SIGMAS * math.sqrt(bound) < 0.03


def test_laplace_numbers_are_unbiased_and_as_noisy_as_they_say():
    channel, people = LaplaceChannel(1.0, 2, 5), 400_000
    state, users = channel.empty(), np.arange(people, dtype=np.uint64)
    payload = channel.send(np.tile([0.0, 1.0], (people, 1)), users)
    channel.add(state, payload, users[:0].astype(np.int64), users)
    means, variances = channel.estimate(state)
    assert np.abs(means - [0.0, 1.0]).max() < SIGMAS * math.sqrt(variances[0]) < 0.03
    numbers = payload.view("<i8") / 65536
    ratio = numbers.var(axis=0) / (variances[0] * people)
    assert ratio == pytest.approx(np.ones(2), abs=0.03 + SIGMAS * math.sqrt(5 / people))


@pytest.mark.slow
def test_named_directions_are_unbiased_and_as_noisy_as_they_say():
    """PrivUnit on a codebook: the mean of what is named, over the gain, is the vector; 3 % would be seen."""
    channel, people = UnitChannel(8.0, 3, 5), 80_000
    state, users = channel.empty(), np.arange(people, dtype=np.uint64)
    channel.add(state, channel.send(np.tile([0.0, 1.0, 0.0], (people, 1)), users), np.zeros(0, np.int64), users)
    means, variances = channel.estimate(state)
    assert unit_gain(Codebook(8.0), 3) > 0.7
    assert np.abs(means - [0.0, 1.0, 0.0]).max() < SIGMAS * math.sqrt(variances[0]) < 0.03


# --- densities --------------------------------------------------------------------------------------------------


def mass_errors(protocol, records, runs):
    """Errors of all lattice masses over runs, and the mean of the variances that the releases said."""
    truth = shares(protocol, records)
    releases = [collected(protocol, records, run) for run in range(runs)]
    return np.array([r.masses - truth for r in releases]), float(np.mean([r.mass_error**2 for r in releases]))


@pytest.mark.few(1)
@pytest.mark.parametrize(("randomizer", "lattice"), [("hadamard", 4), ("hadamard", (3, 5)), ("subset", 4), ("bit", 3)])
def test_masses_are_unbiased_and_their_bound_is_tight(randomizer, lattice):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=lattice, seed=3, randomizer=randomizer)
    records = np.random.default_rng(1).beta(2, 3, size=(4000, 2))
    errors, bound = mass_errors(protocol, records, 500)
    assert np.abs(errors.mean(axis=0)).max() < SIGMAS * math.sqrt(bound / 500)
    ratio = float((errors**2).mean()) / bound
    assert 1 / 1.5 < ratio < 1 + SIGMAS * math.sqrt(2 / errors.size)


@pytest.mark.slow
@pytest.mark.parametrize("randomizer", ["hadamard", "subset"])
def test_the_plan_predicts_what_is_measured(randomizer):
    """Within 3 %, and 2,000 runs of 16 masses know it to half of one: an error of 3 % would be seen."""
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=4, seed=3, randomizer=randomizer)
    records = np.random.default_rng(1).uniform(size=(2000, 2))
    errors, _ = mass_errors(protocol, records, 2000)
    predicted = sf.local.plan(protocol, people=2000).deviation
    assert math.sqrt(float((errors**2).mean())) == pytest.approx(predicted, rel=0.03)


def test_hadamard_is_thousands_of_times_less_noisy_than_algorithm_2():
    """At 121 lattice points, measured; predicted are 6,250 times."""
    records = np.random.default_rng(1).uniform(size=(20_000, 2))
    hadamard = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=3, randomizer="hadamard")
    laplace = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=3, randomizer="laplace")
    ours = (mass_errors(hadamard, records, 40)[0] ** 2).mean() * 20_000
    theirs = (mass_errors(laplace, records[:500], 40)[0] ** 2).mean() * 500
    assert theirs / ours > 5000
    plans = [sf.local.plan(protocol, people=1000).deviation ** 2 for protocol in (laplace, hadamard)]
    assert plans[0] / plans[1] == pytest.approx(theirs / ours, rel=0.2)


@pytest.mark.slow
def test_errors_fall_with_the_root_of_people():
    """The slope of log error on log n is within .05 of -1/2, and a million people know every mass to .0065."""
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=3)
    generator, sizes, largest = np.random.default_rng(1), [10_000, 100_000, 1_000_000], []
    for size, runs in zip(sizes, (200, 100, 100), strict=True):
        records = generator.beta(2, 3, size=(size, 2))
        largest.append(float(np.abs(mass_errors(protocol, records, runs)[0]).max(axis=1).mean()))
    assert np.polyfit(np.log(sizes), np.log(largest), 1)[0] == pytest.approx(-0.5, abs=0.05)
    assert largest[-1] < 0.0065


# --- bands ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("box", "lattice", "randomizer"),
    [(LINE, 6, "hadamard"), (PLANE, (3, 4), "hadamard"), (LINE, 6, "subset"), (LINE, 4, "bit"), (LINE, 3, "laplace")],
)
def test_bands_of_densities_cover(box, lattice, randomizer):
    """All points at once, in nine of ten runs at least; and not in all but one of forty."""
    protocol = sf.local.Density(box, epsilon=1.0, lattice=lattice, seed=3, randomizer=randomizer)
    records = np.random.default_rng(1).beta(2, 2, size=(3000, box.dimension))
    points = np.random.default_rng(2).uniform(size=(30, box.dimension))
    truth, missed, runs = None, 0, 700
    for run in range(runs):
        release = collected(protocol, records, run)
        if truth is None:
            exact = type(release).of(protocol, shares(protocol, records), 1e-9, 1)
            truth = exact(points)
        low, high = release.band(points, confidence=0.9)
        missed += bool(((truth < low) | (truth > high)).any())
    assert missed <= binom.isf(ALPHA, runs, 0.1)
    assert missed >= binom.ppf(ALPHA, runs, 0.025)


@pytest.mark.slow
def test_errors_of_smooth_answers_cover():
    protocol = sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=3, seed=3)
    records = np.random.default_rng(1).beta(2, 2, size=(3000, 2))
    queries = [lambda p, c=c: np.exp(-((p - c) ** 2).sum(axis=1)) for c in (0.2, 0.5, 0.9)]
    truth = np.array([query(records).mean() for query in queries])
    runs, missed = 700, np.zeros(3)
    for run in range(runs):
        answers = collected(protocol, records, run).answer_many(queries, confidence=0.9)
        missed += np.abs(answers.value - truth) > answers.error
    assert missed.max() <= binom.isf(ALPHA, runs, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_raw_tables_are_unbiased_and_their_bands_cover(ways):
    """Every cell by itself, of columns of two, three and five categories."""
    box = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical([0, 1, 2]), "c": sf.Categorical([0, 1, 2, 3, 4])})
    protocol = sf.local.Marginals(box, epsilon=1.0, ways=ways, one_way=None if ways == 1 else 0.3, seed=3)
    generator = np.random.default_rng(1)
    first = generator.random(4000)
    records = np.stack(
        [first * 2 // 1, (first + generator.random(4000)) * 1.5 // 1, generator.random(4000) * 5 // 1], 1
    )
    names, places = list(box.names[:ways]), tuple(records[:, j].astype(int) for j in range(ways))
    truth = np.zeros([2, 3, 5][:ways])
    np.add.at(truth, places, 1 / len(records))
    runs, missed, tables = 700, 0, []
    for run in range(runs):
        release = collected(protocol, records, run)
        tables.append(release.table(names, raw=True))
        low, high = release.band(names, confidence=0.9)
        missed = missed + ((truth < low) | (truth > high))
    assert missed.max() <= binom.isf(ALPHA, runs, 0.1)
    error = np.abs(np.mean(tables, axis=0) - truth)
    assert (error < SIGMAS * np.std(tables, axis=0) / math.sqrt(runs)).all()


@pytest.mark.slow
@pytest.mark.parametrize("ways", [2, 3])
def test_bands_of_algorithm_6_cover(ways):
    box = sf.Box({name: sf.Categorical([0, 1]) for name in "abc"})
    protocol = sf.local.Marginals(box, epsilon=1.0, ways=ways, one_way=0.3, seed=3, randomizer="chebyshev")
    records = (np.random.default_rng(1).random((8000, 3)) < 0.5).astype(float)
    names, truth, runs, missed = list("abc"[:ways]), np.zeros((2,) * ways), 400, 0
    np.add.at(truth, tuple(records[:, j].astype(int) for j in range(ways)), 1 / len(records))
    for run in range(runs):
        collector = protocol.collector()
        collector.add_batch(protocol.encode_many(records, first_user=run * len(records)))
        low, high = collector.release().band(names, confidence=0.9)
        missed = missed + ((truth < low) | (truth > high))
    assert np.max(missed) <= binom.isf(ALPHA, runs, 0.1)


@pytest.mark.slow
def test_the_plan_of_marginals_predicts_what_is_measured():
    """Cells of all tables of two of twelve binary columns: within 3 %, which is seven standard errors."""
    box = sf.Box({f"c{i}": sf.Categorical([0, 1]) for i in range(12)})
    protocol = sf.local.Marginals(box, epsilon=1.0, ways=2, one_way=0.6, seed=3)
    records = np.random.default_rng(1).integers(0, 2, size=(20_000, 12)).astype(float)
    runs = []
    for run in range(600):
        collector = protocol.collector()
        collector.add_batch(protocol.encode_many(records, first_user=run * len(records)))
        signs = 1 - 2 * collector.estimate()[0]
        runs.append([protocol.walsh.table(pair, signs)[1, 1] for pair in combinations(range(12), 2)])
    predicted = sf.local.plan(protocol, people=len(records)).deviation
    assert math.sqrt(float(np.var(runs, axis=0).mean())) == pytest.approx(predicted, rel=0.03)


# --- very many people -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_million_people_fit_into_fifty_megabytes():
    """What the collector keeps, and what it takes while it works, for 10**7 people in batches of 10**5."""
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=3, randomizer="hadamard")
    records = np.random.default_rng(1).uniform(size=(100_000, 2))
    batch = protocol.encode_many(records)
    tracemalloc.start()
    collector = protocol.collector()
    for run in range(100):
        header = batch[:14] + (run * 100_000).to_bytes(8, "little") + batch[22:30]
        assert collector.add_batch(header + batch[30:]) == 100_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert collector.reports == 10**7
    assert peak < 50e6
    assert collector.add_batch(batch) == 0
