"""Landmarks: where they are, what is refused, and that a record's features are its own and never too long."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.landmarks import (
    FeatureMap,
    check_placed,
    check_whitened,
    feature_map,
    reach_of,
    scaled,
    spread,
)
from sfumato.errors import OutsideBoxError, ParameterError, ParameterTypeError
from sfumato.targets.machine.gradient import BLOCK

RNG = np.random.default_rng(4)
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
BOXES = [
    sf.Box([(-3, 5)]),
    PLANE,
    sf.Box([(0, 1), (-1, 1), (100, 200)]),
    sf.Box([(0, 1)] * 6),
    sf.Box([(-1, 1), (-2, 2)], max_norm=1.5),
    sf.Box({"n": sf.Integer(0, 9), "hour": sf.Periodic(0, 24)}),
]
KERNELS = [
    sf.RBF(0.5),
    sf.RBF(40.0),
    sf.Matern(0.5),
    sf.Polynomial(3),
    sf.UserKernel(lambda x, z: np.exp(x @ z.T), 5.0),
]
NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, -0.0, 1e17]


def kind_of(kernel):
    return kernel.kind


def records(box, count):
    return box.clean(RNG.uniform(-0.2, 1.2, size=(count, box.dimension)) * (box.high - box.low) + box.low)


# --- where they are ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("box", BOXES, ids=repr)
@pytest.mark.parametrize("count", [5, 60, 500])
def test_they_are_spread_over_the_box(box, count):
    points = spread(box, count)
    assert points.shape[1] == box.dimension
    assert 0.4 * count <= len(points) <= 2 * count + 8
    assert ((points >= box.low) & (points <= box.high)).all()
    if box.max_norm is None and count == 500 and "hour" not in box.names:
        unit = (points - box.low) / (box.high - box.low)
        assert (unit.min(axis=0) < 0.05).all() and (unit.max(axis=0) > 0.95).all()
        assert unit.mean(axis=0) == pytest.approx(np.full(box.dimension, 0.5), abs=0.05)


def test_up_to_three_columns_have_a_lattice():
    assert sf.Landmarks(9).placed(sf.Box([(0, 2), (0, 4)])).tolist() == [[x, y] for x in (0, 1, 2) for y in (0, 2, 4)]
    assert len(sf.Landmarks().placed(sf.Box([(0, 1)]))) == 33
    assert len(sf.Landmarks().placed(PLANE)) == 81
    assert len(sf.Landmarks(7).placed(sf.Box([(0, 1)] * 5))) == 7


def test_they_are_the_same_in_every_run():
    for box in BOXES:
        assert np.array_equal(sf.Landmarks(50).placed(box), sf.Landmarks(50).placed(box))


def test_given_points_are_copied_and_cannot_be_changed():
    points = np.array([[1.0, 20.0], [2.0, 30.0]])
    landmarks = sf.Landmarks(points)
    points[0, 0] = 99.0
    assert landmarks.placed(PLANE).tolist() == [[1.0, 20.0], [2.0, 30.0]]
    with pytest.raises(ValueError, match="read-only"):
        landmarks.placed(PLANE)[0, 0] = 5.0


def test_one_column_takes_flat_points():
    assert sf.Landmarks([0.1, 0.5]).placed(sf.Box([(0, 1)])).tolist() == [[0.1], [0.5]]


def test_equal_landmarks_are_equal_and_hash_alike():
    same = [sf.Landmarks([[1.0, 2.0]], rank=1), sf.Landmarks(np.array([[1, 2]]), rank=1)]
    assert same[0] == same[1] and hash(same[0]) == hash(same[1])
    others = [sf.Landmarks([[1.0, 2.0]]), sf.Landmarks([1.0, 2.0], rank=1), sf.Landmarks(2, rank=1), sf.Landmarks()]
    assert all(same[0] != other for other in others)
    assert sf.Landmarks(5) == sf.Landmarks(np.int64(5)) != sf.Landmarks(6)
    assert sf.Landmarks() != "landmarks"


def test_they_say_what_they_are():
    assert repr(sf.Landmarks([0.1, 0.5], rank=2)) == "Landmarks(2 points, rank=2)"
    assert repr(sf.Landmarks(9)) == "Landmarks(9, rank=None)"
    assert repr(sf.Landmarks()) == "Landmarks(usual, rank=None)"
    assert sf.Landmarks(9, rank=4).size(PLANE) == 4
    assert sf.Landmarks(9).size(PLANE) == 9
    assert sf.Coordinates().size(PLANE) == 2
    assert sf.Landmarks(9, 4).to_json() == {"kind": "landmarks", "rank": 4}


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outside", [[111.0, 20.0], [5.0, 9.99], [-1.0, 200.0]])
def test_landmarks_outside_the_box_are_refused_and_shown(outside):
    with pytest.raises(OutsideBoxError, match="1 of 2 landmarks lie outside the box") as error:
        feature_map(sf.RBF(), sf.Landmarks([[1.0, 20.0], outside]), PLANE)
    assert str(outside) in str(error.value)


def test_landmarks_of_another_dimension_are_refused():
    with pytest.raises(ParameterError, match=r"must have 2 columns \('age', 'bmi'\), got 3"):
        sf.Landmarks(np.zeros((4, 3))).placed(PLANE)


@pytest.mark.parametrize("points", [[[math.nan, 1.0]], [[math.inf]], [], [[]], np.zeros((2, 2, 2))])
def test_landmarks_must_be_a_matrix_of_finite_numbers(points):
    with pytest.raises(ParameterError, match=r"\(T, d\) array of finite numbers"):
        sf.Landmarks(points)


@pytest.mark.parametrize("points", ["auto", ["a", "b"], {"x": 1}])
def test_landmarks_must_be_numbers(points):
    with pytest.raises(ParameterTypeError, match="landmarks must be numbers or a count"):
        sf.Landmarks(points)


@pytest.mark.parametrize("points", [4097, np.zeros((4097, 1))])
def test_there_are_not_too_many(points):
    with pytest.raises(ParameterError, match="at most 4096 landmarks, got 4097"):
        sf.Landmarks(points)


@pytest.mark.parametrize(("count", "rank"), [(5, 6), (3, 100)])
def test_a_rank_beyond_the_landmarks_is_refused(count, rank):
    with pytest.raises(ParameterError, match=f"rank must not exceed the number of landmarks, {count}, got rank={rank}"):
        sf.Landmarks(count, rank=rank)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_counts_and_ranks_are_whole_and_positive(wrong):
    with pytest.raises(ParameterError, match="rank"):
        sf.Landmarks(rank=wrong)
    if not isinstance(wrong, float):
        with pytest.raises(ParameterError, match="count"):
            sf.Landmarks(wrong)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, z: -(x @ z.T), "not positive semi-definite on the landmarks"),
        (lambda x, z: np.tanh(3 * x @ z.T - 1), "not positive semi-definite on the landmarks"),
        (lambda x, z: x[:, :1] + 0 * (x @ z.T), "not symmetric at the landmarks"),
        (lambda x, z: np.full((len(x), len(z)), np.nan), "not finite at the landmarks"),
    ],
)
def test_what_is_no_kernel_at_the_landmarks_is_refused(function, message):
    with pytest.raises(ParameterError, match=message):
        feature_map(sf.UserKernel(function, 1.0), sf.Landmarks(9), PLANE)


def test_a_gram_matrix_that_is_none_is_refused():
    kernel = sf.Precomputed([[1.0, 2.0], [2.0, 1.0]], bound=2.0)
    with pytest.raises(ParameterError, match="eigenvalue -1 beside 3"):
        feature_map(kernel, sf.Landmarks(), kernel.box)
    with pytest.raises(ParameterError, match=r"a column for each of 2 public objects: use kernel.box"):
        feature_map(kernel, sf.Landmarks(), sf.Box([(0, 1)]))


def test_coordinates_are_for_a_linear_kernel():
    with pytest.raises(ParameterError, match=r"basis of a linear kernel; use sf.Landmarks"):
        feature_map(sf.RBF(), sf.Coordinates(), PLANE)


# --- features ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=kind_of)
@pytest.mark.parametrize("box", BOXES, ids=repr)
def test_features_at_the_landmarks_have_the_kernel_as_inner_products(kernel, box):
    basis = sf.Landmarks(40)
    features = feature_map(kernel, basis, box)
    points = basis.placed(box)
    seen = features(points)
    gram = kernel.values(scaled(box, points), scaled(box, points))
    assert seen @ seen.T == pytest.approx(gram, abs=1e-6 * gram.max())
    assert features.size == seen.shape[1] <= len(points)


@pytest.mark.parametrize("kernel", KERNELS, ids=kind_of)
@pytest.mark.parametrize("box", BOXES, ids=repr)
def test_no_record_is_longer_than_kappa(kernel, box):
    features = feature_map(kernel, sf.Landmarks(40), box)
    assert features.norm**2 == pytest.approx(kernel.largest(reach_of(box)), rel=1e-12)
    assert np.linalg.norm(features(records(box, 500)), axis=1).max() <= features.norm * (1 + 1e-6)


@pytest.mark.few(8)
@pytest.mark.parametrize("kernel", KERNELS, ids=kind_of)
@pytest.mark.parametrize("box", BOXES, ids=repr)
def test_what_a_reader_asks_of_landmarks_and_whitening_is_true_of_ours(kernel, box):
    for basis in (sf.Landmarks(300), sf.Landmarks(40, rank=2)):
        features = feature_map(kernel, basis, box)
        check_placed(features)
        check_whitened(features)
        shorter = FeatureMap(box, kernel, features.nodes, features.whitening * 0.999, features.norm)
        with pytest.raises(ParameterError, match="whitening"):
            check_whitened(shorter)


def test_a_rank_keeps_the_largest_directions():
    whole = feature_map(sf.RBF(), sf.Landmarks(25), PLANE)
    part = feature_map(sf.RBF(), sf.Landmarks(25, rank=4), PLANE)
    points = records(PLANE, 20)
    assert part.size == 4
    assert part(points) == pytest.approx(whole(points)[:, :4], abs=1e-12)
    assert np.diff((whole(sf.Landmarks(25).placed(PLANE)) ** 2).sum(axis=0)).max() < 1e-9  # in order


def test_a_rank_beyond_the_kernels_is_cut():
    assert feature_map(sf.Polynomial(1), sf.Landmarks(25, rank=20), PLANE).size == 3  # 1, x and y
    assert feature_map(sf.RBF(), sf.Landmarks([[1.0, 20.0]] * 5), PLANE).size == 1


def test_linear_features_are_scaled_coordinates_and_a_constant():
    found = feature_map(sf.LinearKernel(2.0), sf.Coordinates(), PLANE)(np.array([[0.0, 60.0], [55.0, 35.0]]))
    assert found.tolist() == [[-0.5, 0.5, 2.0], [0.0, 0.0, 2.0]]
    assert feature_map(sf.LinearKernel(0.0), sf.Coordinates(), PLANE).size == 2


def test_records_of_a_bounded_norm_are_divided_by_it():
    box = sf.Box([(-1, 1), (-2, 2)], max_norm=1.5)
    assert scaled(box, np.array([[1.5, 0.0]])).tolist() == [[1.0, 0.0]]
    assert reach_of(box) == 1.0
    assert reach_of(sf.Box([(-1, 1), (0, 1)], max_norm=10)) == pytest.approx(math.sqrt(2) / 10)
    assert reach_of(sf.Box([(0, 1)] * 4)) == 1.0


# --- fixed point ------------------------------------------------------------------------------------------------


def checked(features, points):
    """Fixed-point features, checked for what must hold whatever the records are."""
    with np.errstate(all="raise"):
        found = features.fixed_point(points)
    assert found.shape == (len(points), features.size)
    assert (found == np.rint(found)).all()
    for row in found.tolist():
        assert sum(int(v) ** 2 for v in row) <= features.budget**2
    return found


MAPS = [*((k, sf.Landmarks(30)) for k in KERNELS), (sf.LinearKernel(), sf.Coordinates())]
every_map = pytest.mark.parametrize(("kernel", "basis"), MAPS, ids=[k.kind for k, _ in MAPS])


@every_map
def test_fixed_point_features_are_the_features_rounded_toward_zero(kernel, basis):
    features = feature_map(kernel, basis, PLANE)
    points = records(PLANE, 300)
    found, real = checked(features, points) * 2.0**features.exponent, features(points)
    short = np.linalg.norm(real, axis=1) <= features.norm * (1 - 1e-9)
    assert short.any()
    assert (np.abs(found[short]) <= np.abs(real[short]) * (1 + 1e-12)).all()
    assert np.abs(found - real)[short].max() <= 2.0**features.exponent * (1 + 1e-9)
    assert features.budget <= features.norm * 2.0**-features.exponent < 2**20


@pytest.mark.few(18)
@pytest.mark.parametrize("value", NASTY)
@every_map
def test_no_value_makes_a_row_too_long(kernel, basis, value):
    features = feature_map(kernel, basis, PLANE)
    raw = np.array([[value, 20.0], [30.0, value], [value, value], [30.0, 20.0]])
    for points in (raw, PLANE.clean(raw)):  # records are cleaned before; nothing here rests on it
        found = checked(features, points)
        missing = np.isnan(points).any(axis=1)
        assert not found[missing].any()
        assert found[3].any()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_gives_zeros(value):
    for kernel, basis in MAPS:
        found = checked(feature_map(kernel, basis, PLANE), np.array([[value, 20.0], [30.0, 20.0]]))
        assert not found[0].any()
        assert found[1].any()


def test_a_row_that_is_too_long_keeps_its_direction():
    features = feature_map(sf.UserKernel(lambda x, z: 1e6 * np.exp(x @ z.T), 1.0), sf.Landmarks(9), PLANE)
    points = records(PLANE, 50)
    found, real = checked(features, points), features(points)
    cosine = (found * real).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(real, axis=1)
    assert cosine.min() > 1 - 1e-9
    assert np.linalg.norm(found, axis=1).min() > features.budget * (1 - 1e-4)


@every_map
def test_a_row_is_the_same_at_every_place_of_a_block(kernel, basis):
    """Bit by bit: a record must not see its place, nor the others."""
    features = feature_map(kernel, basis, PLANE)
    points = records(PLANE, BLOCK)
    found = features.fixed_point(points)
    order = RNG.permutation(BLOCK)
    assert np.array_equal(features.fixed_point(points[order]), found[order])
    others = records(PLANE, BLOCK)
    others[::3] = np.nan
    others[100] = points[5]
    others[BLOCK - 1] = points[6]
    again = features.fixed_point(others)
    assert np.array_equal(again[[100, BLOCK - 1]], found[[5, 6]])


# --- kernels that fail ------------------------------------------------------------------------------------------


def troubled(trouble):
    """An RBF kernel that behaves badly at records in one corner."""

    def function(x, z):
        values = np.exp(-((x[:, None, :] - z[None, :, :]) ** 2).sum(axis=2))
        bad = (x > 0.49).all(axis=1)
        return trouble(values, bad)

    return sf.UserKernel(function, 1.0)


def raising(values, bad):
    if bad.any():
        raise RuntimeError("secret")
    return values


def leaving(values, bad):
    if bad.any():
        raise SystemExit(3)
    return values


def misshapen(values, bad):
    return values[:-1] if bad.any() else values


TROUBLES = {
    "nan": lambda values, bad: np.where(bad[:, None], np.nan, values),
    "inf": lambda values, bad: np.where(bad[:, None], np.inf, values),
    "huge": lambda values, bad: np.where(bad[:, None], 1e308, values),
    "raises": raising,
    "exits": leaving,
    "misshapen": misshapen,
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_kernel_that_fails_on_one_record_loses_that_record_only(trouble):
    basis = sf.Landmarks(RNG.uniform([0, 10], [90, 50], size=(12, 2)))
    features = feature_map(troubled(TROUBLES[trouble]), basis, PLANE)
    points = RNG.uniform([0, 10], [90, 50], size=(40, 2))
    found = checked(features, points)
    points[7] = [110.0, 60.0]
    again = checked(features, points)
    assert np.array_equal(np.delete(again, 7, axis=0), np.delete(found, 7, axis=0))
    if trouble != "huge":
        assert not again[7].any()


def test_an_interrupt_is_no_failure():
    def function(x, z):
        if len(x) == 3:
            raise KeyboardInterrupt
        return x @ z.T + 1

    features = feature_map(sf.UserKernel(function, 2.0), sf.Landmarks(9), PLANE)
    with pytest.raises(KeyboardInterrupt):
        features.fixed_point(records(PLANE, 3))


def test_a_map_without_its_kernel_says_how_to_get_it():
    features = feature_map(sf.RBF(), sf.Landmarks(9), PLANE)
    bare = FeatureMap(PLANE, None, features.nodes, features.whitening, features.norm)
    with pytest.raises(ParameterError, match=r"release.with_kernel\(function\)"):
        bare(records(PLANE, 2))
