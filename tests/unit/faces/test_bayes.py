"""What naive Bayes classifiers say of their classes and columns."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import face_of
from sfumato.faces.bayes import NaiveBayesFace, attributes, spread, told_how
from unit.drawing.support import LINE, PLANE, SEX, WARD, bayes


def test_limits_of_a_category_are_those_of_its_count_over_all():
    release = bayes()
    counted, sex = release.likelihoods[1], attributes(release, 0.95)[1]
    low, high = counted.limits(np.array(["F", "M"], dtype=object), 0.975, "total", "clip")
    least, most = counted.count_limits(0.975)
    assert sex.low == pytest.approx((low / most).T) and sex.high == pytest.approx(np.minimum(high / least, 1).T)


def test_a_column_in_which_classes_differ_tells_much():
    told = attributes(bayes({**LINE, **WARD, **SEX}), 0.95)
    assert told[0].distance > 0.85 and 0.5 < told[2].distance < 0.7 and told[1].distance > told[2].distance
    whole = bayes({**LINE, **SEX})
    age, sex = whole.likelihoods
    flat = replace(whole, likelihoods=(age, replace(sex, numbers=np.full_like(sex.numbers, 500.0))))
    assert attributes(flat, 0.95)[1].distance == pytest.approx(0, abs=1e-9)


def test_points_all_over_the_box():
    box = sf.Box({**PLANE, **WARD, "hour": sf.Periodic(0, 24), "n": sf.Integer(0, 9)})
    found = spread(box, 3000)
    assert found["age"].min() < 1 and found["age"].max() > 109 and np.median(found["bmi"]) == pytest.approx(35, abs=1)
    assert {name: (found["ward"] == name).mean().round(1) for name in WARD["ward"].categories} == dict.fromkeys(
        WARD["ward"].categories, 0.3
    )
    assert abs(np.corrcoef(found["age"], found["bmi"])[0, 1]) < 0.05


def test_certainty_falls_with_noise():
    assert NaiveBayesFace(bayes({**LINE, **SEX, **WARD}), 0.95).certain > 0.3
    assert NaiveBayesFace(bayes({**LINE, **SEX, **WARD}, epsilon=0.01), 0.95).certain == 0


def test_how_likelihoods_are_known():
    release = bayes({**LINE, **SEX, **WARD})
    assert told_how(release, 1) == "2 categories, counted" and told_how(release, 0).startswith("density, bandwidth ")


def test_many_columns_are_cut_short():
    release = bayes({f"x{i}": sf.Categorical(["a", "b"]) for i in range(15)}, count=200)
    lines = dict(face_of(release).rows())["columns"]
    assert len(lines) == 14 and lines[12] == "and 3 columns more that tell less"
    assert len(face_of(release).data()["columns"]) == 15
