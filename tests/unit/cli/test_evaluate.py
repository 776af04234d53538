"""The command that evaluates a release."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import FACES, Face
from unit.cli.support import published


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestEvaluate:
    def test_points_by_name(self, sfumato, curve, tmp_path):
        (tmp_path / "points.csv").write_text("name, age \nx,30\n\ny,60.5\n")
        found = rows(sfumato("evaluate", curve, "points.csv").out)
        release = sf.load(curve)
        low, high = release.band([30, 60.5])
        assert list(found[0]) == ["age", "value", "low", "high"]
        assert [float(row["age"]) for row in found] == [30, 60.5]
        assert [float(row["value"]) for row in found] == release([30, 60.5]).tolist()
        assert [float(row["low"]) for row in found] == low.tolist()
        assert [float(row["high"]) for row in found] == high.tolist()

    def test_stdin_confidence_and_a_file(self, sfumato, curve, tmp_path):
        wide = rows(sfumato("evaluate", curve, "-", "--confidence", "0.99", input="age\n30\n").out)
        assert float(wide[0]["low"]) < sf.load(curve).band([30], 0.95)[0][0]
        result = sfumato("evaluate", curve, "-", "-o", "out.csv", input="age\n30\n")
        assert result.out == "out.csv: 1 points\n"
        assert rows((tmp_path / "out.csv").read_text())[0]["age"] == "30.0"
        data = sfumato("evaluate", curve, "-", "-o", "out.csv", "--json", input="age\n30\n").data
        assert data == {"written": "out.csv", "points": 1}

    def test_json(self, sfumato, surface):
        data = sfumato("evaluate", surface, "-", "--json", input="0.5,1\n").data
        assert data["points"][0]["point"] == {"x0": 0.5, "x1": 1.0}
        assert data["points"][0]["low"] < data["points"][0]["value"] < data["points"][0]["high"]

    @pytest.mark.parametrize("text", ["0.5,1\n", "a,b\n0.5,1\n", "x1,x0\n1,0.5\n", "\ufeff 0.5 , 1 \r\n"])
    def test_a_box_without_names_takes_columns_in_order(self, sfumato, surface, text):
        found = rows(sfumato("evaluate", surface, "-", input=text).out)
        assert [(row["x0"], row["x1"]) for row in found] == [("0.5", "1.0")]

    def test_no_points_and_tabs(self, sfumato, curve, tmp_path):
        assert sfumato("evaluate", curve, "-", input="age\n").out == "age,value,low,high\n"
        (tmp_path / "points.tsv").write_text("x\tage\n1\t30\n")
        assert rows(sfumato("evaluate", curve, "points.tsv").out)[0]["age"] == "30.0"

    def test_outside(self, sfumato, curve):
        sfumato("evaluate", curve, "-", input="age\n120\n").failed(2, "use --outside clip")
        result = sfumato("evaluate", curve, "-", "--outside", "clip", input="age\n120\n")
        assert float(rows(result.out)[0]["value"]) == sf.load(curve)([110])[0]
        sfumato("evaluate", curve, "-", "--outside", "ignore", input="age\n1\n").failed(2, "one of 'refuse', 'clip'")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "stdin: empty"),
            ("years\n3\n", "stdin: no column 'age' in its first line, which has 'years'"),
            ("age,age\n3,3\n", "more than one column 'age'"),
            ("30\n40\n", "no column 'age'"),
            ("age;bmi\n30;20\n", "no column 'age'"),
            ("age\nold\n", "stdin, line 2, column 'age': 'old' is not a number"),
            ("age\n1_0\n", "'1_0' is not a number"),
            ("age\n\n30\nnan\n", "line 4, column 'age': 'nan' is not a number"),
            ("age\ninf\n", "'inf' is not a number"),
            ("age\n30,40\n", "line 2: 2 cells, the first line has 1"),
            ('age\n"30\n', "not a CSV file"),
        ],
    )
    def test_points_that_cannot_be_used(self, sfumato, curve, text, words):
        sfumato("evaluate", curve, "-", input=text).failed(2, words)

    def test_points_for_a_box_without_names(self, sfumato, surface):
        sfumato("evaluate", surface, "-", input="1\n").failed(2, "1 columns; it needs 2 columns of numbers")
        sfumato("evaluate", surface, "-", input="0.5,b\n").failed(2, "line 1, column 'x1': 'b' is not a number")

    def test_files_that_cannot_be_read_or_written(self, sfumato, curve, tmp_path):
        sfumato("evaluate", curve, "nothing.csv").failed(2, "nothing.csv: there is no such file")
        sfumato("evaluate", curve, tmp_path).failed(2, "cannot be read")
        (tmp_path / "bytes.csv").write_bytes(b"age\n\xff\xfe\n")
        sfumato("evaluate", curve, "bytes.csv").failed(2, "not a CSV file in UTF-8")
        sfumato("evaluate", curve, "-", "-o", curve, input="age\n1\n").failed(2, "the release itself")
        sfumato("evaluate", curve, "-", "-o", "no/where.csv", input="age\n1\n").failed(2, "no folder 'no'")
        sfumato("evaluate", curve, "-", "-o", tmp_path, input="age\n1\n").failed(1, "Is a directory")

    @pytest.mark.parametrize("confidence", ["0", "1", "nan", "-3"])
    def test_confidence(self, sfumato, curve, confidence):
        sfumato("evaluate", curve, "-", "--confidence", confidence, input="age\n1\n").failed(2, "confidence must")

    def test_hostile_coefficients_are_null_in_json(self, sfumato, tmp_path):
        release = published(sf.Box([(0, 1)]), sf.Bernstein(2, order=5))
        expansion = replace(release.expansion, coefficients=np.array([1.7e308, -1.7e308, 1.7e308]))
        replace(release, expansion=expansion).save(tmp_path / "r.sfumato")
        result = sfumato("evaluate", "r.sfumato", "-", "--json", input="0.5\n")
        assert result.data["points"][0]["value"] is None


def test_other_kinds_of_release_are_refused_kindly(sfumato, curve, monkeypatch):
    class Other:
        kind = "table"
        guarantee, box = sf.load(curve).guarantee, sf.load(curve).box

    monkeypatch.setitem(FACES, Other, type("OtherFace", (Face,), {"title": "a table", "rows": lambda self, asked: []}))
    monkeypatch.setattr(sf, "load", lambda path: Other(), raising=False)
    sfumato("evaluate", curve, "-").failed(2, "a release of kind 'table', this needs a function")


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, curve):
    result = shell("evaluate", curve, "-", input="age\n30\n")
    assert result.returncode == 0 and result.stdout.startswith("age,value,low,high\n30.0,")
    assert json.loads(shell("inspect", curve, "--json").stdout)["kind"] == "function"
    missing = shell("inspect", "nothing")
    assert missing.returncode == 3 and missing.stderr == "error: nothing: there is no such file\n"
