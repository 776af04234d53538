"""Learning in the local model: linear models of Adult and a9a from one byte a person, and how fast that is collected.

Beyond the people of a file they are resampled, which leaves means as they are: their reports are drawn from the normal
law of a mean of so many, with the randomizer's own moments. The rows that say so use the randomizer itself.
"""

from __future__ import annotations

import gzip
import math
import time
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.optimize import minimize

import sfumato as sf
from benchmarks.timing import row
from sfumato.core.randomizer import Codebook
from sfumato.local import channels, linear
from sfumato.local.channels import unit_moments
from sfumato.local.copies import GaussianNumbers, UnitCopies
from sfumato.local.records import read_records, within
from sfumato.releases.collected.moments import CollectedMoments

DATA = Path(__file__).parents[2] / "shared" / "data"
RUNS = 20
# Column of the file; low, high; centre, unit: public, and not taken from these people.
ADULT = {
    "age": (0, (21, 55), (38, 14)),
    "fnlwgt": (2, (0, 500_000), (190_000, 105_000)),
    "education-num": (4, (3, 16), (10, 2.6)),
    "capital-gain": (10, (0, 10_000), (0, 4000)),
    "capital-loss": (11, (0, 2000), (0, 800)),
    "hours": (12, (10, 70), (40, 12)),
}
RICH = sf.Categorical([0, 1])
MUST = {
    1.0: {32_561: 0.775, 300_000: 0.805, 1_000_000: 0.811, 3_000_000: 0.813},
    2.0: {32_561: 0.797, 300_000: 0.812, 1_000_000: 0.813, 3_000_000: 0.814},
    4.0: {32_561: 0.803, 300_000: 0.813},
}
MUST_A9A = {
    1.0: {32_561: 0.768, 300_000: 0.815, 1_000_000: 0.825},
    2.0: {32_561: 0.806, 300_000: 0.826, 1_000_000: 0.830},
}


def run() -> list[dict[str, Any]]:
    """All figures."""
    if not (DATA / "adult.data.gz").exists():
        print("  Adult and a9a are left out: ../shared/data is not there")
        return [*surfaces(), *speed()]
    return [*adult(), *queries(), *a9a(), *wide(), *surfaces(), *walked(), *speed()]


@cache
def _adult(name: str) -> np.ndarray:
    with gzip.open(DATA / f"{name}.gz", "rt") as file:
        lines = [line.strip().rstrip(".").split(", ") for line in file]
    rows = [
        [float(line[place]) for place, _, _ in ADULT.values()] + [line[14] == ">50K"] for line in lines if line[14:]
    ]
    return np.array(rows)


@cache
def _a9a(name: str) -> np.ndarray:
    found = []
    with gzip.open(DATA / f"{name}.gz", "rt") as file:
        for line in file:
            label, *pairs = line.split()
            found.append(np.zeros(124))
            found[-1][[int(pair.split(":")[0]) - 1 for pair in pairs]] = 1.0
            found[-1][-1] = float(label) > 0
    return np.array(found)


def accuracy(release: Any, test: np.ndarray) -> float:
    """The share of people whose response is predicted."""
    return float(np.mean(release.predict(test[:, :-1]) == test[:, -1]))


def collected(protocol: Any, records: np.ndarray) -> Any:
    """By the randomizer itself."""
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


def limits(protocol: Any, records: np.ndarray, people: int, generator: np.random.Generator) -> list[Any]:
    """Releases from so many people like these, by the normal law of what they tell."""
    columns = within(protocol.box, read_records(protocol.box, records))
    answers = protocol.answers(columns, np.arange(len(records), dtype=np.uint64))
    mean, (gain, square) = answers.mean(axis=0), unit_moments(Codebook(protocol.epsilon), protocol.questions)
    # Along a person's vector a named direction varies as it does; across, evenly with what is left.
    along, across = square - gain**2, (1 - square) / (protocol.questions - 1)
    law = (across * np.eye(len(mean)) + (along - across) * (answers.T @ answers / len(answers))) / (gain**2 * people)
    draws = generator.multivariate_normal(mean, law, size=RUNS, method="cholesky")
    return [CollectedMoments.of(protocol, *protocol.moments(draw), people) for draw in draws]


