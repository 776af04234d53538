"""The command that publishes a regression curve, and the other commands on what it publishes."""

import csv
import io
import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import predict
from sfumato.cli.columns import regression_box
from sfumato.cli.output import screen
from sfumato.cli.sparks import sketched
from sfumato.faces import face_of
from unit.drawing.support import LINE, PLANE, SPACE, curve

BP = ("--response", "bp:60:220")
AGE = ("--column", "age:0:110")
QUICK = (*BP, *AGE, "--epsilon", "1")
CHAO = (*QUICK, "--method", "priestley-chao", "--bandwidth", "8")


@pytest.fixture(scope="module")
def cohort():
    """Made-up records: pressure rises with age."""
    generator = np.random.default_rng(5)
    age, bmi = generator.uniform(0, 110, 800).round(1), generator.normal(27, 4, 800).round(1)
    lines = ["patient,age,bmi,hour,bp,sex"]
    for i, (a, b) in enumerate(zip(age, bmi, strict=True)):
        lines.append(f"{i // 2},{a},{b},{i % 24},{90 + 0.7 * a:.1f},{'FM'[i % 2]}")
    lines[7] = "3,,25,1,120,F"  # a missing value
    lines[8] = "3,50,25,1,,F"  # a missing response
    lines[9] = "3,50,25,1,1e9,F"  # a response outside the range
    return "\n".join(lines) + "\n"


@pytest.fixture
def here(cohort, sfumato, tmp_path):
    """The records beside a runner of commands."""
    (tmp_path / "cohort.csv").write_text(cohort)
    (tmp_path / "columns.toml").write_text(
        "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
        '[columns.bp]\nlow = 60\nhigh = 220\n[columns.hour]\nlow = 0\nhigh = 24\nkind = "periodic"\n'
        '[columns.sex]\ncategories = ["F", "M"]\n'
    )
    return tmp_path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


# --- publishing -------------------------------------------------------------------------------------------------


