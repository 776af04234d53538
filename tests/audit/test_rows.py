"""The number of rows, where it is private, decides nothing: neither a refusal nor a sum that wraps around.

Nobody reads ``2**31`` rows in a test. Tables claim them, which is all that a refusal could look at; engines add each
record ``2**k`` times, which is what so many rows come to. Without noise, ``2**k`` times as many records must give
exactly ``2**k`` times the numbers: doubles scale exactly. Noise is compared with nothing: there are no false alarms.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.core.whole import Wide
from sfumato.engines import memory
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.table import Table
from sfumato.engines.tables import open_table
from sfumato.pipeline import _number_of
from sfumato.targets.bounds import Bounds

RNG = np.random.default_rng(16)
ROWS = 64
PURE = sf.Privacy(epsilon=1.0, neighbours="add-remove")
SOFT = sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="add-remove")
LINE, PLANE, CUBE = (sf.Box([(0, 10)] * d) for d in (1, 2, 3))
SEX = sf.Box({"age": (0, 10), "sex": sf.Categorical([0, 1])})


def columns(count):
    return sf.Box([(0, 10)] * count)


def points(box):
    return RNG.uniform(-1, 11, size=(ROWS, box.dimension))


def labelled(box, classes):
    return points(box), RNG.integers(0, 2, ROWS) if classes else RNG.uniform(-1, 11, ROWS)


STATISTICS = {
    "mean": (sf.Statistic("mean"), LINE),
    "mean of complete rows": (sf.Statistic("mean", missing="none"), LINE),
    "mean of 128": (sf.Statistic("mean"), columns(128)),
    "variance of 16": (sf.Statistic("variance"), columns(16)),
    "covariance": (sf.Statistic("covariance"), columns(4)),
    "sum": (sf.Statistic("sum"), PLANE),
    "count": (sf.Statistic("count"), LINE),
    "histogram": (sf.Statistic("histogram", bins=4), PLANE),
    "proportions": (sf.Statistic("proportions", "sex"), SEX),
    "summary": (sf.CosineMoments(degree=4), PLANE),
    "density": (sf.KDE(1.0), LINE),
    "density of a plane": (sf.KDE(1.5), PLANE),
    "density of a cube": (sf.KDE(2.0, missing="none"), CUBE),
    "densities": (sf.KDE(1.0, by="sex"), SEX),
}
LABELLED = {
    "curve": (sf.NadarayaWatson(1.0, range=(0, 10)), LINE),
    "surface": (sf.NadarayaWatson(1.5, range=(0, 10)), PLANE),
    "curve in space": (sf.NadarayaWatson(2.5, range=(0, 10)), CUBE),
    "naive Bayes": (sf.NaiveBayes("y", [0, 1], bandwidth=[1.0, 1.0]), PLANE),
    "normal naive Bayes": (sf.NaiveBayes("y", [0, 1], likelihood="normal"), PLANE),
}
LEARNERS = {
    "output noise": (sf.KernelMachine("hinge", "rbf", 1.0, "y", [0, 1], mechanism="output"), LINE),
    "objective noise": (sf.LogisticRegression(1.0, response="y", classes=[0, 1], mechanism="objective"), PLANE),
}
OTHERS = {
    "bounds": (Bounds(), LINE),
    "median": (sf.Statistic("median"), LINE),
    "quantiles": (sf.Statistic("quantiles", probabilities=[0.123456, 0.5, 0.9], interval="none"), LINE),
}
LARGE = ("density of a cube", "surface", "curve in space")  # millions of cells
EVERY = {**STATISTICS, **LABELLED, **LEARNERS, **OTHERS}


def quick(*names):
    """Large ones wait for ``make test-all``."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in names]


def data_of(name):
    target, box = EVERY[name]
    if box is SEX:
        return np.stack([RNG.uniform(-1, 11, ROWS), RNG.integers(0, 2, ROWS)], axis=1)
    if name in LABELLED or name in LEARNERS:
        return labelled(box, classes=hasattr(target, "classes") and target.classes is not None)
    return points(box)


# --- tables that claim many rows ----------------------------------------------------------------------------------


class Claiming(Table):
    """A table of few records that says that it has many."""

    @property
    def schema(self):
        return self._given.schema

    def batches(self, box, rows):
        yield from self._given.batches(box, rows)


@pytest.mark.few(10)
@pytest.mark.parametrize("name", quick(*EVERY))
@pytest.mark.parametrize("rows", [2**25, 2**28, 2**31, 2**61])
def test_no_number_of_rows_is_refused(name, rows, monkeypatch):
    """Nothing raises and nothing warns, also where sums of so many do not fit 64 bits."""
    monkeypatch.setattr(memory, "open_table", lambda *order: Claiming(open_table(*order), rows))
    target, box = EVERY[name]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        released = sf.release(target, data_of(name), box, PURE)
    assert released.guarantee.neighbours == "add-remove"


