"""Learners, curves and statistics for the tests of pictures and pages: nothing in them is random."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sfumato as sf
from effort import shared
from opening import numbers_of
from sfumato.bases.bayes.attributes import Attributes
from sfumato.bases.machine.landmarks import feature_map
from sfumato.bases.statistics.magnitudes import Magnitudes
from sfumato.bases.statistics.moments import Moments
from sfumato.bases.statistics.quantiles import Grid, Quantiles
from sfumato.bases.statistics.sums import Given, Tally, Total
from sfumato.bases.statistics.tree import QuantileTree
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.objective import Objective, calibrate_objective
from sfumato.core.privacy import Guarantee
from sfumato.engines.memory import MemoryEngine
from sfumato.releases.machine.machine import Handed, MachineRelease, ObjectiveNoise
from sfumato.releases.machine.response import Response
from sfumato.releases.value import ValueRelease
from sfumato.targets.base import Published

LINE = {"age": (0, 110)}
PLANE = {**LINE, "bmi": (10, 60)}
SPACE = {**PLANE, "systolic": (60, 240)}


def machine(
    columns=None,
    kernel=None,
    classes=("no", "yes"),
    range=None,
    loss="logistic",
    bound=0.01,
    objective=None,
    basis=None,
    **more,
):
    """A learner; ``objective`` is the strength of one whose noise went into what is minimised."""
    box = sf.Box(PLANE if columns is None else columns, max_norm=more.pop("max_norm", None))
    kernel = sf.RBF(2.0) if kernel is None else kernel
    linear = isinstance(kernel, sf.LinearKernel)
    basis = basis or (sf.Coordinates() if linear else sf.Landmarks(9 if box.dimension == 2 else 8))
    features = feature_map(kernel, basis, box)
    response = Response("disease" if range is None else "value", None if range else tuple(classes), range)
    size, privacy = features.size * response.outputs, sf.Privacy(epsilon=1.0)
    law, guarantee = calibrate(Certificate("l2", bound, "replace", "proved", "regularised-erm"), size, privacy)
    noise = None
    if objective is not None:
        asked = Objective(features.size, response.outputs, 1.0, 0.25, 1.0, objective)
        noise = ObjectiveNoise(asked, calibrate_objective(asked, privacy), 1.0, 0.0)
    weights = 2 * np.sin(1 + np.arange(size)).reshape(response.outputs, -1)
    target = (
        ("target", "classifier" if range is None else "regression"),
        ("loss", loss),
        ("kernel", repr(kernel)),
        ("C (times the mean loss)", "250.0"),
    )
    handed = Handed(features, None, response, loss, noise)
    return MachineRelease(
        **{"guarantee": guarantee, "law": law, "target": target, "handed": handed, "weights": weights, **more}
    )


def without_noise(target, data, box, basis, privacy, rows):
    """What a target publishes, with the law of its noise but none of it."""
    gathered = target.gather(MemoryEngine().open(data, box, "row", target.columns), box, MemoryEngine())
    certificate = target.certificate(basis, box, rows, privacy)
    private = target.coefficients(gathered, basis, box, certificate)
    law, guarantee = calibrate(certificate, private.size, privacy)
    values = numbers_of(private) * 2.0**certificate.exponent
    return target.finish(Published(values, basis, box, rows, law, guarantee, None, privacy, "caller"))


CURVE_WIDTHS = {1: (0.08,), 2: (0.13, 0.14), 3: (0.23, 0.24, 0.22)}  # bandwidths, in widths of the box
CURVE_BASES = {1: sf.Binning(16), 2: sf.Binning((9, 8)), 3: sf.Binning((5, 5, 5))}


@shared
def curve(columns=None, count=20_000, epsilon=20.0, response="bp", rows=True, least=0.0, most=1.0):
    """A regression curve: pressure rises with the first column; records fill a part of the box's width."""
    box = sf.Box(LINE if columns is None else columns)
    unit = np.mod(np.outer(np.arange(count), (0.7548776662466927, 0.5698402909980532, 0.324717957244746)), 1.0)
    unit = least + (most - least) * unit[:, : box.dimension]
    points = box.low + unit * (box.high - box.low)
    pressure = 100 + 80 * unit[:, 0]
    bandwidth = (np.array(CURVE_WIDTHS[box.dimension]) * (box.high - box.low)).tolist()
    target = sf.NadarayaWatson(bandwidth, response=response, range=(60, 220))
    privacy = sf.Privacy(epsilon=epsilon)
    data = pd.DataFrame(dict(zip(box.names, points.T, strict=True))).assign(**{response: pressure})
    return without_noise(target, data, box, CURVE_BASES[box.dimension], privacy, count if rows else None)