def _rows(
    protocol: Any, train: np.ndarray, test: np.ndarray, must: dict[float, dict[int, float]], at: Any
) -> list[Any]:
    rows, generator = [], np.random.default_rng()
    for epsilon, asked in must.items():
        own = replace(protocol, epsilon=epsilon)
        for people, least in asked.items():
            found = [accuracy(release, test) for release in limits(own, train, people, generator)]
            spread = float(np.std(found, ddof=1) / math.sqrt(RUNS))
            name = f"epsilon {epsilon:g}, {people:,} people"
            rows.append(row(name, float(np.mean(found)), "", f">= {least}", spread=spread, **at))
    return rows


def adult() -> list[dict[str, Any]]:
    """Six columns of Adult; test accuracy, mean and deviation over releases."""
    train, test = _adult("adult.data"), _adult("adult.test")
    box = sf.Box({**{name: bounds for name, (_, bounds, _) in ADULT.items()}, "rich": RICH})
    protocol = sf.local.LinearModel(box, 1.0, "rich", scales={name: pair for name, (_, _, pair) in ADULT.items()})
    at = {"section": "LinearModel, six columns of Adult: test accuracy (the majority has .764, without privacy .8169)"}
    rows = _rows(protocol, train, test, MUST, at)
    for epsilon in (1.0, 2.0):
        found = [accuracy(collected(replace(protocol, epsilon=epsilon, seed=None), train), test) for _ in range(2)]
        spread = float(np.std(found, ddof=1) / math.sqrt(len(found)))
        name = f"epsilon {epsilon:g}, 32,561 people, the randomizer itself, twice"
        rows.append(row(name, float(np.mean(found)), "", spread=spread, **at))
    return rows


def queries(turns: int = 10) -> list[dict[str, Any]]:
    """The same columns by a summary for smooth questions, and its linear model; each person tells one of 98 moments."""
    train, test = _adult("adult.data"), _adult("adult.test")
    box = sf.Box({**{name: bounds for name, (_, bounds, _) in ADULT.items()}, "rich": (0, 1)})
    at = {"section": "SmoothQueries and summary.fit, six columns of Adult, 98 moments: test accuracy"}
    generator, rows, columns = np.random.default_rng(), [], within(box, read_records(box, test))
    for epsilon in (1.0, 2.0):
        protocol = sf.local.SmoothQueries(box, epsilon, degree=3, interactions=2)
        assert protocol.questions == 98
        for people in (32_561, 1_000_000):
            found = []
            for _ in range(turns):
                records = train if people == len(train) else train[generator.integers(len(train), size=people)]
                model = collected(replace(protocol, seed=None), records).fit("rich")
                found.append(float(np.mean((model.predict(columns[:-1].T) > 0.5) == test[:, -1])))
            spread = float(np.std(found, ddof=1) / math.sqrt(turns))
            rows.append(row(f"epsilon {epsilon:g}, {people:,} people", float(np.mean(found)), "", spread=spread, **at))
    return rows


def a9a() -> list[dict[str, Any]]:
    """All 123 columns, with second moments of 2,000 public records of which no response is known."""
    train, test = _a9a("a9a.libsvm"), _a9a("a9a.t.libsvm")
    names = [f"c{j}" for j in range(123)]
    box, scales = sf.Box({**dict.fromkeys(names, (0, 1)), "rich": RICH}), dict.fromkeys(names, (0, 1))
    blank = sf.local.LinearModel(box, 1.0, "rich", scales=scales, second_moments=np.eye(124) / 124)
    public = np.random.default_rng(1).choice(len(test), 2000, replace=False)
    protocol = replace(blank, second_moments=blank.public_moments(test[public]))
    left = np.delete(test, public, axis=0)
    at = {"section": "LinearModel, 123 columns of a9a, public second moments: test accuracy (least squares .845)"}
    return _rows(protocol, train, left, MUST_A9A, at)


