"""Compressed rows as tables: the same records as in the dense array, whatever is written in them."""

import pickle

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from opening import numbers_of
from sfumato.engines import memory
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Contributions
from sfumato.engines.sparse import plain_rows, tidy
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterTypeError, SchemaError
from sfumato.estimators import PrivateKernelDensity, PrivateLogisticRegression
from sfumato.targets.machine import examples
from sfumato.targets.machine.gradient import BLOCK, ClippedGradient, Gradient
from sfumato.values import is_sparse

RNG = np.random.default_rng(2)
WIDE = sf.Box([(0.0, 1.0)] * 40, max_norm=2.0)
ROWS = (RNG.random((400, 40)) < 0.05).astype(np.float64)
LABELS = np.where(ROWS @ RNG.standard_normal(40) > 0, 1, 0)
GRANT = sf.Privacy(1.0, 1e-6)


def csr(values, columns, starts, width=3):
    """A matrix as it is written, however odd."""
    found = sparse.csr_array((len(starts) - 1, width))
    found.data, found.indices = np.array(values, dtype=float), np.array(columns)
    found.indptr = np.array(starts)
    return found


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_it_is_the_dense_table(kind, dtype):
    dense = ROWS.astype(dtype)
    assert is_sparse(kind(dense)) and not is_sparse(dense)
    first, second = (
        [np.stack(part, axis=1) for part in open_table(data, WIDE, "row").batches(WIDE, 7)]
        for data in (dense, kind(dense))
    )
    assert np.array_equal(np.concatenate(first), np.concatenate(second))


@pytest.mark.parametrize(
    ("written", "row"),
    [
        (csr([1, 2, 4], [0, 2, 2], [0, 3]), [1, 0, 6]),  # twice in one place
        (csr([1, 2], [2, 0], [0, 2]), [2, 0, 1]),  # in any order
        (csr([1, 2, 3], [-1, 3, 1], [0, 3]), [0, 3, 0]),  # outside
        (csr([np.nan, np.inf], [0, 1], [0, 2]), [np.nan, np.inf, 0]),
        (csr([1, 2], [0, 1], [0, 9]), [1, 2, 0]),  # ends beyond what is there
        (csr([1, 2], [0, 1], [2, 0]), [0, 0, 0]),  # ends before it begins
    ],
)
def test_whatever_is_written_in_a_row_it_is_read_alone_and_nothing_is_raised(written, row):
    assert np.array_equal(plain_rows(written, 0, 1), [row], equal_nan=True)
    beside = sparse.vstack([sparse.csr_array([[0.0, 7.0, 0.0]]), sparse.csr_array(np.eye(3))]).tocsr()
    assert np.array_equal(plain_rows(beside, 0, 4)[0], [0.0, 7.0, 0.0])


def test_a_function_is_given_what_is_written_within_the_matrix():
    beside = [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]]
    for column in (1, -1, 3, 2**40):
        written = csr([1, 2, 5], [0, 2, column], [0, 2, 3, 9], 3)
        tidied = tidy(written)
        assert tidied.toarray().tolist() == [beside[0], [0.0, 5.0 * (column == 1), 0.0], beside[1]]
        assert tidied.indices.dtype == tidy(csr([1, 2, 5], [0, 2, 1], [0, 2, 3, 9], 3)).indices.dtype
    for kind in (sparse.csr_array, sparse.csr_matrix):
        table = open_table((kind(ROWS), LABELS), WIDE, "row").native[0]
        assert isinstance(table, kind) and np.array_equal(table.toarray(), ROWS)


def test_a_function_of_compressed_rows_is_rehearsed_on_such():
    seen = []
    target = sf.Statistic(lambda t: seen.append(type(t[0])) or float(t[0].sum() + t[1].sum()), sensitivity=42.0)
    sf.release(target, (sparse.csr_matrix(ROWS), LABELS), WIDE, sf.Privacy(epsilon=1.0))
    assert seen == [sparse.csr_matrix] * 3


def test_rows_are_made_plain_a_few_at_a_time():
    whole = sparse.csr_array(ROWS)
    parts = [plain_rows(whole, start, min(start + 33, 400)) for start in range(0, 400, 33)]
    assert np.array_equal(np.concatenate(parts), ROWS)


@pytest.mark.parametrize("other", ["csc", "coo", "lil", "dok"])
def test_other_formats_are_refused_by_type(other):
    with pytest.raises(SchemaError, match="tocsr"):
        open_table(sparse.csr_array(ROWS).asformat(other), WIDE, "row")


@pytest.mark.parametrize(
    "bad", [lambda: sparse.csr_array(ROWS.astype(complex)), lambda: (sparse.csr_array(ROWS.astype(complex)), LABELS)]
)
def test_only_real_numbers(bad):
    with pytest.raises(SchemaError, match="real numbers"):
        open_table(bad(), WIDE, "row")


def test_schema_and_persons():
    with pytest.raises(SchemaError, match="40 columns"):
        list(open_table(sparse.csr_array(ROWS[:, :3]), WIDE, "row").batches(WIDE, 9))
    with pytest.raises(SchemaError, match="tell persons apart"):
        open_table(sparse.csr_array(ROWS), WIDE, sf.Person(0, 2))
    with pytest.raises(SchemaError, match="as many rows"):
        open_table((sparse.csr_array(ROWS), LABELS[:5]), WIDE, "row")


