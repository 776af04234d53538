"""Names that are refused come with the known name that is near: of columns, categories, groups, accounts, words."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.checks import did_you_mean, near_miss
from sfumato.errors import SfumatoError
from sfumato.local.records import one_record, read_records

ROWS = 400
DATA = pd.DataFrame(
    {"age": np.linspace(20, 80, ROWS), "bmi": np.linspace(15, 45, ROWS), "ill": ["no", "yes"] * (ROWS // 2)}
)
BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
MIXED = sf.Box({"age": (0, 110), "ill": sf.Categorical(["no", "yes"])})
MUCH = sf.Privacy(epsilon=10.0)


@pytest.fixture(scope="module")
def made():
    """One release of each kind that knows names."""
    return {
        "density": sf.release(sf.KDE(5.0, missing="none"), DATA[["age"]], sf.Box({"age": (0, 110)}), MUCH),
        "groups": sf.release(sf.KDE(5.0, by="ill"), DATA, MIXED, MUCH),
        "bayes": sf.release(sf.NaiveBayes("ill", ["no", "yes"], likelihood="normal"), DATA, BOX, MUCH),
        "summary": sf.summarize(DATA, MIXED, MUCH, degree=2),
    }


def refusals(made, folder):
    account = sf.Ledger(folder / "budget.db").account("clinic-2026", limit=MUCH)
    box = sf.Box({"Agee": (0, 110)})
    return {
        "data": (lambda: sf.release(sf.KDE(5.0), DATA, box, MUCH), "age"),
        "person": (lambda: sf.release(sf.KDE(5.0), DATA, BOX, sf.Privacy(1.0, unit=sf.Person("bmj", 1))), "bmi"),
        "statistic": (lambda: sf.release(sf.Statistic("mean", "ages"), DATA, BOX, MUCH), "age"),
        "by": (lambda: sf.release(sf.KDE(5.0, by="il"), DATA, MIXED, MUCH), "ill"),
        "word": (lambda: sf.Statistic("meen"), "mean"),
        "points": (lambda: made["density"](pd.DataFrame({"agee": [1.0]})), "agee"),
        "arrow": (lambda: made["density"](pa.table({"agee": [1.0]})), "agee"),
        "column": (lambda: made["density"].marginal("agee"), "age"),
        "group": (lambda: made["groups"]["noo"], "no"),
        "predict": (lambda: made["bayes"].predict({"age": [50], "bmj": [20]}), "bmj"),
        "summary": (lambda: made["summary"].mean("agee"), "age"),
        "category": (lambda: made["summary"].share({"ill": "yess"}), "yes"),
        "question": (lambda: made["summary"].answer("mean(agee)"), "age"),
        "text": (lambda: made["summary"].answer('mean(ill == "yess")'), "yes"),
        "account": (lambda: sf.Ledger(account.path).account("clinic-2062").remaining(), "clinic-2026"),
        "outside": (lambda: made["density"]([1.0], outside="clipp"), "clip"),
        "record": (lambda: one_record(BOX, {"agee": 1, "bmi": 2}), "agee"),
        "records": (lambda: read_records(BOX, pd.DataFrame({"agee": [1], "bmi": [2]})), "agee"),
    }


NAMES = (
    *("data", "person", "statistic", "by", "word", "points", "arrow", "column", "group", "predict", "summary"),
    *("category", "question", "text", "account", "outside", "record", "records"),
)


# Of a table that lacks a column either may be misspelt, its own name or the one that was wanted.
TABLES = {"data", "points", "arrow", "predict", "record", "records"}


@pytest.mark.parametrize("name", NAMES)
def test_the_near_name_is_told(name, made, tmp_path):
    call, near = refusals(made, tmp_path)[name]
    words = f"'{near}' is near: is one of the two misspelt" if name in TABLES else f"did you mean '{near}'"
    with pytest.raises(SfumatoError, match=words):
        call()


def test_a_basis_that_is_a_word_is_told_too():
    with pytest.raises(SfumatoError, match="got basis='atuo'; did you mean 'auto'"):
        sf.release(sf.KDE(5.0), DATA, BOX, MUCH, basis="atuo")


def test_what_is_near_nothing_gets_no_suggestion():
    assert did_you_mean("height", ["age", "bmi"]) == ""
    assert did_you_mean("2", [1, 2, 3]) == "; did you mean '2'?"
    assert did_you_mean("AGE", []) == ""
    assert near_miss("height", ["age", "bmi"]) == ""