def wide(people: int = 10**6) -> list[dict[str, Any]]:
    """All 123 columns without a public matrix: 7,874 numbers, more than devices tell; by the law of the randomizer.

    Its deviation along a person's vector is taken to be that across: one direction of thousands.
    """
    train, test = _a9a("a9a.libsvm"), _a9a("a9a.t.libsvm")
    names = [f"c{j}" for j in range(123)]
    box, scales = sf.Box({**dict.fromkeys(names, (0, 1)), "rich": RICH}), dict.fromkeys(names, (0, 1))
    at, rows = {"section": "LinearModel, 123 columns of a9a, no public matrix: test accuracy"}, []
    columns, generator = within(box, read_records(box, train)), np.random.default_rng()
    with patch.object(linear, "MOST_DIRECTIONS", 2**13), patch.object(channels, "MOST_DIRECTIONS", 2**13):
        for epsilon in (1.0, 2.0):
            protocol = sf.local.LinearModel(box, epsilon, "rich", scales=scales)
            mean, users = np.zeros(protocol.questions), np.arange(len(train), dtype=np.uint64)
            for start in range(0, len(train), 1000):  # all vectors together are gigabytes
                part = slice(start, start + 1000)
                mean += protocol.answers(columns[:, part], users[part]).sum(axis=0) / len(train)
            deviation = math.sqrt(protocol.channel.expected()[0] / people)
            draws = generator.normal(mean, deviation, size=(RUNS, len(mean)))
            releases = [CollectedMoments.of(protocol, *protocol.moments(draw), people) for draw in draws]
            found = [accuracy(release, test) for release in releases]
            spread = float(np.std(found, ddof=1) / math.sqrt(RUNS))
            rows.append(row(f"epsilon {epsilon:g}, {people:,} people", float(np.mean(found)), "", spread=spread, **at))
    return rows


def _crowd(people: int, columns: int, even: bool, generator: np.random.Generator) -> np.ndarray:
    """Columns in [-1, 1], even or only at the ends, and a response by the logistic law of them."""
    at = generator.uniform(-1, 1, size=(people, columns))
    at = at if even else np.sign(at)
    slopes = np.array([0.6, -0.5])[:columns] * (2 if columns == 1 else 1)
    return np.column_stack([at, generator.random(people) < 1 / (1 + np.exp(-(at @ slopes)))])


