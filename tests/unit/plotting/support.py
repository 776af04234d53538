"""Learners with chosen weights for the tests of pictures and pages: nothing in them is random."""

from __future__ import annotations

import numpy as np

import sfumato as sf
from sfumato.bases.landmarks import feature_map
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.objective import Objective, calibrate_objective
from sfumato.releases.machine import Handed, MachineRelease, ObjectiveNoise
from sfumato.releases.response import Response

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
