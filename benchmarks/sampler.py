"""The sensitivity sampler beside the R package diffpriv: the law of its example, speed, processes, numbers of pairs."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sfumato as sf
from benchmarks.density_baselines import peak
from benchmarks.reproduce import BOX, density
from benchmarks.timing import row

# Recorded for diffpriv 0.4.2.9000: its README's example over 400 repeats, and the KDE example's time.
KNOWN_MEAN, KNOWN_DEVIATION, KNOWN_SECONDS = 0.877, 0.100, 2.2
EXAMPLE_REPEATS, EXAMPLE_GAMMA, EXAMPLE_ROWS = 400, 0.1, 5
BANDWIDTH, ROWS, DEGREE, GAMMA = 0.1, 5000, 20, 0.1
SEEDS = 100  # certificates of the KDE example that are compared with the proved bound
FAST, SLOW = 15, 5  # timed repeats
ROUNDS = 7  # of one process and two, taking turns
GAMMAS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
RULES = ("dkw", "exchangeable", "pac")


def run() -> list[dict[str, Any]]:
    """All four parts."""
    return [*example(), *speed(), *processes(), *pairs()]


def example() -> list[dict[str, Any]]:
    """The mean of five standard normal records, gamma = .1: the law of the sampled sensitivity."""
    oracle = sf.oracles.gaussian()
    found = np.array([
        sf.sample_sensitivity(np.mean, oracle, EXAMPLE_ROWS, EXAMPLE_GAMMA, seed=seed).bound
        for seed in range(EXAMPLE_REPEATS)
    ])  # fmt: skip
    at = {"section": f"mean of {EXAMPLE_ROWS} standard normals, gamma = {EXAMPLE_GAMMA}, {EXAMPLE_REPEATS} repeats"}
    rows = []
    for name, (value, spread), known in (
        ("mean", middle(found), KNOWN_MEAN),
        ("standard deviation", deviation(found), KNOWN_DEVIATION),
    ):
        rows += [
            row(f"{name} of the sampled sensitivity", value, "", spread=spread, **at),
            row("  recorded for diffpriv", known, "", **at),
            row("  apart", abs(value - known) / spread, "standard errors", "<= 7", **at),
        ]
    return rows


def middle(found: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found)))


def deviation(found: np.ndarray) -> tuple[float, float]:
    """The standard deviation and its standard error, from the fourth moment."""
    squares = (found - found.mean()) ** 2
    size = float(found.std(ddof=1))
    return size, float(squares.std(ddof=1)) / (2 * size * math.sqrt(len(found)))


def lattice_density(records: np.ndarray) -> np.ndarray:
    """The kernel estimate on the lattice, as anybody would write it."""
    return density(records, BANDWIDTH, np.arange(DEGREE + 1) / DEGREE)


def kde(seed: int) -> sf.SampledCertificate:
    """The KDE example with ``sf.KDE`` as the target."""
    return sf.sample_sensitivity(
        sf.KDE(BANDWIDTH), sf.oracles.uniform(BOX), ROWS, GAMMA, norm="linf", box=BOX, basis=sf.Bernstein(DEGREE),
        seed=seed,
    )  # fmt: skip


def plain(seed: int) -> sf.SampledCertificate:
    """The same with a function of the whole table."""
    return sf.sample_sensitivity(lattice_density, sf.oracles.uniform(BOX), ROWS, GAMMA, norm="linf", seed=seed)


def once(call: Callable[[], Any]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def speed() -> list[dict[str, Any]]:
    """The KDE example: time against the recorded one, and against a plain target by turns; how tight the bound is."""
    kde(0), plain(0)
    fast, slow = [], []
    for turn in range(SLOW):
        slow.append(once(lambda t=turn: plain(t)))
        fast += [once(lambda t=turn, i=i: kde(FAST * t + i)) for i in range(FAST)]
    ours, theirs = float(np.median(fast)), float(np.median(slow))
    proved = peak(BANDWIDTH) / ROWS
    shares = [kde(seed).bound / proved for seed in range(SEEDS)]
    m = kde(0).m
    title = f"KDE, b = {BANDWIDTH}, n = {ROWS}, uniform oracle, {DEGREE + 1}-point lattice, gamma = {GAMMA}, m = {m}"
    at = {"section": title}
    return [
        row("sf.KDE as the target: only replaced records are looked at", ours * 1e3, "ms", **at),
        row("diffpriv, recorded elsewhere", KNOWN_SECONDS * 1e3, "ms", **at),
        row("  ratio", KNOWN_SECONDS / ours, "times faster", ">= 20", **at),
        row("a plain numpy function of the whole table, same run", theirs * 1e3, "ms", **at),
        row("  ratio", theirs / ours, "times faster", ">= 20", **at),
        row(f"share of the proved bound sup K / n, least of {SEEDS} seeds", min(shares), "", ">= 0.99", **at),
        row(f"share of the proved bound sup K / n, largest of {SEEDS} seeds", max(shares), "", "<= 1", **at),
    ]


def plodding(records: np.ndarray) -> float:
    """A trimmed mean in plain Python: slow, and nothing but the processor is used."""
    ordered = sorted(float(x) for x in records)
    cut = len(ordered) // 10
    total = 0.0
    for value in ordered[cut : len(ordered) - cut]:
        total += math.tanh(value) * math.cosh(value) / math.cosh(value / 2)
    return total / len(ordered)


def work() -> float:
    """The processor time of this process and of all that it has started and ended."""
    mine, theirs = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime  # os.times counts hundredths only


def processes() -> list[dict[str, Any]]:
    """One process against two, for a plain Python target; by turns, the best of several, both certificates equal."""

    def sample(count: int) -> sf.SampledCertificate:
        return sf.sample_sensitivity(plodding, sf.oracles.gaussian(), ROWS, GAMMA, seed=1, processes=count)

    assert sample(1).bound == sample(2).bound
    times: dict[int, list[float]] = {1: [], 2: []}
    works: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for count in times:
            before = work()
            times[count].append(once(lambda c=count: sample(c)))
            works[count].append(work() - before)
    one, two = (min(taken) for taken in times.values())
    at = {"section": f"a plain Python target, n = {ROWS}, gamma = {GAMMA}: best of {ROUNDS} rounds by turns"}
    return [
        row("one process", one, "s", **at),
        row("two processes", two, "s", **at),
        row("  ratio", one / two, "times faster", ">= 1.7", **at),
        row("  processor time of two over that of one", min(works[2]) / min(works[1]), "times", **at),
    ]


def pairs() -> list[dict[str, Any]]:
    """How many pairs each rule needs; ``"pac"`` with its default share of samplings that may fail, .01."""
    at = {"section": "pairs needed for a gamma, by rule"}
    return [
        row(f"gamma = {gamma:<5g}  {rule}", sf.sampler_plan(gamma=gamma, rule=rule).m, "pairs", **at)
        for gamma in GAMMAS
        for rule in RULES
    ]
