"""Columns of dates in every container: the same days, each value alone, whatever else the column holds."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.engines.tables import open_table
from sfumato.errors import SchemaError

BOX = sf.Box({"when": (date(2024, 1, 1), date(2025, 1, 1))})
ZONED = sf.Box({"when": ("2024-01-01T00:00Z", "2025-01-01T00:00Z")})
MOMENTS = [datetime(2024, 3, 1, 12), None, datetime(2019, 1, 1)]
TEXTS = ["2024-03-01T12:00", "soon", "2019-01-01"]
EXPECTED = [19783.5, np.nan, 17897.0]

ELSEWHERE = pl.Series(MOMENTS).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
MASKED = np.ma.array(np.array([MOMENTS[0], MOMENTS[0], MOMENTS[2]], dtype="datetime64[s]"), mask=[0, 1, 0])
TABLES = {
    "pandas": lambda: pd.DataFrame({"when": pd.Series(MOMENTS, dtype="datetime64[ns]")}),
    "pandas in seconds": lambda: pd.DataFrame({"when": pd.Series(MOMENTS, dtype="datetime64[s]")}),
    "pandas in a zone": lambda: pd.DataFrame({"when": ELSEWHERE.to_pandas()}),
    "pandas objects": lambda: pd.DataFrame({"when": pd.Series([MOMENTS[0], 3, "2019-01-01"], dtype=object)}),
    "pandas text": lambda: pd.DataFrame({"when": pd.Series(TEXTS, dtype="string")}),
    "pandas on arrow": lambda: pd.DataFrame({"when": pd.Series(MOMENTS, dtype="timestamp[us][pyarrow]")}),
    "polars": lambda: pl.DataFrame({"when": MOMENTS}),
    "polars in a zone": lambda: pl.DataFrame({"when": ELSEWHERE}),
    "polars text": lambda: pl.DataFrame({"when": TEXTS}),
    "arrow": lambda: pa.table({"when": pa.array(MOMENTS, pa.timestamp("ns"))}),
    "arrow in a zone": lambda: pa.table({"when": pa.array(MOMENTS, pa.timestamp("ms", "Asia/Tokyo"))}),
    "arrow dictionary": lambda: pa.table({"when": pa.array(TEXTS).dictionary_encode()}),
    "numpy": lambda: np.array(MOMENTS, dtype="datetime64[us]"),
    "numpy masked": lambda: MASKED,
}  # fmt: skip


def days(data, box=BOX) -> list:
    return [value for (part,) in open_table(data, box, "row").batches(box, 2) for value in part.tolist()]


@pytest.mark.parametrize("box", [BOX, ZONED], ids=["without a zone", "in UTC"])
@pytest.mark.parametrize("made", TABLES.values(), ids=TABLES)
def test_every_container(made, box):
    np.testing.assert_array_equal(days(made(), box), EXPECTED)


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_days_without_a_time(kind):
    table = pa.table({"when": pa.array([date(2024, 3, 1), None], kind)})
    np.testing.assert_array_equal(days(table), [19783.0, np.nan])
    np.testing.assert_array_equal(days(pl.from_arrow(table)), [19783.0, np.nan])


def test_files(tmp_path):
    (tmp_path / "a.csv").write_text("when,x\n2024-03-01,1\n2024-03-01T12:00:00Z,1\n2024-03-01 12:00,1\n1 March,1\n,1\n")
    np.testing.assert_array_equal(days(str(tmp_path / "a.csv")), [19783.0, 19783.5, 19783.5, np.nan, np.nan])
    parquet.write_table(TABLES["arrow"](), tmp_path / "a.parquet")
    np.testing.assert_array_equal(days(str(tmp_path / "a.parquet")), EXPECTED)


@pytest.mark.parametrize("far", [-(2**63) + 1, 2**63 - 1])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_moments_beyond_every_calendar_go_to_the_edge(far, unit):
    table = pa.table({"when": pa.array([far, 0], pa.int64()).cast(pa.timestamp(unit))})
    for data in (table, pl.from_arrow(table) if unit == "ns" else table, np.array([far, 0], dtype=f"M8[{unit}]")):
        cleaned = BOX.columns[0].clean(np.array(days(data)))
        assert cleaned.tolist() == [BOX.high[0] if far > 0 else BOX.low[0], BOX.low[0]]


@pytest.mark.parametrize("box", [BOX, ZONED], ids=["without a zone", "in UTC"])
@pytest.mark.parametrize("made", [made for name, made in TABLES.items() if "numpy" not in name],
                         ids=[name for name in TABLES if "numpy" not in name])  # fmt: skip
def test_a_black_box_sees_times_of_one_type(made, box):
    seen = open_table(made(), box, "row").native["when"]
    found = pd.Series(seen.to_pandas() if hasattr(seen, "to_pandas") else seen)
    assert str(found.dtype) == ("datetime64[us, UTC]" if box is ZONED else "datetime64[us]")
    assert found.isna().tolist() == [False, True, False]
    assert [str(value)[:19] for value in found.dropna()] == ["2024-03-01 12:00:00", "2024-01-01 00:00:00"]


@pytest.mark.parametrize(
    "data",
    [pd.DataFrame({"when": [1, 2]}), pl.DataFrame({"when": [1.5]}), pa.table({"when": [True]}),
     pd.DataFrame({"when": pd.to_timedelta([1], unit="D")}), pa.table({"when": pa.array([1], pa.time32("s"))})],
    ids=["numbers", "polars numbers", "truth values", "durations", "times of day"],
)  # fmt: skip
def test_other_types_are_refused_by_the_schema(data, tmp_path):
    with pytest.raises(SchemaError, match="'when' must hold dates, times or text"):
        days(data)
    if isinstance(data, pa.Table):
        parquet.write_table(data, tmp_path / "a.parquet")
        with pytest.raises(SchemaError, match="'when' must hold dates, times or text"):
            days(str(tmp_path / "a.parquet"))


def test_dates_are_no_numbers():
    numbers = sf.Box({"when": (0, 10)})
    with pytest.raises(SchemaError):
        days(TABLES["pandas"](), numbers)
    with pytest.raises(SchemaError, match="datetime64 for a box of dates"):
        days(TABLES["numpy"](), numbers)
