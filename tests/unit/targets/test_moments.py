"""Cosine moments as a target: parameters, choices from public quantities, and the same sums from every table."""

import copy
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from opening import numbers_of, places_kept
from sfumato.bases.moments.contributions import chebyshev_table
from sfumato.bases.moments.prediction import predicted_error
from sfumato.bases.moments.quadrature import category_nodes
from sfumato.core.gaussian import noise_multiplier
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Products
from sfumato.errors import ParameterError, ParameterTypeError, PrivateDataError, SchemaError
from sfumato.targets.moments import NOISES, MomentFactors, scaled
from unit.targets.sources import SOURCES

LINE = sf.Box({"age": (0, 110)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
EVERY = sf.Box(
    {
        "age": (0, 110),
        "sex": sf.Categorical(["F", "M"]),
        "hour": sf.Periodic(0, 24),
        "grade": sf.Categorical([5, 1, 2.5]),
        "visits": sf.Integer(0, 9),
    }
)
PURE = sf.Privacy(epsilon=1.0)
ADD = sf.Privacy(epsilon=1.0, neighbours="add-remove")
APPROXIMATE = sf.Privacy(epsilon=1.0, delta=1e-6)
RNG = np.random.default_rng(3)
TABLE = pd.DataFrame(
    {
        "age": np.round(RNG.normal(50, 40, 300), 3),
        "sex": RNG.choice(["F", "M", "X"], 300),
        "hour": np.round(RNG.uniform(-30, 60, 300), 3),
        "grade": RNG.choice([5, 1, 2.5, 7], 300),
        "visits": np.round(RNG.normal(4, 5, 300), 2),
    }
)
TABLE.loc[::7, "age"] = np.nan
TABLE.loc[::11, "sex"] = None
TABLE.loc[::13, "hour"] = np.nan


def sums(data, box, basis, engine=None, unit="row"):
    """The private sums themselves: a seam for tests."""
    target = sf.CosineMoments(basis.degree, None, basis.interactions)
    return numbers_of(target.gather(MemoryEngine().open(data, box, unit), box, engine or MemoryEngine()).open())


# --- parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degree": 0}, "degree must be at least 1"),
        ({"degree": 2000}, "degree must be at most 1024"),
        ({"degree": 2.5}, "degree must be a whole number"),
        ({"degree": "many"}, "degree must be one of 'auto', got degree='many'"),
        ({"degree": []}, "degree must be a number or one number per column"),
        ({"degree": None}, "degree must be a whole number"),
        ({"smoothness": 0}, "smoothness must be at least 1"),
        ({"smoothness": 1.5}, "smoothness must be a whole number"),
        ({"degree": 4, "smoothness": 2}, "give degree or smoothness, not both, got degree=4"),
        ({"interactions": "some"}, "interactions must be 'full', 'cross' or a number"),
        ({"interactions": 0}, "interactions must be at least 1"),
        ({"interactions": 1.0}, "interactions must be a whole number"),
        ({"noise": "l2"}, "noise must be one of 'auto', 'laplace', 'linf', 'gaussian', got noise='l2'"),
        ({"noise": None}, "noise must be one of"),
        ({"expected_rows": 0}, "expected_rows must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(options, words):
    with pytest.raises((ParameterError, ParameterTypeError), match=words):
        sf.CosineMoments(**options)


def test_a_degree_that_leaves_no_moments_is_refused_before_anything_is_read():
    for degree in (1, (1, 1)):
        with pytest.raises(ParameterError, match=r"leaves no moments: use 2 or more"):
            sf.release(sf.CosineMoments(degree), None, PLANE, PURE)
    with pytest.raises(ParameterError, match="leaves no moments"):
        sf.plan(sf.CosineMoments(1), LINE, PURE, 100)
    both = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})
    assert sf.plan(sf.CosineMoments(1), both, PURE, 100).law.size == 1  # the categories remain


def test_an_index_set_too_large_is_refused_before_anything_is_read():
    with pytest.raises(ParameterError, match=r"10,000,000,000 moments of 10 columns.*use interactions=2"):
        sf.release(sf.CosineMoments(10, interactions="full"), None, sf.Box([(0, 1)] * 10), PURE)


def test_other_bases_are_refused():
    with pytest.raises(ParameterTypeError, match=r"basis must be sf\.Cosines for this target"):
        sf.plan(sf.CosineMoments(), LINE, PURE, 100, basis=sf.Bernstein(4))
    with pytest.raises(ParameterTypeError, match="the target has a degree already"):
        sf.plan(sf.CosineMoments(4), LINE, PURE, 100, basis=sf.Cosines(5))
    with pytest.raises(ParameterError, match="leaves no moments"):
        sf.plan(sf.CosineMoments(), LINE, PURE, 100, basis=sf.Cosines(1))
    assert sf.plan(sf.CosineMoments(), LINE, PURE, 100, basis=sf.Cosines(5)).basis == sf.Cosines(5)


def test_noise_must_fit_the_grant():
    with pytest.raises(ParameterError, match="noise='gaussian' is never pure"):
        sf.plan(sf.CosineMoments(4, noise="gaussian"), LINE, PURE, 100)
    for noise in ("linf", "laplace"):
        with pytest.raises(ParameterError, match=f"noise='{noise}' needs epsilon"):
            sf.plan(sf.CosineMoments(4, noise=noise), LINE, sf.Privacy(rho=0.1), 100)


def test_it_says_what_it_is():
    assert dict(sf.CosineMoments(8, interactions=2).describe()) == {
        "target": "summary for smooth questions",
        "degree": "8",
        "interactions": "2",
        "missing values": "spread over their column",
    }
    assert dict(sf.CosineMoments(smoothness=4).describe())["degree"] == "smoothness 4"


# --- choices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [100, 10_000, 10**6])
@pytest.mark.parametrize("smoothness", [2, 4, 6])
def test_the_degree_of_a_smoothness_is_the_papers(rows, smoothness):
    for box in (LINE, PLANE):
        expected = math.ceil(2 * rows ** (1 / (2 * box.dimension + smoothness)))
        assert sf.plan(sf.CosineMoments(smoothness=smoothness), box, PURE, rows).basis == sf.Cosines(expected, "full")


def test_where_the_number_of_rows_is_private_the_expected_one_counts():
    guess = sf.CosineMoments(smoothness=2, expected_rows=10**6)
    assert sf.plan(guess, LINE, ADD).basis.degree == math.ceil(2 * (10**6) ** (1 / 4))
    assert sf.plan(sf.CosineMoments(smoothness=2), LINE, ADD).basis.degree == 20


def test_the_automatic_degree_grows_with_the_data_and_the_grant():
    degrees = [sf.plan(sf.CosineMoments(), PLANE, PURE, rows).basis.degree for rows in (10, 10**3, 10**5, 10**7)]
    assert degrees == sorted(degrees) and degrees[0] < degrees[-1] <= 64
    strict, lax = (sf.plan(sf.CosineMoments(), PLANE, sf.Privacy(epsilon=e), 10**4).basis.degree for e in (0.1, 10))
    assert strict < lax


@pytest.mark.parametrize(("columns", "ways"), [(1, "full"), (4, "full"), (5, 2), (30, 2)])
def test_interactions_are_full_up_to_four_columns_where_a_degree_is_given(columns, ways):
    box = sf.Box([(0, 1)] * columns)
    assert sf.plan(sf.CosineMoments(3), box, PURE, 1000).basis == sf.Cosines(3, ways)
    assert sf.plan(sf.CosineMoments(interactions=ways), box, PURE, 1000).basis.interactions == ways


@pytest.mark.few(3)
@pytest.mark.parametrize("grant", [PURE, sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(epsilon=0.1)], ids=str)
@pytest.mark.parametrize("columns", [2, 4, 30])
def test_of_all_index_sets_the_one_of_least_predicted_error_is_taken(columns, grant):
    box, rows = sf.Box([(0, 1)] * columns), 10_000
    chosen = sf.plan(sf.CosineMoments(), box, grant, rows).basis

    def error(basis):
        return predicted_error(basis, box, sf.CosineMoments()._noise(basis, box, grant) / rows)

    for ways in ("full", "cross", 1, 2, 3):
        fixed = sf.CosineMoments(interactions=ways)
        if columns < 30 or ways in ("cross", 1, 2):
            assert error(chosen) <= error(fixed.choose_basis(box, rows, grant)) * (1 + 1e-12)


def test_a_set_that_is_too_large_at_any_degree_is_refused():
    with pytest.raises(ParameterError, match="the index set has"):
        sf.plan(sf.CosineMoments(interactions="full"), sf.Box([(0, 1)] * 30), PURE, 1000)


def variances(basis, box, privacy):
    """Of each noise in one moment, from the certificates and the definitions of the laws."""
    indices, counted = basis.index_set(box), privacy.neighbours == "add-remove" or privacy.unit != "row"
    size = indices.size if counted else indices.size - 1
    bounds = {kind: float(indices.apart(privacy, norm)) / 4**indices.bits for kind, norm in NOISES.items()}
    if privacy.rho is not None:
        return {"gaussian": bounds["gaussian"] ** 2 / (2 * privacy.rho)}
    found = {
        "laplace": 2 * (bounds["laplace"] / privacy.epsilon) ** 2,
        "linf": (bounds["linf"] / privacy.epsilon) ** 2 * (size + 1) * (size + 2) / 3,
    }
    if privacy.delta:
        found["gaussian"] = (bounds["gaussian"] * noise_multiplier(privacy.epsilon, privacy.delta)) ** 2
    return found


@pytest.mark.few(10)
@pytest.mark.parametrize("basis", [sf.Cosines(2), sf.Cosines(3), sf.Cosines(8), sf.Cosines(24), sf.Cosines(6, 1)])
@pytest.mark.parametrize(
    "privacy",
    [PURE, ADD, APPROXIMATE, sf.Privacy(rho=0.1), sf.Privacy(epsilon=20.0, delta=1e-9),
     sf.Privacy(epsilon=0.1, unit=sf.Person("id", 4))],
)  # fmt: skip
def test_the_noise_is_the_one_of_least_variance(basis, privacy):
    from sfumato.laws import noise_deviation

    found = sf.plan(sf.CosineMoments(basis.degree, interactions=basis.interactions), PLANE, privacy, 1000)
    each = variances(basis, PLANE, privacy)
    assert found.law.kind == min(each, key=each.get)
    assert noise_deviation(found.law) ** 2 == pytest.approx(min(each.values()), rel=1e-6)
    for kind, variance in each.items():
        own = sf.plan(sf.CosineMoments(basis.degree, None, basis.interactions, kind), PLANE, privacy, 1000).law
        assert own.kind == kind
        assert own.certificate.norm == NOISES[kind]
        assert noise_deviation(own) ** 2 == pytest.approx(variance, rel=1e-6)


def test_a_plan_says_what_to_expect():
    found = sf.plan(sf.CosineMoments(8), PLANE, PURE, 10_000)
    assert found.law.size == 63
    assert 0 < found.mean_noise_error < found.noise_error < 0.1
    assert found.approximation_error < 0.01
    assert found.guarantee.epsilon == 1.0
    assert found.law.certificate.known == "enforced" and found.law.certificate.proof == "moments"
    assert "Cosines(degree=8" in str(found)
    better = sf.plan(sf.CosineMoments(8), PLANE, PURE, 100_000)
    assert better.noise_error == pytest.approx(found.noise_error / 10)
    assert sf.plan(sf.CosineMoments(8), PLANE, ADD).law.size == 64  # the number of records is one of the sums


# --- what a record contributes ----------------------------------------------------------------------------------


def expected_places(table):
    """Where the records of TABLE lie in [-1, 1], by numpy; NaN where a value is missing."""
    whole = np.clip(np.rint(table["visits"]), 0, 9)
    hour = np.mod(table["hour"], 24)
    sex, grade = (
        np.array([nodes[kinds.index(v)] if v in kinds else np.nan for v in table[name]])
        for name, kinds, nodes in (("sex", ["F", "M"], category_nodes(2)), ("grade", [5, 1, 2.5], category_nodes(3)))
    )
    age = np.clip(table["age"] / 55 - 1, -1, 1)
    return np.stack([age, sex, hour / 12 - 1, grade, whole / 4.5 - 1])


@pytest.mark.parametrize("basis", [sf.Cosines(3), sf.Cosines(4, 2), sf.Cosines(4, "cross")])
def test_sums_are_those_of_products_of_cosines(basis):
    """Each contribution is off by less than 2**-15, and a missing value has none but that of frequency zero."""
    frequencies = basis.index_set(EVERY).frequencies
    angles = np.arccos(expected_places(TABLE))
    waves = np.cos(frequencies[:, :, None] * angles[None])
    waves = np.where(np.isnan(waves), np.where(frequencies[:, :, None] > 0, 0.0, 1.0), waves).prod(axis=1)
    found = sums(TABLE, EVERY, basis)
    assert found / 4.0**16 == pytest.approx(waves.sum(axis=1), abs=300 * 2.0**-15)
    assert found[0] == 300 * 4**16
    assert found.dtype == np.int64


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_table_gives_the_same_bits(source, tmp_path):
    for basis in (sf.Cosines(3), sf.Cosines(4, 2)):
        expected = sums(TABLE, EVERY, basis)
        assert sums(SOURCES[source](TABLE, tmp_path), EVERY, basis).tobytes() == expected.tobytes()


def test_arrays_give_the_same_bits_as_tables():
    numbers = TABLE[["age", "hour", "visits"]]
    box = sf.Box({name: EVERY.columns[EVERY.names.index(name)] for name in numbers})
    unnamed = sf.Box(list(box.columns))
    assert sums(numbers, box, sf.Cosines(4)).tobytes() == sums(numbers.to_numpy(), unnamed, sf.Cosines(4)).tobytes()


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [7, 1, 256, 299, 300, 10**6])
def test_chunks_of_an_engine_do_not_matter(rows, tmp_path):
    for basis in (sf.Cosines(3), sf.Cosines(4, 2)):
        whole = sums(TABLE, EVERY, basis).tobytes()
        for data in (TABLE, SOURCES["csv"](TABLE, tmp_path)):
            assert sums(data, EVERY, basis, MemoryEngine(chunk_rows=rows)).tobytes() == whole


