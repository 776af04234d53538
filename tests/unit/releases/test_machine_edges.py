"""Edges of learners that were once wrong: each of these tests has caught a defect."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.machine.landmarks import feature_map
from sfumato.core import mechanism
from sfumato.errors import FileFormatError, ParameterError, ParameterTypeError, SchemaError
from sfumato.releases.machine.response import Response
from sfumato.targets.machine.gradient import BLOCK

BOX = sf.Box([(0, 1), (0, 1)])
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(500, 2))
Y = np.where(X[:, 0] > 0.5, 1.0, -1.0)
PURE = sf.Privacy(epsilon=1.0)


def test_a_kernel_that_raises_on_one_record_moves_no_other_by_a_bit():
    h = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2.0
    h = np.kron(h, h)
    gram = (h * np.array([(1 - i / 32) ** 2 for i in range(16)])) @ h.T  # features of round numbers

    def function(x, z):
        i, j = (np.floor((a[:, 0] + 0.5) * 16).astype(int) for a in (x, z))
        if (i == 16).any():
            raise RuntimeError("secret")
        return gram[np.ix_(i, j)]

    features = feature_map(sf.UserKernel(function, 1.0), sf.Landmarks(np.arange(16) + 0.5), sf.Box([(0, 16)]))
    points = RNG.uniform(0, 15.9, size=(BLOCK, 1))
    found = features.fixed_point(points)
    points[7] = 16.0
    again = features.fixed_point(points)
    assert not again[7].any()
    assert np.array_equal(np.delete(again, 7, axis=0), np.delete(found, 7, axis=0))


@pytest.mark.slow
def test_pure_bernstein_bands_of_three_classes_cover():
    """At least 80 of 100 should; fewer than 50 happens by chance less than once in 1e10 runs."""
    t = sf.KernelMachine("hinge", C=1.0, classes=[0, 1, 2])
    y = np.floor(X[:, 0] * 3)
    pts = X[:20]
    real = mechanism.draw
    mechanism.draw = lambda law: np.zeros(law.size, dtype=np.int64)
    try:
        truth = sf.release(t, (X, y), BOX, PURE, basis=sf.Bernstein(3))(pts)
    finally:
        mechanism.draw = real
    missed = 0
    for _ in range(100):
        low, high = sf.release(t, (X, y), BOX, PURE, basis=sf.Bernstein(3)).band(pts, 0.8)
        missed += bool(((truth < low) | (truth > high)).any())
    assert missed <= 50


@pytest.mark.parametrize("basis", [sf.Binning(5), sf.Step(5)])
def test_other_bases_are_refused(basis):
    with pytest.raises(ParameterTypeError, match=r"sf\.Landmarks or sf\.Coordinates or sf\.Bernstein"):
        sf.release(sf.KernelMachine("hinge", C=1.0, classes=[-1, 1]), (X, Y), BOX, PURE, basis=basis)


@pytest.mark.parametrize("basis", [sf.Landmarks(9), sf.Landmarks(9, rank=2), sf.Landmarks([[0.2, 0.2], [0.7, 0.3]])])
def test_a_linear_kernel_at_landmarks(basis, tmp_path):
    r = sf.release(sf.KernelMachine("hinge", "linear", C=1.0, classes=[-1, 1]), (X, Y), BOX, PURE, basis=basis)
    r.save(tmp_path / "r.sfumato")
    assert np.array_equal(sf.load(tmp_path / "r.sfumato")(X[:5]), r(X[:5]))


def test_the_reason_that_is_given_is_the_one_that_helps():
    with pytest.raises(ParameterError, match="use loss='huber'"):
        sf.release(
            sf.KernelMachine("squared", range=(-1, 1)), (X, Y), BOX, sf.Privacy(rho=0.5, neighbours="add-remove")
        )


def test_a_response_of_three_dimensions_is_refused():
    with pytest.raises(SchemaError, match="3-D"):
        sf.release(sf.KernelMachine("hinge", C=1.0, classes=[-1, 1]), (X, Y[:, None, None]), BOX, PURE)


@pytest.mark.parametrize("what", ["epsilon", "size", "norm"])
def test_tampered_objective(what, tmp_path):
    from fractions import Fraction

    from safetensors import safe_open
    from safetensors.numpy import save as pack

    file = tmp_path / "r.sfumato"
    sf.release(
        sf.KernelMachine("logistic", sf.RBF(3.0), C=10.0, classes=[-1, 1], mechanism="objective"), (X, Y), BOX, PURE
    ).save(file)
    with safe_open(file, framework="numpy") as c:
        d, a = json.loads(c.metadata()["sfumato"]), {k: c.get_tensor(k) for k in c.keys()}  # noqa: SIM118
    o = d["content"]["objective"]
    if what == "epsilon":
        o["epsilon"] = 100.0
        o["law"]["scale"] = str(Fraction(o["law"]["scale"]) / 50)
    if what == "size":
        o["objective"]["size"] = o["law"]["size"] = 1
    if what == "norm":
        d["content"]["norm"] = 1e-6
    file.write_bytes(pack(a, metadata={"sfumato": json.dumps(d)}))
    with pytest.raises(FileFormatError):
        sf.load(file)


def test_public_arrays_cannot_be_changed():
    r = sf.release(sf.KernelMachine("hinge", sf.RBF(3.0), C=1.0, classes=[-1, 1]), (X, Y), BOX, PURE)
    assert not any(v.flags.writeable for v in r.arrays().values())


def test_a_response_beside_a_rounded_middle_keeps_within_its_range():
    """The middle of this range is no double: the largest value would come out as 2, and the slope's bound be false."""
    response = Response("v", range=(1e16, 1e16 + 2))
    assert np.abs(response.from_range(np.array([0.0, 1e16, 1e16 + 2, np.inf]))).max() <= 1


def test_a_kernel_that_cannot_read_one_record_alone_is_refused():
    """When a kernel fails on a record each is tried by itself; one that always fails then would silence a block."""

    def squeezing(left, right):
        return np.exp(-np.abs(np.squeeze(left[:, :1])[:, None] - np.squeeze(right[:, :1])[None, :]))

    target = sf.KernelMachine("hinge", sf.UserKernel(squeezing, 1.0), C=1.0, classes=[-1, 1])
    with pytest.raises(ParameterError, match="must accept a single record"):
        sf.release(target, (X, Y), BOX, PURE)


@pytest.mark.parametrize("C", [3e-160, 1e150])
def test_c_beyond_what_squares_can_hold_is_refused(C):
    with pytest.raises(ParameterError, match="C="):
        sf.release(sf.KernelMachine("logistic", C=C, classes=[-1, 1], mechanism="output"), (X, Y), BOX, PURE)


def test_a_step_that_should_have_been_the_last_and_was_not_gets_a_new_hessian():
    """With the old one the solver went round in circles for ever, on these labels but not on their neighbours."""
    records = np.array(
        [
            [0.8198873840059318, 0.39941323168366205],
            [0.9186598662400255, 0.7157473661300842],
            [0.6543043049171328, 0.9546486007503687],
            [0.061238659557601105, 0.2692596907124941],
            [0.07682341449132968, 0.8466679074321375],
            [0.8646752532864006, 0.3880953624576794],
            [0.8913397580218841, 0.5179684921949224],
        ]
    )
    settings = {"C": 351381.3820990034, "classes": [-1, 1], "mechanism": "output"}
    labels = np.array([-1, -1, -1, 1, -1, 1, -1])
    release = sf.release(sf.KernelMachine("smoothed-hinge", "linear", **settings), (records, labels), BOX, PURE)
    assert np.isfinite(release.weights).all()
