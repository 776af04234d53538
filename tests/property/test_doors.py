"""For any values: noise keeps shape and type, selection returns a candidate, quantisation keeps its promises."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from sfumato.core.certificate import certify_sum
from sfumato.core.quantize import LARGEST_BUDGET, round_vector, truncate_records

dtypes = st.one_of(
    arrays.integer_dtypes(endianness="="),
    arrays.unsigned_integer_dtypes(endianness="="),
    arrays.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
    arrays.boolean_dtypes(),
)
values = arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
amounts = st.floats(1e-3, 1e3)
floats = st.one_of(st.floats(), st.floats(-3, 3))


def check(noisy, array):
    assert np.shape(noisy) == array.shape
    assert np.asarray(noisy).dtype == (np.int64 if array.dtype.kind in "iub" else np.float64) or not array.size
    assert np.isfinite(noisy).all()


@given(values, amounts, amounts)
def test_laplace_noise_keeps_shape_and_kind(array, bound, epsilon):
    with np.errstate(all="raise"):
        check(sf.noise.laplace(array, l1=bound, epsilon=epsilon), array)


@given(values, amounts, amounts)
def test_gaussian_noise_keeps_shape_and_kind(array, bound, rho):
    with np.errstate(all="raise"):
        check(sf.noise.gaussian(array, l2=bound, rho=rho), array)


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
