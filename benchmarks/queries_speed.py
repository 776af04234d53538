"""How fast summaries are: moments of 10^6 rows against direct sums and bare matrix products, memory, many answers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import sfumato as sf
from benchmarks import query_baselines as baselines
from benchmarks.density_grid import one_thread
from benchmarks.timing import row, seconds
from sfumato.bases.moments.contributions import factors_of
from sfumato.bases.moments.cosine import Cosines
from sfumato.engines.memory import MemoryEngine
from sfumato.targets.moments import Sums

Row = dict[str, Any]

ROWS, DEGREE, COLUMNS = 1_000_000, 16, 3
WIDE = 100
TIMED = 48  # frequencies on which direct sums are timed; their time is scaled to all
POINTS = (100_000, 1_000_000)
MEMORY_ROWS = (400_000, 1_600_000)
PRIVACY = sf.Privacy(epsilon=1.0)
ROOT = Path(__file__).parents[1]


def run() -> list[Row]:
    """Everything in one thread, so that arithmetic is compared and not the number of processors."""
    with one_thread():
        return [*sums(), *wide(), *memory(), *answers(), *evaluation()]


def drawn(rows: int, columns: int, seed: int = 20140603) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, columns))


def added_up(records: np.ndarray, basis: Cosines) -> None:
    """From records to the exact sums, without noise."""
    box = sf.Box([(-1, 1)] * records.shape[1])
    Sums(MemoryEngine().open(records, box, "row"), box, MemoryEngine()).add_up(basis)


def sums() -> list[Row]:
    """A full tensor of three columns; direct sums are timed on some frequencies."""
    records, box = drawn(ROWS, COLUMNS), sf.Box([(-1, 1)] * COLUMNS)
    whole = seconds(lambda: sf.summarize(records, box, PRIVACY, degree=DEGREE), 3)
    alone = seconds(lambda: added_up(records, Cosines(DEGREE)), 3)
    count = DEGREE**COLUMNS
    chosen = np.random.default_rng(0).integers(0, DEGREE, (TIMED, COLUMNS))
    angles = np.arccos(records).T.copy()
    plain = baselines.plain_sums(angles, chosen) * count / TIMED
    start = time.perf_counter()
    tables = [np.cos(np.outer(np.arange(DEGREE), column)) for column in angles]
    made = time.perf_counter() - start
    by_table = made + baselines.table_sums(tables, chosen) * count / TIMED
    start = time.perf_counter()
    for left in tables[0][: TIMED // DEGREE]:
        (tables[1] * left) @ tables[2].T
    by_product = made + (time.perf_counter() - start) * DEGREE / (TIMED // DEGREE)
    at = {"section": f"moments of {ROWS:,} rows, d = {COLUMNS}, t = {DEGREE} ({count} moments), one thread"}
    scaled = f"timed on {TIMED} moments and scaled"
    return [
        row("sf.summarize, noise included", whole, "s", **at),
        row("  of which exact sums", alone, "s", **at),
        row(f"numpy, cosines computed in the loop ({scaled})", plain, "s", **at),
        row("  ratio", plain / whole, "times slower", ">= 20", **at),
        row(f"numpy, tables of cosines, loop over moments ({scaled})", by_table, "s", **at),
        row("  ratio", by_table / whole, "times slower", **at),
        row("numpy, tables of cosines, matrix products in floating point (3 of 16 timed)", by_product, "s", **at),
        row("  ratio", by_product / whole, "times slower", **at),
    ]


def wide() -> list[Row]:
    """A hundred columns two by two: one pass, beside bare matrix products of the same shape."""
    records, box = drawn(ROWS, WIDE), sf.Box([(-1, 1)] * WIDE)
    basis = Cosines(3, interactions=2)
    indices = basis.index_set(box)
    width = factors_of(indices).left.count
    whole = seconds(lambda: sf.summarize(records, box, PRIVACY, degree=3, interactions=2), 2)
    alone = seconds(lambda: added_up(records, basis), 2)
    block = 1000
    left, right = (np.random.default_rng(i).random((width, block)) for i in (0, 1))

    def products(one: np.ndarray, other: np.ndarray) -> None:
        total = np.zeros((width, width))
        for _ in range(ROWS // block):
            total += one @ other.T

    general, symmetric = seconds(lambda: products(left, right), 2), seconds(lambda: products(left, left), 2)
    work = 2e-9 * ROWS * width**2
    at = {"section": f"moments of {ROWS:,} rows, d = {WIDE}, frequencies 0 to 2, two by two ({indices.size:,} moments)"}
    return [
        row("sf.summarize, noise included", whole, "s", **at),
        row("  of which exact sums, in one pass", alone, "s", **at),
        row(f"  as products of {width} x {width}", work / alone, "GFLOP/s", **at),
        row("bare matrix products of that shape, A B'", general, "s", **at),
        row("  speed", work / general, "GFLOP/s", **at),
        row("bare symmetric products, A A' (half the work)", symmetric, "s", **at),
        row("  speed, counted as if it were all", work / symmetric, "GFLOP/s", **at),
        row("exact sums over A B'", alone / general, "times the time", **at),
        row("exact sums over A A'", alone / symmetric, "times the time", **at),
    ]


def write(path: Path, rows: int) -> None:
    """A Parquet file of many columns, written piece by piece."""
    names, part = [f"x{j}" for j in range(WIDE)], 50_000
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for seed, start in enumerate(range(0, rows, part)):
            writer.write_table(pa.table(list(drawn(min(part, rows - start), WIDE, seed).T), names=names))


def memory() -> list[Row]:
    """The most memory that a summary of a file takes beyond what a warm process has, each in a process of its own."""
    at = {"section": f"d = {WIDE}, frequencies 0 to 2, two by two, from Parquet: peak memory beyond a warm process"}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for size in MEMORY_ROWS:
            write(path, size)
            answer = subprocess.run(
                [sys.executable, "-m", "benchmarks.queries_memory", str(path)],
                check=True, capture_output=True, text=True, cwd=ROOT,
            )  # fmt: skip
            peak, taken = map(float, answer.stdout.split())
            table = size * WIDE * 8 / 2**20
            rows.append(row(f"{size:,} rows (the columns alone would be {table:,.0f} MiB)", peak, "MiB", **at))
            rows.append(row("  time", taken, "s", **at))
    return rows


def answers() -> list[Row]:
    """Many questions to one summary."""
    rng = np.random.default_rng(1)
    records, rows = np.clip(rng.normal(scale=0.4, size=(100_000, 2)), -1, 1), []
    centres = rng.uniform(-1, 1, (1000, 2))
    queries = [lambda p, c=c: np.exp(-((p - c) ** 2).sum(axis=1) / 0.5) for c in centres]
    points = rng.uniform(-1, 1, (100_000, 2))
    for degree in (8, DEGREE):
        summary = sf.summarize(records, sf.Box([(-1, 1)] * 2), PRIVACY, degree=degree)
        at = {"section": f"questions to a summary of two columns, degree {degree}, one thread"}
        rows += [
            row("answer_many, 1000 bumps", seconds(lambda s=summary: s.answer_many(queries), 3), "s", **at),
            row("kde at 100,000 points", seconds(lambda s=summary: s.kde(points, 0.25), 1), "s", **at),
            row("covariance", seconds(lambda s=summary: s.covariance(), 3) * 1e3, "ms", **at),
        ]
    return rows


def evaluation() -> list[Row]:
    """A sum of cosines at many points: matrix products against FINUFFT, where it is installed."""
    rng, rows = np.random.default_rng(2), []
    there = importlib.util.find_spec("finufft") is not None
    for dimension in (2, 3):
        coefficients = rng.normal(size=(DEGREE,) * dimension)
        for count in POINTS:
            points = rng.uniform(-1, 1, (count, dimension))
            own = seconds(lambda c=coefficients, p=points: baselines.evaluated(c, p), 3)
            at = {"section": f"a sum of cosines at {count:,} points, d = {dimension}, degree {DEGREE}, one thread"}
            rows.append(row("matrix products", own, "s", **at))
            for tolerance in (1e-6, 1e-12) if there else ():

                def other(c: np.ndarray = coefficients, p: np.ndarray = points, eps: float = tolerance) -> np.ndarray:
                    return baselines.by_nufft(c, p, eps)

                taken = seconds(other, 3)
                off = float(np.abs(other() - baselines.evaluated(coefficients, points)).max())
                rows += [
                    row(f"FINUFFT, tolerance {tolerance:g}", taken, "s", **at),
                    row("  matrix products over FINUFFT", own / taken, "times the time", **at),
                    row("  largest difference", off, "", **at),
                ]
    if not there:
        rows.append(row("FINUFFT is not installed: its lines are left out", 0.0, "", section=rows[-1]["section"]))
    return rows
