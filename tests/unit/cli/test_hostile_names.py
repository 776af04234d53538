"""Names, classes and words of somebody else's file: they steer no terminal and run in no spreadsheet."""

import csv
import io

import numpy as np
import pytest

import sfumato as sf
from sfumato.harmless import cell, printable

EVIL = "=cmd|'/c calc'!A0\x1b[2J\x1b]0;owned\x07[bold red]\u202e"
OTHER = "@SUM(A1)\x9b31m"
ROWS = np.linspace(0.01, 0.99, 80)
ONE = sf.Privacy(epsilon=1.0)
LINE = sf.Box({EVIL: (0, 1)})


def table(**columns):
    import pandas as pd

    return pd.DataFrame({EVIL: ROWS, OTHER: np.where(ROWS > 0.4, EVIL, "-2"), **columns})


def collected(protocol, records):
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


GROUPS = sf.Box({OTHER: sf.Categorical([EVIL, "-2"]), "more": sf.Categorical([EVIL, "b"])})
BOTH = sf.Box({EVIL: (0, 1), OTHER: sf.Categorical([EVIL, "-2"])})
LABELS = {"response": OTHER, "classes": [EVIL, "-2"]}
MADE = {
    "density": lambda: sf.release(sf.KDE(0.2), ROWS, LINE, ONE),
    "groups": lambda: sf.release(sf.KDE(0.2, by=OTHER), table(), BOTH, ONE),
    "curve": lambda: sf.release(sf.NadarayaWatson(0.2, response=OTHER, range=(0, 1)), (ROWS[:, None], ROWS), LINE, ONE),
    "machine": lambda: sf.release(sf.LogisticRegression(**LABELS), table(), LINE, ONE),
    "naive-bayes": lambda: sf.release(sf.NaiveBayes(OTHER, [EVIL, "-2"]), table(), LINE, ONE),
    "value": lambda: sf.release(sf.Statistic("histogram", bins=2), table(), BOTH, ONE),
    "summary": lambda: sf.summarize(table(), BOTH, ONE, degree=3),
    "components": lambda: sf.release(sf.PrincipalComponents(1), ROWS[:, None], LINE, ONE),
    "table": lambda: sf.synthesize(table(), BOTH, ONE, label=OTHER),
    "collected-density": lambda: collected(sf.local.Density(LINE, 1.0), ROWS),
    "marginals": lambda: collected(sf.local.Marginals(GROUPS, 1.0), table(more=np.where(ROWS > 0.2, EVIL, "b"))),
    "collected-moments": lambda: collected(sf.local.LinearModel(BOTH, 1.0, OTHER, seed=1), table()),
    "collected-model": lambda: collected(sf.local.GeneralizedLinear(BOTH, 1.0, OTHER, degree=1, seed=1), table()),
    "collected-risk": lambda: collected(
        sf.local.RiskMinimization(BOTH, 1.0, "logistic", LINE, lattice=5, degree=2, response=OTHER), table()
    ),
}
TO_PREDICT = ("curve", "machine", "naive-bayes", "collected-moments", "collected-model")


@pytest.fixture(params=MADE)
def made(request, tmp_path):
    MADE[request.param]().save(tmp_path / "evil.sfumato")
    with (tmp_path / "points.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([EVIL])
        writer.writerows([[0.2], [0.8]])
    return request.param, tmp_path


def harmless(text):
    return not [c for c in text if not c.isprintable() and c not in "\n\r\t "]


def test_what_is_shown_of_a_loaded_release_is_printable(made):
    release = sf.load(made[1] / "evil.sfumato")
    assert harmless(repr(release))
    assert harmless(str(release.guarantee))


def test_inspecting_it_is_harmless(made, sfumato):
    result = sfumato("inspect", made[1] / "evil.sfumato")
    assert result.code == 0
    assert harmless(result.out + result.err)


def starts_a_formula(text):
    return cell(text) != text


def check_table(text):
    assert harmless(text)
    rows = list(csv.reader(io.StringIO(text)))
    assert not [c for row in rows for c in row if starts_a_formula(c)]
    return rows


def test_evaluating_it_is_harmless(made, sfumato):
    name, folder = made
    if name not in ("density", "groups", "curve"):
        pytest.skip("no function")
    result = sfumato("evaluate", folder / "evil.sfumato", folder / "points.csv")
    assert result.code == 0
    rows = check_table(result.out)
    assert rows[0][0] == cell(EVIL)


def test_predicting_with_it_is_harmless(made, sfumato):
    name, folder = made
    if name not in TO_PREDICT:
        pytest.skip("no predictions")
    result = sfumato("predict", folder / "evil.sfumato", folder / "points.csv", "-o", folder / "out.csv")
    assert result.code == 0
    assert harmless(result.out + result.err)
    rows = list(csv.reader(io.StringIO((folder / "out.csv").read_text())))
    assert rows[0][0] == EVIL  # the caller's own column stays as it is
    for row in rows:
        assert not [c for c in row[1:] if starts_a_formula(c) or not harmless(c)]
    if name != "curve":
        assert {row[1] for row in rows[1:]} <= {cell(EVIL), "-2"}


def test_a_table_of_it_is_harmless_in_a_spreadsheet(made):
    name, folder = made
    if name != "table":
        pytest.skip("no table")
    loaded = sf.load(folder / "evil.sfumato")
    loaded.to_csv(folder / "rows.csv")
    rows = check_table((folder / "rows.csv").read_text())
    assert rows[0] == [cell(EVIL), cell(OTHER)] and {row[1] for row in rows[1:]} == {cell(EVIL), "-2"}
    assert loaded.data.column_names == [EVIL, OTHER]  # in memory they are what they were


@pytest.mark.few(13)
@pytest.mark.parametrize("question", ["count()", "mean(nobody)"])
def test_asking_it_is_harmless(made, sfumato, question):
    name, folder = made
    if name != "summary":
        pytest.skip("no answers")
    assert harmless(sfumato("answer", folder / "evil.sfumato", question).err)


@pytest.mark.few(13)
@pytest.mark.parametrize("command", [["evaluate", "points.csv"], ["answer", "mean(x)"], ["predict", "points.csv"]])
def test_refusing_it_is_harmless(made, sfumato, command):
    folder = made[1]
    given = [folder / word if word.endswith(".csv") else word for word in command[1:]]
    assert harmless(sfumato(command[0], folder / "evil.sfumato", *given).err)


def test_words_for_people_are_one_printable_line():
    assert printable("a\x1b[1m\nb\u202ec") == "a\ufffd[1m b\ufffdc"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("=1", "'=1"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("@x", "'@x"),
        ("\tx", "' x"),
        ("-1e3", "-1e3"),
        (-1.5, -1.5),
        ("", ""),
    ],
)
def test_only_text_that_a_spreadsheet_would_run_gets_an_apostrophe(given, kept):
    assert cell(given) == kept
