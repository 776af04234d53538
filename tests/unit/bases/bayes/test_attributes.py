"""One lattice per column: sizes, plain data, and boxes of single columns."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.bayes.attributes import Attributes, alone, numeric
from sfumato.errors import ParameterError

BOX = sf.Box(
    {"age": (0, 110), "sex": sf.Categorical(["F", "M", "X"]), "hour": sf.Periodic(0, 24), "visits": sf.Integer(0, 9)}
)


def test_masses_counts_and_moments():
    basis = Attributes((sf.Binning(10), None, sf.SplitLattice(8, 1.0), None))
    assert basis.sizes(BOX) == (10, 3, 8, 3)
    assert basis.size(BOX) == 24


def test_a_column_without_a_lattice_has_its_categories_or_two_moments_and_a_count():
    assert Attributes((None,) * 4).sizes(BOX) == (3, 3, 3, 3)
    many = sf.Box({"town": sf.Categorical([str(i) for i in range(40)])})
    assert Attributes((None,)).sizes(many) == (40,)


@pytest.mark.parametrize("lattices", [(), (None,), (None,) * 5])
def test_there_is_one_entry_for_each_column(lattices):
    with pytest.raises(ValueError, match="zip"):
        Attributes(lattices).sizes(BOX)


def test_a_category_has_no_lattice():
    with pytest.raises(ParameterError, match="'sex' is categorical"):
        Attributes((None, sf.Binning(3), None, None)).sizes(BOX)


def test_plain_data():
    data = Attributes((sf.Binning(10), None)).to_json()
    assert data == {"name": "attributes", "lattices": [sf.Binning(10).to_json(), None]}


def test_equal_bases_are_equal():
    one, other = (Attributes((sf.Binning(9), None)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Attributes((sf.Binning(8), None))
    with pytest.raises(AttributeError):
        one.lattices = ()


def test_columns_alone():
    for i, name in enumerate(BOX.names):
        assert alone(BOX, i) == sf.Box({name: BOX.columns[i]})
    unnamed = sf.Box([(0, 1), (2, 3)])
    assert alone(unnamed, 1).names == ("x1",)
    assert alone(unnamed, 1).low.tolist() == [2.0]


def test_numeric_columns():
    assert list(numeric(BOX)) == [0, 2, 3]
    assert list(numeric(sf.Box({"sex": BOX.columns[1]}))) == []
    assert np.array(numeric(sf.Box([(0, 1)] * 3))).tolist() == [0, 1, 2]
