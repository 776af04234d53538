"""How fast a private density is: sums of 10^6 rows against KDE libraries, a whole release against reading the file."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from KDEpy import FFTKDE
from pyarrow import parquet
from sklearn.neighbors import KernelDensity

import sfumato as sf
from benchmarks.density import plane_records
from benchmarks.timing import row, seconds
from sfumato.bases.density import prediction
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.tables import open_table
from sfumato.targets import shares
from sfumato.targets.density import density

PLANE_ROWS, FILE_ROWS = 1_000_000, 10_000_000
BANDWIDTH = {"plane": 0.1, "file": 0.05}
PART = 20  # scikit-learn is timed on one in so many of the lattice's points
PRIVACY = sf.Privacy(epsilon=1.0)


def forget() -> None:
    """Empty the caches of public tables, as in a fresh process."""
    for module in (prediction, density, shares):
        for found in list(vars(module).values()):
            if hasattr(found, "cache_clear"):
                found.cache_clear()


def run() -> list[dict[str, Any]]:
    """Both comparisons."""
    return [*sums(), *file()]


def once(call: Any) -> float:
    """The time of one call, without a warm-up."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def sums() -> list[dict[str, Any]]:
    """From rows to the lattice's exact integer coefficients, the basis being chosen."""
    records, bandwidth = plane_records(PLANE_ROWS), BANDWIDTH["plane"]
    box, target, engine = sf.Box([(0, 1), (0, 1)]), sf.KDE(bandwidth), MemoryEngine()
    basis = target.choose_basis(box, PLANE_ROWS, PRIVACY)
    certificate = target.certificate(basis, box, PLANE_ROWS, PRIVACY)

    def coefficients() -> None:
        table = open_table(records, box, "row", target.columns)
        target.coefficients(target.gather(table, box, engine), basis, box, certificate)

    ours = seconds(coefficients, 7, before=forget)
    axes = [basis.positions(box, i) for i in (0, 1)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    some = np.random.default_rng(0).permutation(points)[: max(1, len(points) // PART)]
    fitted = KernelDensity(bandwidth=bandwidth)
    fit = seconds(lambda: fitted.fit(records), 1)
    exact = fit + once(lambda: fitted.score_samples(some)) * len(points) / len(some)
    loose = KernelDensity(bandwidth=bandwidth, rtol=1e-3).fit(records)
    tolerant = fit + once(lambda: loose.score_samples(some)) * len(points) / len(some)
    sizes = {"64 x 64": (64, 64), "as large as the lattice": tuple(map(len, axes))}
    fft = {
        name: seconds(lambda s=size: FFTKDE(kernel="gaussian", bw=bandwidth).fit(records).evaluate(s), 3)
        for name, size in sizes.items()
    }
    forget()
    first = once(lambda: sf.release(target, records, box, PRIVACY))
    again = once(lambda: sf.release(target, records, box, PRIVACY))
    title = f"{PLANE_ROWS:,} rows, two columns, b = {bandwidth}, onto the default lattice {basis!r}; no cached tables"
    at = {"section": title}
    scaled = f"timed on {len(some)} of {len(points)} points and scaled"
    return [
        row("sfumato: rows to integer coefficients", ours * 1e3, "ms", **at),
        row(f"scikit-learn KernelDensity, fit and score ({scaled})", exact * 1e3, "ms", **at),
        row("  ratio", exact / ours, "times faster", ">= 500", **at),
        row(f"scikit-learn with rtol=1e-3 ({scaled})", tolerant * 1e3, "ms", **at),
        row("  ratio", tolerant / ours, "times faster", **at),
        *(
            line
            for name, taken in fft.items()
            for line in (
                row(f"KDEpy FFTKDE, grid {name}", taken * 1e3, "ms", **at),
                row("  ratio", taken / ours, "times faster", ">= 1", **at),
            )
        ),
        row("whole sf.release, first in a process", first * 1e3, "ms", **at),
        row("whole sf.release, again (public tables known)", again * 1e3, "ms", **at),
    ]


def file() -> list[dict[str, Any]]:
    """A whole release of one column of a Parquet file against reading that column."""
    rng = np.random.default_rng(20230713)
    first = rng.random(FILE_ROWS) < 0.4
    values = np.clip(np.where(first, 0.5, 0.75) + rng.normal(size=FILE_ROWS) * np.where(first, 0.14, 0.07), 0, 1)
    box, target = sf.Box({"x": (0, 1)}), sf.KDE(BANDWIDTH["file"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.parquet")
        parquet.write_table(pa.table({"x": values}), path, compression="snappy")
        del values, first
        read = seconds(lambda: parquet.read_table(path, columns=["x"]), 7)

        def release(basis: Any = "auto") -> Any:
            return sf.release(target, path, box, PRIVACY, basis=basis)

        cold = seconds(release, 3, before=forget)
        basis = release().basis
        given = seconds(lambda: release(basis), 3, before=forget)
        warm = seconds(release, 5)
        parts = _parts(path, box, target, basis)
    at = {"section": f"{FILE_ROWS:,} rows of one column from Parquet (snappy), b = {target.bandwidth}"}
    return [
        row("pyarrow.parquet.read_table of the column", read * 1e3, "ms", **at),
        row("whole sf.release, first in a process", cold * 1e3, "ms", **at),
        row("  ratio", cold / read, "times the reading", "<= 6", **at),
        row("whole sf.release, first in a process, basis given", given * 1e3, "ms", **at),
        row("  ratio", given / read, "times the reading", **at),
        row("whole sf.release, again (public tables known)", warm * 1e3, "ms", **at),
        row("  ratio", warm / read, "times the reading", "<= 6", **at),
        *(row(f"  of which {name}", taken * 1e3, "ms", **at) for name, taken in parts.items()),
    ]


def _parts(path: str, box: sf.Box, target: sf.KDE, basis: Any) -> dict[str, float]:
    """Where the first release's time goes."""
    engine = MemoryEngine()
    counts = target.gather(MemoryEngine().open(path, box, "row", target.columns), box, engine)
    certificate = target.certificate(basis, box, FILE_ROWS, PRIVACY)
    small = np.linspace(0, 1, 1000)
    sf.release(target, small, box, PRIVACY, basis=basis)
    return {
        "choosing the basis (public, then cached)": seconds(
            lambda: target.choose_basis(box, FILE_ROWS, PRIVACY), 3, before=forget
        ),
        "reading and counting": seconds(
            lambda: target.gather(MemoryEngine().open(path, box, "row", target.columns), box, engine), 3
        ),
        "tables of shares (public, then cached) and sums": seconds(
            lambda: target.coefficients(counts, basis, box, certificate), 3, before=forget
        ),
        "noise and projection (a release of 1000 rows, basis given)": seconds(
            lambda: sf.release(target, small, box, PRIVACY, basis=basis), 3
        ),
    }