def test_what_a_person_reads(sfumato, here):
    result = sfumato("regress", "cohort.csv", *QUICK, "-o", "bp.sfumato", "--report", "bp.html", "--plot", "bp.png")
    assert result.code == 0 and result.err == ""
    for words in (
        "Published a regression of bp on age.",
        "1-differential privacy for replacing one row",
        "no outcome more than 2.719 times as likely",
        "the mean of bp, of values clipped to 60 to 220",
        "bandwidth",
        "coefficients",
        "of 800 rows (public)",
        "mean of all",
        "lowest",
        "(confidence 0.95, at all points at once)",
        "records without a response or with a missing value count for nothing",
        "nothing keeps count",
        "bp.sfumato  the release, for anybody",
        "bp.html  a page to read",
    ):
        assert words in result.out, words
    release = sf.load(here / "bp.sfumato")
    assert isinstance(release, sf.CurveRelease) and release.response.range == (60, 220) and release.rows == 800
    assert "Regression" in (here / "bp.html").read_text() and (here / "bp.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_program_reads(sfumato, here):
    data = sfumato("regress", "cohort.csv", *QUICK, "--bandwidth", "9", "--json").data
    assert data["written"] == "curve.sfumato" and data["plot"] is None and data["left"] is None
    assert data["kind"] == "curve" and data["response"] == {"name": "bp", "classes": None, "range": [60.0, 220.0]}
    assert data["bandwidth"] == [9.0] and data["covariance"] == [[81.0]] and data["rows"] == 800
    assert data["count"]["low"] <= data["count"]["value"] <= data["count"]["high"] <= 800
    assert 60 <= data["mean"] <= 220 and 0 <= data["band"]["known"] <= 1 and data["band"]["confidence"] == 0.95
    assert [set(end) for end in data["ends"]] == [{"value", "at"}] * 2 and set(data["ends"][0]["at"]) == {"age"}


@pytest.mark.slow
def test_up_to_three_columns_of_a_box_file(sfumato, here):
    asked = ("--response", "bp", "--box", "columns.toml", "--epsilon", "1")
    data = sfumato("regress", "cohort.csv", *asked, "--bandwidth", "30,15,8", "--json").data
    assert [column["name"] for column in data["box"]["columns"]] == ["age", "bmi", "hour"]
    pair = sfumato("regress", "cohort.csv", *asked, "--column", "age", "--column", "bmi", "--force")
    assert "a regression of bp on age and bmi" in pair.out and "age " in pair.out


def test_an_account_pays_and_says_what_is_left(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("regress", "cohort.csv", *QUICK, *paying).out
    sfumato("regress", "cohort.csv", *QUICK, "-o", "b.sfumato", *paying).failed(5, "nothing was released")
    assert not (here / "b.sfumato").exists()
    sfumato("regress", "cohort.csv", *QUICK, *paying).failed(2, "--output: curve.sfumato: is there already")


def test_a_plan_reads_and_spends_nothing(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    (here / "cohort.csv").write_text("age,bp\nnot a number that anybody reads,yes\n")
    asked = ("regress", "cohort.csv", *QUICK, "--plan", "--expected-rows", "5000")
    result = sfumato(*asked, "--ledger", "b.db", "--account", "clinic")
    assert "nothing was spent" in result.out and "would leave clinic: epsilon 0.5 left" in result.out
    data = sfumato(*asked, "--json").data
    assert data["noise_error"] > 0 and data["fits"] is None and data["rows"] == 5000
    chao = sfumato("regress", "cohort.csv", *CHAO, "--plan", "--expected-rows", "5000", "--json").data
    assert chao["coefficients"] == 11 and chao["rows"] == 5000
    twice = sfumato("regress", "cohort.csv", *CHAO, "--plan", "--expected-rows", "10000", "--json").data
    assert twice["noise_error"] == pytest.approx(chao["noise_error"] / 2, rel=0.01)
    assert sfumato("regress", "cohort.csv", *CHAO, "--plan", "--rows", "10000", "--json").data == twice
    assert "10,000 rows, which is assumed" in sfumato("regress", "cohort.csv", *CHAO, "--plan").out
    assert not (here / "curve.sfumato").exists()


@pytest.mark.slow
def test_persons_rho_and_private_numbers_of_rows(sfumato, here):
    who = ("--person", "patient:2", "--neighbours", "add-remove", "--expected-rows", "400")
    data = sfumato("regress", "cohort.csv", *QUICK, *who, "--json").data
    assert data["guarantee"]["unit"] == {"column": "patient", "max_rows": 2} and data["rows"] is None
    assert data["noise"]["kind"] == "laplace" and data["count"]["high"] > data["count"]["value"]
    rho = sfumato("regress", "cohort.csv", *BP, *AGE, "--rho", "0.5", "--force", "--json").data
    assert rho["noise"]["kind"] == "gaussian"


def test_priestley_chao(sfumato, here):
    result = sfumato("regress", "cohort.csv", *CHAO, "--gap", "6", "--report", "c.html")
    assert result.code == 0, result.err
    for words in (
        "Published a Priestley-Chao regression of bp on age.",
        "the mean of bp, of values clipped to 60 to 220",
        "clipped at 6 times the mean gap",
        "Bernstein(degree=10, order=3), 11 coefficients",
        "one unit moves each coefficient by at most",
        "it moves the curve typically within",
    ):
        assert words in result.out, words
    release = sf.load(here / "curve.sfumato")
    assert release.kind == "function" and dict(release.target)["gaps clipped at"] == "6.0 / n"
    assert "Priestley-Chao regression of bp <span>on</span> age" in (here / "c.html").read_text()
    assert "a Priestley-Chao regression of bp on age" in sfumato("inspect", "curve.sfumato").out
    assert sfumato("regress", "cohort.csv", *CHAO, "--force", "--json").data["kind"] == "function"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([*AGE], "Missing option '--response'"),
        (
            [*AGE, "--response", "bp"],
            "--response must be NAME:LOW:HIGH, such as bp:60:220, got 'bp'; the bounds are public",
        ),
        ([*AGE, "--response", "bp:60"], "--response must be NAME:LOW:HIGH"),
        ([*AGE, "--response", "bp:60:high"], "--response must be NAME:LOW:HIGH, such as bp:60:220, got 'bp:60:high'"),
        ([*AGE, "--response", "bp:220:60"], "--response bp:220:60: column 'bp': low must be below high"),
        ([*AGE, "--response", "bp:60:inf"], "--response bp:60:inf"),
        ([*AGE, "--response", "bp:60:220:integer"], "--response must be NAME:LOW:HIGH"),
        ([*AGE, "--response", "sex", "--box", "columns.toml"], "--response sex: categorical columns have no mean"),
        ([*AGE, "--response", "hour", "--box", "columns.toml"], "--response hour: periodic columns have no mean"),
        ([*AGE, *BP, "--response", "bmi:10:60"], "--response is given 2 times (bp:60:220, bmi:10:60)"),
        (
            [*AGE, "--response", "pulse:0:200"],
            "--response pulse: cohort.csv has no such column, it has patient, age",
        ),
        ([*BP], "bp regressed on which columns? give --column"),
        ([*BP, "--column", "age"], "--column must be NAME:LOW:HIGH"),
        ([*BP, "--column", "bp:60:220"], "--column bp is the response itself; leave it out"),
        (["--response", "bp", "--box", "columns.toml", "--column", "bp"], "--column bp is the response itself"),
        ([*BP, *AGE, *AGE], "--column age is given twice"),
        ([*BP, "--column", "weight:0:200"], "--column weight: cohort.csv has no such column"),
        ([*BP, "--box", "columns.toml", "--column", "sex"], "--column sex: a regression needs numbers"),
        (
            [*BP, *AGE, "--column", "bmi:10:60", "--column", "hour:0:24", "--column", "patient:0:500"],
            "a regression is on one to 3 columns, got 4 (age, bmi, hour, patient)",
        ),
        ([*BP, *AGE, "--bandwidth", "0"], "--bandwidth must be positive"),
        ([*BP, *AGE, "--bandwidth", "-2"], "--bandwidth must be positive"),
        ([*BP, *AGE, "--bandwidth", "wide"], "--bandwidth must be auto, one number such as 2.5"),
        ([*BP, *AGE, "--bandwidth", "2,3"], "--bandwidth"),
        ([*BP, *AGE, "--bandwidth", "500"], "--bandwidth must not exceed the box"),
        ([*BP, *AGE, "--method", "loess"], "--method must be one of 'nadaraya-watson', 'priestley-chao'"),
        ([*BP, *AGE, "--gap", "4"], "--gap goes with --method priestley-chao, not with nadaraya-watson"),
        ([*CHAO, "--gap", "0"], "--gap must be positive"),
        ([*CHAO, "--gap", "-1"], "--gap must be positive"),
        ([*CHAO, "--bandwidth", "0"], "--bandwidth must be positive"),
        ([*CHAO, "--bandwidth", "auto"], "--method priestley-chao needs one bandwidth, there is no automatic one"),
        ([*CHAO, "--bandwidth", "2,3"], "--method priestley-chao needs one bandwidth"),
        ([*CHAO, "--column", "bmi:10:60"], "is on one column that is not periodic, got 2 (age, bmi); use --method nad"),
        (
            [*BP, "--column", "hour:0:24:periodic", "--method", "priestley-chao", "--bandwidth", "2"],
            "got a periodic column; use --method nadaraya-watson",
        ),
        ([*CHAO, "--neighbours", "add-remove"], "needs a public number of rows: leave out --person and --neighbours"),
        ([*CHAO, "--person", "patient:2"], "needs a public number of rows"),
        ([*BP, *AGE, "--expected-rows", "0"], "--expected-rows must be at least 1"),
        ([*BP, *AGE, "--neighbours", "all"], "--neighbours must be one of"),
        ([*BP, *AGE, "--delta", "2"], "--delta must lie in [0, 1)"),
        ([*BP, *AGE, "--rho", "1"], "either --epsilon or --rho"),
        ([*BP, *AGE, "--plot", "picture.gif"], "--plot: picture.gif: the name of a picture must end in"),
        ([*BP, *AGE, "-o", "cohort.csv", "--force"], "--output: cohort.csv is the data"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_spent(sfumato, here, args, message):
    sfumato("regress", "cohort.csv", "--epsilon", "1", *args).failed(2, message)
    assert sorted(p.name for p in here.iterdir()) == ["cohort.csv", "columns.toml"]


def test_other_refusals(sfumato, here):
    sfumato("regress", "cohort.csv", *BP, *AGE).failed(2, "give --epsilon E")
    sfumato("regress", "nothing.csv", *QUICK).failed(3, "nothing.csv: there is no such file")
    both = sfumato("regress", "cohort.csv", *QUICK, "--gap", "1", "--json")
    assert both.code == 2 and "--gap goes with" in json.loads(both.err)["error"]


def test_boxes_and_responses(here):
    toml = here / "columns.toml"
    box, name, bounds = regression_box([], ["bp"], toml)
    assert box.names == ("age", "bmi", "hour") and name == "bp" and bounds == (60, 220)
    box, name, bounds = regression_box(["age"], ["bp:50:250"], toml)  # a range of one's own
    assert box.names == ("age",) and bounds == (50, 250)
    assert regression_box(["age:0:110"], ["a:b:0:1"], None)[1] == "a:b"  # a name may hold colons


# --- words and small pictures -----------------------------------------------------------------------------------


def test_small_pictures():
    release = curve(LINE)
    lines = str(sketched(face_of(release).sketch(), screen())).splitlines()
    highest = release((np.arange(60) + 0.5) * 110 / 60).max()
    assert len(lines) == 6 and lines[0].endswith(f"  {highest:.4g}") and "age" in lines[-1]
    heights = [sum(line[i] != " " for line in lines[:-1]) for i in range(2, 62)]
    assert heights == sorted(heights) and heights[0] >= 1
    blank = str(sketched(face_of(curve(LINE, least=0.3, most=0.7)).sketch(), screen())).splitlines()
    assert blank[-2][2:6].strip() == ""  # where nothing is known
    assert sketched(face_of(curve(PLANE)).sketch(), screen()) is None
    assert sketched(face_of(curve(LINE, count=20, epsilon=0.01)).sketch(), screen()) is None


# --- the other commands -----------------------------------------------------------------------------------------


@pytest.fixture
def made(sfumato, tmp_path):
    """Curves of one, two and three columns, and new records."""
    for count, columns in enumerate((LINE, PLANE, SPACE), start=1):
        curve(columns).save(tmp_path / f"curve{count}.sfumato")
    (tmp_path / "new.csv").write_text("id,age,bmi,systolic\na,30,25,100\nb,,31,100\nc,200,22.5,100\n")
    return tmp_path


def test_inspect(sfumato, made):
    out = sfumato("inspect", "curve1.sfumato").out
    for words in ("a regression of bp on age", "the mean of bp", "Laplace noise", "mean of all 140", "20,000"):
        assert words in out, words
    data = sfumato("inspect", "curve2.sfumato", "--json").data
    assert data["kind"] == "curve" and data["response"]["name"] == "bp" and data["band"]["known"] == 1


def test_evaluate(sfumato, made):
    release = sf.load(made / "curve1.sfumato")
    result = sfumato("evaluate", "curve1.sfumato", "-", input="age\n30\n60\n")
    lines = list(csv.DictReader(io.StringIO(result.out)))
    assert [float(line["value"]) for line in lines] == release([30, 60]).tolist()
    low, high = release.band([30, 60])
    assert [float(line["low"]) for line in lines] == low.tolist() and float(lines[1]["high"]) == high[1]
    noise = sfumato("evaluate", "curve1.sfumato", "-", "--include", "noise", "--json", input="age\n30\n").data
    assert noise["points"][0]["low"] == release.band([30], include="noise")[0][0]
    sfumato("evaluate", "curve1.sfumato", "-", input="age\n300\n").failed(2, "use --outside clip")
    sfumato("evaluate", "curve1.sfumato", "-", "--group", "F", input="age\n30\n").failed(
        2, "this release has no groups"
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_predict_writes_means_and_limits(sfumato, made, count):
    result = sfumato("predict", f"curve{count}.sfumato", "new.csv")
    assert result.code == 0, result.err
    release, found = sf.load(made / f"curve{count}.sfumato"), rows(made / "predictions.csv")
    points = np.array([[30, 25, 100], [110, 22.5, 100]])[:, :count]
    assert list(found[0])[4:] == ["prediction", "low", "high"]
    kept = [row for row in found if row["prediction"]]
    assert [row["id"] for row in kept] == ["a", "c"] and found[1]["low"] == found[1]["high"] == ""
    assert [float(row["prediction"]) for row in kept] == release(points).tolist()
    low, high = release.band(points)
    assert [float(row["low"]) for row in kept] == low.tolist() and [float(row["high"]) for row in kept] == high.tolist()
    for words in (
        "Predicted bp for 2 of 3 rows.",
        "of all rows at once, with confidence 0.95",
        "1 row outside the box",
    ):
        assert words in result.out, words


def test_pieces_share_what_may_go_wrong(sfumato, made, monkeypatch):
    (made / "many.csv").write_text("age\n" + "".join(f"{a}\n" for a in range(45)))
    monkeypatch.setattr(predict, "AT_ONCE", 10)
    data = sfumato("predict", "curve1.sfumato", "many.csv", "--confidence", "0.9", "--json").data
    assert data["confidence"] == 0.9 and data["labels"] is None and data["rows"] == 45
    found, release = rows(made / "predictions.csv"), sf.load(made / "curve1.sfumato")
    low, _ = release.band(np.arange(10), 1 - 0.1 / 5)
    assert [float(row["low"]) for row in found[:10]] == low.tolist()


def test_pieces_are_small_where_a_band_is_much_work(made, monkeypatch):
    release = sf.load(made / "curve3.sfumato")
    monkeypatch.setattr(predict, "_WORK", 125 * 40)
    assert predict.predictor_of(release, made).at_once == 40


@pytest.mark.parametrize("option", ["--certain", "--probability"])
def test_a_curve_has_no_labels(sfumato, made, option):
    sfumato("predict", "curve1.sfumato", "new.csv", option).failed(2, f"{option} is about labels, this is a curve")


@pytest.mark.slow
def test_plot_and_report(sfumato, made):
    for count in (1, 2, 3):
        assert sfumato("plot", f"curve{count}.sfumato").code == 0
        assert (made / f"curve{count}.png").read_bytes().startswith(b"\x89PNG")
    assert sfumato("report", "curve1.sfumato").code == 0 and "Regression" in (made / "curve1.html").read_text()


def test_names_cannot_steer_the_terminal(sfumato, tmp_path):
    curve({"age\x1b[2J": (0, 110)}, response="bp\x1b[2J").save(tmp_path / "odd.sfumato")
    (tmp_path / "new.csv").write_text("age\x1b[2J\n5\n")
    assert "\x1b" not in sfumato("inspect", "odd.sfumato").out
    assert "\x1b" not in sfumato("predict", "odd.sfumato", "new.csv").out
