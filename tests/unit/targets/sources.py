"""One pandas table as every other kind of data that a release can be given."""

import polars as pl
import pyarrow as pa
from pyarrow import parquet


def as_csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_parquet(frame, folder):
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    return str(folder / "t.parquet")


SOURCES = {
    "pandas": lambda frame, folder: frame,
    "pandas, another order": lambda frame, folder: frame[frame.columns[::-1]].set_axis(range(5, 5 + len(frame))),
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "csv": as_csv,
    "parquet": as_parquet,
}