def test_it_is_sealed_and_a_function_sees_a_copy():
    given = sparse.csr_array(ROWS)
    table = open_table(given, WIDE, "row")
    assert "private" in repr(table)
    table.native.data[:] = 9.0
    assert given.data.max() == 1.0
    assert table.schema.empty.shape == (0, 40)


class Sums:
    """Records contribute themselves."""

    def size(self, box):
        return box.dimension

    def contributions(self, box, records):
        return records.astype(np.int64)


def test_sums_are_the_same():
    box = sf.Box([(0.0, 1.0)] * 40)
    engine, one = MemoryEngine(chunk_rows=50), Contributions(box, Sums(), 1)
    found = [numbers_of(engine.fold(engine.open(d, box, "row"), one).wide()) for d in (ROWS, sparse.csr_array(ROWS))]
    assert np.array_equal(*found) and found[0].any()


# --- learners ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_noise(no_noise, monkeypatch):
    monkeypatch.setattr(examples, "BLOCK", 192)


def learner(mechanism="output", loss="logistic"):
    prior = "even" if loss == "logistic" else "auto"
    return sf.KernelMachine(loss, "linear", 30.0, classes=[0, 1], mechanism=mechanism, prior=prior)


@pytest.mark.parametrize(("how", "loss"), [("output", "logistic"), ("output", "hinge"), ("descent", "logistic")])
def test_a_learner_is_the_same_bit_by_bit_whether_zeros_are_kept_or_not(how, loss, no_noise, monkeypatch):
    first = sf.release(learner(how, loss), (sparse.csr_array(ROWS), LABELS), WIDE, GRANT)
    monkeypatch.setattr(memory, "_FEW", 10**9)  # nothing is kept as compressed rows
    second = sf.release(learner(how, loss), (ROWS, LABELS), WIDE, GRANT)
    assert np.array_equal(first.weights, second.weights)
    assert first.weights.any()


@pytest.mark.parametrize("tables", [0, 1, 3])
def test_passes_add_up_the_same_of_compressed_rows(tables):
    features = np.zeros((BLOCK, 5))
    features[:900] = np.rint(RNG.standard_normal((900, 5)) * 2**17) * (RNG.random((900, 5)) < 0.1)
    targets = np.full((BLOCK, 2), np.nan)
    targets[:900] = RNG.choice([-1.0, 1.0], (900, 2))
    loss = sf.SmoothedHinge(2.0**-7) if tables == 3 else sf.SmoothedHinge(1.0)
    slices = np.rint(RNG.standard_normal((5, 8)) * 2**25)
    one = Gradient(None, loss, 2.0, (2, 5), -20, slices.tobytes(), (1e-7, 1e-6), tables)
    two = ClippedGradient(None, loss, 2.0, 17, 2**30, (2, 5), -20, slices[:, :2].copy().tobytes(), 1e-7, (0.5, -1.0))
    for each in (one, two):
        assert each.compressed and pickle.loads(pickle.dumps(each)) == each
        found = [np.zeros(each.size, dtype=np.int64) for _ in range(2)]
        each.add(found[0], [features, targets])
        each.add(found[1], [sparse.csr_array(features), targets])
        assert np.array_equal(*found) and found[0].any()


def test_what_is_kept_of_sparse_features_is_compressed_and_plain_again():
    values = [np.where(RNG.random((100, 40)) < 0.05, 3.0, 0.0), np.array([[1.0], [np.nan]])]
    kept = memory._packed(values)
    assert is_sparse(kept[0]) and kept[1].dtype == np.float32
    assert memory._bytes(kept[0]) < values[0].nbytes / 5
    for again, value in zip(memory._unpacked(kept, False), values, strict=True):
        assert np.array_equal(again, value, equal_nan=True) and again.dtype == np.float64
    assert is_sparse(memory._unpacked(kept, True)[0])


def test_targets_of_which_most_are_zero_stay_plain():
    """A response in the middle of its range is the target 0, and passes read no targets in compressed rows."""
    values = [np.ones((100, 2)), np.zeros((100, 1))]
    kept = memory._packed(values)
    assert isinstance(kept[1], np.ndarray) and isinstance(memory._unpacked(kept, True)[1], np.ndarray)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("how", ["output", "objective", "descent"])
def test_how_many_responses_lie_in_the_middle_decides_nothing(how, compressed, no_noise):
    target = sf.KernelMachine("huber", "linear", 1.0, response="y", range=(0, 1), mechanism=how)
    records = sparse.csr_array(ROWS[:192]) if compressed else RNG.random((192, 40)) / 4
    found = []
    for others in (24, 25):
        response = np.full(192, 0.5)
        response[:others] = 1.0
        found.append(sf.release(target, (records, response), WIDE, GRANT).weights)
    assert found[0].shape == found[1].shape and found[0].any()


def test_estimators_take_compressed_rows():
    settings = {"epsilon": 5.0, "delta": 1e-6, "bounds": (0, 1), "max_norm": 2.0, "classes": [0, 1]}
    model = PrivateLogisticRegression(**settings).fit(sparse.csr_matrix(ROWS), LABELS)
    assert np.array_equal(model.predict(sparse.csr_array(ROWS)), model.predict(ROWS))
    with pytest.raises(ParameterTypeError, match="must be dense"):
        PrivateKernelDensity(epsilon=1.0, bounds=(0, 1)).fit(sparse.csr_array(ROWS[:, :1]))
