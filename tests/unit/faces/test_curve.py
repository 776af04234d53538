"""What regression curves say of themselves."""

import numpy as np
import pytest

from sfumato.faces import face_of
from sfumato.faces.curve import CurveOnGrid, overall, records, says_nothing
from unit.drawing.support import LINE, curve


def test_limits_within_the_range_say_something():
    release = curve(LINE)
    low, high = np.array([60.0, 60.0, 61.0]), np.array([220.0, 219.0, 220.0])
    assert says_nothing(release, low, high).tolist() == [True, False, False]


def test_figures():
    release = curve(LINE)
    assert overall(release) == pytest.approx(140, abs=0.5)
    count, low, high = records(release, 0.95)
    assert low <= count <= high == 20_000
    assert records(curve(LINE, rows=False), 0.95)[2] > 20_000
    seen = CurveOnGrid.of(release, 0.95)
    assert seen.known() == 1 and seen.typical("noise") < seen.typical() < seen.typical("worst")
    assert [at for _, at in seen.ends()] == [[0.0], [110.0]]
    lost = CurveOnGrid.of(curve(LINE, count=20, epsilon=0.01), 0.95)
    assert lost.typical() is None and lost.known() == 0 and np.isfinite(lost.ends()[0][0])


def test_a_curve_that_says_nothing_says_so():
    told = dict(face_of(curve(LINE, count=20, epsilon=0.01)).rows())
    assert told["band"] == [
        "the whole range everywhere: too few records for this promise, bandwidth and number of columns"
    ]
    part = dict(face_of(curve(LINE, least=0.3, most=0.7)).rows())["band"]
    assert part[1].startswith("known on ") and len(dict(face_of(curve(LINE)).rows())["band"]) == 1
