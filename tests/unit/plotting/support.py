"""Learners and statistics with chosen numbers for the tests of pictures and pages: nothing in them is random."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.bases.landmarks import feature_map
from sfumato.bases.magnitudes import Magnitudes
from sfumato.bases.moments import Moments
from sfumato.bases.quantiles import Grid, Quantiles
from sfumato.bases.summaries import Given, Tally, Total
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.objective import Objective, calibrate_objective
from sfumato.core.privacy import Guarantee
from sfumato.releases.machine import Handed, MachineRelease, ObjectiveNoise
from sfumato.releases.response import Response
from sfumato.releases.value import ValueRelease

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
        "bounds": Magnitudes(24.0),
        "own": Given(1),
        "several": Given(4),
    }[what]


def _numbers(summary, box):
    """Moments of records a little above the middle of the box; counts that fall from cell to cell."""
    size = summary.size(box)
    if isinstance(summary, Quantiles):
        return np.linspace(40.0, 60.0, size)
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
