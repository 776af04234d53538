"""Every pass of every target: public, picklable, indifferent to cutting and order; and every target folds.

Whoever adds a target adds it to ``folding.FOLDING``, where passes follow noise to ``folding.STEPPING``, or, where it
is no sum over records, to ``folding.WHOLE``.
"""

import copy
import pickle
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from contracts.folding import BASES, FOLDING, PLANE, PURE, ROWS, SUMMING, WHOLE, Watching, passes_of, released, table
from opening import numbers_of
from sfumato.engines.engine import Engine
from sfumato.engines.memory import MemoryEngine, MemoryRecords
from sfumato.errors import ParameterError, ParameterTypeError, PrivateDataError
from sfumato.targets.base import Target
from sfumato.targets.statistic import ChosenStatistic

targets = pytest.mark.parametrize("name", SUMMING)


class Poisoned(MemoryEngine):
    """Opens as it should, and fails when anything is summed."""

    def fold(self, records, one):
        raise ZeroDivisionError("poison")


@targets
def test_every_target_that_sums_folds(name):
    with pytest.raises(ZeroDivisionError, match="poison"):
        released(name, Poisoned())


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_sum_does_not(name):
    released(name, Poisoned())


def test_every_target_is_here():
    def concrete(kind):
        return {kind, *(below for one in kind.__subclasses__() for below in concrete(one))}

    ours = {kind for kind in concrete(Target) - {Target} if kind.__module__.startswith("sfumato.")}
    assert {type(target) for target, *_ in (*SUMMING.values(), *WHOLE.values())} == ours - {ChosenStatistic}


@pytest.mark.parametrize(
    ("name", "kinds", "count"),
    [
        ("variance in two steps", {"Moments", "CentredSquares"}, 2),
        ("descent", {"ClippedGradient"}, 64),
        ("components by products", {"Projected"}, 3),
        ("logistic regression from noisy shares", {"Counts", "Gradient"}, None),
    ],
)
def test_what_follows_noise_takes_its_steps(name, kinds, count):
    """Or the passes after it would be compared nowhere."""
    engine = Watching()
    released(name, engine)
    assert {type(getattr(one, "rule", one)).__name__ for one in passes_of(name)} == kinds
    assert len(engine.passes) == (count or len(engine.passes))


# --- engines that have no whole table, and what is no engine --------------------------------------------------------


class Scattered:
    """Records that are nowhere all at once."""

    def __init__(self, records):
        self.rows, self.assumptions, self.kept = records.rows, records.assumptions, records


class Elsewhere:
    """An engine as others write one: two methods, and nothing else."""

    def open(self, data, box, unit, columns=None):
        return Scattered(MemoryEngine().open(data, box, unit, columns))

    def fold(self, records, one):
        return MemoryEngine().fold(records.kept, pickle.loads(pickle.dumps(one)))


def test_an_engine_is_two_methods():
    assert isinstance(Elsewhere(), Engine) and isinstance(MemoryEngine(), Engine)


@pytest.mark.few(12)
@targets
def test_every_target_that_sums_works_where_nothing_is_whole(name):
    assert released(name, Elsewhere()).guarantee == released(name).guarantee


@pytest.mark.parametrize("name", WHOLE)
def test_the_others_say_that_they_need_the_whole(name):
    with pytest.raises(ParameterError, match="needs the whole table at once, which this engine does not have"):
        released(name, Elsewhere())


@pytest.mark.few(41)
@pytest.mark.parametrize("engine", ["fast", 3, object(), MemoryEngine, {"engine": 1}, False])
@pytest.mark.parametrize("name", [*SUMMING, *WHOLE])
def test_what_is_no_engine_is_refused_by_every_target(name, engine):
    with pytest.raises(ParameterTypeError, match="engine must be an engine"):
        released(name, engine, data="never read")


# --- passes ---------------------------------------------------------------------------------------------------------


@pytest.mark.few(12)
@targets
def test_passes_are_public_objects_that_equal_their_pickles(name):
    for one in passes_of(name):
        again = pickle.loads(pickle.dumps(one))
        assert again == one == copy.deepcopy(one)
        assert (again.box, again.features, again.size, again.largest) == (one.box, one.features, one.size, one.largest)
        with pytest.raises(AttributeError):
            one.features = None  # frozen


@targets
def test_no_weights_are_printed(name):
    """They are private until they are published, and a solver's pass carries them."""
    for one in passes_of(name):
        assert not hasattr(one, "slices") or "slices" not in repr(one)


def folded(one, data, box, engine):
    totals = engine.fold(engine.open(data, box, "row", []), one)
    return totals.rows, numbers_of(totals._whole()).tolist()


def shuffled(data):
    return data.iloc[np.random.default_rng(5).permutation(len(data))]


@pytest.mark.few(12)
@targets
def test_passes_add_up_to_the_same_in_any_cutting_and_order(name):
    box, data = SUMMING[name][1], table()
    for one in passes_of(name):
        expected = folded(one, data, box, MemoryEngine())
        assert expected[0] <= ROWS
        for other, engine in ((data[::-1], MemoryEngine(1)), (shuffled(data), MemoryEngine(37))):
            assert folded(one, other, box, engine) == expected


