"""Ready-made questions: against numpy on the same records, without noise and with very little."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import erf

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.summary.edges import Range
from unit.releases.exact import exact

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box(
    {"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "bmi": (10, 60), "grade": sf.Categorical([5, 1, 2.5])}
)
QUIET = sf.Privacy(epsilon=1e6)
ADD = sf.Privacy(epsilon=1.0, neighbours="add-remove")
RNG = np.random.default_rng(12)
AGE = RNG.uniform(0, 110, 500)
BMI = np.clip(20 + AGE / 10 + RNG.normal(0, 4, 500), 10, 60)
SEX, GRADE = RNG.integers(0, 2, 500), RNG.integers(0, 3, 500)
BOTH = np.stack([AGE, BMI], axis=1)
RECORDS = np.stack([AGE, SEX, BMI, GRADE], axis=1)


@pytest.fixture(scope="module")
def plane():
    return exact(BOTH, PLANE, sf.Cosines(12))


@pytest.fixture(scope="module", params=["full", "pairs"])
def mixed(request):
    return exact(RECORDS, MIXED, sf.Cosines(6, request.param if request.param == "full" else 2))


# --- polynomials ------------------------------------------------------------------------------------------------


def test_means_variances_and_covariances_are_those_of_numpy(mixed):
    assert mixed.mean().value == pytest.approx(BOTH.mean(axis=0))
    assert mixed.mean("bmi").value == pytest.approx(BMI.mean())
    assert type(mixed.mean("bmi").value) is type(mixed.variance("bmi").error) is float
    assert mixed.variance().value == pytest.approx(BOTH.var(axis=0))
    assert mixed.variance("age").value == pytest.approx(AGE.var())
    assert mixed.covariance().value == pytest.approx(np.cov(BOTH.T, bias=True))
    assert mixed.covariance(["bmi", "age"]).value == pytest.approx(np.cov(BOTH.T[::-1], bias=True))
    assert mixed.correlation().value == pytest.approx(np.corrcoef(BOTH.T))
    assert mixed.product(["age", "bmi"]).value == pytest.approx((AGE * BMI).mean())
    for found in (mixed.mean(), mixed.variance(), mixed.covariance(), mixed.correlation()):
        assert not np.any(found.approximation)
        assert np.shape(found.value) == np.shape(found.error) == np.shape(found.noise_sd)


def test_they_hold_about_the_same_through_the_whole_line():
    """With very little noise, from a table, where contributions are rounded to 16 bits."""
    table = pd.DataFrame(
        {"age": AGE, "sex": np.array(["F", "M"])[SEX], "bmi": BMI, "grade": np.array([5, 1, 2.5])[GRADE]}
    )
    found = sf.summarize(table, MIXED, sf.Privacy(epsilon=1e9), degree=3)
    assert found.mean().value == pytest.approx(BOTH.mean(axis=0), abs=1e-3)
    assert found.covariance().value == pytest.approx(np.cov(BOTH.T, bias=True), abs=0.1)
    assert found.correlation().value == pytest.approx(np.corrcoef(BOTH.T), abs=1e-3)
    assert found.share({"sex": "M", "grade": [5, 2.5]}).value == pytest.approx(
        ((SEX == 1) & (GRADE != 1)).mean(), abs=1e-4
    )


@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0), ADD, sf.Privacy(rho=0.5)])
def test_errors_hold_when_noise_is_there(privacy):
    """Answers of a noisy summary are within their errors; at this confidence a false alarm has odds of one in 10^8."""
    noisy = sf.summarize(BOTH, PLANE, privacy, degree=4)
    sure = 1 - 1e-10
    truths = {
        "mean": BOTH.mean(axis=0),
        "variance": BOTH.var(axis=0),
        "covariance": np.cov(BOTH.T, bias=True),
        "correlation": np.corrcoef(BOTH.T),
    }
    for name, truth in truths.items():
        found = getattr(noisy, name)(confidence=sure)
        assert (np.abs(found.value - truth) <= found.error + 1e-3).all()
    assert (noisy.variance().value >= 0).all()
    assert (np.abs(noisy.correlation().value) <= 1).all()
    assert np.diag(noisy.correlation().value).tolist() == [1.0, 1.0]


def test_correlations_of_hopeless_noise_say_so():
    found = exact(BOTH[:3], PLANE, sf.Cosines(4), sf.Privacy(epsilon=0.01)).correlation()
    assert found.error[0, 1] >= 1
    assert np.isfinite(found.value).all()


@pytest.mark.parametrize("noise", ["linf", "laplace", "gaussian"])
def test_the_deviation_of_a_mean_is_that_of_its_one_moment(noise):
    found = exact(BOTH, PLANE, sf.Cosines(4), sf.Privacy(epsilon=1.0, delta=1e-6), noise)
    assert found.mean("age").noise_sd == pytest.approx(55 * found.noise_sd)
    assert found.product(["age", "bmi"]).noise_sd == pytest.approx(
        found.noise_sd * math.hypot(55 * 35, 55 * 25, 55 * 25)
    )


def test_products_that_the_summary_lacks_are_refused():
    line = exact(BOTH, PLANE, sf.Cosines(2))
    assert line.product(["age", "bmi"]).value == pytest.approx((AGE * BMI).mean())
    with pytest.raises(
        ParameterError, match=r"no moments for the product of \{'age': 2\}: make it with degree=3 or more"
    ):
        line.variance("age")
    single = exact(BOTH, PLANE, sf.Cosines(5, 1))
    assert single.variance().value == pytest.approx(BOTH.var(axis=0))
    with pytest.raises(ParameterError, match="interactions=2 or more"):
        single.product(["age", "bmi"])
    with pytest.raises(ParameterError, match="interactions=2 or more"):
        single.covariance()


@pytest.mark.parametrize("what", ["mean", "variance", "covariance", "correlation", "product"])
def test_columns_must_be_known_and_numeric(mixed, what):
    ask = getattr(mixed, what)
    with pytest.raises(ParameterError, match=r"column 'height' is unknown; the summary has \['age', 'sex'"):
        ask(["age", "height"])
    with pytest.raises(ParameterError, match="column 'sex' is categorical; this needs numeric columns"):
        ask(["age", "sex"])
    with pytest.raises(ParameterError, match="columns must be different names"):
        ask(["age", "age"])


def test_a_summary_of_categories_has_no_means():
    found = exact(RECORDS[:, [1, 3]], sf.Box({"s": MIXED.columns[1], "g": MIXED.columns[3]}), sf.Cosines(2))
    with pytest.raises(ParameterError, match="the summary has no numeric columns"):
        found.mean()
    assert found.share({"s": "F", "g": 1}).value == pytest.approx(((SEX == 0) & (GRADE == 1)).mean())


# --- shares -----------------------------------------------------------------------------------------------------


def test_shares_of_categories_are_exact(mixed):
    cases = {
        (("sex", "M"),): SEX == 1,
        (("grade", 2.5),): GRADE == 2,
        (("grade", (5, 1)),): GRADE < 2,
        (("sex", "F"), ("grade", 1)): (SEX == 0) & (GRADE == 1),
        (("grade", (5, 1, 2.5)), ("sex", ("F", "M"))): np.ones(500),
        (("grade", ()),): np.zeros(500),
    }
    for conditions, truth in cases.items():
        found = mixed.share({name: list(w) if isinstance(w, tuple) else w for name, w in conditions})
        assert found.value == pytest.approx(truth.mean(), abs=1e-12)
        assert found.approximation == pytest.approx(0.0, abs=1e-12)
        counted = mixed.count({name: list(w) if isinstance(w, tuple) else w for name, w in conditions})
        assert counted.value == pytest.approx(truth.sum(), abs=1e-9)
        assert counted.error == pytest.approx(500 * found.error)


def soft(values, low, high, width):
    edge = lambda x: (1 + erf(x / (math.sqrt(2) * width))) / 2  # noqa: E731
    found = np.ones(len(values))
    found = found if low is None else found * edge(values - low)
    return found if high is None else found * edge(high - values)


@pytest.mark.parametrize("ends", [(30, 70), (None, 50), (65, None), (None, None), (-50, 500)])
def test_ranges_have_soft_edges(plane, ends):
    found = plane.share({"age": ends}, softness=20.0)
    ends = (None, None) if ends == (-50, 500) else ends  # beyond the bounds there are no edges
    assert found.approximation < 0.05
    assert abs(found.value - soft(AGE, *ends, 20.0).mean()) <= found.approximation + 1e-9
    assert found.value == pytest.approx(soft(AGE, *ends, 20.0).mean(), abs=0.01)


def test_conjunctions_are_products(mixed):
    found = mixed.share({"sex": "M", "age": (40, None)}, softness={"age": 25.0})
    truth = (SEX * soft(AGE, 40, None, 25.0)).mean()
    assert abs(found.value - truth) <= found.approximation + 1e-9
    turned = mixed.share({"age": [40, None], "sex": "M"}, softness=25.0)
    assert turned.value == pytest.approx(found.value, abs=1e-12)
    same = mixed.answer(lambda p: p[:, 1] * soft(p[:, 0], 40, None, 25.0), columns=["age", "sex"])
    assert same.value == pytest.approx(found.value, abs=1e-9)


def test_an_end_at_a_bound_is_no_edge(plane):
    assert plane.share({"age": (0, 110)}).value == pytest.approx(1.0)
    assert plane.share({"age": (0, 110)}).softness == {} and plane.share({"age": (0, 110)}).sharp is None
    one, other = plane.share({"age": (0, 60)}), plane.share({"age": (None, 60)})
    assert one.value == pytest.approx(other.value) and one.sharp == pytest.approx(other.sharp)


def test_softened_edges_are_said_and_how_soft_they_are(mixed):
    plane = exact(BOTH, PLANE, sf.Cosines(12), QUIET)
    assert plane.share({"age": (30, 70)}).softness == {"age": pytest.approx(55 * 4 / 12)}
    assert mixed.share({"sex": "M", "age": (40, None)}, softness=25.0).softness == {"age": 25.0}
    assert mixed.share({"sex": "M"}).softness == {} and mixed.share({"sex": "M"}).sharp is None
    words = repr(plane.share({"age": (30, 70)}))
    assert "softened edges (age 18.3); within the sharp edges 0." in words


def test_the_sharp_share_lies_between_its_limits():
    plane, mixed = exact(BOTH, PLANE, sf.Cosines(12), QUIET), exact(RECORDS, MIXED, sf.Cosines(6), QUIET)
    for low, high in ((30, 70), (None, 50), (65, None), (2, 108), (54, 56), (120, 130)):
        found = plane.share({"age": (low, high)})
        truth = np.mean([(low or 0) <= age <= (high or 110) for age in AGE])
        assert found.sharp[0] - 1e-9 <= truth <= found.sharp[1] + 1e-9, (low, high)
    two = plane.share({"age": (20, 80), "bmi": (18, 35)})
    truth = ((AGE >= 20) & (AGE <= 80) & (BMI >= 18) & (BMI <= 35)).mean()
    assert two.sharp[0] <= truth <= two.sharp[1] and two.sharp[1] < 1
    for conditions in ({"sex": "M", "age": (40, None)}, {"sex": "M", "age": (40, None), "bmi": (0, 99)}):
        three = mixed.share(conditions)
        assert three.sharp[0] <= ((SEX == 1) & (AGE >= 40)).mean() <= three.sharp[1] < 1
    three = mixed.share({"sex": "M", "age": (20, 90), "bmi": (15, 50)})
    assert (
        three.sharp[0] <= ((SEX == 1) & (AGE >= 20) & (AGE <= 90) & (BMI >= 15) & (BMI <= 50)).mean() <= three.sharp[1]
    )


def test_ends_that_are_dates():
    days = 19723 + 366 * AGE / 110
    year = exact(days[:, None], sf.Box({"visit": sf.Date("2024-01-01", "2025-01-01")}), sf.Cosines(12), QUIET)
    found = year.share({"visit": ("2024-03-01", None)})
    assert found.sharp[0] <= (days >= 19783).mean() <= found.sharp[1] < 1 and found.softness.keys() == {"visit"}
    assert year.share({"visit": ("2024-01-01", "2025-01-01")}).softness == {}


def test_the_limits_of_a_sharp_share_close_in():
    widths = []
    for degree in (8, 16, 32, 64):
        found = exact(BOTH[:, :1], sf.Box({"age": (0, 110)}), sf.Cosines(degree), QUIET).share({"age": (30, 70)})
        widths.append(found.sharp[1] - found.sharp[0])
        assert found.sharp[0] <= ((AGE >= 30) & (AGE <= 70)).mean() <= found.sharp[1]
    assert all(after < 0.7 * before for before, after in pairwise(widths)) and widths[-1] < 0.1


def test_a_count_has_sharp_limits_too(plane):
    share, count = plane.share({"age": (30, 70)}), plane.count({"age": (30, 70)})
    assert count.sharp == pytest.approx((500 * share.sharp[0], 500 * share.sharp[1]))


def test_the_confidence_is_shared_between_both_limits():
    """Each is the limit, at half the risk, of an answer to a smooth question that lies on its side of the range."""
    plane = exact(BOTH, PLANE, sf.Cosines(12), sf.Privacy(epsilon=100.0))
    low, high = plane.share({"age": (30, 70)}, confidence=0.8).sharp
    sides = Range.of([(30, 70)], (0.0, 110.0)).between(12)
    below, above = (
        plane.answer(
            lambda p, side=side: np.cos(np.outer(np.arccos(p[:, 0] / 55 - 1), np.arange(12))) @ side,
            columns=["age"],
            confidence=0.9,
        )
        for side in sides
    )
    assert 0 < low == pytest.approx(below.value - below.error + below.approximation, abs=1e-9)
    assert 1 > high == pytest.approx(above.value + above.error - above.approximation, abs=1e-9)


def test_by_default_edges_are_as_sharp_as_the_summary_can_follow():
    widths, approximations = [], []
    for degree in (6, 12, 24, 48):
        found = exact(BOTH[:, :1], sf.Box({"age": (0, 110)}), sf.Cosines(degree)).share({"age": (30, 70)})
        approximations.append(found.approximation)
        widths.append(abs(found.value - ((AGE > 30) & (AGE < 70)).mean()))
    assert max(approximations) < 0.2
    assert widths[-1] < 0.02


def test_shares_lie_between_zero_and_one():
    hopeless = sf.summarize(BOTH[:5], PLANE, sf.Privacy(epsilon=0.01), degree=6)
    for ends in ((0, 10), (20, 80), (105, 110)):
        assert 0 <= hopeless.share({"age": ends}).value <= 1


@pytest.mark.parametrize(
    ("conditions", "error", "words"),
    [
        ({"height": (0, 1)}, ParameterError, "column 'height' is unknown"),
        ({"sex": "X"}, ParameterError, r"'X' is no category of column 'sex': \['F', 'M'\]"),
        ({"sex": (0, 1)}, ParameterError, "0 is no category of column 'sex'"),
        ({"age": 40}, ParameterTypeError, r"condition on column 'age' must be a range \(low, high\), got 40"),
        ({"age": (1, 2, 3)}, ParameterTypeError, r"must be a range \(low, high\)"),
        ({"age": ("a", 2)}, ParameterTypeError, "an end of the range of 'age' must be a number"),
        ({"age": (math.nan, 2)}, ParameterError, "an end of the range of 'age' must be finite"),
        ({}, ParameterError, "columns must be different names, one or more"),
    ],
)
def test_conditions_must_make_sense(mixed, conditions, error, words):
    with pytest.raises(error, match=words):
        mixed.share(conditions)


@pytest.mark.parametrize("softness", [{"age": 0}, -1.0, math.inf])
def test_softness_must_be_positive(mixed, softness):
    with pytest.raises(ParameterError, match="softness must be"):
        mixed.share({"age": (1, 2)}, softness=softness)


@pytest.mark.parametrize("low", [20.0, 35.0])
def test_hard_edges_are_nearer_to_the_sharp_share_than_soft_ones(low):
    """Without noise, of a smooth column; the limits are those of the sharp share, and hold."""
    ages = np.clip(np.random.default_rng(4).normal(45, 12, size=4000), 0, 110)
    summary = exact(ages[:, None], sf.Box({"age": (0, 110)}), sf.Cosines(16))
    sharp = float(((ages >= low) & (ages <= 50)).mean())
    soft, hard = summary.share({"age": (low, 50)}), summary.share({"age": (low, 50)}, softness=0)
    assert abs(hard.value - sharp) < 0.02 < abs(soft.value - sharp)
    assert hard.sharp == soft.sharp and hard.softness == {}
    assert hard.value - hard.error <= sharp <= hard.value + hard.error
    assert hard.error == pytest.approx(max(hard.value - hard.sharp[0], hard.sharp[1] - hard.value))


def test_hard_edges_with_categories_and_in_any_order(mixed):
    first = mixed.share({"age": (20, 60), "sex": "M"}, softness=0)
    assert mixed.share({"sex": "M", "age": (20, 60)}, softness=0).value == first.value
    sharp = float(((AGE >= 20) & (AGE <= 60) & (SEX == "M" if SEX.dtype.kind == "U" else SEX == 1)).mean())
    assert abs(first.value - sharp) < 0.1
    assert mixed.share({"sex": "M"}, softness=0).value == mixed.share({"sex": "M"}).value  # nothing to harden
    assert mixed.count({"age": (20, 60)}, softness=0).value == pytest.approx(
        len(RECORDS) * mixed.share({"age": (20, 60)}, softness=0).value
    )


def test_hard_edges_are_for_few_columns():
    box = sf.Box([(0, 1)] * 5)
    summary = exact(np.random.default_rng(0).random((50, 5)), box, sf.Cosines(3, 1))
    with pytest.raises(ParameterError, match="hard edges") as caught:
        summary.share(dict.fromkeys(box.names, (0.2, 0.8)), softness=0)
    assert caught.value.parameter == "softness"


def test_a_private_number_of_records_cannot_be_asked_for_counts():
    private = exact(RECORDS, MIXED, sf.Cosines(3), ADD)
    assert private.share({"sex": "M"}).value == pytest.approx(SEX.mean())
    with pytest.raises(ParameterError, match="the number of records is private under this guarantee: ask for a share"):
        private.count({"sex": "M"})


# --- densities --------------------------------------------------------------------------------------------------


def kernel(points, where, widths):
    scaled = (points - where) / widths
    return np.exp(-0.5 * (scaled**2).sum(axis=1)) / np.prod(widths) / (2 * math.pi) ** (len(widths) / 2)


@pytest.mark.parametrize("bandwidth", [25.0, 40.0, 80.0, [20.0, 12.0]])
def test_one_summary_serves_every_bandwidth(plane, bandwidth):
    where = np.array([[40.0, 27.0], [55.0, 30.0], [100.0, 50.0]])
    widths = np.broadcast_to(np.array(bandwidth, dtype=float), (2,))
    found = plane.kde(where, bandwidth=bandwidth)
    truth = np.array([kernel(BOTH, at, widths).mean() for at in where])
    assert (np.abs(found.value - truth) <= found.approximation + 1e-12).all()
    assert found.value == pytest.approx(truth, rel=0.02, abs=1e-6)


def test_a_density_is_the_answer_to_its_kernel(plane):
    where, widths = np.array([[40.0, 27.0], [70.0, 31.0]]), np.array([25.0, 15.0])
    found = plane.kde(where, bandwidth=widths)
    many = plane.answer_many([lambda p, at=at: kernel(p, at, widths) for at in where])
    assert found.value == pytest.approx(many.value, rel=1e-9)
    assert found.noise_sd == pytest.approx(many.noise_sd, rel=1e-9)
    single = plane.kde([40.0, 80.0], bandwidth=20.0, columns="age")
    truth = [kernel(AGE[:, None], at, np.array([20.0])).mean() for at in (40.0, 80.0)]
    assert single.value == pytest.approx(np.array(truth), rel=1e-3)
    assert plane.kde([[30.0, 40.0]], 20.0, columns=["bmi", "age"]).value == pytest.approx(
        plane.kde([[40.0, 30.0]], 20.0).value
    )


def test_narrow_kernels_have_large_errors_and_say_so(plane):
    found = plane.kde([[40.0, 27.0]], bandwidth=0.5)
    assert found.approximation[0] > 0.1 * kernel(np.array([[40.0, 27.0]]), [40.0, 27.0], np.array([0.5, 0.5]))[0]
    assert found.value[0] >= 0


def test_many_points_are_answered_in_blocks(plane, monkeypatch):
    from sfumato.releases.summary import questions

    where = RNG.uniform([0, 10], [110, 60], size=(50, 2))
    whole = plane.kde(where, 20.0)
    monkeypatch.setattr(questions, "_HELD", 144 * 7)
    parts = plane.kde(where, 20.0)
    assert parts.value == pytest.approx(whole.value, rel=1e-12)
    assert parts.error.shape == (50,)
    assert plane.kde(np.zeros((0, 2)), 20.0).value.shape == (0,)


@pytest.mark.parametrize(
    ("points", "bandwidth", "words"),
    [
        ([[1.0, 2.0, 3.0]], 5.0, r"points must be finite numbers of shape \(m, 2\), got shape \(1, 3\)"),
        ([40.0, 27.0], 5.0, r"shape \(m, 2\), got shape \(2,\)"),
        ([[np.nan, 20.0]], 5.0, "points must be finite numbers"),
        ([[40.0, 27.0]], 0.0, "bandwidth must be positive"),
        ([[40.0, 27.0]], [5.0, -1.0], "bandwidth must be positive"),
        ([[40.0, 27.0]], math.inf, "bandwidth must be finite"),
    ],
)
def test_bad_points_and_bandwidths_are_refused(plane, points, bandwidth, words):
    with pytest.raises(ParameterError, match=words):
        plane.kde(points, bandwidth)


def test_a_density_needs_numeric_columns(mixed):
    with pytest.raises(ParameterError, match=r"name the columns of the density: columns=\[...\]"):
        mixed.kde([[1.0, 2.0]], 5.0)
    with pytest.raises(ParameterError, match="column 'sex' is categorical"):
        mixed.kde([[1.0, 2.0]], 5.0, columns=["age", "sex"])
    assert mixed.kde([[50.0, 30.0]], 30.0, columns=["age", "bmi"]).value.shape == (1,)


# --- circles ----------------------------------------------------------------------------------------------------

HOURS = np.concatenate([RNG.normal(23.5, 1.5, 700) % 24, RNG.uniform(0, 24, 300)])
DAY = sf.Box({"hour": sf.Periodic(0, 24)})


@pytest.fixture(scope="module")
def day():
    return exact(HOURS[:, None], DAY, sf.Cosines(40), QUIET)


def blurred(low, high, softness):
    turns = [(low + 24 * k, high + 24 * k) for k in range(-3, 4)]
    scaled = [[(HOURS - end) / (softness * math.sqrt(2)) for end in pair] for pair in turns]
    return np.mean(sum(erf(a) - erf(b) for a, b in scaled) / 2)


def test_a_share_goes_through_midnight(day):
    truth = ((HOURS >= 22) | (HOURS <= 4)).mean()
    assert 0.6 < truth < 0.8
    for asked in ((22, 4), (22, 28), (-2, 4)):
        soft, hard = day.share({"hour": asked}), day.share({"hour": asked}, softness=0)
        width = soft.softness["hour"]
        assert abs(soft.value - blurred(22, 28, width)) <= soft.error < 0.02
        assert abs(soft.value - truth) < 0.05 and soft.sharp[0] <= truth <= soft.sharp[1]
        assert soft.sharp[1] - soft.sharp[0] < 0.15 and abs(hard.value - truth) < 0.03 and hard.sharp == soft.sharp
        assert day.answer(f"share(between(hour, {asked[0]}, {asked[1]}))").value == pytest.approx(soft.value)
        twice = day.answer(f"mean(2 * between(hour, {asked[0]}, {asked[1]}))")  # looked at, not a share
        assert abs(twice.value - 2 * soft.value) <= twice.error < 0.1
    rest = day.share({"hour": (4, 22)})
    assert rest.value + day.share({"hour": (22, 4)}).value == pytest.approx(1, abs=1e-6)
    early, late = (day.share({"hour": ends}, softness=0).value for ends in ((None, 4), (22, None)))
    assert early + late == pytest.approx(day.share({"hour": (22, 4)}, softness=0).value, abs=1e-9)
    assert day.share({"hour": (0, 24)}).value == day.share({"hour": (5, 30)}).value == pytest.approx(1)


def test_a_question_with_a_range_round_a_circle_is_enclosed(day):
    """Limits on cells, and what cannot be seen between points, are proved and hold."""
    from sfumato.expressions import read

    question = read("mean(between(hour, 22, 4, 1.5) * 1)", day)
    (query,) = [question._written(part) for part in question.parts]
    low, high = query.limits([512])
    angles = (np.arange(512) + 0.5) * math.pi / 512
    found = query((12 + 12 * np.cos(angles))[:, None])
    assert (low <= found).all() and (found <= high).all() and (high - low).max() < 0.05
    assert question.answer().known == "proved"


def test_a_range_that_ends_before_it_begins_is_refused_on_a_line(plane):
    for ends in ((70, 30), (30, 30)):
        for softness in (None, 0):
            with pytest.raises(ParameterError, match="'age' must end above its beginning"):
                plane.share({"age": ends}, softness)
        with pytest.raises(ParameterError, match="must end above its beginning"):
            plane.answer(f"share(between(age, {ends[0]}, {ends[1]}))")


def test_a_circle_has_no_mean_and_no_spread(day):
    columns = sf.Box({"hour": sf.Periodic(0, 24), "x": (0, 50)})
    both = exact(np.stack([HOURS, HOURS * 2], axis=1), columns, sf.Cosines(6))
    for name in ("mean", "variance", "covariance", "correlation", "product"):
        for summary in (day, both):
            with pytest.raises(ParameterError, match=r"'hour' goes round a circle.*share.*mean direction"):
                getattr(summary, name)("hour")
    with pytest.raises(ParameterError, match="'hour' goes round a circle"):
        day.mean()
    with pytest.raises(ParameterError, match="'hour' goes round a circle"):
        both.fit("hour", ["x"])
    for text in ("mean(hour)", "variance(hour)", "sd(hour)", "covariance(x, hour)", "correlation(hour, x)"):
        with pytest.raises(ParameterError, match="'hour' goes round a circle"):
            both.answer(text)
    assert both.mean().value == pytest.approx([2 * HOURS.mean()]) and both.variance().value.shape == (1,)
    assert both.covariance().value.shape == both.correlation().value.shape == (1, 1)


def test_the_mean_direction_is_that_of_its_two_parts(day):
    """As the refusal says how to ask for it: of the records, without noise to speak of."""
    with pytest.raises(ParameterError) as told:
        day.mean("hour")
    cosine, sine = (day.answer(part.split("'")[1]) for part in str(told.value).split("answer(")[1:])
    angles = 2 * math.pi * HOURS / 24
    assert cosine.value == pytest.approx(np.cos(angles).mean(), abs=1e-3)
    assert sine.value == pytest.approx(np.sin(angles).mean(), abs=1e-3)
