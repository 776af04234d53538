"""Kernels of learners: positive semi-definite, bounded by what they say, the same after a file."""

import json
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import sfumato as sf
from sfumato.bases.machine.kernels import NAMED, Precomputed, kernel_from_json, kernel_of, rank_of
from sfumato.errors import ParameterError, ParameterTypeError

RNG = np.random.default_rng(8)
KERNELS = [
    sf.RBF(),
    sf.RBF(gamma=7),
    *(sf.Matern(nu, length) for nu in (0.5, 1.5, 2.5) for length in (0.3, 2)),
    sf.Polynomial(),
    sf.Polynomial(degree=1, gamma=0.5, coef0=0.0),
    sf.Polynomial(degree=4, gamma=2.0, coef0=0.25),
    sf.LinearKernel(),
    sf.LinearKernel(0.0),
    sf.LinearKernel(2.5),
]
every = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def ball(count, dimension, reach):
    """Points of every length up to ``reach``, the sphere itself and the middle included."""
    points = RNG.normal(size=(count, dimension))
    lengths = np.concatenate([[0.0, reach, reach], RNG.uniform(0, reach, size=count - 3)])
    return points * (lengths / np.linalg.norm(points, axis=1))[:, None]


# --- what every kernel is ---------------------------------------------------------------------------------------


@pytest.mark.few(10)
@every
@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_it_is_symmetric_and_positive_semi_definite(kernel, dimension):
    points = ball(60, dimension, 1.0)
    gram = kernel.values(points, points)
    assert gram.shape == (60, 60)
    assert gram == pytest.approx(gram.T, abs=1e-12)
    assert np.linalg.eigvalsh((gram + gram.T) / 2).min() >= -1e-12 * np.trace(gram)


@pytest.mark.few(14)
@every
@pytest.mark.parametrize("reach", [0.5, 1.0, 2.2])
def test_its_largest_value_is_the_supremum_on_the_ball(kernel, reach):
    """Attained on the sphere, exceeded nowhere."""
    points = ball(300, 3, reach)
    diagonal = np.array([kernel.values(p[None], p[None])[0, 0] for p in points])
    assert diagonal.max() == pytest.approx(kernel.largest(reach), rel=1e-12)
    assert np.abs(kernel.values(points, points)).max() <= kernel.largest(reach) * (1 + 1e-12)


@every
def test_plain_data_and_back(kernel):
    again = kernel_from_json(json.loads(json.dumps(kernel.to_json())), None)
    assert again == kernel
    assert type(again) is type(kernel)
    assert hash(again) == hash(kernel)


@every
def test_it_cannot_be_changed(kernel):
    for name in vars(kernel):
        with pytest.raises(AttributeError):
            setattr(kernel, name, 1.0)


@every
def test_it_leaves_its_arguments_alone(kernel):
    left, right = ball(9, 2, 1.0), ball(7, 2, 1.0)
    before = left.copy(), right.copy()
    assert kernel.values(left, right).shape == (9, 7)
    assert np.array_equal(left, before[0]) and np.array_equal(right, before[1])


# --- the formulas, against another library's --------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.1, 0.5, 30.0])
def test_rbf(gamma):
    left, right = ball(20, 3, 1.0), ball(10, 3, 1.0)
    assert sf.RBF(gamma).values(left, right) == pytest.approx(rbf_kernel(left, right, gamma), rel=1e-12)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("length", [0.2, 1.0, 3.0])
def test_matern(nu, length):
    left, right = ball(20, 3, 1.0), ball(10, 3, 1.0)
    theirs = SklearnMatern(length_scale=length, nu=nu)(left, right)
    assert sf.Matern(nu, length).values(left, right) == pytest.approx(theirs, rel=1e-7)


@pytest.mark.parametrize("degree", [1, 2, 3, 6])
def test_polynomial(degree):
    left, right = ball(20, 3, 1.0), ball(10, 3, 1.0)
    theirs = polynomial_kernel(left, right, degree=degree, gamma=0.7, coef0=0.4)
    assert sf.Polynomial(degree, 0.7, 0.4).values(left, right) == pytest.approx(theirs, rel=1e-12, abs=1e-14)


def test_linear():
    left, right = ball(20, 3, 1.0), ball(10, 3, 1.0)
    assert sf.LinearKernel(1.5).values(left, right) == pytest.approx(left @ right.T + 2.25)


def test_a_distance_that_rounding_makes_negative_is_none():
    """Far from the origin a squared distance of 0 is a difference of large numbers."""
    points = np.full((5, 3), 1e3) + 1e-9 * RNG.normal(size=(5, 3))
    for kernel in (sf.RBF(1e6), sf.Matern(0.5, 1e-6)):
        values = kernel.values(points, points)
        assert (values <= 1.0).all() and np.isfinite(values).all()


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda v: sf.RBF(gamma=v), "gamma"),
        (lambda v: sf.Matern(length=v), "length"),
        (lambda v: sf.Polynomial(gamma=v), "gamma"),
        (lambda v: sf.UserKernel(np.dot, v), "bound"),
        (lambda v: sf.Precomputed([[1.0]], v), "bound"),
    ],
)
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf])
def test_parameters_must_be_positive(make, name, value):
    with pytest.raises(ParameterError, match=f"{name} must be .*got {name}="):
        make(value)