def refusals(text):
    """On which conditions on a number of rows a piece of code raises an error."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If | ast.Assert)]
    asked = [node for node in found if re.search(r"\brows\b", ast.unparse(node.test))]
    return [ast.unparse(n.test) for n in asked if isinstance(n, ast.Assert) or "raise" in ast.unparse(n)]


def test_no_code_between_the_records_and_the_door_refuses_a_number_of_rows():
    source = Path(sf.__file__).parent
    files = [*source.glob("engines/*.py"), *source.glob("targets/*.py"), *source.glob("core/*.py")]
    found = {path.relative_to(source).as_posix() for path in files if refusals(path.read_text())}
    assert found <= {"engines/tables.py"}  # whose X and y must be as long as each other: a matter of schema
    # None are refused, by a number that is None where it is private.
    assert refusals((source / "pipeline.py").read_text()) == ["rows == 0"]
    assert _number_of(SimpleNamespace(rows=0), sf.Privacy(epsilon=1.0, neighbours="add-remove")) is None
    assert _number_of(SimpleNamespace(rows=0), sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))) is None


def test_the_refusals_that_there_were_are_found():
    assert refusals("if table.rows * budget >= 2**61:\n    raise ParameterError('64 bits')")
    assert refusals("for columns in table:\n    rows += len(columns)\n    assert rows < 2**31")
    assert not refusals("if rows > 8:\n    start = None")


# --- engines that count every record many times -------------------------------------------------------------------


def times(totals, factor):
    """Totals of so many copies of the records: limb after limb, eight bits at a time."""
    numbers, found = totals._whole(), Wide(np.zeros(totals._part.size, dtype=np.int64))
    for digit in factor.to_bytes(8, "big").lstrip(b"\0"):
        found = Wide(found._low << 8, found._high << 8) + Wide(numbers._low * digit, numbers._high * digit)
    totals._saved, totals._part, totals.rows = found, np.zeros_like(totals._part), totals.rows * factor
    return totals


@dataclass(frozen=True)
class Repeating(MemoryEngine):
    """Adds up as if each record were there so many times."""

    factor: int = 1

    def fold(self, records, one):
        totals = super().fold(records, one)
        return times(totals, self.factor) if self.factor > 1 else totals


def gathered(target, box, data, factor):
    """What a target gathers of so many copies of the data."""
    engine = Repeating(factor=factor)
    return target.gather(engine.open(data, box, "row", target.columns), box, engine)


def published(target, box, data, factor, privacy):
    """The numbers that would be published without noise."""
    settled = target.settled(box, None, privacy)
    basis = settled.choose_basis(box, None, privacy)
    private = settled.coefficients(
        gathered(settled, box, data, factor), basis, box, settled.certificate(basis, box, None, privacy)
    )
    noise = settled.preferred_noise(private.certificate, privacy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
        return mechanism.publish(private, privacy, noise)[0]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", quick(*STATISTICS, *LABELLED))
@pytest.mark.parametrize("privacy", [PURE, pytest.param(SOFT, marks=pytest.mark.slow)], ids=["pure", "approximate"])
def test_numbers_grow_with_the_rows_and_never_wrap(name, privacy):
    """Both sides of 2**61 and of 2**63 steps, whatever a record's budget is, up to 2**62 rows in all."""
    target, box = EVERY[name]
    data = data_of(name)
    once = published(target, box, data, 1, privacy)
    assert np.abs(once).max() > 0
    for power in (20, 29, 31, 40, 56):
        found = published(target, box, data, 2**power, privacy)
        assert found.tobytes() == (once * 2.0**power).tobytes()


@pytest.mark.few(4)
@pytest.mark.parametrize("name", quick(*STATISTICS, *LABELLED, "median", "quantiles"))
def test_a_release_of_any_number_of_rows_says_the_same(name, monkeypatch):
    """The whole line, noise and all: what is released of 2**40 copies is finished without an error or a warning."""
    target, box = EVERY[name]
    data, gather = data_of(name), type(target).gather

    def repeated(self, records, box, engine):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(self), "gather", gather)
            return gathered(self, box, data, 2**40)

    monkeypatch.setattr(type(target), "gather", repeated)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        released = sf.release(target, data, box, PURE)
    if name == "mean":
        assert released.value == pytest.approx(np.clip(data, 0, 10).mean(), abs=1e-6)
    if name == "count":
        assert released.value == pytest.approx(ROWS * 2.0**40, rel=1e-9)
    if name == "median":
        assert released.value == pytest.approx(np.median(np.clip(data, 0, 10)), abs=1)


def test_ranks_of_very_many_rows_are_exact():
    """Scores are ranks times the level's denominator, up to a million: beyond 2**43 rows they would wrap around."""
    basis = sf.Statistic("quantiles", probabilities=[0.123457], interval="none").choose_basis(LINE, None, PURE)
    counts = np.zeros(basis.grid.count, dtype=np.int64)
    counts[[3, 17, 40]] = 2**60, 2**50, 2**60
    (level,) = basis.levels
    found = basis.scores(counts, level)
    total, up_to = sum(counts.tolist()), 0
    for place in range(50):
        own = int(counts[place])
        below, above = up_to, total - up_to - own
        q, whole = level.numerator, level.denominator
        excess = max(whole * below - q * total, whole * above - (whole - q) * total)
        assert found[place] == -max(-(2**62), min(excess, 2**62))
        up_to += own
    assert found.dtype == np.int64 and found.max() == found[3] > 0


def test_a_private_mean_on_either_side_of_the_limb(monkeypatch):
    """2**31 rows at the upper bound: 2**61 steps, where sums were once refused."""
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
    for rows in (2**31 - 1, 2**31, 2**31 + 1, 2**33):
        released = sf.release(sf.Statistic("mean"), np.full((1, 1), 10.0), LINE, PURE, engine=Repeating(factor=rows))
        assert released.value == 10.0
        assert released.numbers[0] == float(rows)


@pytest.mark.parametrize("rows", [2**20, 2**50, 2**60])
def test_limits_hold_also_where_numbers_are_rounded_to_doubles(rows):
    """Of 2**60 rows the door's doubles are 128 apart, the noise a few: limits that forget it would miss the count.

    Twenty draws at confidence 1 - 1e-9: a sound one fails with probability below 2e-8.
    """
    for _ in range(20):
        found = sf.release(sf.Statistic("count"), np.ones((1, 1)), LINE, PURE, engine=Repeating(factor=rows + 77))
        low, high = found.interval(1 - 1e-9)
        assert low <= rows + 77 <= high and high - low <= 50 + 2 * rows * 2.0**-51
