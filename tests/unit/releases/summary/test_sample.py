"""Tables of rows from a summary: as good as the summary, of the declared types, at no cost."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from unit.releases.exact import exact

MIXED = sf.Box({"age": sf.Integer(0, 110), "sex": sf.Categorical(["F", "M"]), "bmi": (10, 60)})
RNG = np.random.default_rng(8)
AGE = np.clip(RNG.gamma(9, 5, 4000), 0, 110)
SEX = (RNG.random(4000) < 0.3 + AGE / 300).astype(int)
BMI = np.clip(22 + 0.08 * AGE + RNG.normal(0, 4, 4000), 10, 60)


@pytest.fixture(scope="module")
def summary():
    return exact(np.stack([AGE, SEX, BMI], axis=1), MIXED, sf.Cosines((14, 2, 8)))


def test_rows_answer_smooth_questions_as_the_records_do(summary):
    """Without noise; what is left is what so few frequencies cannot follow."""
    table = summary.sample(4000, seed=1)
    age, bmi = (table[name].to_numpy().astype(float) for name in ("age", "bmi"))
    sex = np.array([["F", "M"].index(s) for s in table["sex"].to_pylist()])
    worst = 0.0
    for middle in ((20, 20), (40, 25), (60, 30), (45, 22)):
        for one in (0, 1):
            made, true = (
                np.mean(np.exp(-((a - middle[0]) ** 2) / 1800 - (b - middle[1]) ** 2 / 150) * (s == one))
                for a, b, s in ((age, bmi, sex), (AGE, BMI, SEX))
            )
            worst = max(worst, abs(made - true))
    assert worst < 0.008
    assert np.corrcoef(age, bmi)[0, 1] == pytest.approx(np.corrcoef(AGE, BMI)[0, 1], abs=0.03)


def test_evenly_spaced_draws_vary_less_than_independent_ones(summary):
    """The deviation of a mean over twenty seeds: independent draws would have BMI.std() / sqrt(500)."""
    means = [summary.sample(500, seed)["bmi"].to_numpy().mean() for seed in range(20)]
    assert np.std(means) < 0.5 * BMI.std() / np.sqrt(500)


def test_the_seed_decides_and_rows_are_in_no_order(summary):
    one, same, other, fresh = (summary.sample(500, seed) for seed in (3, 3, 4, None))
    assert one.equals(same)
    assert not one.equals(other)
    assert not one.equals(fresh)
    age = one["age"].to_numpy()
    assert abs(np.corrcoef(age[1:], age[:-1])[0, 1]) < 0.27  # six deviations


def test_what_devices_reported_makes_rows_too():
    box = sf.Box({"age": (0, 110)})
    protocol = sf.local.SmoothQueries(box, epsilon=4.0, degree=4, seed=7)
    collector = protocol.collector()
    for person in range(300):
        collector.add(protocol.encode([55.0], user=person), user=person)
    table = collector.release().sample(200, seed=1)
    assert abs(table["age"].to_numpy().mean() - 55) < 30


def test_a_private_number_of_records_is_no_obstacle():
    grant = sf.Privacy(epsilon=1.0, neighbours="add-remove")
    summary = sf.summarize(np.full(20, 40.0), sf.Box({"age": (0, 110)}), grant, degree=4)
    assert summary.sample(10).num_rows == 10


def test_more_than_four_columns_are_refused():
    summary = exact(np.zeros((3, 5)), sf.Box([(-1, 1)] * 5), sf.Cosines(2, 1))
    with pytest.raises(ParameterError, match="at most 4 columns") as error:
        summary.sample(10)
    assert error.value.parameter == "box"


def test_no_rows_are_refused(summary):
    with pytest.raises(ParameterError, match="rows"):
        summary.sample(0)
