"""Pairs of columns of a synthetic table: as classes make them alone, and with what was bought."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import face_of

RNG, N = np.random.default_rng(2), 4000
ILL = RNG.random(N) < 0.4
AGE = np.clip(RNG.normal(50 + 10 * ILL, 12, N), 0, 110)
BMI = np.clip(RNG.normal(12 + 0.3 * AGE, 3, N), 10, 60)
DATA = {"age": AGE, "bmi": BMI, "hour": RNG.uniform(0, 9, N), "ill": np.where(ILL, "yes", "no")}
BOX = sf.Box({"age": (0, 110), "bmi": (10, 60), "hour": (0, 9), "ill": sf.Categorical(["no", "yes"])})


def pairs(**shares):
    table = sf.synthesize(DATA, BOX, sf.Privacy(epsilon=1e4), label="ill", shares=shares, seed=1)
    face = face_of(table)
    return {tuple(one["columns"]): one for one in face.pairs()}, dict(face.rows())["pairs"], face.data()["pairs"]


def test_pairs_are_shown_with_and_without_what_was_bought():
    found, told, listed = pairs(means=0.4, norm=0.1, spreads=0.25, pairs=0.25)
    one = found["age", "bmi"]
    assert one["correlation"] == pytest.approx(np.corrcoef(AGE, BMI)[0, 1], abs=0.05)
    assert 0.02 < one["independent"] < 0.4  # the classes alone make them go together a little
    assert told[0].startswith("age and bmi: correlation 0.") and "as classes alone have it" in told[0]
    assert len(listed) == 3 and listed[0] == one


def test_pairs_that_were_not_bought_are_what_classes_make_them():
    found, told, _ = pairs(means=0.5, norm=0.2, spreads=0.3)
    assert all(one["correlation"] == one["independent"] for one in found.values())
    assert all("as classes alone have it" in line for line in told)


def test_a_table_of_one_numeric_column_has_none():
    box = sf.Box({"age": (0, 110), "ill": BOX.columns[-1]})
    table = sf.synthesize({name: DATA[name] for name in box.names}, box, sf.Privacy(epsilon=1e3), seed=1)
    assert face_of(table).pairs() == [] and "pairs" not in dict(face_of(table).rows())
