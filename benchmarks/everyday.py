"""How accurate everyday statistics are on NHANES columns, beside diffprivlib and OpenDP at the same budget and bounds.

Neighbours replace one record and the number of records is public. Bounds are common knowledge, written down below
and not changed once errors were measured; records without a value are dropped for all, the others clipped to bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyarrow import csv

import sfumato as sf
from benchmarks.density_baselines import Score, score
from benchmarks.everyday_peers import Table, diffprivlib_answers, opendp_answers
from benchmarks.reproduce import SHARED
from benchmarks.timing import row
from sfumato.bases.statistics.quantiles import Grid
from sfumato.core.box import Interval

EPSILONS = (0.1, 1.0)
REPEATS = {"mean": 1000, "variance": 1000, "histogram": 1000, "median": 250, "quantiles": 250}
QUARTILES = (0.25, 0.5, 0.75)
BINS = 10
REQUIRED = ("mean", "median", "quantiles")  # of these, none may be worse than a peer
EXTRA = ("variance", "histogram")
CHOSEN = ("median", "quantiles")
ALLOWED = "<= 3"  # standard errors


@dataclass(frozen=True)
class Column:
    """One column: its name in the file, public bounds in a unit, and the step in which such a thing is written down."""

    name: str
    low: float
    high: float
    unit: str
    step: float


@dataclass(frozen=True)
class Told:
    """What a library is told of a column: its bounds; of a column of whole steps, also that it is one."""

    words: str
    kind: Interval
    step: float = 1.0  # values are handed over and come back in units of this

    @property
    def candidates(self) -> np.ndarray:
        """The values from which sfumato chooses a quantile, and so OpenDP."""
        return np.round(Grid.over(self.kind).values() * self.step, 9)


def told(statistic: str, column: Column) -> list[Told]:
    """Quantiles profit from whole steps, so there everybody who can be told of them is, in a comparison of its own."""
    bounds = Told("", Interval(column.low, column.high))
    if statistic not in CHOSEN:
        return [bounds]
    whole = sf.Integer(round(column.low / column.step), round(column.high / column.step))
    return [bounds, Told(f", told steps of {column.step:g}", whole, column.step)]


COLUMNS = (
    Column("Age", 0, 110, "years", 1),
    Column("BMI", 10, 100, "kg/m^2", 0.01),
    Column("BPSysAve", 50, 250, "mmHg", 1),
    Column("Height", 40, 220, "cm", 0.1),
    Column("Pulse", 30, 200, "beats a minute", 1),
)


def nhanes() -> dict[str, np.ndarray] | None:
    """The values that are there, by column, clipped to the bounds; None without the shared data."""
    path = SHARED / "data" / "nhanes_raw_2009_2012.csv.gz"
    if not path.exists():
        return None
    read = csv.read_csv(path, convert_options=csv.ConvertOptions(include_columns=[c.name for c in COLUMNS]))
    found = {c.name: read[c.name].drop_null().to_numpy().astype(np.float64) for c in COLUMNS}
    return {c.name: np.clip(found[c.name], c.low, c.high) for c in COLUMNS}


def truth(statistic: str, column: Column, values: np.ndarray) -> np.ndarray:
    """What it is without privacy."""
    if statistic == "histogram":
        return np.histogram(values, bins=BINS, range=(column.low, column.high))[0].astype(np.float64)
    plain = {"mean": np.mean, "variance": np.var, "median": np.median, "quantiles": lambda v: np.quantile(v, QUARTILES)}
    return np.atleast_1d(plain[statistic](values))


def released(statistic: str, known: Told, values: np.ndarray, epsilon: float, missing: str) -> np.ndarray:
    """So many real releases, one line each."""
    settings: dict[str, Any] = {  # the peers give no limits either
        "histogram": {"bins": BINS},
        "median": {"interval": "none"},
        "quantiles": {"probabilities": QUARTILES, "interval": "none"},
    }
    target = sf.Statistic(statistic, "value", missing=missing, **settings.get(statistic, {}))
    box, privacy, handed = sf.Box({"value": known.kind}), sf.Privacy(epsilon=epsilon), values / known.step
    releases = (sf.release(target, handed, box, privacy) for _ in range(REPEATS[statistic]))
    return np.round(np.array([np.atleast_1d(release.value) for release in releases]) * known.step, 9)


def mistake(estimates: np.ndarray, right: np.ndarray) -> Score:
    """The mean absolute error, over the numbers of a statistic and over repeats, with its standard error."""
    return score(np.abs(estimates - right).mean(axis=1))


def apart(ours: Score, theirs: Score, least: float) -> float:
    """How much worse we are, in standard errors of the difference; ``least`` is one where neither error ever varied."""
    spread = math.hypot(ours[1], theirs[1])
    return (ours[0] - theirs[0]) / (spread if spread > 1e-12 else least)


def run() -> list[dict[str, Any]]:
    """A table for each column and statistic."""
    values = nhanes()
    if values is None:
        print("  statistics are left out: they need ../shared/data/nhanes_raw_2009_2012.csv.gz")
        return []
    bounds = {c.name: (c.low, c.high) for c in COLUMNS}
    theirs = diffprivlib_answers(values, bounds, EPSILONS, QUARTILES, BINS, REPEATS)
    rows = []
    for statistic in (*REQUIRED, *EXTRA):
        for column in COLUMNS:
            rows += compare(statistic, column, values[column.name], theirs)
    return [*rows, *summary(rows)]


def compare(statistic: str, column: Column, values: np.ndarray, recorded: Table) -> list[dict[str, Any]]:
    """One statistic of one column: everybody's error, then ours over each peer's."""
    what, repeats = "quartiles" if statistic == "quantiles" else statistic, REPEATS[statistic]
    bounds = f"{column.low:g} to {column.high:g} {column.unit}"
    at = {"section": f"{what} of {column.name}, {bounds}, n = {len(values):,}: mean absolute error, {repeats} repeats"}
    at |= {"statistic": statistic, "column": column.name}
    least = column.step / repeats  # what one answer that is a step off would make of an error that never varied
    right, rows, gaps = truth(statistic, column, values), [], []
    for epsilon in EPSILONS:
        at["epsilon"] = epsilon
        plain = None
        for known in told(statistic, column):
            ours, loose = (mistake(released(statistic, known, values, epsilon, m), right) for m in ("none", "drop"))
            found = others(statistic, column, known, values, epsilon, recorded)
            peers = {name: mistake(estimates, right) for name, estimates in found.items()}
            own = {f"sfumato, missing='none'{known.words}": ours, f"sfumato, missing='drop'{known.words}": loose}
            rows += [row(name, e, column.unit, spread=s, **at) for name, (e, s) in {**own, **peers}.items()]
            for name, peer in peers.items():
                gaps += against(f"sfumato{known.words}", ours, name, peer, least, statistic in REQUIRED, at)
                if plain is not None:
                    gaps += against("sfumato, not told", plain, name, peer, least, False, at)
            plain = ours
    return [*rows, *gaps]


def against(
    name: str, ours: Score, other: str, theirs: Score, least: float, required: bool, at: dict[str, Any]
) -> list[dict[str, Any]]:
    """Ours over a peer's, and the difference in standard errors."""
    asked = ALLOWED if required else None
    return [
        row(f"  {name}, over {other}", ours[0] / max(theirs[0], least), "times the error", **at),
        row(f"  {name}, minus {other}", apart(ours, theirs, least), "standard errors", asked, **at),
    ]