@pytest.mark.parametrize("nu", [1, 0.0, 3.5, math.inf, None])
def test_only_three_smoothnesses(nu):
    with pytest.raises(ParameterError, match=r"nu must be 0.5, 1.5 or 2.5.*sf.RBF.*got nu="):
        sf.Matern(nu)


@pytest.mark.parametrize("make", [lambda: sf.Polynomial(coef0=-0.1), lambda: sf.LinearKernel(-1)])
def test_what_would_not_be_positive_semi_definite_is_refused(make):
    with pytest.raises(ParameterError, match="must not be negative"):
        make()


@pytest.mark.parametrize("degree", [0, -1, 1.5, "3"])
def test_degrees_are_whole_and_positive(degree):
    with pytest.raises(ParameterError, match="degree"):
        sf.Polynomial(degree)


def test_kernels_by_name():
    for name, kind in NAMED.items():
        assert kernel_of(name) == kind()
    assert kernel_of(KERNELS[1]) is KERNELS[1]
    with pytest.raises(ParameterError, match="kernel must be one of 'rbf', 'matern', 'polynomial', 'linear', got"):
        kernel_of("gaussian")
    with pytest.raises(ParameterTypeError, match=r"sf.RBF"):
        kernel_of(np.dot)


@pytest.mark.parametrize("data", [{"kind": "magic"}, {"kind": "rbf", "gamma": -1}, {"kind": "precomputed", "bound": 1}])
def test_files_of_unknown_kernels_are_refused(data):
    with pytest.raises(ParameterError):
        kernel_from_json(data, None)


# --- kernels of one's own ---------------------------------------------------------------------------------------


def test_a_user_kernel_is_called_with_scaled_records_and_landmarks():
    kernel = sf.UserKernel(lambda x, z: x @ z.T, bound=2.0, name="mine")
    left, right = ball(4, 2, 1.0), ball(3, 2, 1.0)
    assert kernel.values(left, right) == pytest.approx(left @ right.T)
    assert kernel.largest(1e9) == 2.0
    assert kernel.to_json() == {"kind": "user", "bound": 2.0, "name": "mine"}
    assert kernel_from_json(kernel.to_json(), None) is None  # a file holds no code


def test_a_user_kernel_of_the_wrong_shape_is_refused():
    with pytest.raises(ParameterError, match=r"must return shape \(4, 3\), got shape \(3, 4\)"):
        sf.UserKernel(lambda x, z: z @ x.T, 1.0).values(ball(4, 2, 1.0), ball(3, 2, 1.0))


@pytest.mark.parametrize("function", [None, 3, "rbf"])
def test_a_user_kernel_must_be_callable(function):
    with pytest.raises(ParameterTypeError, match="callable"):
        sf.UserKernel(function, 1.0)


# --- kernels on anything ----------------------------------------------------------------------------------------


def test_a_precomputed_kernel_has_a_box_of_its_values():
    kernel = sf.Precomputed([[2.0, 0.5], [0.5, 1.0]], bound=2.0)
    assert kernel.box == sf.Box([(-2, 2), (-2, 2)])
    assert kernel.largest(1.0) == 2.0
    rows = np.array([[0.1, 0.2]])
    assert kernel.values(rows, kernel.gram) is rows
    again = kernel_from_json(kernel.to_json(), np.array(kernel.gram))
    assert isinstance(again, Precomputed) and np.array_equal(again.gram, kernel.gram) and again.bound == 2.0


def test_a_precomputed_matrix_cannot_be_changed():
    given = np.eye(2)
    kernel = sf.Precomputed(given, bound=1.0)
    given[0, 0] = 9.0
    assert kernel.gram.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        kernel.gram[0, 0] = 9.0


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        ([[1.0, 0.0]], "square"),
        ([1.0, 2.0], "square"),
        ([[math.nan]], "finite"),
        ([[1.0, 0.5], [0.2, 1.0]], "symmetric"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(gram, message):
    with pytest.raises(ParameterError, match=message):
        sf.Precomputed(gram, bound=1.0)


# --- ranks ------------------------------------------------------------------------------------------------------


def test_a_rank_counts_what_stands_clear_of_rounding():
    assert rank_of(np.array([1.0, 1e-3, 1e-7, 1e-9, -1e-12]), sf.RBF()) == 3


@pytest.mark.parametrize("spectrum", [[1.0, -1e-3], [0.0, 0.0], [-1.0, -2.0], [math.nan, math.nan], [math.inf, 1.0]])
def test_a_spectrum_of_no_kernel_is_refused(spectrum):
    with pytest.raises(ParameterError, match="not positive semi-definite on the landmarks"):
        rank_of(np.array(spectrum), sf.RBF())
