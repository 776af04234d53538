"""What a command says when next to nobody seems to be there, and of names that are nearly right."""

import json

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato import pages
from sfumato.faces import face_of

ROWS = 1500
GRANT = ("--epsilon", "1")


@pytest.fixture
def here(tmp_path):
    generator = np.random.default_rng(5)
    people = pd.DataFrame(
        {"age": generator.normal(45, 15, ROWS), "offense": "theft", "sex": generator.choice(["F", "M"], ROWS)}
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "header.csv").write_text("age,sex\n")
    (tmp_path / "box.toml").write_text("[columns.age]\nlow = 0\nhigh = 110\n\n[columns.sex]\ncategories = ['F', 'M']\n")
    return tmp_path


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "command",
    [
        ("density", "people.csv", "--column", "offense:0:10"),
        ("density", "people.csv", "--column", "age:0:110", "--by", "sex=female,male"),
        ("statistic", "people.csv", "proportions", "sex", "--column", "sex=f,m"),
        ("regress", "people.csv", "--response", "offense:0:10", "--column", "age:0:110"),
        ("classify", "people.csv", "--method", "naive-bayes", "--label", "sex=f,m", "--column", "age:0:110"),
    ],
    ids=lambda command: command[0],
)
def test_one_line_on_stderr_and_all_is_written(sfumato, here, command, no_noise):
    result = sfumato(*command, *GRANT, "-o", "out.sfumato")
    assert result.code == 0 and result.err.startswith("warning: next to no record may be there: ")
    assert result.err.count("\n") == 1
    shown = sfumato("inspect", "out.sfumato")
    assert "next to no record may be there" in shown.out and shown.code == 0
    again = sfumato(*command, *GRANT, "-o", "out.sfumato", "--force", "--json")
    assert again.data["warnings"] == [json.loads(again.err)["warning"]]


def test_somebody_is_there_and_nothing_is_said(sfumato, here):
    result = sfumato("density", "people.csv", "--column", "age:0:110", "--by", "sex=F,M", *GRANT, "--json")
    assert result.code == 0 and result.err == "" and result.data["warnings"] == []


def test_types_that_are_known_are_refused(sfumato, here):
    sfumato("density", "people.parquet", "--column", "offense:0:10", *GRANT).failed(2, "must be numeric")
    sfumato("density", "header.csv", "--column", "age:0:110", *GRANT).failed(2, "the data have no records")


def test_the_report_and_the_card_have_a_box(no_noise):
    gone = np.full(ROWS, np.nan)
    with pytest.warns(sf.errors.NothingThereWarning):
        release = sf.release(sf.Statistic("count"), gone, sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0))
    there = sf.release(sf.Statistic("count"), np.zeros(ROWS), sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0))
    for told in (pages.render(release), pages.card(release)):
        assert "Is anybody there?" in told and "noisy number of records with age" in told
    for told in (pages.render(there), pages.card(there)):
        assert "Is anybody there?" not in told
    assert face_of(there).common_data()["warnings"] == []


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (("density", "people.csv", "--column", "agee:0:110", "--by", "sex=F,M"), "age"),
        (("density", "people.csv", "--column", "ages", "--box", "box.toml"), "age"),
        (("density", "people.csv", "--column", "age:0:110", "--by", "sexx", "--box", "box.toml"), "sex"),
        (("density", "people.csv", "--column", "age:0:110", "--post", "simplx"), "simplex"),
        (("classify", "people.csv", "--column", "age:0:110", "--label", "sexx=F,M"), "sex"),
        (("regress", "people.csv", "--column", "age:0:110", "--response", "ofense:0:1"), "offense"),
        (("statistic", "people.csv", "mean", "agee", "--box", "box.toml"), "age"),
        (("statistic", "people.csv", "meen", "age", "--column", "age:0:110"), "mean"),
        (("density", "people.csv", "--column", "age:0:110:integr"), "integer"),
        (("summarize", "people.csv", "--column", "age:0:110:perodic"), "periodic"),
        (("statistic", "people.csv", "histogram", "age", "--column", "age:0:110:periodic:hole"), "periodic:whole"),
        (("density", "people.csv", "--column", "age:0:110", "--basis", "binnning:5"), "binning"),
        (("density", "people.csv", "--column", "age:0:110", "--basis", "atuo"), "auto"),
    ],
)
def test_near_names(sfumato, here, command, near):
    sfumato(*command, *GRANT).failed(2, f"did you mean '{near}'?")


def test_near_names_of_a_table_with_types(sfumato, here):
    sfumato("density", "people.parquet", "--column", "agee:0:110", *GRANT).failed(2, "'age' is near: is one of the two")


def test_near_names_of_groups_points_and_accounts(sfumato, here):
    sfumato("density", "people.csv", "--column", "age:0:110", "--by", "sex=F,Male", *GRANT, "-o", "two.sfumato")
    sfumato("evaluate", "two.sfumato", "people.csv", "--group", "male").failed(2, "did you mean 'Male'?")
    (here / "points.csv").write_text("agee\n50\n")
    sfumato("evaluate", "two.sfumato", "points.csv", "--group", "F").failed(2, "'agee' is near: is one")
    sf.Ledger(here / "budget.db").account("clinic-2026", limit=sf.Privacy(epsilon=3.0))
    asked = ("density", "people.csv", "--column", "age:0:110", *GRANT, "-o", "three.sfumato")
    sfumato("--ledger", "budget.db", "--account", "clinic2026", *asked).failed(4, "did you mean 'clinic-2026'?")


def test_near_names_of_new_records(sfumato, here):
    asked = ("--label", "sex=F,M", "--column", "age:0:110", "--column", "bmi:0:1", "--method", "naive-bayes")
    (here / "both.csv").write_text("age,bmi,sex\n" + "50,0.5,F\n30,0.2,M\n" * 200)
    assert sfumato("classify", "both.csv", *asked, *GRANT, "-o", "model.sfumato").code == 0
    (here / "new.csv").write_text("age,bmj\n50,0.5\n")
    sfumato("predict", "model.sfumato", "new.csv").failed(2, "'bmj' is near: is one")


def test_a_number_of_rows_goes_with_a_plan(sfumato, here):
    asked = ("density", "people.csv", "--column", "age:0:110", *GRANT)
    sfumato(*asked, "--rows", "500").failed(2, "--rows goes with --plan")
    few, many = (sfumato(*asked, "--plan", "--rows", rows, "--json").data for rows in (500, 50_000))
    assert few["rows"] == 500 and few["noise_error"] > 2 * many["noise_error"]
    assert "10,000 rows, which is assumed: say how many with --rows N" in sfumato(*asked, "--plan").out
    assert "which is assumed" not in sfumato(*asked, "--plan", "--expected-rows", "700").out
