"""Dates on the command line: declared as bounds, read from files, told as dates."""

import csv
import io

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.columns import column_with_kind
from sfumato.errors import ParameterError

WHEN = ("--column", "when:2024-01-01:2025-01-01")


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(2)
    days = np.datetime64("2024-06-01T00:00") + rng.integers(-60 * 1440, 60 * 1440, 400)
    ill = rng.choice(["no", "yes"], 400)
    lines = [f"{day},{x:.2f},{label}" for day, x, label in zip(days, rng.uniform(0, 1, 400), ill, strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["when,x,ill", *lines, "soon,0.5,no"]) + "\n")
    return path


@pytest.mark.parametrize(
    ("text", "name", "bounds"),
    [
        ("when:2024-01-01:2025-01-01", "when", ("2024-01-01", "2025-01-01")),
        ("when:2024-01-01:2025-01-01:date", "when", ("2024-01-01", "2025-01-01")),
        ("a:b:2024-01-01T08:00:2024-01-02 08:00:30", "a:b", ("2024-01-01T08:00", "2024-01-02T08:00:30")),
        ("when:2024-01-01T08:00Z:2024-01-02T08:00+01:00", "when", ("2024-01-01T08:00Z", "2024-01-02T07:00Z")),
        ("when:2024-01-01T08:00:00.5Z:2024-01-02T08:00Z", "when", ("2024-01-01T08:00:00.500000Z", "2024-01-02T08:00Z")),
    ],
)
def test_bounds_that_are_dates(text, name, bounds, tmp_path):
    found, column = column_with_kind(text, {}, None, tmp_path / "none.csv")
    assert (found, column.kind, column.bounds) == (name, "date", bounds)


@pytest.mark.parametrize(
    "text", ["when:2024-01-01:5", "when:2024-02-30:2025-01-01", "when:2024-01-01T08:00Z:2025-01-01"]
)
def test_bounds_that_are_none(text, tmp_path):
    with pytest.raises(ParameterError, match="--column"):
        column_with_kind(text, {}, None, tmp_path / "none.csv")


def test_a_density(sfumato, data, tmp_path):
    made = sfumato(
        "density", data, *WHEN, "--bandwidth", "12", "--epsilon", "10", "-o", "d.sfumato", "--report", "d.html"
    )
    assert made.code == 0
    assert "2024-01-01                  when                  2025-01-01" in made.out
    assert "mean 2024-0" in made.out and "1.98" not in made.out
    release = sf.load(tmp_path / "d.sfumato")
    assert release.count == pytest.approx(400, abs=2)  # one was no date
    found = list(csv.DictReader(io.StringIO(sfumato("evaluate", "d.sfumato", "-", input="when\n2024-06-01\n").out)))
    assert found[0]["when"] == "2024-06-01"
    assert float(found[0]["value"]) == release(["2024-06-01"])[0]
    assert sfumato("evaluate", "d.sfumato", "-", "--json", input="when\n2024-06-01 12:00\n").data["points"][0][
        "point"
    ] == {"when": "2024-06-01T12:00"}
    sfumato("evaluate", "d.sfumato", "-", input="when\nsoon\n").failed(2, "line 2, column 'when': 'soon' is not a date")
    figures = sfumato("inspect", "d.sfumato", "--json").data
    assert figures["columns"][0]["quartiles"][1].startswith("2024-0")
    assert figures["box"]["columns"][0] == {"name": "when", "kind": "date", "low": "2024-01-01", "high": "2025-01-01"}
    assert "2024-01-01 to 2025-01-01" in (tmp_path / "d.html").read_text()


def test_statistics(sfumato, data):
    mean = sfumato("statistic", data, "mean", "when", *WHEN, "--epsilon", "10", "-o", "m.sfumato", "--json").data
    assert mean["value"].startswith("2024-0") and mean["interval"]["low"] < mean["value"] < mean["interval"]["high"]
    asked = ("statistic", data, "quantiles", "when", *WHEN, "--epsilon", "10")
    counted = sfumato(*asked, "-o", "q.sfumato")
    assert "around 2024-01-01 to 2025-01-01 in steps of" in " ".join(counted.out.split()) and "days, and" in counted.out
    chosen = sfumato(*asked, "--interval", "none", "-o", "c.sfumato")
    assert "2024-01-01 to 2025-01-01 in steps of 0.02 days" in " ".join(chosen.out.split())


@pytest.mark.slow
def test_a_curve_a_classifier_and_a_summary(sfumato, data):
    curve = sfumato(
        "regress", data, "--response", "x:0:1", *WHEN, "--bandwidth", "20", "--epsilon", "10", "-o", "r.sfumato"
    )
    assert "at when 2024-" in curve.out
    bayes = ("--method", "naive-bayes", "--label", "ill=no,yes")
    assert sfumato("classify", data, *bayes, *WHEN, "--epsilon", "10", "-o", "b.sfumato").code == 0
    assert "predicted" in sfumato("predict", "b.sfumato", data, "-o", "p.csv").out.lower()
    made = sfumato("summarize", data, *WHEN, "--epsilon", "10", "-o", "s.sfumato")
    assert "days (confidence" in made.out and 'between(when, "2024-04-01", "2024-07-02")' in " ".join(made.out.split())
    share = sfumato("answer", "s.sfumato", 'share(between(when, "2024-01-01", "2024-12-31"))', "--json").data
    assert share["answers"][0]["value"] > 0.9


def test_devices(sfumato, data, tmp_path):
    (tmp_path / "columns.toml").write_text("[columns.when]\nlow = 2024-01-01\nhigh = 2025-01-01\n")
    options = ("--kind", "density", "--box", "columns.toml", "--epsilon", "20", "--lattice", "4")
    assert sfumato("local", "init", *options, "-o", "protocol.json").code == 0
    assert sfumato("local", "encode", "protocol.json", data, "-o", "reports.bin").code == 0
    assert sfumato("local", "collect", "protocol.json", "--gateway", "reports.bin", "-o", "d.sfumato").code == 0
    release = sf.load(tmp_path / "d.sfumato")
    assert release.integrate({"when": ("2024-03-01", "2024-09-01")}) > 0.6
