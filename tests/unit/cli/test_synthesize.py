"""The command that publishes a synthetic table and writes its rows."""

import json

import numpy as np
import pyarrow.csv
import pytest
from pyarrow import parquet

import sfumato as sf
from sfumato.cli.synthesize import read_shares
from sfumato.errors import ParameterError

ASK = ("synthesize", "cohort.csv", "--box", "columns.toml", "--epsilon", "1")


@pytest.fixture
def here(tmp_path):
    generator = np.random.default_rng(5)
    age, sex = generator.normal(50, 12, 400).round(1), generator.choice(["F", "M"], 400)
    lines = ["age,sex", *(f"{a},{s}" for a, s in zip(age, sex, strict=True))]
    (tmp_path / "cohort.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "columns.toml").write_text(
        '[columns.age]\nlow = 0\nhigh = 110\n[columns.sex]\ncategories = ["F", "M"]\n'
    )
    return tmp_path


def test_rows_are_written_beside_the_release(sfumato, here):
    result = sfumato(*ASK, "--label", "sex", "--rows", "50", "--seed", "3", "--data", "made.parquet")
    assert result.code == 0, result.err
    assert "Published a synthetic table of age and sex." in result.out
    assert "independent within a class of sex" in " ".join(result.out.split())
    release = sf.load(here / "table.sfumato")
    assert release.seed == 3
    assert parquet.read_table(here / "made.parquet").equals(release.data)


def test_for_programs_and_as_csv(sfumato, here):
    result = sfumato(*ASK, "--shares", "means=0.7,norm=0.3", "--data", "made.csv", "--json")
    told = json.loads(result.out)
    assert told["data"] == "made.csv" and told["rows"] == 400
    assert told["blocks"] == pytest.approx({"means": 0.7, "norm": 0.3}, abs=1e-6)
    assert pyarrow.csv.read_csv(here / "made.csv").num_rows == 400


def test_a_plan_reads_nothing(sfumato, here):
    (here / "cohort.csv").write_text("age,sex\n")
    result = sfumato(*ASK, "--label", "sex", "--expected-rows", "5000", "--plan")
    assert result.code == 0, result.err
    assert "no record was read" in result.out and "5,000 rows" in result.out
    assert not (here / "table.sfumato").exists()


def test_a_plan_is_for_records_and_not_for_rows_that_are_made_up(sfumato, here):
    """As many rows as one likes cost nothing: they once made the plan's errors as small as one liked."""
    plans = [
        json.loads(sfumato(*ASK, "--plan", "--json", *more).out)
        for more in ((), ("--rows", "9"), ("--rows", "1000000"), ("--expected-rows", "1000000"))
    ]
    errors = [plan["mean_noise_error"] for plan in plans]
    assert errors[0] == errors[1] == errors[2] == pytest.approx(100 * errors[3], rel=0.02)
    assert "which is assumed: say how many with --expected-rows N" in sfumato(*ASK, "--rows", "9", "--plan").out


@pytest.mark.parametrize("wrong", [
    ("--rows", "0"), ("--label", "age"), ("--label", "ill"), ("--shares", "means"), ("--shares", "means=1,norm=1"),
    ("--data", "made.txt"), ("--data", "cohort.csv"), ("--data", "table.sfumato"),
])  # fmt: skip
def test_what_is_refused(sfumato, here, wrong):
    result = sfumato(*ASK, *wrong)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert not (here / "table.sfumato").exists()


def test_shares_as_text():
    assert read_shares("auto") == "auto"
    assert read_shares("means=0.5, pairs=.5") == {"means": 0.5, "pairs": 0.5}
    for text in ("means", "means=x", "=", "means=0.5,"):
        with pytest.raises(ParameterError, match="--shares"):
            read_shares(text)


def test_labels_by_a_rule(sfumato, here):
    plan = sfumato(*ASK, "--label", "sex", "--method", "rule", "--expected-rows", "400", "--plan")
    assert plan.code == 0 and "rule (1 x 2 numbers" in " ".join(plan.out.split())
    result = sfumato(*ASK, "--label", "sex", "--method", "rule", "--rows", "50", "--json")
    assert result.code == 0, result.err
    release = sf.load(here / "table.sfumato")
    assert release.method == "rule" and release.guarantee.epsilon == 1.0
    assert json.loads(result.out)["method"] == "rule"


def test_a_linear_program_is_asked_for_by_name(sfumato, here):
    (here / "columns.toml").write_text("[columns.age]\nlow = 0\nhigh = 110\n")
    result = sfumato(*ASK, "--method", "lp", "--rows", "50")
    assert result.code == 0, result.err
    assert "nearest to the noisy moments" in " ".join(result.out.split())
    assert sf.load(here / "table.sfumato").method == "lp"
    refused = sfumato(*ASK, "--method", "simplex", "-o", "other.sfumato")
    assert refused.code == 2 and "method" in refused.err
