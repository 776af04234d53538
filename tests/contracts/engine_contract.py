"""What every engine must do: the same bits, whatever the chunks, the order and the kind of table.

Inherit, and give ``engines()``: the same engine cut in different ways.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from opening import numbers_of
from sfumato.core.quantize import truncate_records
from sfumato.engines.cells import Cells
from sfumato.engines.passes import Contributions, Counts, Products

BOX = sf.Box({"a": (-1, 1), "b": (0, 10)})
BUDGET = 2**20
EXPONENT = -24
CELLS = Cells(BOX, (7, 5))
MIXED = sf.Box({"a": (-1, 1), "s": sf.Categorical(["f", "m"]), "h": sf.Periodic(0, 24), "g": sf.Categorical([1, 2])})
MIXED_CELLS = Cells(MIXED, (7, 2, 3, 2))


def contribution(records):
    """Fixed-point features of each record: the kind of thing a target sums."""
    features = np.stack([records[:, 0], records[:, 1] / 10, records[:, 0] * records[:, 1] / 10], axis=1)
    return truncate_records(features, EXPONENT, BUDGET, "l2")


@dataclass(frozen=True)
class Rule:
    """What such features add up to."""

    def size(self, box):
        return 3

    def contributions(self, box, records):
        return contribution(records)


@dataclass(frozen=True)
class Squares:
    """Whole numbers of up to 16 bits, forty records at a time: what moments are made of."""

    box = BOX
    shape = (3, 3)
    largest = 4**16

    def pairs(self, columns):
        a, b = (np.nan_to_num(np.clip(values, -1, 1)) for values in columns)
        whole = np.rint(2.0**16 * np.stack([np.ones(len(a)), a, a * b]))
        for start in range(0, len(a), 40):
            yield whole[:, start : start + 40], whole[:, start : start + 40]


class EngineContract:
    def engines(self):
        raise NotImplementedError

    @pytest.fixture
    def records(self):
        generator = np.random.default_rng(23)
        records = generator.normal(size=(1000, 2)) * [1, 20]
        records[::17, 0] = np.nan
        records[5::31, 1] = np.inf
        return records

    def sum(self, engine, data):
        return numbers_of(engine.fold(engine.open(data, BOX, "row"), Contributions(BOX, Rule(), BUDGET)).wide())

    def test_every_way_of_cutting_gives_the_same_bits(self, records):
        sums = {self.sum(engine, records).tobytes() for engine in self.engines()}
        assert len(sums) == 1

    def test_every_order_of_records_gives_the_same_bits(self, records):
        orders = [slice(None), slice(None, None, -1), np.random.default_rng(1).permutation(len(records))]
        for engine in self.engines():
            assert len({self.sum(engine, records[order]).tobytes() for order in orders}) == 1

    def test_every_kind_of_table_gives_the_same_bits(self, records):
        columns = {"a": records[:, 0], "b": records[:, 1]}
        tables = [records, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
        for engine in self.engines():
            assert len({self.sum(engine, table).tobytes() for table in tables}) == 1

    def test_the_sum_is_that_of_python_integers(self, records):
        rows = contribution(BOX.clean(records)).tolist()
        expected = [sum(row[j] for row in rows) for j in range(3)]
        for engine in self.engines():
            found = self.sum(engine, records)
            assert found.dtype == np.int64
            assert found.tolist() == expected

    def test_sums_of_parts_add_up(self, records):
        for engine in self.engines():
            parts = self.sum(engine, records[:123]) + self.sum(engine, records[123:])
            assert np.array_equal(parts, self.sum(engine, records))

    def test_one_record_moves_the_sum_by_at_most_its_budget(self, records):
        for engine in self.engines():
            moved = [int(d) for d in self.sum(engine, records) - self.sum(engine, records[1:])]
            assert sum(d * d for d in moved) <= BUDGET**2

    def test_no_records_sum_to_zero(self):
        for engine in self.engines():
            assert self.sum(engine, np.zeros((0, 2))).tolist() == [0, 0, 0]

    def test_unusable_records_contribute_nothing(self, records):
        spoiled = np.concatenate([records, np.full((50, 2), np.nan)])
        for engine in self.engines():
            assert np.array_equal(self.sum(engine, spoiled), self.sum(engine, records))

    # --- products -----------------------------------------------------------------------------------------------

    def products(self, engine, data):
        return numbers_of(engine.fold(engine.open(data, BOX, "row"), Products(Squares())).wide()).reshape(3, 3)

    def test_every_way_of_cutting_gives_the_same_products(self, records):
        assert len({self.products(engine, records).tobytes() for engine in self.engines()}) == 1

    @pytest.mark.slow
    def test_every_order_of_records_gives_the_same_products(self, records):
        orders = [slice(None), slice(None, None, -1), np.random.default_rng(1).permutation(len(records))]
        for engine in self.engines():
            assert len({self.products(engine, records[order]).tobytes() for order in orders}) == 1

    @pytest.mark.slow
    def test_every_kind_of_table_gives_the_same_products(self, records):
        columns = {"a": records[:, 0], "b": records[:, 1]}
        tables = [records, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]
        for engine in self.engines():
            assert len({self.products(engine, table).tobytes() for table in tables}) == 1

    def test_products_are_those_of_python_integers(self, records):
        rows = np.concatenate([left for left, _ in Squares().pairs(list(records.T))], axis=1).T.tolist()
        expected = [[sum(int(row[i]) * int(row[j]) for row in rows) for j in range(3)] for i in range(3)]
        for engine in self.engines():
            found = self.products(engine, records)
            assert found.dtype == np.int64
            assert found.tolist() == expected

    @pytest.mark.slow
    def test_products_of_parts_add_up(self, records):
        for engine in self.engines():
            parts = self.products(engine, records[:123]) + self.products(engine, records[123:])
            assert np.array_equal(parts, self.products(engine, records))

    def test_no_records_have_no_products(self):
        for engine in self.engines():
            assert not self.products(engine, np.zeros((0, 2))).any()

    # --- counts -------------------------------------------------------------------------------------------------

    def count(self, engine, data, cells=CELLS):
        totals = engine.fold(engine.open(data, cells.box, "row"), Counts(cells))
        return totals.rows, totals.counts(cells.shape)

    @pytest.fixture
    def hostile(self, records):
        spoiled = records.copy()
        spoiled[3] = [1e308, -1e308]
        spoiled[4] = [-math.inf, 5e-324]
        spoiled[6] = [1.0, 10.0]
        return spoiled

    @pytest.fixture
    def every_kind(self, hostile, tmp_path):
        """The same records as every kind of table."""
        generator = np.random.default_rng(5)
        numbers = {"a": hostile[:, 0], "h": hostile[:, 1] / 3 + 3, "g": generator.integers(0, 4, 1000) / 1}
        finite = {name: np.where(np.isfinite(values), values, math.nan) for name, values in numbers.items()}
        missing = {name: [None if math.isnan(v) else v for v in values.tolist()] for name, values in finite.items()}
        text = {"s": generator.choice(["f", "m", "x", ""], 1000).tolist()}
        arrow = pa.table(missing | text)
        parquet.write_table(arrow, tmp_path / "t.parquet", row_group_size=300)
        parquet.write_table(
            arrow.set_column(arrow.column_names.index("s"), "s", arrow["s"].dictionary_encode()), tmp_path / "d.parquet"
        )
        lines = zip(*(missing | text).values(), strict=True)
        rows = [",".join("NA" if v is None else str(v) for v in line) for line in lines]
        (tmp_path / "t.csv").write_text("a,h,g,s\n" + "\n".join(rows) + "\n")
        return [
            pd.DataFrame(finite | text),
            pd.DataFrame(finite | text).convert_dtypes(),
            pl.DataFrame(missing | text),
            pl.DataFrame(missing | text).with_columns(pl.col("s").cast(pl.Categorical)),
            arrow,
            pa.concat_tables([arrow[:10], arrow[10:]]),
            *(tmp_path / name for name in ("t.parquet", "d.parquet", "t.csv")),
        ]

    def test_counts_are_those_of_python_integers(self, hostile):
        expected = np.zeros(CELLS.shape, dtype=np.int64)
        for a, b in BOX.clean(hostile).tolist():
            if a == a and b == b:
                expected[min(math.floor((a + 1) / 2 * 7), 6), min(math.floor(b / 10 * 5), 4)] += 1
        for engine in self.engines():
            rows, found = self.count(engine, hostile)
            assert rows == 1000
            assert found.dtype == np.int64
            assert np.array_equal(found, expected)

    def test_every_order_of_records_gives_the_same_counts(self, hostile):
        orders = [slice(None), slice(None, None, -1), np.random.default_rng(1).permutation(len(hostile))]
        for engine in self.engines():
            assert len({self.count(engine, hostile[order])[1].tobytes() for order in orders}) == 1

    @pytest.mark.slow
    def test_every_kind_of_table_gives_the_same_counts(self, every_kind):
        found = {
            (rows, values.tobytes())
            for engine in self.engines()
            for rows, values in (self.count(engine, data, MIXED_CELLS) for data in every_kind)
        }
        assert len(found) == 1
        assert next(iter(found))[0] == 1000

    def test_counts_of_parts_add_up(self, hostile):
        for engine in self.engines():
            parts = self.count(engine, hostile[:123])[1] + self.count(engine, hostile[123:])[1]
            assert np.array_equal(parts, self.count(engine, hostile)[1])

    def test_no_records_have_no_counts(self):
        for engine in self.engines():
            rows, found = self.count(engine, np.zeros((0, 2)))
            assert rows == 0
            assert found.shape == CELLS.shape
            assert not found.any()
