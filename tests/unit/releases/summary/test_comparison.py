"""A table beside a summary, in units of the summary's error."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ParameterError

RNG = np.random.default_rng(8)
N = 20_000
AGE = np.clip(RNG.normal(50, 15, N), 0, 110)
BMI = np.clip(20 + 0.1 * AGE + RNG.normal(0, 3, N), 10, 60)
DATA = {"age": AGE, "bmi": BMI, "hour": RNG.uniform(0, 24, N), "ill": np.where(RNG.random(N) < 0.3, "yes", "no")}
BOX = sf.Box({"age": (0, 110), "bmi": (10, 60), "hour": sf.Periodic(0, 24), "ill": sf.Categorical(["no", "yes"])})


@pytest.fixture(scope="module")
def summary():
    return sf.summarize(DATA, BOX, sf.Privacy(epsilon=2.0), degree=(4, 4, 2, 2), interactions=2)


def test_the_records_themselves_are_within_the_error(summary):
    """Each of 7 numbers at one in a million."""
    found = summary.compare(DATA, confidence=1 - 1e-6)
    assert found.within == 1.0 and found.worst.apart <= 1
    told = {(line.what, *line.of): line.table for line in found.lines}
    assert told[("mean", "age")] == pytest.approx(AGE.mean())
    assert told[("spread", "bmi")] == pytest.approx(BMI.std())
    assert told[("correlation", "age", "bmi")] == pytest.approx(np.corrcoef(AGE, BMI)[0, 1])
    assert told[("share", "ill", "yes")] == pytest.approx((DATA["ill"] == "yes").mean())
    assert len(told) == 7  # the circle has none of these


def test_another_table_is_not(summary):
    wrong = pd.DataFrame({**DATA, "bmi": BMI[::-1], "age": AGE + 10})
    far = {(line.what, *line.of): line.apart for line in summary.compare(wrong).lines}
    assert far[("mean", "age")] > 3 and far[("correlation", "age", "bmi")] > 1
    assert far[("mean", "bmi")] < 3
    assert "mean of age" in str(summary.compare(wrong)) and "limits" in str(summary.compare(wrong))


def test_a_published_table_is_asked_for_its_rows(summary):
    table = sf.synthesize(DATA, BOX, sf.Privacy(epsilon=5.0), label="ill", seed=1, rows=5000)
    found = summary.compare(table)
    assert {line.what for line in found.lines} == {"mean", "spread", "correlation", "share"}
    assert found.lines == summary.compare(table.data).lines


def test_gaps_in_the_table_are_left_out_and_what_the_summary_lacks_is_too(summary):
    holes = {**DATA, "age": np.where(np.arange(N) % 2 == 0, np.nan, AGE)}
    assert all(np.isfinite(line.table) for line in summary.compare(holes).lines)
    plain = sf.summarize(DATA, BOX, sf.Privacy(epsilon=2.0), degree=2, interactions=1)
    assert {line.what for line in plain.compare(DATA).lines} == {"mean", "share"}


def test_what_is_refused(summary):
    with pytest.raises(ParameterError, match="columns"):
        summary.compare({"age": AGE})
    with pytest.raises(ParameterError, match="rows"):
        summary.compare({name: values[:0] for name, values in DATA.items()})
    with pytest.raises(ParameterError, match="confidence"):
        summary.compare(DATA, confidence=1.5)
