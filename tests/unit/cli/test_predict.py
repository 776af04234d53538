"""The command that predicts with a published learner."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from threading import Event

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import output, predict, progress
from sfumato.cli.options import Settings
from sfumato.cli.records import Piece
from unit.cli.support import published
from unit.drawing.support import LINE, PLANE, SPACE, machine

NEW = 'id,age,bmi\na,30,25\nb,,31\nc,200,22.5\nd,80,n/a\n"e, too",61.5,40\n'


@pytest.fixture
def here(sfumato, tmp_path):
    """New records beside a classifier of two columns."""
    machine(PLANE).save(tmp_path / "model.sfumato")
    (tmp_path / "new.csv").write_text(NEW)
    return tmp_path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text() if hasattr(path, "read_text") else path)))


def test_rows_keep_their_cells_and_get_predictions(sfumato, here):
    result = sfumato("predict", "model.sfumato", "new.csv")
    assert result.code == 0 and result.err == ""
    found, release = rows(here / "predictions.csv"), machine(PLANE)
    points = [[30, 25], [110, 22.5], [61.5, 40]]  # 200 is moved to the edge of the box
    assert list(found[0]) == ["id", "age", "bmi", "prediction", "decision"]
    assert [row["id"] for row in found] == ["a", "b", "c", "d", "e, too"]
    assert found[0]["age"] == "30" and found[2]["age"] == "200" and found[3]["bmi"] == "n/a"
    assert [row["prediction"] for row in found if row["prediction"]] == release.predict(points).tolist()
    assert [float(row["decision"]) for row in found if row["decision"]] == release.decision(points).tolist()
    assert found[1]["prediction"] == found[3]["prediction"] == found[3]["decision"] == ""


def test_what_a_person_reads(sfumato, here):
    out = sfumato("predict", "model.sfumato", "new.csv", "--certain", "-o", "out.csv").out
    for words in (
        "Predicted disease for 3 of 5 rows.",
        "2 rows without a value: the prediction is empty",
        "1 row outside the box, moved to its edge",
        "all at once with confidence 0.95",
        "nothing was spent: predictions come from the release alone",
        "the release does not protect new.csv: out.csv holds its rows",
        "out.csv  the rows with their predictions",
    ):
        assert words in out, words
    labels = machine(PLANE).predict([[30, 25], [110, 22.5], [61.5, 40]]).tolist()
    assert f"no: {labels.count('no')}, yes: {labels.count('yes')}" in out


def test_what_a_program_reads(sfumato, here):
    data = sfumato("predict", "model.sfumato", "new.csv", "--json").data
    assert (data["written"], data["rows"], data["missing"], data["outside"]) == ("predictions.csv", 5, 2, 1)
    assert sum(data["labels"].values()) == 3 and data["spent"] == 0 and data["certain"] is None


def test_chances_and_certainty(sfumato, here):
    asked = ("predict", "model.sfumato", "new.csv", "--probability", "--certain", "--confidence", "0.99")
    assert sfumato(*asked).code == 0
    found, release = [row for row in rows(here / "predictions.csv") if row["prediction"]], machine(PLANE)
    points = [[30, 25], [110, 22.5], [61.5, 40]]
    names = ["prediction", "decision", "probability_no", "probability_yes", "certain"]
    assert list(found[0])[3:] == names
    chances = [[float(row["probability_no"]), float(row["probability_yes"])] for row in found]
    assert np.array(chances) == pytest.approx(release.probability(points))
    assert [row["certain"] == "true" for row in found] == release.certain(points, 0.99).tolist()


def test_to_stdout_the_summary_goes_to_stderr(sfumato, here):
    result = sfumato("predict", "model.sfumato", "new.csv", "-o", "-")
    assert result.code == 0 and len(rows(result.out)) == 5 and "nothing was spent" in result.err
    assert not (here / "predictions.csv").exists() and not (here / "-").exists()
    both = sfumato("predict", "model.sfumato", "new.csv", "-o", "-", "--json")
    assert both.code == 2 and "both want stdout" in json.loads(both.err)["error"]


def test_a_regression(sfumato, here):
    release = machine(PLANE, range=(60, 220), loss="huber")
    release.save(here / "number.sfumato")
    result = sfumato("predict", "number.sfumato", "new.csv")
    found = rows(here / "predictions.csv")
    assert list(found[0])[3:] == ["prediction"]
    values = [float(row["prediction"]) for row in found if row["prediction"]]
    assert values == release.predict([[30, 25], [110, 22.5], [61.5, 40]]).tolist()
    assert f"from {min(values):.4g} to {max(values):.4g}" in result.out
    assert sfumato("predict", "number.sfumato", "new.csv", "--force", "--json").data["labels"] is None


def test_more_classes_have_no_single_decision(sfumato, here):
    release = machine(PLANE, classes=(1, 2, 3))
    release.save(here / "three.sfumato")
    sfumato("predict", "three.sfumato", "new.csv", "--probability")
    found = rows(here / "predictions.csv")
    assert list(found[0])[3:] == ["prediction", "probability_1", "probability_2", "probability_3"]
    assert found[0]["prediction"] == str(release.predict([[30, 25]])[0])


def test_parquet_and_empty_files(sfumato, here):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"bmi": [25, None, 40], "age": [30.0, 31.0, float("nan")], "name": ["x", None, "z"]})
    parquet.write_table(table, here / "new.parquet")
    assert sfumato("predict", "model.sfumato", "new.parquet").code == 0
    found = rows(here / "predictions.csv")
    assert [row["prediction"] for row in found] == [machine(PLANE).predict([[30, 25]])[0], "", ""]
    assert found[0]["bmi"] == "25" and found[1]["name"] == ""
    (here / "none.csv").write_text("age,bmi\n")
    empty = sfumato("predict", "model.sfumato", "none.csv", "--certain", "--force")
    assert "for 0 of 0 rows" in empty.out and rows(here / "predictions.csv") == []
    (here / "lost.csv").write_text("age,bmi\n,\n")
    machine(PLANE, range=(0, 1)).save(here / "number.sfumato")
    assert "none" in sfumato("predict", "number.sfumato", "lost.csv", "--force").out


def test_pieces_join_and_share_what_may_go_wrong(sfumato, here, monkeypatch):
    generator = np.random.default_rng(3)
    points = np.stack([generator.uniform(0, 110, 45), generator.uniform(10, 60, 45)], axis=1).round(2)
    (here / "many.csv").write_text("age,bmi\n" + "".join(f"{a},{b}\n" for a, b in points))
    asked, release = [], machine(PLANE)
    real = type(release).certain

    def certain(self, at, confidence=0.95, outside="refuse"):
        asked.append(confidence)
        return real(self, at, confidence, outside)

    monkeypatch.setattr(type(release), "certain", certain)
    monkeypatch.setattr(predict, "AT_ONCE", 10)
    assert sfumato("predict", "model.sfumato", "many.csv", "--certain").code == 0
    found = rows(here / "predictions.csv")
    assert [row["prediction"] for row in found] == release.predict(points).tolist()
    assert len(asked) == 5 and asked == pytest.approx([1 - 0.05 / 5] * 5)


def test_what_lies_outside():
    box = sf.Box({"age": (0, 110), "hour": sf.Periodic(0, 24), "n": sf.Integer(0, 9)})
    columns = [np.array([50.0, -1, np.inf, np.nan]), np.array([25.0, 1, 1, 1]), np.array([2.4, 1, 1, 99])]
    piece = Piece.of(box, columns)
    assert piece.points[0].tolist() == [50, 1, 2]  # hours go round, whole numbers are rounded
    assert piece.points[1][0] == 0 and piece.points[2][0] == 110
    assert piece.moved.tolist() == [False, True, True, False] and piece.complete.tolist() == [True, True, True, False]
    ball = Piece.of(sf.Box([(-1, 1), (-1, 1)], max_norm=1.0), [np.array([0.9, 0.1]), np.array([0.9, 0.1])])
    assert ball.moved.tolist() == [True, False] and np.linalg.norm(ball.points[0]) <= 1


def test_columns_without_names_are_called_x0(sfumato, here):
    machine([(0, 1), (0, 1)]).save(here / "plain.sfumato")
    (here / "x.csv").write_text("x0,x1\n0.5,0.5\n")
    assert sfumato("predict", "plain.sfumato", "x.csv").code == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nothing.sfumato", "new.csv"], 3, "nothing.sfumato: there is no such file"),
        (["new.csv", "new.csv"], 3, "new.csv"),
        (
            ["curve.sfumato", "new.csv"],
            2,
            "this needs a learner or a curve; use 'sfumato evaluate'",
        ),
        (["model.sfumato", "nothing.csv"], 3, "nothing.csv: there is no such file"),
        (["model.sfumato", "model.sfumato"], 2, "the name must end in"),
        (["model.sfumato", "half.csv"], 2, "half.csv: no column 'bmi', which the learner needs; it has 'age'"),
        (
            ["model.sfumato", "twice.csv"],
            2,
            "must name the columns that are needed ('age', 'bmi'), each once",
        ),
        (["model.sfumato", "done.csv"], 2, "done.csv: it has a column 'prediction' already; rename it first"),
        (["model.sfumato", "new.csv", "-o", "half.csv"], 2, "--output: half.csv: is there already"),
        (["model.sfumato", "new.csv", "-o", "new.csv", "--force"], 2, "new.csv is the file of the new records"),
        (["model.sfumato", "new.csv", "-o", "model.sfumato", "--force"], 2, "is the file of the release"),
        (["model.sfumato", "new.csv", "-o", "no/where.csv"], 2, "there is no folder 'no'"),
        (["model.sfumato", "new.csv", "-o", "."], 2, "cannot be written"),
        (["model.sfumato", "new.csv", "--certain", "--confidence", "1"], 2, "--confidence must"),
        (["number.sfumato", "new.csv", "--certain"], 2, "--certain is about labels, this is a regression"),
        (["number.sfumato", "new.csv", "--probability"], 2, "a logistic loss, this is a regression"),
        (["hinge.sfumato", "new.csv", "--probability"], 2, "a logistic loss, this is one with loss 'hinge'"),
        (["model.sfumato"], 2, "Missing argument 'NEW'"),
    ],
)
def test_what_cannot_work_is_refused(sfumato, here, args, code, message):
    machine(PLANE, range=(0, 1), loss="huber").save(here / "number.sfumato")
    machine(PLANE, loss="hinge").save(here / "hinge.sfumato")
    published(sf.Box([(0, 1)]), sf.Bernstein(2)).save(here / "curve.sfumato")
    (here / "half.csv").write_text("age\n1\n")
    (here / "twice.csv").write_text("age,age,bmi\n1,1,1\n")
    (here / "done.csv").write_text("age,bmi,prediction\n1,1,no\n")
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    sfumato("predict", *args).failed(code, message)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_parquet_column_of_text_is_refused(sfumato, here):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"age": ["old"], "bmi": [20.0]}), here / "new.parquet")
    sfumato("predict", "model.sfumato", "new.parquet").failed(2, "column 'age' must be numeric")
    assert not (here / "predictions.csv").exists()


def test_what_is_there_is_replaced_only_when_told_and_only_when_done(sfumato, here, monkeypatch):
    (here / "predictions.csv").write_text("old")
    sfumato("predict", "model.sfumato", "new.csv").failed(2, "--output: predictions.csv: is there already")

    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(predict, "_added", stop)
        sfumato("predict", "model.sfumato", "new.csv", "--force").failed(130, "interrupted")
    assert (here / "predictions.csv").read_text() == "old"
    assert sorted(p.name for p in here.iterdir()) == ["model.sfumato", "new.csv", "predictions.csv"]
    assert sfumato("predict", "model.sfumato", "new.csv", "--force").code == 0
    assert len(rows(here / "predictions.csv")) == 5


class Context:
    obj = Settings()


def test_a_bar_appears_if_it_takes_a_while(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    with progress.counting(Context(), "predicting new.csv", 20) as done:
        done(12)
        Event().wait(0.3)
    assert "12 rows" in capsys.readouterr().err
    monkeypatch.delenv("FORCE_COLOR")
    with progress.counting(Context(), "predicting new.csv", 20) as done:
        done(12)
    assert capsys.readouterr().err == ""


def test_names_cannot_steer_the_terminal(sfumato, here):
    release = machine(LINE, classes=("a\x1b[2J", "b"))
    response = replace(release.response, name="ill\x1b[2J")
    replace(release, handed=replace(release.handed, response=response)).save(here / "odd.sfumato")
    out = sfumato("predict", "odd.sfumato", "new.csv").out
    assert "\x1b" not in out


@pytest.mark.slow  # those of other commands start and end the same way
def test_processes_of_their_own(shell, here, tmp_path):
    result = shell("predict", "model.sfumato", "new.csv", "--json")
    assert result.returncode == 0 and result.stderr == "" and json.loads(result.stdout)["rows"] == 5
    (tmp_path / "many.csv").write_text("age,bmi\n" + "50,30\n" * 50_000)
    command = f"{sys.executable} -m sfumato.cli predict model.sfumato many.csv -o - | head -n 2"
    early = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert early.stdout.count("\n") == 2 and "Traceback" not in early.stderr


def test_three_columns(sfumato, here):
    machine(SPACE).save(here / "three.sfumato")
    (here / "new3.csv").write_text("systolic,age,bmi\n120,50,25\n")
    sfumato("predict", "three.sfumato", "new3.csv")
    assert float(rows(here / "predictions.csv")[0]["decision"]) == machine(SPACE).decision([[50, 25, 120]])[0]
