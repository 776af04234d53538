"""Integer shares: exact sums, exact coefficients, and norms from above."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import sfumato as sf
from opening import numbers_of
from sfumato.bases.density.binning import Binning, SplitLattice, whole_shares
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.shares import _within, apply_shares, axis_table, largest_norm, shape_of_cells, share_bits
from sfumato.core.whole import Wide
from sfumato.engines.cells import MAX_CELLS
from sfumato.errors import ParameterError

LINE = sf.Box([(0, 1)])
KERNEL = GaussianKernel.of(0.1, LINE)
BASES = [Binning(5), SplitLattice(11, 0.05), SplitLattice(4, 1e-9), SplitLattice(3, 0.9), sf.Bernstein(8)]


def dense(basis, box=LINE, kernel=KERNEL, axis=0, cells=256):
    return axis_table(basis, box, kernel, axis, cells).toarray()


@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("box", [LINE, sf.Box([sf.Periodic(0, 1)])], ids=["interval", "circle"])
def test_rows_are_whole_and_within_their_budget(basis, box):
    table = dense(basis, box)
    assert table.dtype == np.int64 and table.min() >= 0
    sums = table.sum(axis=1)
    assert sums.max() <= 2**24
    if not isinstance(basis, sf.Bernstein):
        assert (sums == 2**24).all()


def test_shares_are_those_of_the_lattice():
    centres = (np.arange(256) + 0.5) / 256
    wanted = Binning(5).axis_shares(LINE, 0, centres).toarray()
    assert np.abs(dense(Binning(5)) / 2**24 - wanted).max() <= 2.0**-23


def test_a_record_on_a_circle_is_shared_across_the_seam():
    table = dense(Binning(4), sf.Box([sf.Periodic(0, 1)]), cells=8)  # the last middle is 15/16, 3.75 steps of 4
    assert table[-1].tolist() == [3 * 2**22, 0, 0, 2**22]


def test_one_row_can_be_all_at_one_point():
    shares = sparse.csr_array(np.array([[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]))
    assert whole_shares(shares, 2**10).toarray().tolist() == [[0, 1024, 0], [342, 341, 341]]


@pytest.mark.parametrize("width", [5e-324, 1e-300, 1e5])
def test_extreme_widths_keep_the_budget(width):
    box = sf.Box([(0, 1e5)])
    table = axis_table(SplitLattice(10, width), box, GaussianKernel.of(1e4, box), 0, 64)
    assert (table.toarray().sum(axis=1) == 2**24).all() and table.data.min() >= 0


def test_shares_that_are_not_numbers_are_refused(monkeypatch):
    broken = sparse.csr_array(np.array([[0.5, 0.5], [np.nan, 1.0]]))
    monkeypatch.setattr(Binning, "axis_shares", lambda *_: broken)
    with pytest.raises(ParameterError, match="too extreme"):
        axis_table(Binning(2), sf.Box([(0, 77)]), KERNEL, 0, 2)


@pytest.mark.parametrize("rows", [[[6, 0]], [[5, 5]], [[-1, 2]]])
def test_a_table_beyond_its_budget_is_refused(rows):
    with pytest.raises(ParameterError, match="budget"):
        _within(sparse.csr_array(np.array(rows)), 5)


@pytest.mark.parametrize("most", [10**6, 2**40, 2**58], ids=["usual", "many", "very many"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_coefficients_are_exact_tensor_products(columns, most):
    """Whatever the counts: their number may be private, and nothing wraps around because of it."""
    box = sf.Box([(0, 1)] * columns)
    basis, kernel = SplitLattice(4, 0.2), GaussianKernel.of(0.2, box)
    counts = np.random.default_rng(columns).integers(0, most, size=(5,) * columns)
    tables = [axis_table(basis, box, kernel, i, 5).toarray().astype(object) for i in range(columns)]
    wanted = counts.astype(object)
    for table in tables:  # contracts the first axis and appends the lattice's
        wanted = np.tensordot(wanted, table, axes=(0, 0))
    for given in (counts, Wide(counts)):
        assert numbers_of(apply_shares(basis, box, kernel, given)).tolist() == wanted.ravel().tolist()
    assert wanted.sum() == counts.astype(object).sum() * 2 ** share_bits(box)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_the_largest_norm_is_that_of_some_cell_from_above(basis):
    table = axis_table(basis, LINE, KERNEL, 0, 2**15)
    true = math.sqrt(int(table.multiply(table).sum(axis=1).max()))
    assert true < largest_norm(basis, LINE, KERNEL, shape_of_cells(LINE, 1)) <= true + 1


def test_norms_of_several_axes_multiply():
    box = sf.Box([(0, 1), (0, 1)])
    kernel = GaussianKernel.of(0.2, box)
    table = axis_table(Binning(7), box, kernel, 0, 2**10)
    one = int(table.multiply(table).sum(axis=1).max())
    found = largest_norm(Binning(7), box, kernel, shape_of_cells(box, 1))
    assert found == one + 1  # the square root of its square, and one


def test_the_largest_norm_is_over_the_cells_in_use():
    """The middles of coarser cells are other places; here they are points of the lattice."""
    box = sf.Box([(0, 1)] * 3)
    kernel, basis = GaussianKernel.of(0.2, box), Binning(129)
    assert shape_of_cells(box, 1) == (128,) * 3 and shape_of_cells(box, 9) == (64,) * 3
    assert largest_norm(basis, box, kernel, shape_of_cells(box, 1)) < 0.36 * 2**30
    assert largest_norm(basis, box, kernel, shape_of_cells(box, 9)) >= 2**30


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2, 17, 300, 4096])
def test_cells_are_as_many_as_fit(columns, groups):
    shape = shape_of_cells(sf.Box([(0, 1)] * columns), groups)
    assert len(shape) == columns and len(set(shape)) == 1
    assert groups * math.prod(shape) <= MAX_CELLS
    assert shape[0] >= 16
