"""What learners say of themselves."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import face_of
from sfumato.faces.slices import slope_limits
from unit.drawing.support import PLANE, machine

LINEAR = sf.LinearKernel()


def test_limits_of_slopes_hold_for_what_noise_does():
    for settings in ({}, {"objective": 50.0}, {"max_norm": 2.0}):
        columns = {f"x{i}": (-1, 2) for i in range(4)}
        release = machine(columns, kernel=LINEAR, **settings)
        reach = slope_limits(release, 0.95)
        scale = 3 / settings.get("max_norm", 3.0)
        inside = release.handed.objective
        least = 0.0 if inside is None else inside.radius(0.95) * scale
        assert (reach > least).all() and np.ptp(reach) == pytest.approx(0, abs=1e-9)
        assert reach[0] < least + 60 * release.law.deviation * scale


def test_a_file_may_say_anything_of_itself():
    odd = replace(machine(PLANE, loss="hinge"), target=(("target", "x"), ("C (times the mean loss)", "much")))
    assert face_of(odd).data()["C"] is None
    assert dict(face_of(odd).rows())["loss"] == ["hinge"]
