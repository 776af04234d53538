"""For any values: noise keeps shape and type, selection returns a candidate, quantisation keeps its promises."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from property.hostile import anything, floats
from sfumato.core.certificate import certify_sum
from sfumato.core.quantize import LARGEST_BUDGET, round_vector, truncate_records
from sfumato.values import as_double, as_whole, doubles

dtypes = st.one_of(
    arrays.integer_dtypes(endianness="="),
    arrays.unsigned_integer_dtypes(endianness="="),
    arrays.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
    arrays.boolean_dtypes(),
)
values = arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
amounts = st.floats(1e-3, 1e3)


CONTAINERS = (list, tuple, lambda given: objects(given), lambda given: pd.Series(given, dtype=object))


def objects(given):
    array = np.empty(len(given), dtype=object)
    array[:] = [[]] * len(given)
    for i, value in enumerate(given):
        array[i] = value
    return array


def check(noisy, array, integer):
    assert np.shape(noisy) == array.shape
    assert np.asarray(noisy).dtype == (np.int64 if integer else np.float64)
    assert np.isfinite(noisy).all()


@given(values, amounts, amounts, st.booleans())
def test_laplace_noise_keeps_the_shape_and_has_the_kind_that_was_asked_for(array, bound, epsilon, integer):
    with np.errstate(all="raise"):
        check(sf.noise.laplace(array, l1=bound, epsilon=epsilon, integer=integer), array, integer)


@given(values, amounts, amounts, st.booleans())
def test_gaussian_noise_keeps_the_shape_and_has_the_kind_that_was_asked_for(array, bound, rho, integer):
    with np.errstate(all="raise"):
        check(sf.noise.gaussian(array, l2=bound, rho=rho, integer=integer), array, integer)


@given(st.lists(anything, min_size=1, max_size=6), st.sampled_from(CONTAINERS), st.booleans())
def test_noise_of_anything_has_a_public_shape_and_kind(given, container, integer):
    with np.errstate(all="raise"):
        check(sf.noise.laplace(container(given), l1=1.0, epsilon=1.0, integer=integer), np.zeros(len(given)), integer)
        check(sf.noise.gaussian(container(given), l2=1.0, rho=1.0, integer=integer), np.zeros(len(given)), integer)
        single = given[0]
        if not isinstance(single, list | np.ndarray):
            check(sf.noise.laplace(single, l1=1.0, epsilon=1.0, integer=integer), np.zeros(()), integer)


@given(st.lists(anything, min_size=1, max_size=6), st.sampled_from(CONTAINERS), st.data())
def test_a_value_is_read_as_it_is_alone(given, container, data):
    """Change one value to anything: all others are read as before, to the last bit."""
    place = data.draw(st.integers(0, len(given) - 1))
    changed = [*given[:place], data.draw(anything), *given[place + 1 :]]
    before, after = (np.delete(doubles(container(each)), place) for each in (given, changed))
    assert before.tobytes() == after.tobytes()
    assert doubles(container(given)).tobytes() == np.array([as_double(value) for value in given]).tobytes()
    wholes = [[as_whole(value, 2**61) for value in each] for each in (given, changed)]
    assert all(isinstance(value, int) and abs(value) <= 2**61 for value in wholes[0])
    assert np.delete(wholes[0], place).tolist() == np.delete(wholes[1], place).tolist()


@given(st.lists(anything, min_size=1, max_size=6), st.sampled_from(CONTAINERS))
def test_anything_can_be_a_score_or_asked_about(given, container):
    candidates = list(range(len(given)))
    with np.errstate(all="raise"):
        assert sf.select(candidates, container(given), sensitivity=1.0, privacy=sf.Privacy(epsilon=1.0)) in candidates
        asked = sf.AboveThreshold(0.0, 1.0, sf.Privacy(epsilon=1.0))
        if not isinstance(given[0], list | np.ndarray):
            assert asked.above(given[0]) in (True, False)


@given(st.lists(floats, min_size=1, max_size=8), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_selection_returns_a_candidate(scores, sensitivity, amount, concentrated):
    candidates = [f"candidate {i}" for i in range(len(scores))]
    privacy = sf.Privacy(rho=amount) if concentrated else sf.Privacy(epsilon=amount)
    with np.errstate(all="raise"):
        assert sf.select(candidates, scores, sensitivity=sensitivity, privacy=privacy) in candidates


@given(st.lists(floats, min_size=1, max_size=6), st.floats(-10, 10), st.floats(1e-3, 10))
def test_a_threshold_answers_any_values_until_it_fires(values, threshold, sensitivity):
    asked = sf.AboveThreshold(threshold, sensitivity, sf.Privacy(epsilon=1.0))
    for value in values:
        answer = asked.above(value)
        assert answer in (True, False)
        if answer:
            break


@given(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=floats),
    arrays.arrays(np.float64, st.tuples(st.just(1), st.integers(6, 6)), elements=floats),
    st.integers(-50, 10),
    st.integers(1, LARGEST_BUDGET // 4),
    st.sampled_from(["l1", "l2"]),
    st.sampled_from(["replace", "add-remove"]),
)
def test_neighbours_move_a_sum_by_at_most_its_certificate(features, other, exponent, budget, norm, neighbours):
    """Whatever the records are: replacing or removing one moves the sum no further than certify_sum says."""
    bound = certify_sum(norm, budget, exponent, sf.Privacy(epsilon=1.0, neighbours=neighbours)).bound
    changed = features.copy()
    changed[0] = other[0, : features.shape[1]]
    changed = changed if neighbours == "replace" else features[1:]
    sums = [truncate_records(f, exponent, budget, norm).sum(axis=0) for f in (features, changed)]
    apart = [abs(int(a) - int(b)) for a, b in zip(*sums, strict=True)]
    assert sum(apart) <= bound if norm == "l1" else sum(d * d for d in apart) <= bound**2


@given(st.floats(), st.integers(-900, 900))
def test_rounding_any_number_gives_an_integer_in_range(value, exponent):
    with np.errstate(all="raise"):
        found = round_vector(np.array([value]), exponent)
    assert found.dtype == np.int64
    assert abs(int(found[0])) <= 2**61
    if math.isfinite(value) and abs(Fraction(value)) < Fraction(2) ** (exponent + 50):
        assert abs(Fraction(int(found[0])) * Fraction(2) ** exponent - Fraction(value)) <= Fraction(2) ** (exponent - 1)


@given(
    arrays.arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e6, 1e6)),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 100),
)
def test_a_release_of_any_values_evaluates_everywhere(lattice_values, sensitivity, epsilon):
    degree = len(lattice_values)
    target = sf.BlackBox(
        lambda data: lambda points: np.append(lattice_values, data[0]), sensitivity=sensitivity, range=(-1e6, 1e6)
    )
    release = sf.release(target, np.zeros(1), sf.Box([(0, 1)]), sf.Privacy(epsilon=epsilon), basis=sf.Bernstein(degree))
    assert release.coefficients.shape == (degree + 1,)
    assert release.coefficients.dtype == np.float64
    assert np.isfinite(release([0.0, 0.3, 1.0])).all()