def test_sums_of_parts_add_up_and_order_does_not_matter():
    whole = sums(TABLE, EVERY, sf.Cosines(3))
    assert np.array_equal(sums(TABLE[:99], EVERY, sf.Cosines(3)) + sums(TABLE[99:], EVERY, sf.Cosines(3)), whole)
    assert np.array_equal(sums(TABLE.sample(frac=1, random_state=1), EVERY, sf.Cosines(3)), whole)


def test_only_so_many_rows_of_a_person_count():
    table = TABLE.assign(id=np.arange(300) // 6)
    found = sums(table, EVERY, sf.Cosines(3), unit=sf.Person("id", 2))
    kept = places_kept(table, EVERY, sf.Person("id", 2))
    assert np.bincount(kept // 6).tolist() == [2] * 50
    assert found.tobytes() == sums(TABLE.iloc[kept], EVERY, sf.Cosines(3)).tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
def test_no_value_raises_or_warns(value):
    records = np.full((3, 2), value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sums(records, PLANE, sf.Cosines(5))
        assert np.abs(found).max() <= 3 * 4**16
        assert sf.summarize(records, PLANE, PURE, degree=5).numbers.shape == (24,)


def test_records_of_a_box_with_a_norm_are_scaled_back():
    box = sf.Box([(-1, 1), (-1, 1)], max_norm=1.0)
    found = scaled(box, [np.array([1.0, 0.3]), np.array([1.0, 0.4])])
    assert found == pytest.approx(np.array([[math.sqrt(0.5), 0.3], [math.sqrt(0.5), 0.4]]))


def test_values_beyond_the_bounds_are_clipped():
    assert scaled(LINE, [np.array([-1e300, 0.0, 55.0, 110.0, np.inf])]).tolist() == [[-1, -1, 0, 1, 1]]


def test_no_records_sum_to_nothing():
    assert not sums(np.zeros((0, 2)), PLANE, sf.Cosines(4)).any()
    found = sf.summarize(np.zeros((0, 2)), PLANE, ADD)
    assert math.isfinite(found.mean("age").value)
    with pytest.raises(SchemaError, match="no records"):
        sf.summarize(np.zeros((0, 2)), PLANE, PURE)


def test_a_missing_column_is_a_matter_of_schema():
    with pytest.raises(SchemaError, match="bmi"):
        sf.release(sf.CosineMoments(3), pd.DataFrame({"age": [1.0]}), PLANE, PURE)
    with pytest.raises(SchemaError, match="age"):
        sf.release(sf.CosineMoments(3), pd.DataFrame({"age": ["old"], "bmi": [1.0]}), PLANE, PURE)


def test_private_sums_do_not_print_pickle_or_copy():
    found = sf.CosineMoments(3).gather(MemoryEngine().open(np.full((5, 2), 7.0), PLANE, "row"), PLANE, MemoryEngine())
    assert repr(found) == "<private sums>"
    assert found.rows == 5
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(PrivateDataError, match="cannot be pickled or copied"):
            attempt(found)


def test_records_are_read_once_where_the_degree_is_given():
    class Watched(MemoryEngine):
        passes = 0

        def fold(self, *arguments):
            type(self).passes += 1
            return super().fold(*arguments)

    for target in (sf.CosineMoments(4), sf.CosineMoments(), sf.CosineMoments(smoothness=2)):
        Watched.passes = 0
        sf.release(target, TABLE, EVERY, PURE, engine=Watched())
        assert Watched.passes == 1


def test_blocks_in_memory_that_is_used_again_are_summed_as_they_were(monkeypatch):
    monkeypatch.setattr("sfumato.targets.moments._CACHED", 1)  # so that there are many blocks
    rng = np.random.default_rng(3)
    columns = [rng.uniform(-1, 1, 2_000), rng.uniform(-1, 1, 2_000)]
    columns[0][::7] = np.nan
    rule = MomentFactors(sf.Box([(-1, 1)] * 2), sf.Cosines(5))
    total = np.zeros(math.prod(rule.shape), dtype=np.int64)
    Products(rule).add(total, columns)
    table = chebyshev_table(scaled(rule.box, columns), rule.indices.shape)
    left, right = rule.factors.left.rounded(table), rule.factors.right.rounded(table)
    assert np.array_equal(total, (left @ right.T).astype(np.int64).ravel())
