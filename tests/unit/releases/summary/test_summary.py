"""Published summaries: answers to any question, and what they leave out."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.moments.quadrature import jackson_factors
from sfumato.errors import ParameterError, ParameterTypeError
from unit.releases.exact import exact, moments, scaled

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([5, 1, 2.5])})
WIDE = sf.Box(dict.fromkeys("abcdef", (-1, 1)))
ADD = sf.Privacy(epsilon=1.0, neighbours="add-remove")
PERSON = sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3))
RNG = np.random.default_rng(12)
RECORDS = np.stack([RNG.uniform(0, 110, 400), np.clip(RNG.normal(27, 4, 400), 10, 60)], axis=1)
KINDS = np.stack([RNG.uniform(0, 110, 400), RNG.integers(0, 2, 400), RNG.integers(0, 3, 400)], axis=1)
MANY = RNG.uniform(-1, 1, size=(300, 6))


def as_seen(records):
    """Records of MIXED as a query sees them: text by position, numbers as they are."""
    return np.stack([records[:, 0], records[:, 1], np.array([5.0, 1.0, 2.5])[records[:, 2].astype(int)]], axis=1)


@pytest.fixture(scope="module")
def plane():
    return exact(RECORDS, PLANE, sf.Cosines(8))


@pytest.fixture(scope="module")
def mixed():
    return exact(KINDS, MIXED, sf.Cosines(5))


@pytest.fixture(scope="module")
def wide():
    return exact(MANY, WIDE, sf.Cosines(5, 2))


def bump(p):
    return np.exp(-((p[:, 0] - 40) ** 2) / 800 - ((p[:, 1] - 30) ** 2) / 300)


# --- moments ----------------------------------------------------------------------------------------------------


def test_moments_are_means_of_cosines(plane):
    assert plane.moments == pytest.approx(moments(RECORDS, PLANE, plane.indices.frequencies), abs=1e-12)
    assert plane.moments[0] == 1.0
    assert plane.numbers.shape == (63,)
    assert not plane.numbers.flags.writeable


@pytest.mark.parametrize("privacy", [ADD, PERSON])
def test_a_private_number_of_records_is_the_first_number(privacy):
    found = exact(RECORDS, PLANE, sf.Cosines(8), privacy)
    assert found.rows is None
    assert found.numbers[0] == pytest.approx(400)
    assert found.moments == pytest.approx(moments(RECORDS, PLANE, found.indices.frequencies), abs=1e-12)


def test_the_noise_of_a_moment_is_that_of_the_law(plane):
    size, scale = plane.law.size, plane.law.deviation
    expected = scale * math.sqrt(2) if plane.law.kind == "laplace" else scale * math.sqrt((size + 1) * (size + 2) / 3)
    assert plane.noise_sd == pytest.approx(expected / 400)


# --- answers ----------------------------------------------------------------------------------------------------

POLYNOMIALS = {
    "a constant": lambda p: np.full(len(p), 3.5),
    "a number": lambda p: 2,
    "a column": lambda p: p[:, 1],
    "a square": lambda p: (p[:, 0] - 40) ** 2,
    "a product": lambda p: p[:, 0] * p[:, 1],
    "a high power": lambda p: (p[:, 0] / 110) ** 7 * (p[:, 1] / 60) ** 6,
}


def values_of(query, points):
    return np.broadcast_to(query(points), (len(points),))


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("privacy", [sf.Privacy(epsilon=1.0), ADD])
def test_polynomials_are_answered_without_error(name, privacy):
    summary, query = exact(RECORDS, PLANE, sf.Cosines(8), privacy), POLYNOMIALS[name]
    found, truth = summary.answer(query), values_of(query, RECORDS)
    size = np.abs(truth).max()
    assert found.value == pytest.approx(truth.mean(), abs=1e-10 * size)
    assert found.approximation <= 1e-10 * size


def test_smooth_functions_are_answered_up_to_their_approximation(plane):
    found = plane.answer(bump)
    assert 0 < found.approximation < 0.1
    assert abs(found.value - bump(RECORDS).mean()) <= found.approximation


@pytest.mark.parametrize("width", [3.0, 8.0, 20.0, 60.0])
def test_what_is_left_out_is_seen_wherever_the_records_are(width):
    """All records at one place, the worst for a mean: the truncated function itself is within the approximation."""
    for place in (0.0, 13.0, 40.0, 55.0, 110.0):
        summary = exact(np.full((2, 1), place), sf.Box({"age": (0, 110)}), sf.Cosines(7))
        found = summary.answer(lambda p: np.exp(-(((p[:, 0] - 40) / width) ** 2) / 2))
        truth = math.exp(-(((place - 40) / width) ** 2) / 2)
        assert abs(found.value - truth) <= found.approximation + 1e-12


@pytest.mark.few(1)
@pytest.mark.parametrize("basis", [sf.Cosines(6, 1), sf.Cosines(6, "cross"), sf.Cosines((3, 9))])
def test_what_few_interactions_leave_out_is_seen_too(basis):
    for place in RECORDS[:20]:
        summary = exact(place[None], PLANE, basis)
        found = summary.answer(bump)
        assert abs(found.value - bump(place[None])[0]) <= found.approximation + 1e-12


def test_functions_of_categories_are_exact(mixed):
    table = RNG.normal(size=(2, 6))
    found = mixed.answer(
        lambda p: table[p[:, 0].astype(int), p[:, 1].astype(int)] * (p[:, 2] - 30), columns=["sex", "grade", "age"]
    )
    seen = as_seen(KINDS)
    truth = table[seen[:, 1].astype(int), seen[:, 2].astype(int)] * (seen[:, 0] - 30)
    assert found.value == pytest.approx(truth.mean(), abs=1e-9)
    assert found.approximation < 1e-9


def test_one_answer_is_one_of_many(plane):
    queries = [bump, *POLYNOMIALS.values()]
    many = plane.answer_many(queries)
    for i, query in enumerate(queries):
        one = plane.answer(query)
        for name in ("value", "error", "noise_sd", "approximation"):
            assert getattr(one, name) == pytest.approx(getattr(many, name)[i], rel=1e-9, abs=1e-12)
        assert type(one.value) is float
    assert plane.answer_many([]).value.shape == (0,)


def test_columns_may_have_any_order(plane, wide):
    turned = plane.answer(lambda p: bump(p[:, ::-1]), columns=["bmi", "age"])
    assert turned.value == pytest.approx(plane.answer(bump).value, abs=1e-12)
    assert turned.error == pytest.approx(plane.answer(bump).error, rel=1e-9)
    single = plane.answer(lambda p: p[:, 0] ** 2, columns="bmi")
    assert single.value == pytest.approx((RECORDS[:, 1] ** 2).mean())
    forth = wide.answer(lambda p: np.exp(p[:, 0] / 2 - p[:, 1]), columns=["e", "b"])
    back = wide.answer(lambda p: np.exp(p[:, 1] / 2 - p[:, 0]), columns=["b", "e"])
    assert forth.value == pytest.approx(back.value, abs=1e-12)
    assert forth.value == pytest.approx(np.exp(MANY[:, 4] / 2 - MANY[:, 1]).mean(), abs=forth.approximation)


@pytest.mark.slow
def test_more_than_four_columns_have_a_sparse_grid(wide):
    found = wide.answer(lambda p: p[:, 0] * p[:, 5] + p[:, 2] ** 4 - 0.25)
    truth = MANY[:, 0] * MANY[:, 5] + MANY[:, 2] ** 4 - 0.25
    assert found.value == pytest.approx(truth.mean(), abs=1e-11)
    assert found.approximation < 1e-9
    mixed_up = wide.answer(lambda p: p[:, 0] * p[:, 1] * p[:, 2])  # three columns: the summary has pairs
    assert mixed_up.approximation == pytest.approx(1.0, abs=1e-6)


def test_errors_are_noise_and_approximation_together(plane):
    found = plane.answer(bump, confidence=0.9)
    assert found.confidence == 0.9
    assert found.error > found.approximation + found.noise_sd
    assert plane.answer(bump, confidence=0.99).error > found.error
    assert found.approximation == plane.answer(bump, confidence=0.99).approximation


def test_a_private_number_of_records_makes_errors_larger():
    public, private = (exact(RECORDS, PLANE, sf.Cosines(4), p).answer(bump) for p in (sf.Privacy(epsilon=2.0), ADD))
    assert math.isfinite(private.error)
    hopeless = exact(RECORDS[:2], PLANE, sf.Cosines(4), sf.Privacy(epsilon=0.01, neighbours="add-remove"))
    assert hopeless.answer(bump).error == math.inf
    assert math.isfinite(hopeless.answer(bump).value)
    assert public.error < private.error


# --- damping and promises ---------------------------------------------------------------------------------------


def test_jackson_damping_multiplies_coefficients(plane):
    """The paper's estimate, directly: damped coefficients times moments."""
    found = plane.answer(bump, damping="jackson", smoothness=sf.Smooth(2, 1.0))
    angles = (np.arange(200) + 0.5) * math.pi / 200
    age, bmi = 55 * (1 + np.cos(angles)), 35 + 25 * np.cos(angles)
    first, second = np.exp(-((age - 40) ** 2) / 800), np.exp(-((bmi - 30) ** 2) / 300)
    waves = np.cos(np.outer(np.arange(8), angles)) * np.where(np.arange(8), 2, 1)[:, None] / 200
    damped = np.outer((waves @ first) * jackson_factors(8, 2), (waves @ second) * jackson_factors(8, 2))
    assert found.value == pytest.approx(damped.ravel() @ plane.moments, abs=1e-12)
    assert abs(found.value - bump(RECORDS).mean()) <= found.approximation


