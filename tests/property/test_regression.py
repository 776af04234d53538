"""For any records, responses and labels: curves and classifiers are published, and each record speaks for itself."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from effort import tries
from opening import numbers_of
from sfumato.bases.bayes.attributes import Attributes
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError

SPECIAL = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, 1.0, 5.0, 10.0, 1e17]
anything = st.one_of(st.floats(), st.floats(-2, 12), st.sampled_from(SPECIAL))  # few values: many ties
labels = st.one_of(anything, st.sampled_from([0.0, 1.0, 2.5]))
words = st.one_of(st.sampled_from(["no", "yes", "", "nan", "NO", "F", "M"]), st.text(max_size=3), st.none())
grants = st.sampled_from(
    [
        sf.Privacy(epsilon=1.0),
        sf.Privacy(epsilon=1e-3),
        sf.Privacy(epsilon=50.0, neighbours="add-remove"),
        sf.Privacy(epsilon=0.5, delta=1e-7),
        sf.Privacy(rho=0.3),
    ]
)
ranges = st.sampled_from([(0, 10), (-1e300, 1e300), (0.1, 0.7), (-3e-200, 5e-200), (1e9, 1e9 + 1)])
LINE = sf.Box({"x": (0, 10)})
DAY = sf.Box({"x": sf.Periodic(0, 10)})
WHOLE = sf.Box({"x": sf.Integer(0, 10)})
PLANE = sf.Box({"x": (0, 10), "z": (-1, 1)})
MIXED = sf.Box({"x": (0, 10), "sex": sf.Categorical(["F", "M"])})
GRID = np.linspace(0, 10, 13)
EXACT = sf.Privacy(epsilon=1.0)


def pairs(columns=1, second=anything):
    """``(X, y)`` of up to 25 rows."""
    return st.integers(1, 25).flatmap(
        lambda n: st.tuples(
            arrays.arrays(np.float64, (n, columns), elements=anything), arrays.arrays(np.float64, n, elements=second)
        )
    )


def quietly(target, data, box, privacy=EXACT, basis="auto"):
    """The release, with every warning and floating-point trap an error."""
    with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        return sf.release(target, data, box, privacy, basis=basis)


def vector(target, data, box, basis):
    """What the door would be given."""
    with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        gathered = target.gather(MemoryEngine().open(data, box, "row", target.columns), box, MemoryEngine())
        certificate = target.certificate(basis, box, gathered.rows, EXACT)
        return numbers_of(target.coefficients(gathered, basis, box, certificate))


# --- nothing raises, nothing warns --------------------------------------------------------------------------------


@pytest.mark.slow
@tries(25)
@given(
    pairs(),
    st.sampled_from([LINE, DAY, WHOLE]),
    grants,
    ranges,
    st.sampled_from([sf.Binning(7), sf.SplitLattice(8, 0.6)]),
)
def test_any_records_and_responses_give_a_curve(data, box, privacy, limits, basis):
    release = quietly(sf.NadarayaWatson(1.2, range=limits), data, box, privacy, basis)
    found = release(GRID)
    assert ((found >= limits[0]) & (found <= limits[1])).all()
    for include in ("noise", "total", "worst"):
        low, high = release.band(GRID, include=include)
        assert (low <= found).all() and (found <= high).all()


@tries(15)
@given(pairs(2), grants)
def test_any_records_give_a_surface(data, privacy):
    release = quietly(sf.NadarayaWatson([2.0, 0.4], range=(0, 10)), data, PLANE, privacy, sf.Binning((5, 4)))
    found = release([[0.0, -1.0], [10.0, 1.0], [3.0, 0.2]])
    assert ((found >= 0) & (found <= 10)).all()


@tries(60)
@given(
    pairs(),
    st.sampled_from([LINE, WHOLE]),
    st.sampled_from([sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=0.01, delta=1e-9), sf.Privacy(rho=2.0)]),
    st.sampled_from([(0, 10), (-5e9, 5e9), (0.1, 0.7)]),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.sampled_from([1e-3, 4.0, 1e5]),
)
def test_any_records_give_a_priestley_chao_curve(data, box, privacy, limits, bandwidth, gap):
    target = sf.PriestleyChao(bandwidth, range=limits, gap=gap)
    assert np.isfinite(quietly(target, data, box, privacy, sf.Bernstein(5, order=2))(GRID)).all()


@pytest.mark.slow
@tries(20)
@given(pairs(2, labels), grants, st.sampled_from(["kernel", "normal"]), st.sampled_from([[0, 1], [0, 1, 2.5]]))
def test_any_records_and_labels_give_a_classifier(data, privacy, likelihood, classes):
    target = sf.NaiveBayes("y", classes, bandwidth=[1.5, 0.3], likelihood=likelihood)
    basis = Attributes((sf.Binning(6), sf.SplitLattice(5, 0.2)) if likelihood == "kernel" else (None, None))
    release = quietly(target, data, PLANE, privacy, basis)
    asked = np.array([[0.0, -1.0], [10.0, 1.0], [3.0, math.nan]])
    found = release.predict_proba(asked)
    assert np.isfinite(found).all()
    assert np.allclose(found.sum(axis=1), 1.0)
    assert np.isin(release.predict(asked), classes).all()
    for include in ("noise", "total", "worst"):
        low, high = release.band(asked, include=include)
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    release.certain(asked)


frames = st.integers(1, 20).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "x": st.lists(anything, min_size=n, max_size=n),
            "sex": st.lists(words, min_size=n, max_size=n),
            "y": st.lists(words, min_size=n, max_size=n),
        }
    )
)


def table(columns):
    return pd.DataFrame(
        {"x": np.array(columns["x"], dtype=float), "sex": pd.Series(columns["sex"], dtype=object),
         "y": pd.Series(columns["y"], dtype=object)}
    )  # fmt: skip


@tries(20)
@given(frames, grants, st.sampled_from(["kernel", "normal"]))
def test_any_text_gives_a_classifier(columns, privacy, likelihood):
    target = sf.NaiveBayes("y", ["no", "yes"], bandwidth=[1.5], likelihood=likelihood)
    basis = Attributes((sf.Binning(6) if likelihood == "kernel" else None, None))
    release = quietly(target, table(columns), MIXED, privacy, basis)
    assert np.isfinite(release.predict_proba({"x": [3.0, math.nan], "sex": ["M", "?"]})).all()


# --- each record speaks for itself --------------------------------------------------------------------------------

CURVE = sf.NadarayaWatson(1.2, range=(0, 10))
SMOOTH = sf.NaiveBayes("y", [0, 1, 2.5], bandwidth=[1.5])
MOMENTS = sf.NaiveBayes("y", [0, 1, 2.5], likelihood="normal")
SUMS = [
    (CURVE, sf.Binning(7)),
    (CURVE, sf.SplitLattice(8, 0.6)),
    (SMOOTH, Attributes((sf.Binning(6),))),
    (MOMENTS, Attributes((None,))),
]
sums = st.sampled_from(SUMS)


@given(pairs(second=labels), sums, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_a_bit(data, pair, random):
    order = list(range(len(data[1])))
    random.shuffle(order)
    (target, basis), (X, y) = pair, data
    one, other = (vector(target, d, LINE, basis) for d in (data, (X[order], y[order])))
    assert one.dtype == np.int64
    assert (one == other).all()


@given(pairs(), st.randoms(use_true_random=False))
def test_nor_does_it_where_gaps_are_between_neighbours(data, random):
    """Records are sorted by place and response, so ties have one order."""
    order = list(range(len(data[1])))
    random.shuffle(order)
    target, basis, (X, y) = sf.PriestleyChao(1.2, range=(0, 10)), sf.Bernstein(5), data
    one, other = (vector(target, d, LINE, basis) for d in (data, (X[order], y[order])))
    assert one.tolist() == other.tolist()


@given(pairs(second=labels), sums, st.integers(0, 25))
def test_tables_add_up(data, pair, cut):
    (target, basis), (X, y) = pair, data
    parts = [vector(target, d, LINE, basis) for d in ((X[:cut], y[:cut]), (X[cut:], y[cut:]))]
    assert (vector(target, data, LINE, basis) == parts[0] + parts[1]).all()


@given(pairs(), st.sampled_from([(0.0, 10.0), (0.1, 0.7), (-3e-200, 5e-200)]))
def test_responses_outside_the_range_are_clipped(data, limits):
    """A missing response stays missing."""
    for target, basis in (
        (sf.NadarayaWatson(1.2, range=limits), sf.Binning(7)),
        (sf.PriestleyChao(1.2, range=limits), sf.Bernstein(5)),
    ):
        clipped = (data[0], np.clip(data[1], *limits))
        assert vector(target, data, LINE, basis).tolist() == vector(target, clipped, LINE, basis).tolist()


@tries(50)
@given(pairs(second=labels), st.sampled_from(SUMS[2:]))
def test_undeclared_labels_contribute_nothing(data, pair):
    (target, basis), (X, y) = pair, data
    known = np.isin(y, target.classes)
    assert (vector(target, data, LINE, basis) == vector(target, (X[known], y[known]), LINE, basis)).all()


@tries(40)
@given(frames)
def test_undeclared_words_contribute_nothing(columns):
    frame = table(columns)
    target, basis = sf.NaiveBayes("y", ["no", "yes"], bandwidth=[1.5]), Attributes((sf.Binning(6), None))
    known = frame[frame.y.isin(["no", "yes"])]
    assert (vector(target, frame, MIXED, basis) == vector(target, known, MIXED, basis)).all()


@given(pairs())
def test_missing_responses_contribute_nothing(data):
    there = ~np.isnan(data[1])
    one, other = (vector(CURVE, d, LINE, sf.Binning(7)) for d in (data, (data[0][there], data[1][there])))
    assert (one == other).all()


# --- public parameters ------------------------------------------------------------------------------------------


@given(
    st.one_of(anything, st.text(max_size=3), st.none(), st.lists(anything, max_size=2)),
    st.one_of(anything, st.none(), st.booleans()),
    st.one_of(st.none(), st.tuples(anything, anything), st.lists(st.integers(), max_size=3)),
)
def test_any_declaration_is_used_or_refused(bandwidth, gap, limits):
    for declare in (
        lambda: sf.NadarayaWatson(bandwidth, range=limits),
        lambda: sf.PriestleyChao(bandwidth, range=limits, gap=gap),
        lambda: sf.NaiveBayes("y", limits, bandwidth),
    ):
        try:
            target = declare()
        except ParameterError:
            continue
        assert target.describe()[0][0] == "target"