def others(
    statistic: str, column: Column, known: Told, values: np.ndarray, epsilon: float, recorded: Table
) -> dict[str, np.ndarray]:
    """What the peers say: OpenDP chooses quantiles from our candidates; diffprivlib cannot be told of steps."""
    found = {}
    if recorded and not known.words:
        found["diffprivlib"] = recorded[column.name, statistic, epsilon]
    public, detail = (column.low, column.high), BINS
    if statistic in CHOSEN:
        public, detail = known.candidates, QUARTILES if statistic == "quantiles" else (0.5,)
    found[f"OpenDP{known.words}"] = opendp_answers(statistic, values, public, epsilon, detail, REPEATS[statistic])
    return found


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst comparison, and how many there were: of so many, some are above two by chance."""
    judged = [r for r in rows if "asked" in r]
    if not judged:
        return []
    at = {"section": "all comparisons of means, medians and quartiles"}
    gaps = [r["value"] for r in judged]
    chance = len(gaps) * 0.5 * math.erfc(3 / math.sqrt(2))
    return [
        row("sfumato minus a peer, the worst", max(gaps), "standard errors", ALLOWED, **at),
        row(f"of {len(gaps)}, above 3", sum(gap > 3 for gap in gaps), "comparisons", **at),
        row("  expected by chance if all were equal", chance, "comparisons", **at),
        row(f"of {len(gaps)}, below -3", sum(gap < -3 for gap in gaps), "comparisons", **at),
    ]
