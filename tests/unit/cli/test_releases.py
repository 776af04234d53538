"""Commands that read a release."""

import csv
import io
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import FACES, Face
from unit.cli.support import published, renamed


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestInspect:
    def test_text(self, sfumato, curve):
        out = sfumato("inspect", curve).out
        for words in (
            "a function of age",
            "1-differential privacy for replacing one row",
            "no outcome more than 2.719 times as likely",
            "stated by the caller",
            "age: 0 to 110",
            "Bernstein(degree=4, order=1), 5 coefficients",
            "K-norm noise",
            "none: not charged to an account",
        ):
            assert words in out

    def test_json(self, sfumato, curve):
        data = sfumato("inspect", curve, "--json").data
        assert data["kind"] == "function" and data["file"] == str(curve)
        assert data["guarantee"]["epsilon"] == 1.0 and "times as likely" in data["guarantee"]["words"]
        assert data["box"]["columns"] == [{"name": "age", "kind": "interval", "low": 0.0, "high": 110.0}]
        assert data["basis"] == {"name": "bernstein", "degree": 4, "order": 1}
        assert data["noise"]["kind"] == "linf" and data["noise"]["deviation"] > 0
        assert data["receipt"] is None and data["target"]["target"] == "black box"

    def test_receipt(self, sfumato, tmp_path):
        account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=3))
        published(sf.Box([(0, 1)]), sf.Bernstein(2), ledger=account).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "account 'clinic', entry 1, basic accounting" in out and "left then: epsilon 2 of epsilon 3" in out
        assert sfumato("--json", "inspect", "r.sfumato").data["receipt"]["left"] == "epsilon 2"

    @pytest.mark.parametrize(
        ("privacy", "words"),
        [
            (sf.Privacy(epsilon=1, delta=1e-6), ["up to a probability of 1e-06", "Gaussian noise, standard deviation"]),
            (sf.Privacy(rho=0.5), ["This is its promise at delta 1e-06", "concentrated"]),
            (sf.Privacy(epsilon=1, neighbours="add-remove"), ["Adding or removing any one row"]),
            (sf.Privacy(epsilon=1, unit=sf.Person(0, 3)), ["any one person (column 0, up to 3 rows)"]),
            (sf.Privacy(epsilon=800), ["e^800 times"]),
        ],
    )
    def test_other_guarantees(self, sfumato, tmp_path, privacy, words):
        published(sf.Box([(0, 1)]), sf.Bernstein(1), privacy).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        for word in words:
            assert word in out

    def test_the_quoted_factor_is_rounded_up(self, sfumato, tmp_path):
        for epsilon in (0.1, 0.5, 1.0, 2.3):
            published(sf.Box([(0, 1)]), sf.Bernstein(1), sf.Privacy(epsilon=epsilon)).save(tmp_path / "r.sfumato")
            words = sfumato("inspect", "r.sfumato", "--json").data["guarantee"]["words"]
            quoted = float(words.split("more than ")[1].split(" times")[0])
            assert np.exp(epsilon) <= quoted <= 1.001 * np.exp(epsilon)

    def test_kinds_of_columns_and_derivatives(self, sfumato, tmp_path):
        release = published(sf.Box([(0, 1), (0, 2), (-1, 1)]), sf.Bernstein(2))
        box = sf.Box({"a": sf.Integer(0, 1), "b": sf.Periodic(0, 2), "c": (-1, 1)}, max_norm=3)
        named = renamed(release, box).derivative("c").derivative("c").derivative("a")
        named.save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "a derivative, along a, c (2 times), of a function of a, b and c" in out
        assert "a: 0 to 1, integer" in out and "b: 0 to 2, periodic" in out and "norm at most 3" in out

    def test_names_cannot_steer_the_terminal_or_forge_lines(self, sfumato, tmp_path):
        box = sf.Box({"age\x1b[2J\n  receipt  account 'rich'\u202e [bold]x[/bold]": (0, 110)})
        renamed(published(sf.Box([(0, 110)]), sf.Bernstein(4)), box).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "\x1b" not in out and "\u202e" not in out and "[bold]x[/bold]" in out
        assert sum(line.strip().startswith("receipt") for line in out.splitlines()) == 1

    def test_not_a_release(self, sfumato, tmp_path):
        sfumato("inspect", "nothing.sfumato").failed(3, "nothing.sfumato: there is no such file")
        sfumato("inspect", tmp_path).failed(3, "not a plain file")
        (tmp_path / "x.sfumato").write_text("not a release")
        for command in (["inspect"], ["plot"], ["report"]):
            sfumato(*command, "x.sfumato").failed(3, "x.sfumato")
        sfumato("evaluate", "x.sfumato", "-").failed(3, "x.sfumato")


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
        sfumato("evaluate", curve, "-", "--outside", "ignore", input="age\n1\n").failed(2, "'refuse' or 'clip'")

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


class TestPictures:
    @pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
    def test_plot(self, sfumato, curve, tmp_path, ending):
        assert sfumato("plot", curve, "-o", f"picture{ending}").out == f"picture{ending}\n"
        head = (tmp_path / f"picture{ending}").read_bytes()[:5]
        assert head == {".png": b"\x89PNG\r", ".svg": b"<?xml", ".pdf": b"%PDF-"}[ending]

    def test_plot_next_to_the_release(self, sfumato, surface, tmp_path):
        assert sfumato("plot", surface, "--json").data == {"written": str(tmp_path / "surface.png")}
        assert (tmp_path / "surface.png").stat().st_size > 1000

    def test_report(self, sfumato, curve, tmp_path):
        assert sfumato("report", curve).out == f"{tmp_path / 'curve.html'}\n"
        assert "<html" in (tmp_path / "curve.html").read_text()
        assert sfumato("report", curve, "-o", "page.html", "--json").data == {"written": "page.html"}
        assert "<html" in (tmp_path / "page.html").read_text()

    def test_what_cannot_be_drawn(self, sfumato, curve, tmp_path):
        sfumato("plot", curve, "-o", "picture.gif").failed(2, "must end in .png, .svg, .pdf")
        sfumato("plot", curve, "-o", "no/picture.png").failed(2, "no folder")
        sfumato("report", curve, "-o", "no/page.html").failed(2, "no folder")
        sfumato("plot", curve, "--confidence", "2").failed(2, "confidence")
        sfumato("report", curve, "--confidence", "2").failed(2, "confidence")
        curve.rename(tmp_path / "curve.png")
        sfumato("plot", "curve.png").failed(2, "the release itself")
        published(sf.Box([(0, 1)] * 3), sf.Bernstein(1)).save(tmp_path / "r.sfumato")
        sfumato("plot", "r.sfumato").failed(2, "one or two columns")

    def test_without_matplotlib(self, sfumato, curve, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        sfumato("plot", curve).failed(1, "pip install 'sfumato[plot]'")


def test_other_kinds_of_release_are_refused_kindly(sfumato, curve, monkeypatch):
    class Other:
        kind = "table"
        guarantee = sf.load(curve).guarantee

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
