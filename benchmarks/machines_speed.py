"""How fast a learner is trained, and in how much memory: 10^6 rows, 200 landmarks, beside scikit-learn."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression

import sfumato as sf
from benchmarks.timing import row

ROWS, MEMORY_ROWS, REPEATS = 1_000_000, (250_000, 1_000_000, 4_000_000), 3
PRIVACY = sf.Privacy(epsilon=1.0, delta=1e-6)
BOX = sf.Box(dict.fromkeys("abcd", (0, 1)))
TARGET = sf.KernelMachine("logistic", sf.RBF(2.0), classes=[0, 1])
BASIS = sf.Landmarks(200)
ROOT = Path(__file__).parents[1]
PART = 250_000


def drawn(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four columns and a noisy label."""
    rng = np.random.default_rng(seed)
    records = rng.random((rows, 4))
    signal = np.sin(6 * records[:, 0]) + records[:, 1] - records[:, 2]
    return records, (signal + 0.5 * rng.standard_normal(rows) > 0.3).astype(np.int64)


def run() -> list[dict[str, Any]]:
    """Time and memory."""
    return [*speed(), *memory()]


def speed() -> list[dict[str, Any]]:
    """A whole release against scikit-learn on features that it need not compute; alternating, best of a few."""
    records, labels = drawn(ROWS, 20230714)
    release = sf.release(TARGET, (records, labels), BOX, PRIVACY, basis=BASIS)
    start = time.perf_counter()
    features = np.concatenate([release.handed.features(records[i : i + 2**15]) for i in range(0, ROWS, 2**15)])
    mapping = time.perf_counter() - start
    strength = float(dict(release.target)["C (times the mean loss)"]) / ROWS
    peer = LogisticRegression(C=strength, solver="newton-cholesky", fit_intercept=False)
    ours, theirs = [], []
    for _ in range(REPEATS):
        start = time.perf_counter()
        release = sf.release(TARGET, (records, labels), BOX, PRIVACY, basis=BASIS)
        middle = time.perf_counter()
        peer.fit(features, labels)
        ours.append(middle - start)
        theirs.append(time.perf_counter() - middle)
    mine, other = float(np.median(ours)), float(np.median(theirs))
    at = {"section": f"{ROWS:,} rows of four columns, {features.shape[1]} landmarks, logistic, same C"}
    agreed = float(np.mean(release.predict(records[:100_000]) == peer.predict(features[:100_000])))
    return [
        row("sf.release, features included", mine, "s", **at),
        row("scikit-learn LogisticRegression(solver='newton-cholesky'), features precomputed", other, "s", **at),
        row("  ratio", mine / other, "times as long", "<= 3", **at),
        row("computing those features once", mapping, "s", **at),
        row("  ratio to scikit-learn with its features", mine / (mapping + other), "times as long", **at),
        row("labels of both that agree", agreed, "of 100,000 rows", **at),
    ]


def write(path: Path, rows: int) -> None:
    """A Parquet file, written piece by piece."""
    names = ("a", "b", "c", "d", "label")
    schema = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("label", pa.int64())])
    with parquet.ParquetWriter(path, schema) as writer:
        for seed, start in enumerate(range(0, rows, PART)):
            records, labels = drawn(min(PART, rows - start), seed)
            writer.write_table(pa.table([*records.T, labels], names=names))


def memory(sizes: tuple[int, ...] = MEMORY_ROWS) -> list[dict[str, Any]]:
    """The most memory that training from a file takes beyond what a warm process has, each in a process of its own."""
    at = {"section": f"training from Parquet, {BASIS.count} landmarks: peak memory beyond a warm process"}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        for size in sizes:
            write(path, size)
            answer = subprocess.run(
                [sys.executable, "-m", "benchmarks.machines_memory", str(path)],
                check=True, capture_output=True, text=True, cwd=ROOT,
            )  # fmt: skip
            peak, taken = map(float, answer.stdout.split())
            features = size * (BASIS.count or 0) * 8 / 2**20
            rows.append(row(f"{size:,} rows (the features alone would be {features:,.0f} MiB)", peak, "MiB", **at))
            rows.append(row("  time", taken, "s", **at))
    peaks = [r["value"] for r in rows[::2]]
    growth = f"  growth for {max(sizes) // min(sizes)} times the rows"
    return [*rows, row(growth, peaks[-1] - peaks[0], "MiB", **at)]