def _surface(protocol: Any, people: int, even: bool, generator: np.random.Generator) -> tuple[float, float]:
    """The largest error of one collected surface over a grid, and how far its lowest point is above the true one."""
    some = _crowd(min(people, 10**5), protocol.parameters.dimension, even, generator)
    release = collected(protocol, np.tile(some, (people // len(some), 1)))  # more people are these over and over
    axes = [np.linspace(kind.low, kind.high, 33) for kind in protocol.parameters.columns]
    grid = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    y = 2 * some[:, -1] - 1

    def risk(at: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -y * (some[:, :-1] @ at)).mean())

    truth = np.array([risk(at) for at in grid])
    best = minimize(
        risk, grid[truth.argmin()], bounds=[(-kind.high, kind.high) for kind in protocol.parameters.columns]
    )
    return float(np.abs(release(grid) - truth).max()), risk(np.array(release.minimise().parameters)) - float(best.fun)


def surfaces(turns: int = 8) -> list[dict[str, Any]]:
    """Mean logistic losses with one bit a person, epsilon 1: sup error, its slope against the people, excess risk."""
    generator, rows = np.random.default_rng(), []
    at = {"section": "RiskMinimization, logistic loss, one bit, epsilon 1, degree 4"}
    cases = ((1, 9, True, 0.015, 0.002), (2, 7, False, 0.046, 0.004), (2, 7, True, 0.046, 0.004))
    for dimension, side, even, sup, excess in cases:
        names, reach = [f"c{j}" for j in range(dimension)], 2.0 / dimension
        box = sf.Box({**dict.fromkeys(names, (-1, 1)), "y": sf.Categorical([0, 1])})
        weights = sf.Box(dict.fromkeys(names, (-reach, reach)))
        crowds, means = (10**4, 10**5, 10**6), []
        for people in crowds:
            found = [
                _surface(
                    sf.local.RiskMinimization(box, 1.0, "logistic", weights, lattice=side, degree=4, response="y"),
                    people,
                    even,
                    generator,
                )
                for _ in range(turns)
            ]
            means.append(np.mean(found, axis=0))
        spread = float(np.std([one for one, _ in found], ddof=1) / math.sqrt(turns))
        name = f"{dimension} parameter{'s' * (dimension > 1)}, {side**dimension} points, "
        name += "columns spread evenly" if even else "columns yes or no"
        slope = float(np.polyfit(np.log(crowds), np.log([mean[0] for mean in means]), 1)[0])
        rows += [
            row(f"{name}: sup error, 10^6 people", float(means[-1][0]), "", f"<= {sup}", spread=spread, **at),
            row(f"{name}: slope against the people {slope:.3f}, from -.5", abs(slope + 0.5), "", "<= 0.1", **at),
            row(f"{name}: excess risk", float(means[-1][1]), "", f"<= {excess}", **at),
        ]
    return rows


class _DrawnUnits(UnitCopies):
    """PrivUnit copies by their law: how near a named direction is, and then any direction that near."""

    @cached_property
    def _nearness(self) -> np.ndarray:
        """Of named directions to the vector, over fresh codebooks."""
        generator = np.random.default_rng(1)
        books = generator.normal(size=(20_000, self.size))
        near = books[:, 0] / np.linalg.norm(books, axis=1)
        close = generator.choice(near, size=(20_000, 256))
        return close[np.arange(20_000), self._codebook.send(close)]

    def estimates_of(self, payload: np.ndarray, users: np.ndarray) -> np.ndarray:
        generator, shape = np.random.default_rng(), (len(payload), self.copies, self.size)
        along = generator.choice(self._nearness, size=shape[:2])[:, :, None]
        vector = np.broadcast_to(payload[:, None, :], shape)
        across = generator.normal(size=shape)
        across -= (across * vector).sum(axis=2, keepdims=True) * vector
        across /= np.linalg.norm(across, axis=2, keepdims=True)
        return np.asarray((along * vector + np.sqrt(1 - along**2) * across) / self._gain)


class _DrawnNumbers(GaussianNumbers):
    """Gaussian copies by their law."""

    def estimates_of(self, payload: np.ndarray, users: np.ndarray) -> np.ndarray:
        deviation = math.sqrt(self.square - 1)
        noise = np.random.default_rng().normal(scale=deviation, size=(len(payload), self.copies, self.size))
        return np.asarray(payload[:, None, :] + noise)


def walked(people: int = 10**6, turns: int = 2) -> list[dict[str, Any]]:
    """Algorithm 4 on six columns of Adult, one pass, by the law of its copies; gradient deviation and accuracy."""
    train, test = _adult("adult.data"), _adult("adult.test")
    box = sf.Box({**{name: bounds for name, (_, bounds, _) in ADULT.items()}, "rich": RICH})
    scales = {name: pair for name, (_, _, pair) in ADULT.items()}
    generator, users = np.random.default_rng(), np.arange(people, dtype=np.uint64)
    at, rows = {"section": "GeneralizedLinear, six columns of Adult, 10^6 people, hinge, one pass"}, []
    for copies, delta, epsilon in (("gaussian", 1e-6, 1.0), ("privunit", 0.0, 1.0), ("privunit", 0.0, 8.0)):
        for degree in (1, 2, 3):
            protocol = sf.local.GeneralizedLinear(
                box, epsilon, "rich", copies=copies, delta=delta, degree=degree, scales=scales
            )
            own = protocol.channel
            kind = _DrawnUnits if copies == "privunit" else _DrawnNumbers
            drawn = kind(own.epsilon, own.questions, own.seed, own.size, own.copies, own.delta)
            vectors = protocol.answers(within(box, read_records(box, train)), users[: len(train)])
            found = []
            for _ in range(turns if degree < 3 else 1):  # which takes minutes
                state = drawn.empty()
                drawn.add(state, vectors[generator.integers(len(train), size=people)], protocol.asked(users), users)
                found.append(accuracy(protocol.release(state, people), test))
            name = f"{copies}, epsilon {epsilon:g}, degree {degree}"
            rows += [
                row(f"{name}: gradient deviation of one person", protocol.gradient_deviation, "", **at),
                row(f"{name}: accuracy", float(np.mean(found)), "", **(at | _spread(found))),
            ]
    return rows


def _spread(found: list[float]) -> dict[str, float]:
    return {"spread": float(np.std(found, ddof=1))} if len(found) > 1 else {}


def speed(reports: int = 10**6, length: int = 35) -> list[dict[str, Any]]:
    """Collecting named directions, by processor time."""
    box = sf.Box({**{f"c{j}": (0, 1) for j in range(6)}, "rich": RICH})
    protocol = sf.local.LinearModel(box, 1.0, "rich")
    assert protocol.questions == length
    channel, users = protocol.channel, np.arange(reports, dtype=np.uint64)
    named = np.random.default_rng(1).integers(0, 256, size=(reports, 1)).astype(np.uint8)
    start = time.process_time()
    channel.add(channel.empty(), named, np.zeros(0, dtype=np.int64), users)
    taken = time.process_time() - start
    start = time.process_time()
    channel.send(np.eye(length)[np.arange(1000) % length], users[:1000])
    each = (time.process_time() - start) * 1e6 / 1000
    at = {"section": f"one byte a person, vectors of length {length}"}
    return [
        row(f"collecting {reports:,} reports", taken, "s", "<= 10", **at),
        row("encoding, a report", each, "microseconds", **at),
        row("deviation of a coordinate, times the root of the people", math.sqrt(channel.expected()[0]), "", **at),
    ]
