"""Statistics in digits and in words."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.bases.statistics.sums import Tally
from sfumato.faces.value import Figures, ValueFace, digits
from unit.drawing.support import PLANE, SEX, WARD, statistic


def test_digits_are_rounded_to_the_side_asked_for():
    values = np.random.default_rng(1).normal(0, 50, 300)
    for value in values.tolist():
        for places in (0, 1, 3):
            low, high = (float(digits(value, places, side).replace(",", "")) for side in (-1, 1))
            assert low <= value <= high and high - low <= 10.0**-places * 1.001
    assert digits(1e20, 2) == "1e+20" and digits(1.23456789e-12, 13) == "1.23457e-12"
    assert digits(-0.0004, 2) == "0.00" and digits(-1234.5, 1) == "-1,234.5"


def test_digits_are_as_fine_as_the_limits():
    def told(what, columns=None, **more):
        return Figures.of(statistic(what, columns, **more), 0.95).entries()[0]

    assert told("mean").value == "60.50" and told("sum").value == "44,000"
    assert told("count", numbers=[987.0]).value == "987" and told("median").value == "40.00"
    assert told("bounds").value == "16" and told("bounds").low is None
    low, high = Figures.of(statistic("mean"), 0.95).release.interval(0.95)
    assert float(told("mean").low) <= low and high <= float(told("mean").high)


def test_entries_have_their_names():
    seen = Figures.of(statistic("proportions", {**SEX, **WARD}), 0.95)
    assert seen.heads == ("sex", "ward") and [e.names for e in seen.entries(2)] == [
        ("F", "surgery"),
        ("F", "cardiology"),
    ]
    assert (
        seen.count == 6
        and seen.entries()[0].share == 1.0
        and seen.entries()[-1].share == pytest.approx(1 / 6, rel=0.01)
    )
    matrix = Figures.of(statistic("covariance", PLANE), 0.95)
    assert [e.names for e in matrix.entries()] == [("age", "age"), ("age", "bmi"), ("bmi", "bmi")] and matrix.count == 3
    assert Figures.of(statistic("quantiles"), 0.95).heads == ("level",)
    assert Figures.of(statistic("bounds"), 0.95).heads == ("bound",)
    assert Figures.of(statistic("several"), 0.95).heads == ("number",)
    assert Figures.of(statistic("mean", PLANE), 0.95).heads == ("column",)
    assert Figures.of(statistic("mean"), 0.95).heads == ()


def test_how_quantiles_were_chosen():
    told = ValueFace(statistic("quantiles")).selection
    assert told["mechanism"] == "permute-and-flip" and told["candidates"] == 11001 and told["choices"] == 3
    concentrated = statistic("median")
    concentrated = replace(concentrated, guarantee=replace(concentrated.guarantee, epsilon=None, delta=None, rho=0.5))
    assert ValueFace(concentrated).selection["mechanism"] == "exponential mechanism"
    assert ValueFace(statistic("mean")).selection is None


def test_what_was_counted_for_quantiles():
    """What is told in a terminal, as data and on a card; thousands of counts are in the file alone."""
    face = ValueFace(statistic("tree"))
    assert face.tree == {"cells": 221, "lowest": 0.0, "highest": 110.0, "step": 0.5, "layers": 2, "counts": 236}
    assert "on 236 counts: 221 cells around 0 to 110 in steps of 0.5" in face.noise_lines()[-1]
    told = face.data()
    assert told["numbers"] is None and told["selection"] is None and told["tree"] == face.tree
    assert ValueFace(statistic("mean")).data()["tree"] is None
    seen = Figures.of(statistic("tree"), 0.95)
    assert seen.heads == ("level",) and not seen.uninformed
    entry = seen.entries()[1]
    assert entry.names == ("0.5",) and float(entry.low) < float(entry.value) < float(entry.high)
    assert {len(text.partition(".")[2]) for text in (entry.value, entry.low, entry.high)} == {2}  # halves of .5


def test_limits_that_are_the_bounds_say_what_would_help():
    def lines(release):
        return " ".join(ValueFace(release).rows()[0][1])

    few = statistic("tree", numbers=np.zeros(236), rows=3)
    assert "so few records, at this privacy, tell nothing closer" in lines(few)
    assert "leave out --interval none" in lines(statistic("median"))
    assert "bounds of the column" not in lines(statistic("tree"))


def test_names_of_statistics():
    def names(*what):
        face = ValueFace(statistic(*what))
        return face.quantity, face.subject

    assert names("mean") == ("mean", "age") and names("mean", PLANE) == ("mean", "age and bmi")
    assert names("count") == ("number", "records with age")
    assert names(Tally("count", (1,), True))[1] == "records"
    assert names("own")[0] == "caller's own statistic"
