"""Spikes, edges and waves that fall between the points of a grid: the error covers them, wherever the records are."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.releases.summary.approximation import Lookout

QUIET = sf.Privacy(epsilon=1e6)  # what is left is approximation
WIDTHS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
NAMES = ("age", "bmi", "dose")
PLACES = (44.0, 27.3, 3.1)


def summary(columns, degree=8):
    """All records at one place."""
    box = sf.Box(dict(zip(NAMES[:columns], [(0, 110), (10, 60), (0, 10)], strict=False)))
    return sf.summarize(np.tile(PLACES[:columns], (100, 1)), box, QUIET, degree=degree, interactions="full")


SUMMARIES = {columns: summary(columns) for columns in (1, 2, 3)}


def holds(answer, truth):
    return abs(answer.value - truth) <= answer.error * (1 + 1e-6) + 1e-4


@pytest.mark.few(4)
@pytest.mark.parametrize(("columns", "damping"), [(1, "none"), (2, "none"), (3, "none"), (1, "balanced")])
@pytest.mark.parametrize("width", WIDTHS)
def test_records_on_a_bump_are_within_the_error(columns, damping, width):
    text = " * ".join(f"bump({name}, {at}, {width})" for name, at in zip(NAMES[:columns], PLACES, strict=False))
    answer = SUMMARIES[columns].answer(f"mean({text})", damping=damping)
    assert answer.known == "proved"
    assert holds(answer, 1.0)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("exp(-(age-44)**2/0.02)", 1.0),
        ("exp(-(age-44)**2/0.0002)", 1.0),
        ("sin(1e6*age)", math.sin(44e6)),
        ("cos(3000*(age-44))", 1.0),
        ("tanh((age-43.9999)/0.0001)", math.tanh(1)),
        ("sigmoid(1e5*(age-43.9999))", 1 / (1 + math.exp(-10))),
        ("max(0, 1-abs(age-44)/0.05)", 1.0),
        ("1/(1+1e8*(age-44)**2)", 1.0),
        ("min(1, abs(age-44)*1e6)", 0.0),
        ("between(age, 43.999, 44.001, 0.0001)", 1.0),
        ("share(between(age, 43.999, 44.001, 0.0001))", 1.0),
        ("share(between(age, 43.9, 44.1, 0.01))", 1.0),
        ("share(between(age, 30, 44.0, 0.001))", 0.5),
        ("sqrt(abs(age-44))", 0.0),
        ("sqrt(age)", math.sqrt(44)),
        ("log(age+0.001)", math.log(44.001)),
        ("sd(bump(age, 44, 0.01))", 0.0),
        ("variance(1000*bump(age, 44, 0.01))", 0.0),
    ],
)
def test_records_at_the_worst_place_are_within_the_error(text, truth):
    for degree in (8, 20):
        answer = summary(1, degree).answer(text)
        assert answer.known == "proved"
        assert holds(answer, truth)


def test_the_confident_wrong_answer():
    """100,000 records at 44: it said 1.3e-25 within 1.2e-24, and the truth is 1."""
    release = sf.summarize(np.full(100_000, 44.0), sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0), degree=8)
    for question in ("mean(bump(age, 44, 0.1))", lambda p: np.exp(-(((p[:, 0] - 44) / 0.1) ** 2) / 2)):
        answer = release.answer(question)
        assert answer.approximation >= 1 - 1e-6
        low, high = answer.interval()
        assert low <= 1 <= high + 1e-6
    assert release.kde([44.0], 0.1, "age").approximation[0] >= 1 / (0.1 * math.sqrt(2 * math.pi)) - 0.01


def test_a_spike_has_a_correlation_that_nobody_knows():
    answer = SUMMARIES[2].answer("correlation(bump(age, 77.7, 0.0001), bmi)")
    assert answer.error >= 1


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("columns", SUMMARIES)
def test_densities_of_any_bandwidth_are_within_the_error(columns, width):
    answer = SUMMARIES[columns].kde([PLACES[:columns]], width, NAMES[:columns])
    truth = (width * math.sqrt(2 * math.pi)) ** -columns
    assert abs(answer.value[0] - truth) <= answer.error[0] * (1 + 1e-6) + 1e-6 * truth


@pytest.mark.few(9)
@pytest.mark.parametrize("softness", WIDTHS)
@pytest.mark.parametrize("columns", SUMMARIES)
def test_shares_of_any_softness_are_within_the_error(columns, softness):
    ranges = {name: (at - softness, at + softness) for name, at in zip(NAMES[:columns], PLACES, strict=False)}
    answer = SUMMARIES[columns].share(ranges, softness)
    edge = (1 + math.erf(1 / math.sqrt(2))) / 2  # each one deviation away; beyond the bounds there are none
    columns = zip(SUMMARIES[columns].box.columns, ranges.values(), strict=True)
    edges = sum((column.low < low) + (high < column.high) for column, (low, high) in columns)
    assert holds(answer, edge**edges)
    assert answer.error <= 1


@pytest.mark.parametrize(("columns", "width"), [(1, 0.05), (1, 1.0), (2, 2.0), (2, 10.0), (3, 8.0)])
def test_a_function_is_looked_at_away_from_the_grid(columns, width):
    """As narrow as points can show in so many columns; a record on the spike is within the error."""
    scales = [width * span / 110 for span in (110, 50, 10)]

    def spike(points):
        return np.exp(-0.5 * sum(((points[:, j] - PLACES[j]) / scales[j]) ** 2 for j in range(columns)))

    answer = SUMMARIES[columns].answer(spike)
    assert answer.known == "seen"
    assert "as far as public points show" in repr(answer)
    assert abs(answer.value - 1) <= 1.05 * answer.error  # the top itself is rarely hit


def test_a_promise_is_called_one():
    answer = SUMMARIES[1].answer(lambda p: np.exp(-((p[:, 0] - 40) ** 2) / 8000), smoothness=sf.Smooth(2, 4.0))
    assert answer.known == "promised"


def test_what_is_exact_stays_so():
    for text in ("mean(age)", "variance(age)", "mean(2*age + 1)", "mean(age**2)", "mean(bmi*age)"):
        answer = SUMMARIES[2].answer(text)
        assert answer.known == "proved"
        assert answer.approximation <= 1e-9 * 110**2


SMOOTH = {
    "exp(-(age-40)**2/2000)": lambda age, _: np.exp(-((age - 40) ** 2) / 2000),
    "log(bmi)": lambda _, bmi: np.log(bmi),
    "tanh((age-50)/40)*bmi/60": lambda age, bmi: np.tanh((age - 50) / 40) * bmi / 60,
    "bump(age, 50, 30)*bump(bmi, 30, 15)": lambda age, bmi: np.exp(
        -(((age - 50) / 30) ** 2 + ((bmi - 30) / 15) ** 2) / 2
    ),
}


@pytest.mark.parametrize("text", SMOOTH)
def test_smooth_questions_cost_hardly_anything(text):
    """What is proved is hardly more than what a fine look shows, and may be less."""
    release = summary(2, 12)
    proved, seen = release.answer(text), release.answer(lambda points: SMOOTH[text](*points.T))
    assert (proved.known, seen.known) == ("proved", "seen")
    assert proved.approximation <= 1.01 * seen.approximation + 1e-4


@pytest.mark.slow
def test_many_columns_are_looked_at_where_bumps_are():
    box = sf.Box({f"x{j}": (0, 1) for j in range(5)})
    records = np.full((100, 5), 0.3137)
    release = sf.summarize(records, box, QUIET, degree=3, interactions=2)
    text = " and ".join(f"bump(x{j}, 0.3137, 0.02)" for j in range(5))
    answer = release.answer(f"share({text})")
    assert answer.known == "seen"
    assert holds(answer, 1.0)


def test_points_are_public_and_spread():
    box = sf.Box({"a": (0, 1), "c": sf.Categorical(["x", "y", "z"])})
    lookout = Lookout(box, (0, 1), np.array([[0, 0], [1, 0]]))
    angles, cosines = lookout._spread
    again = Lookout(box, (0, 1), np.array([[0, 0], [1, 0]]))._spread[0]
    assert np.array_equal(angles, again)
    assert np.allclose(cosines[:, 1], np.cos(angles[:, 0]))
    assert set(np.round(angles[:, 1], 9)) == {0.0, round(math.pi / 2, 9), round(math.pi, 9)}
    gaps = np.diff(np.sort(angles[:, 0]))
    assert gaps.max() < 3 * math.pi / len(angles)