@shared
def bayes(columns=None, classes=("no", "yes"), likelihood="kernel", count=4000, epsilon=20.0, response="ill"):
    """A naive Bayes classifier: each class has its own part of numbers, and prefers its own category."""
    box = sf.Box({**LINE, **SEX} if columns is None else columns)
    label = np.arange(count) % len(classes)
    spread = np.mod(np.arange(count) * 0.7548776662466927, 1.0)
    data = {}
    for column_name, column in zip(box.names, box.columns, strict=True):
        if isinstance(column, sf.Categorical):
            place = np.where(spread < 0.8, label, label + 1) % len(column.categories)
            data[column_name] = np.array(column.categories, dtype=object)[place]
        else:
            unit = (label + spread) / len(classes)
            data[column_name] = column.low + unit * (column.high - column.low)
    data[response] = np.array(classes, dtype=object)[label]
    target = sf.NaiveBayes(response, list(classes), likelihood=likelihood)
    privacy = sf.Privacy(epsilon=epsilon)
    target = target.settled(box, count, privacy)
    numbers = [not isinstance(column, sf.Categorical) and likelihood == "kernel" for column in box.columns]
    basis = Attributes(tuple(sf.Binning(14) if smooth else None for smooth in numbers))
    return without_noise(target, pd.DataFrame(data).infer_objects(), box, basis, privacy, count)


SEX = {"sex": sf.Categorical(["F", "M"])}
WARD = {"ward": sf.Categorical(["surgery", "cardiology", "oncology"])}
ROWS = 1000


def statistic(what, columns=None, numbers=None, certificate=None, rows=ROWS, **more):
    """A published statistic; ``what`` is its name or what it is written in."""
    box = sf.Box(LINE if columns is None else columns)
    summary = _summary(what, box) if isinstance(what, str) else what
    size, privacy = summary.size(box), sf.Privacy(epsilon=1.0)
    if numbers is None:
        numbers = _numbers(summary, box)
    if isinstance(summary, Quantiles):
        law, guarantee = None, Guarantee(1.0, 0.0, None, None, "replace", "row")
    else:
        apart = summary.apart(box, privacy, "l1") or 0.1  # nothing is known of a function of the caller's
        known = "stated" if isinstance(summary, Given) else "enforced"
        bound = certificate or Certificate("l1", apart, "replace", known, "statistics", summary.exponent)
        law, guarantee = calibrate(bound, size, privacy)
    given = {"guarantee": guarantee, "law": law, "target": (("target", "made up"), ("missing values", "drop"))}
    return ValueRelease(**{**given, "domain": box, "summary": summary, "numbers": numbers, "rows": rows, **more})


def _summary(what, box):
    cells = tuple(len(c.categories) if isinstance(c, sf.Categorical) else 10 for c in box.columns)
    grid = Grid(0, 11001, 2)
    return {
        "count": Tally("count", (1,) * box.dimension, False),
        "sum": Total(True),
        "mean": Moments("mean", True, 0),
        "variance": Moments("variance", True, 0),
        "covariance": Moments("covariance", True, 0),
        "proportions": Tally("proportions", cells, True),
        "histogram": Tally("histogram", cells, False),
        "median": Quantiles("median", (0.5,), grid, False),
        "quantiles": Quantiles("quantiles", (0.25, 0.5, 0.75), grid, True),
        "tree": QuantileTree("quantiles", (0.25, 0.5, 0.75), Grid(0, 221, 1, 5), True, 15, 2),
        "bounds": Magnitudes(24.0),
        "own": Given(1),
        "several": Given(4),
    }[what]


def _numbers(summary, box):
    """Moments of records a little above the middle of the box; counts that fall from cell to cell."""
    size = summary.size(box)
    if isinstance(summary, Quantiles):
        return np.linspace(40.0, 60.0, size)
    if isinstance(summary, QuantileTree):
        cells = np.full(summary.grid.count, ROWS // summary.grid.count, dtype=np.int64)
        return summary.sums(cells, ROWS).astype(np.float64)
    if isinstance(summary, Magnitudes):
        counts = np.zeros(size)
        counts[_MIDDLE + 25 : _MIDDLE + 28] = 300.0
        return counts
    if isinstance(summary, Tally):
        return np.floor(ROWS * np.arange(size, 0, -1) / (size * (size + 1) / 2))
    if isinstance(summary, Total):
        return np.full(size, 0.4 * ROWS)
    if isinstance(summary, Given):
        return np.linspace(-1.0, 2.0, size) if size > 1 else np.array([49.5])
    first = np.full(box.dimension, 0.1 * ROWS)
    return np.concatenate([first, np.full(size - box.dimension, -0.3 * ROWS)])


_MIDDLE = 84  # the cell of zero


def sampled_certificate(gamma=0.05, rule="exchangeable", oracle=None, norm="l1"):
    """What a sampler says of the mean of five numbers."""
    drawn = sf.oracles.gaussian() if oracle is None else oracle
    made = sf.sample_sensitivity(np.mean, drawn, n=5, gamma=gamma, rule=rule, norm=norm, seed=1, progress=False)
    return made.plain()
