"""Every container by its name."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from harness.compressed import sparse
from harness.delimited import csv_file, headless_file, multiline_file
from harness.reading import (
    Container,
    Wanted,
    arrow_stream,
    arrow_table,
    columns_dict,
    lists,
    matrix,
    number_frames,
    numbers,
    objects,
    one_series,
    pandas_frame,
    parquet_file,
    polars_frame,
    polars_lazy,
    series,
    texts,
)

Maker = Callable[[Random, Wanted], Container]
FRAMES: dict[str, Maker] = {"arrow": arrow_table, "pandas": pandas_frame, "polars": polars_frame}
FILES: dict[str, Maker] = {"csv": csv_file, "parquet": parquet_file}
TABLES: dict[str, Maker] = {
    **FRAMES,
    **FILES,
    "csv of many lines": multiline_file,
    "csv without a header": headless_file,
    "polars lazy": polars_lazy,
    "stream": arrow_stream,
    "dict": columns_dict,
    "column": one_series,
}
NAMED: dict[str, Maker] = {**FRAMES, "dict": columns_dict, "polars lazy": polars_lazy}  # that devices read, too
ARRAYS: dict[str, Maker] = {"array": matrix, "objects": objects, "sparse": sparse}
TEXTS: dict[str, Maker] = {"texts": texts}
LISTS: dict[str, Maker] = {"lists": lists}
VECTORS: dict[str, Maker] = {"numbers": numbers, "series": series, "frames of numbers": number_frames}
