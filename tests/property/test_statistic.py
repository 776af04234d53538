"""For any records, any statistic and any grant: numbers come out, hold together, and keep within their limits."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from effort import tries
from sfumato.core import mechanism
from sfumato.engines.memory import MemoryEngine

anything = st.one_of(
    st.floats(), st.floats(-5, 15), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 10.0, 2.0**63, 1e308])
)
tables = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=anything)
NARROW = (1e-300, 2e-300)  # refused for quantiles, whatever the records
columns = st.sampled_from([(0, 10), sf.Integer(0, 10), (-1e150, 1e150), (5, 5.5), (-7, -1e-300), NARROW])
circles = st.sampled_from([sf.Periodic(0, 10), sf.Periodic(-3, 4)])
summed = st.sampled_from(["count", "sum", "mean", "variance", "covariance", "histogram"])
grants = st.sampled_from(
    [
        sf.Privacy(epsilon=1.0),
        sf.Privacy(epsilon=1e-4),
        sf.Privacy(epsilon=50.0, neighbours="add-remove"),
        sf.Privacy(rho=0.3),
        sf.Privacy(epsilon=1.0, delta=1e-7),
        sf.Privacy(epsilon=0.2, delta=0.1, neighbours="add-remove"),
    ]
)
missing = st.sampled_from(["drop", "none"])
texts = st.lists(st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["F", "M"])), min_size=1, max_size=20)


def check(release):
    """Shapes and labels agree, everything is finite, and the limits hold the value."""
    low, high = release.interval()
    shape = np.shape(release.value)
    assert np.shape(low) == np.shape(high) == shape == tuple(map(len, release.labels))
    assert np.all(np.isfinite(release.value))
    assert np.all(low <= release.value) and np.all(release.value <= high)
    assert repr(release)


@tries(40)
@given(tables, columns, st.one_of(columns, circles), summed, grants, missing)
def test_any_records_give_a_statistic(data, one, two, what, grant, absent):
    assume(what in ("count", "histogram") or not isinstance(two, sf.Periodic))  # of which there is no sum
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        check(sf.release(sf.Statistic(what, missing=absent), data, sf.Box({"x": one, "y": two}), grant))


@tries(40)
@given(
    tables,
    columns.filter(lambda c: c != NARROW),
    grants,
    missing,
    st.lists(st.integers(1, 999), min_size=1, max_size=4),
)
def test_any_records_give_quantiles(data, column, grant, absent, levels):
    target = sf.Statistic("quantiles", "x", absent, probabilities=[level / 1000 for level in levels])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        release = sf.release(target, data, sf.Box({"x": column, "y": (0, 1)}), grant)
        check(release)
    box = release.box
    assert (release.value >= box.low).all() and (release.value <= box.high).all()
    assert (np.diff(release.value) >= 0).all()


@tries(40)
@given(texts, st.sampled_from(["count", "histogram", "proportions"]), grants, missing, st.sampled_from([0, 1, 2]))
def test_any_words_are_counted(words, what, grant, absent, kind):
    box = sf.Box({"sex": sf.Categorical(["F", "M"])})
    frame = [
        lambda: pd.DataFrame({"sex": pd.Series(words, dtype="str")}),
        lambda: pl.DataFrame({"sex": words}, schema={"sex": pl.String}),
        lambda: pa.table({"sex": pa.array(words, pa.string())}),
    ][kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        release = sf.release(sf.Statistic(what, missing=absent), frame, box, grant)
        check(release)
    if what == "proportions":
        assert release.value.min() >= 0 and release.value.sum() <= 1 + 1e-9


@tries(40)
@given(tables, grants)
def test_any_records_have_bounds(data, grant):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        low, high = sf.private_bounds(data[:, 0], privacy=grant).value
    assert -(2.0**64) <= low < high <= 2.0**64


@tries(40)
@given(tables, st.lists(anything, max_size=4), st.integers(1, 3))
def test_whatever_a_function_returns_is_published(data, answer, length):
    target = sf.Statistic(lambda d: answer, sensitivity=0.5, length=length)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        check(sf.release(target, data, sf.Box([(0, 1), (0, 1)]), sf.Privacy(epsilon=1.0), rehearse=False))


@pytest.fixture(scope="module")
def no_noise():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
        yield


def integers(data, what, chunk, column=(0, 10)):
    box, grant = sf.Box({"x": column, "y": (-3, 3)}), sf.Privacy(epsilon=1.0, neighbours="add-remove")
    target = sf.Statistic(what)
    release = sf.release(target, data, box, grant, engine=MemoryEngine(chunk))
    return np.rint(release.numbers / release.law.step), release.law.certificate


@tries(60)
@given(tables, summed, st.randoms(use_true_random=False), st.integers(1, 40), columns)
def test_the_order_of_records_and_chunks_do_not_change_a_bit(no_noise, data, what, random, chunk, column):
    order = list(range(len(data)))
    random.shuffle(order)
    one, two = integers(data, what, 10**6, column)[0], integers(data[order], what, chunk, column)[0]
    assert one.tobytes() == two.tobytes()


@tries(60)
@given(tables, summed, arrays.arrays(np.float64, (1, 2), elements=anything), columns)
def test_one_more_record_adds_its_own_integers(no_noise, data, what, record, column):
    """The same whatever the others are, and no more than the certificate says."""
    alone, certificate = integers(record, what, 7, column)
    before, after = (integers(d, what, 7, column)[0] for d in (data, np.vstack([data, record])))
    assert (after - before).tobytes() == alone.tobytes()
    assert np.linalg.norm(alone, ord=1) <= certificate.bound


@tries(40)
@given(tables, summed, st.integers(0, 29), arrays.arrays(np.float64, (1, 2), elements=anything), missing)
def test_one_exchanged_record_moves_no_more_than_the_certificate_says(no_noise, data, what, place, record, absent):
    if not len(data):
        return
    other = data.copy()
    other[place % len(data)] = record
    box, target = sf.Box({"x": (0, 10), "y": (-3, 3)}), sf.Statistic(what, missing=absent)
    for grant in (sf.Privacy(epsilon=1.0), sf.Privacy(rho=0.5)):
        one, two = (sf.release(target, d, box, grant) for d in (data, other))
        certificate = one.law.certificate
        moved = np.rint((one.numbers - two.numbers) / one.law.step)
        assert np.linalg.norm(moved, ord=int(certificate.norm[1])) <= certificate.bound