@targets
def test_passes_over_parts_add_up(name):
    """Totals are combined by adding, whichever comes first."""
    box, data, engine = SUMMING[name][1], table(), MemoryEngine()
    for one in passes_of(name):
        left, right = (engine.fold(engine.open(part, box, "row", []), one) for part in (data[:123], data[123:]))
        expected = folded(one, data, box, engine)
        for both in (left + right, right + left):
            assert (both.rows, numbers_of(both._whole()).tolist()) == expected


@pytest.mark.few(6)
@targets
def test_one_record_adds_no_more_than_it_may(name):
    box, data = SUMMING[name][1], table()
    for one in passes_of(name):
        for row in range(0, ROWS, 29):
            _, numbers = folded(one, data[row : row + 1], box, MemoryEngine())
            assert max(map(abs, numbers), default=0) <= one.largest


HOSTILE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, np.nextafter(0, 1), 2.0**63, -(2.0**70)]


@pytest.mark.few(20)
@targets
def test_no_value_makes_a_pass_raise_or_warn(name):
    box, data = SUMMING[name][1], table()
    for column in ("a", "b", "y", "g"):
        data[column] = np.resize(HOSTILE, ROWS)
    data["t"] = np.resize(np.array([None, 3, "f", b"f", float("nan"), ("f",)], dtype=object), ROWS)
    for one in passes_of(name):
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            folded(one, data, box, MemoryEngine(64))


@targets
def test_features_are_public_too(name):
    for one in passes_of(name):
        if one.features is not None:
            assert hash(pickle.loads(pickle.dumps(one.features))) == hash(one.features)


# --- what a target has gathered, and what was opened ----------------------------------------------------------------


@pytest.mark.few(14)
@pytest.mark.parametrize("name", [*SUMMING, *WHOLE])
def test_what_was_opened_and_gathered_does_not_print_pickle_or_copy(name):
    target, box, privacy = {**SUMMING, **WHOLE}[name]
    engine = MemoryEngine()
    records = engine.open(table(), box, privacy.unit, target.columns)
    for private in (records, target.gather(records, box, engine)):
        assert repr(private).startswith("<private")
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(PrivateDataError):
                leak(private)


# --- persons --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noting(MemoryEngine):
    """Remembers what every fold added up to."""

    sums: tuple = ()

    def fold(self, records, one):
        totals = super().fold(records, one)
        object.__setattr__(self, "sums", (*self.sums, (totals.rows, *numbers_of(totals._whole()).tolist())))
        return totals


def in_files(data, folder):
    data.to_csv(folder / "t.csv", index=False)
    other = pa.Table.from_pandas(shuffled(data), preserve_index=False)
    parquet.write_table(other, folder / "t.parquet", row_group_size=99)
    return [(folder / "t.csv", 37), (folder / "t.parquet", 999)]


NEED_PUBLIC_ROWS = {"tuned density", "ridge regression", "ridge regression on categories"}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", sorted(set(FOLDING) - NEED_PUBLIC_ROWS))
def test_what_persons_bring_does_not_depend_on_cutting_order_and_container(name, tmp_path):
    """Learners, choices and whatever folds several passes: each sees the same rows of a person, in any table."""
    target, box, privacy = FOLDING[name]
    data = table().replace([np.inf, -np.inf], 1e308)  # in a CSV file that is no number
    data = pd.concat([data, data[::4]], ignore_index=True).assign(who=np.arange(ROWS + ROWS // 4) % 90)
    found = set()
    for source, rows in ((data, 1000), (pl.from_pandas(data[::-1]), 7), *in_files(data, tmp_path)):
        engine = Noting(rows)
        grant = replace(privacy, unit=sf.Person("who", 3))
        sf.release(target, source, box, grant, engine=engine, basis=BASES.get(name, "auto"))
        found.add(engine.sums)
    assert len(found) == 1
    assert 0 < engine.sums[0][0] <= 90 * 3


# --- learners -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reversed(MemoryEngine):
    """Reads the records in another order, in other pieces."""

    def open(self, data, box, unit, columns=None):
        return super().open(data[::-1], box, unit, columns)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "smoothed-hinge"])
@pytest.mark.parametrize("rows", [3_000, pytest.param(70_000, marks=pytest.mark.slow)])
def test_a_learner_is_the_same_to_the_last_bit_in_any_cutting_and_order(loss, rows, monkeypatch):
    from sfumato import pipeline

    rng = np.random.default_rng(3)
    points = rng.uniform(0, 10, size=(rows, 2))
    data = (
        table()
        .iloc[np.arange(rows) % ROWS]
        .assign(a=points[:, 0], b=points[:, 1], t=np.where(points[:, 0] + rng.normal(size=rows) > 5, "m", "f"))
    )
    seen, publish = set(), pipeline.publish

    def watched(private, *rest):
        seen.add(private._values.tobytes())
        return publish(private, *rest)

    monkeypatch.setattr(pipeline, "publish", watched)
    target = sf.KernelMachine(loss, sf.LinearKernel(), 30.0, "t", ["f", "m"], mechanism="output", prior="even")
    for engine in (MemoryEngine(), MemoryEngine(1000), Reversed(777)):
        sf.release(target, data, PLANE, PURE, engine=engine)
    assert len(seen) == 1


def test_records_are_read_once_by_all_passes_of_a_learner(monkeypatch):
    read, made = [], MemoryRecords._made

    def watched(self, *order):
        read.append(order)
        return made(self, *order)

    monkeypatch.setattr(MemoryRecords, "_made", watched)
    released("logistic regression")
    assert len(read) == 1