def test_jackson_damping_leaves_categories_alone(mixed):
    found = mixed.answer(lambda p: p[:, 0], columns="sex", damping="jackson", smoothness=sf.Smooth(2, 1.0))
    assert found.value == pytest.approx(KINDS[:, 1].mean(), abs=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 100.0])
def test_balanced_answers_never_have_larger_bounds(epsilon):
    summary = exact(RECORDS, PLANE, sf.Cosines(8), sf.Privacy(epsilon=epsilon, delta=1e-6), "gaussian")
    for query in (bump, *POLYNOMIALS.values(), lambda p: np.exp(-((p[:, 0] - 40) ** 2) / 60)):
        plain, found = (summary.answer(query, damping=damping) for damping in ("none", "balanced"))
        assert found.error <= plain.error * (1 + 1e-9) + 1e-12
        assert abs(found.value - values_of(query, RECORDS).mean()) <= found.approximation * (1 + 1e-6) + 1e-9


WAVES = [1.0, 2.0, 5.0, 9.0]


@pytest.mark.few(7)
@pytest.mark.parametrize("derivatives", [2, 4, 6])
@pytest.mark.parametrize("speed", WAVES)
def test_a_promise_bounds_what_truncation_leaves_out(speed, derivatives):
    """sin(speed u) on the unit interval has derivatives of at most speed^k, and exp(speed u) its own value at 1."""
    box = sf.Box({"age": (0, 110)})
    cases = {
        lambda p: np.sin(speed * p[:, 0] / 110): max(1, speed**derivatives),
        lambda p: np.exp(speed * p[:, 0] / 110): max(1, speed**derivatives) * math.exp(speed),
    }
    for query, bound in cases.items():
        for degree in (7, 8, 12, 20):
            for place in (0.0, 4.0, 31.0, 55.0, 87.0, 110.0):
                summary = exact(np.full((2, 1), place), box, sf.Cosines(degree))
                found = summary.answer(query, smoothness=sf.Smooth(derivatives, bound))
                assert abs(found.value - query(np.array([[place]]))[0]) <= found.approximation + 1e-12


