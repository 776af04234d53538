"""What every engine must do: the same bits, whatever the chunks, the order and the kind of table.

Inherit, and give ``engines()``: the same engine cut in different ways.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.quantize import truncate_records
from sfumato.engines.tables import open_table

BOX = sf.Box({"a": (-1, 1), "b": (0, 10)})
BUDGET = 2**20
EXPONENT = -24


def contribution(records):
    """Fixed-point features of each record: the kind of thing a target sums."""
    features = np.stack([records[:, 0], records[:, 1] / 10, records[:, 0] * records[:, 1] / 10], axis=1)
    return truncate_records(features, EXPONENT, BUDGET, "l2")


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
        return engine.sum(open_table(data, BOX, "row"), BOX, contribution, 3, BUDGET)

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
