"""What a record adds in each kind of column, and that the norms are those of the worst rows, found by trying."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from sfumato.bases.bayes.contributions import BITS, COUNT_WEIGHT, column_norms, shares_of

ONE = 2**BITS
AGE = sf.Box({"age": (0, 110)})
HOUR = sf.Box({"hour": sf.Periodic(0, 24)})
GRADE = sf.Box({"grade": sf.Categorical([1, 2, 3])})
LATTICES = [
    (AGE, sf.Binning(7), 9.0),
    (AGE, sf.SplitLattice(9, 4.0), 9.0),
    (HOUR, sf.Binning(6), 2.0),
    (HOUR, sf.SplitLattice(8, 1.0), 2.0),
]


def dense(table):
    return table if isinstance(table, np.ndarray) else table.toarray()


def table_of(box, lattice, bandwidth, cells=64):
    return shares_of(box, lattice, sf.KDE(bandwidth).gaussian(box), cells)


@pytest.mark.parametrize(("box", "lattice", "bandwidth"), LATTICES)
def test_masses_are_whole_non_negative_and_add_up_to_one(box, lattice, bandwidth):
    table = dense(table_of(box, lattice, bandwidth))
    assert table.shape == (64, lattice.size(box))
    assert table.dtype == np.int64
    assert table.min() >= 0
    assert (table.sum(axis=1) == ONE).all()


def test_categories_are_counted():
    table = shares_of(GRADE, None, None, 3)
    assert isinstance(table, sparse.csr_array)
    assert dense(table).tolist() == [[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE]]


@pytest.mark.parametrize("cells", [1, 2, 5, 2**15])
def test_moments_are_those_of_the_cells_middle(cells):
    table = shares_of(AGE, None, None, cells)
    z = 2 * (np.arange(cells) + 0.5) / cells - 1
    assert table.dtype == np.int64
    assert table / ONE == pytest.approx(np.stack([z, z * z - 0.5, np.full(cells, COUNT_WEIGHT)], axis=1), abs=2 / ONE)
    assert (np.abs(table[:, 0]) <= ONE).all()


TABLES = {
    "binning": table_of(*LATTICES[0]),
    "split": table_of(*LATTICES[1]),
    "circle": table_of(*LATTICES[2]),
    "counts": shares_of(GRADE, None, None, 3),
    "moments": shares_of(AGE, None, None, 65),
    "two moments": shares_of(AGE, None, None, 2),
}


@pytest.mark.parametrize("name", TABLES)
def test_norms_hold_for_every_record(name):
    norms, rows = column_norms(TABLES[name]), dense(TABLES[name]).tolist()
    assert max(sum(map(abs, row)) for row in rows) == norms.sum
    assert max(sum(v * v for v in row) for row in rows) == norms.square


@pytest.mark.parametrize("name", TABLES)
def test_norms_hold_for_every_two_records(name):
    """In one class their vectors are subtracted; in two classes they stand side by side."""
    norms, rows = column_norms(TABLES[name]), dense(TABLES[name]).tolist()
    for one, other in itertools.product(rows, rows):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) <= norms.pair_square
        assert sum(a * a + b * b for a, b in zip(one, other, strict=True)) <= norms.pair_square
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= 2 * norms.sum


@pytest.mark.parametrize("name", ["binning", "counts"])
def test_norms_are_attained(name):
    """Two classes at the place of the longest record."""
    norms = column_norms(TABLES[name])
    assert norms.pair_square == 2 * norms.square
    assert norms.sum == ONE


def test_the_moments_two_edges_are_nearly_twice_apart():
    table = shares_of(AGE, None, None, 2**15)
    first, last = table[0].tolist(), table[-1].tolist()
    apart = math.sqrt(sum((a - b) ** 2 for a, b in zip(first, last, strict=True)))
    assert 0.999 * math.sqrt(column_norms(table).pair_square) < apart


def test_norms_are_whole_numbers_that_do_not_overflow():
    for table in TABLES.values():
        norms = column_norms(table)
        assert all(type(value) is int and 0 < value < 2**60 for value in (norms.sum, norms.square, norms.pair_square))