def test_a_promise_in_two_columns():
    query, promise = lambda p: np.sin(2 * p[:, 0] / 110 + 3 * (p[:, 1] - 10) / 50), sf.Smooth(4, 81.0)
    for place in RECORDS[:30]:
        found = exact(place[None], PLANE, sf.Cosines(8)).answer(query, smoothness=promise)
        assert abs(found.value - query(place[None])[0]) <= found.approximation


def test_promises_need_enough_degrees_and_full_interactions(plane, wide):
    with pytest.raises(ParameterError, match="smoothness of order 10 needs degree 11 or more, got 8"):
        plane.answer(bump, smoothness=sf.Smooth(10, 1.0))
    for basis in (sf.Cosines(8, 1), sf.Cosines(8, "cross")):
        with pytest.raises(ParameterError, match="full interactions only"):
            exact(RECORDS, PLANE, basis).answer(bump, smoothness=sf.Smooth(2, 1.0))
    assert wide.answer(lambda p: p[:, 0] * p[:, 1], columns=["a", "b"], smoothness=sf.Smooth(2, 1.0)).error > 0


# --- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": ["age", "height"]}, r"column 'height' is unknown; the summary has \['age', 'bmi'\]"),
        ({"columns": "height"}, "column 'height' is unknown"),
        ({"columns": ["age", "age"]}, "columns must be different names"),
        ({"columns": []}, "columns must be different names, one or more"),
        ({"damping": "fejer"}, "damping must be one of 'none', 'jackson', 'balanced', got damping='fejer'"),
        ({"damping": "jackson"}, r"damping='jackson' needs smoothness=sf\.Smooth"),
        ({"smoothness": 4}, r"smoothness must be sf\.Smooth\(derivatives, bound\), got 4"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1"),
        ({"confidence": 0}, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_bad_options_are_refused(plane, options, words):
    with pytest.raises((ParameterError, ParameterTypeError), match=words):
        plane.answer(bump, **options)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (lambda p: p, r"must return shape \(\d+,\), got shape"),
        (lambda p: p[:3, 0], "must return shape"),
        (lambda p: p[:, 0] * np.nan, "finite numbers everywhere in the box, got none at"),
        (lambda p: 1j * p[:, 0], "must return real numbers, got complex ones"),
    ],
)
def test_a_query_must_return_one_number_for_each_point(plane, wide, query, words):
    with pytest.raises(ParameterError, match=words):
        plane.answer(query)
    with pytest.raises(ParameterError, match=words):
        wide.answer(query)


@pytest.mark.parametrize("queries", [[1.0], ["mean"], bump, [bump, None]])
def test_queries_must_be_a_list_of_functions(plane, queries):
    with pytest.raises(ParameterTypeError, match=r"queries must be a list of functions of \(m, d\) points"):
        plane.answer_many(queries)


def test_damping_needs_a_full_grid(wide):
    with pytest.raises(ParameterError, match="damping='balanced' needs at most 4 columns: name them in columns"):
        wide.answer(lambda p: p[:, 0], damping="balanced")


def test_records_at_the_edges_are_where_they_are(plane):
    """The helper of these tests scales as the library does."""
    assert scaled([[0.0, 60.0], [110.0, 10.0]], PLANE).tolist() == [[-1, 1], [1, -1]]
    assert repr(plane).startswith("<SummaryRelease of age, bmi: 64 moments; 1-differential privacy")
