"""The command that publishes a density, and the other commands on what it publishes."""

import csv
import io
import json
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from rich.console import Console

import sfumato as sf
from opening import counted
from sfumato.cli import output
from sfumato.cli.columns import bandwidth_of, basis_of, public_box
from sfumato.cli.options import Settings
from sfumato.cli.progress import reading
from sfumato.cli.sparks import blocks, sketched
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.steps import step

QUICK = ("--bandwidth", "12", "--basis", "binning:9", "--epsilon", "1")
AGE = ("--column", "age:0:110")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Made-up records, and a few densities of them."""
    folder = tmp_path_factory.mktemp("densities")
    generator = np.random.default_rng(5)
    age, bmi = generator.normal(50, 12, 400).round(1), generator.normal(27, 4, 400).round(1)
    sex = generator.choice(["F", "M"], 400)
    hour = generator.normal(9, 3, 400) % 24
    lines = ["patient,age,bmi,hour,sex,ward"]
    lines += [
        f"{i // 2},{a},{b},{h:.2f},{s},{i % 3}" for i, (a, b, h, s) in enumerate(zip(age, bmi, hour, sex, strict=True))
    ]
    lines[7] = "3,,,,F,1"  # a missing value
    (folder / "cohort.csv").write_text("\n".join(lines) + "\n")
    (folder / "columns.toml").write_text(
        "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
        '[columns.sex]\ncategories = ["F", "M"]\n'
    )

    def publish(name, target, box, **settings):
        made = sf.release(target, folder / "cohort.csv", box, sf.Privacy(epsilon=1.0), **settings)
        made.save(folder / f"{name}.sfumato")

    line, sexes = {"age": (0, 110)}, {"sex": sf.Categorical(["F", "M"])}
    publish("one", sf.KDE(12), sf.Box(line), basis=sf.Binning(9))
    publish("two", sf.KDE((12, 6)), sf.Box({**line, "bmi": (10, 60)}), basis=sf.Binning(5))
    publish("by", sf.KDE(12, by="sex"), sf.Box({**line, **sexes}), basis=sf.Binning(9))
    publish("circle", sf.KDE(2), sf.Box({"hour": sf.Periodic(0, 24)}), basis=sf.Binning(9))
    return folder


@pytest.fixture
def here(files, sfumato, tmp_path):
    """The records beside a runner of commands."""
    for name in ("cohort.csv", "columns.toml"):
        (tmp_path / name).write_text((files / name).read_text())
    return tmp_path


# --- publishing -------------------------------------------------------------------------------------------------


def test_what_a_person_reads(sfumato, here):
    result = sfumato("density", "cohort.csv", *AGE, *QUICK, "-o", "age.sfumato")
    assert result.code == 0 and result.err == ""
    for words in (
        "Published a density of age.",
        "1-differential privacy for replacing one row",
        "no outcome more than 2.719 times as likely",
        "bandwidth  12",
        "Binning(points=9), 9 coefficients",
        "given by the caller",
        "largest error to expect: about",
        "with confidence 0.95)",
        "mean ",
        "quartiles ",
        "non-negative and of mass one",
        "nothing keeps count",
        "age.sfumato  the release, for anybody",
        "█",
    ):
        assert words in result.out, words
    release = sf.load(here / "age.sfumato")
    assert isinstance(release, sf.DensityRelease) and release.box.names == ("age",)


def test_what_a_program_reads(sfumato, here):
    data = sfumato("density", "cohort.csv", "--column", "hour:0:24:periodic", *QUICK[2:], "--json").data
    assert data["written"] == "density.sfumato" and data["plot"] is None and data["left"] is None
    assert data["kind"] == "density" and data["basis"] == {"name": "binning", "points": 9}
    assert data["box"]["columns"][0]["kind"] == "periodic"
    assert data["choice"]["automatic"] is False and data["choice"]["predicted_error"] > 0
    assert data["post"] == "simplex" and data["missing"] == "drop"
    assert len(data["bandwidth"]) == 1 and data["bandwidth"][0] > 0
    count = data["count"]
    assert 0 < count["low"] <= count["high"] <= 400 and count["value"] > 0 and count["public"] is False
    told = data["columns"][0]
    assert told["quartiles"] is None and 5 < told["mean"] < 13 and 5 < told["mode"] < 13  # of a circle


@pytest.mark.slow
def test_groups_pictures_and_pages(sfumato, here):
    names = ("-o", "r.sfumato", "--plot", "r.png", "--report", "r.html")
    result = sfumato("density", "cohort.csv", *AGE, "--by", "sex=F,M", *QUICK, *names)
    assert result.code == 0, result.err
    assert "densities of age, one for each sex (F, M)" in result.out and "age, F" in result.out
    assert "F: " in result.out and "M: " in result.out
    assert (here / "r.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (here / "r.html").read_text()
    assert sf.load(here / "r.sfumato").groups == ("F", "M")


def test_an_account_pays_and_says_what_is_left(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("density", "cohort.csv", *AGE, *QUICK, *paying).out
    sfumato("density", "cohort.csv", *AGE, *QUICK, "-o", "b.sfumato", *paying).failed(5, "nothing was released")
    assert not (here / "b.sfumato").exists()
    sfumato("density", "cohort.csv", *AGE, *QUICK, "-o", "b.sfumato", "--ledger", "b.db").failed(2, "--account")


def test_a_release_that_is_there_is_not_lost_and_costs_nothing_more(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    (here / "density.sfumato").write_text("paid for")
    paying = ("--ledger", "b.db", "--account", "clinic")
    sfumato("density", "cohort.csv", *AGE, *QUICK, *paying).failed(2, "--output: density.sfumato: is there already")
    assert (here / "density.sfumato").read_text() == "paid for"
    assert "epsilon 1.5 left" in sfumato("ledger", "remaining", "b.db").out
    assert sfumato("density", "cohort.csv", *AGE, *QUICK, *paying, "--force").code == 0


def test_a_selection_by_the_data(sfumato, here):
    tune = ("--tune-bandwidth", "8,16", "--tune-share", "0.2", "--basis", "binning:9", "--epsilon", "1")
    data = sfumato("density", "cohort.csv", *AGE, *tune, "--json").data
    assert data["bandwidth"][0] in (8.0, 16.0)
    assert data["guarantee"]["epsilon"] == 1.0


def test_persons_and_private_numbers_of_rows(sfumato, here):
    who = ("--person", "patient:2", "--neighbours", "add-remove", "--expected-rows", "400")
    data = sfumato("density", "cohort.csv", *AGE, *QUICK, *who, "--post", "none", "--json").data
    assert data["guarantee"]["unit"] == {"column": "patient", "max_rows": 2}
    assert data["guarantee"]["neighbours"] == "add-remove" and data["post"] == "none"


def test_a_plan_reads_and_spends_nothing(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    (here / "cohort.csv").write_text("age\nnot a number that anybody reads\n")
    asked = ("density", "cohort.csv", *AGE, *QUICK, "--plan", "--expected-rows", "500")
    result = sfumato(*asked, "--ledger", "b.db", "--account", "clinic")
    assert "nothing was spent" in result.out and "largest noise error" in result.out
    assert "would leave clinic: epsilon 0.5 left" in result.out
    data = sfumato(*asked, "--json").data
    assert data["coefficients"] == 9 and data["noise_error"] > data["mean_noise_error"] > 0 and data["fits"] is None
    assert "epsilon 1.5 left" in sfumato("ledger", "remaining", "b.db").out
    assert not (here / "density.sfumato").exists()
    tuned = ("density", "cohort.csv", *AGE, "--epsilon", "1", "--tune-bandwidth", "8,16", "--plan")
    sfumato(*tuned).failed(2, "--plan needs one bandwidth")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--column", "age"], "--column must be NAME:LOW:HIGH"),
        (["--column", "age:0:old"], "--column must be NAME:LOW:HIGH"),
        (["--column", "age:110:0"], "--column age:110:0: column 'age': low must be below high"),
        (["--column", "age:0:110", "--column", "age:0:110"], "--column age is given twice"),
        (["--column", "weight:0:200"], "cohort.csv: the first line must name the columns that are needed"),
        ([], "give --column NAME:LOW:HIGH"),
        ([*AGE, "--by", "sex"], "--by must list the categories, such as --by sex=A,B"),
        ([*AGE, "--by", "sex=F"], "--by sex=F: categories must be two or more"),
        ([*AGE, "--by", "sex=F,"], "it must be NAME=CATEGORY"),
        ([*AGE, "--by", "race=F,M"], "--by race: cohort.csv has no such column"),
        ([*AGE, "--person", "patient"], "--person must be COLUMN:MAXROWS"),
        ([*AGE, "--person", "someone:3"], "--person someone: cohort.csv has no such column"),
        ([*AGE, "--bandwidth", "wide"], "--bandwidth must be auto, one number"),
        ([*AGE, "--bandwidth", "2,3"], "--bandwidth needs one number, or one per column"),
        ([*AGE, "--bandwidth", "500"], "--bandwidth must not exceed the box"),
        ([*AGE, "--bandwidth", "-1"], "--bandwidth must be positive"),
        ([*AGE, "--bandwidth", "3", "--tune-bandwidth", "2,4"], "either --bandwidth or --tune-bandwidth"),
        ([*AGE, "--tune-bandwidth", "2,x"], "--tune-bandwidth must be candidates"),
        ([*AGE, "--tune-bandwidth", "2"], "--tune-bandwidth: candidates must be two or more"),
        ([*AGE, "--tune-bandwidth", "2,4", "--by", "sex=F,M"], "--tune-bandwidth needs a public number of rows"),
        ([*AGE, "--basis", "spline:3"], "--basis must be auto, binning:POINTS"),
        ([*AGE, "--basis", "binning:1"], "--basis binning:1: points must be at least 2"),
        ([*AGE, "--basis", "binning:1e999"], "--basis must be auto"),
        ([*AGE, "--basis", "binning:2.5"], "must be whole numbers, got 2.5"),
        ([*AGE, "--basis", "binning:3,3"], "--basis: points needs one number, or one per column"),
        ([*AGE, "--basis", "split:9:1,1"], "the width needs one number, or one per column (1), got 2"),
        ([*AGE, "--basis", "bernstein:9:2", "--by", "sex=F,M"], "--basis bernstein needs a public number of rows"),
        ([*AGE, "--post", "soft"], "--post must be one of 'simplex', 'none'"),
        ([*AGE, "--missing", "guess"], "--missing must be one of 'drop', 'none'"),
        ([*AGE, "--expected-rows", "0"], "--expected-rows must be at least 1"),
        ([*AGE, "--neighbours", "all"], "--neighbours must be one of"),
        ([*AGE, "--delta", "2"], "--delta must lie in [0, 1)"),
        ([*AGE, "--rho", "1"], "either --epsilon or --rho"),
        ([*AGE, "--plot", "picture.gif"], "--plot: picture.gif: the name of a picture must end in"),
        ([*AGE, "-o", "no/where.sfumato"], "--output: no/where.sfumato: there is no folder 'no'"),
        ([*AGE, "-o", "."], "cannot be written"),
        ([*AGE, "-o", "cohort.csv", "--force"], "--output: cohort.csv is the data"),
        ([*AGE, "--report", "density.sfumato"], "--report: density.sfumato is the file of --output"),
        (["--box", "nothing.toml"], "nothing.toml: there is no such file"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_read(sfumato, here, args, message):
    sfumato("density", "cohort.csv", "--epsilon", "1", *args).failed(2, message)
    assert sorted(p.name for p in here.iterdir()) == ["cohort.csv", "columns.toml"]


def test_other_refusals(sfumato, here):
    sfumato("density", "cohort.csv", *AGE).failed(2, "give --epsilon E")
    sfumato("density", "nothing.csv", *AGE, *QUICK).failed(3, "nothing.csv: there is no such file")
    sfumato("density", "cohort.txt", *AGE, *QUICK).failed(2, "the name must end in")


# --- options ----------------------------------------------------------------------------------------------------


def test_columns_with_bounds_and_kinds(files):
    box, by = public_box(["a:b:-1:2.5", "hour:0:24:periodic", "n:0:9:integer"], None, None, files / "cohort.csv")
    assert box == sf.Box({"a:b": (-1, 2.5), "hour": sf.Periodic(0, 24), "n": sf.Integer(0, 9)}) and by is None
    box, _ = public_box(["hour:0:24:periodic:whole", "whole:0:9"], None, None, files / "cohort.csv")
    assert box == sf.Box({"hour": sf.Periodic(0, 24, whole=True), "whole": (0, 9)})


def test_columns_of_a_box_file(files):
    data, toml = files / "cohort.csv", files / "columns.toml"
    assert public_box([], None, toml, data)[0].names == ("age", "bmi")
    box, by = public_box(["bmi", "hour:0:24"], "sex", toml, data)
    assert box == sf.Box({"bmi": (10, 60), "hour": (0, 24), "sex": sf.Categorical(["F", "M"])}) and by == "sex"
    with pytest.raises(ParameterError, match=r"--column must be .* the name of a column of"):
        public_box(["height"], None, toml, data)
    with pytest.raises(ParameterError, match="--column sex: a density needs numbers"):
        public_box(["sex"], None, toml, data)
    with pytest.raises(ParameterError, match="one to 3 columns, got 4"):
        public_box([f"x{i}:0:1" for i in range(4)], None, None, data)


def test_categories_are_numbers_where_the_column_holds_numbers(files, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"age": [1.0], "ward": ["1"], "code": [1]}), tmp_path / "t.parquet")

    def categories(by, data):
        return public_box(["age:0:110"], by, None, data)[0].columns[-1].categories

    assert categories("ward=1,2", files / "cohort.csv") == (1, 2)
    assert categories("ward=01,02", files / "cohort.csv") == ("01", "02")
    assert categories("ward=1,2", tmp_path / "t.parquet") == ("1", "2")
    assert categories("code=1,2", tmp_path / "t.parquet") == (1, 2)


def test_bandwidths_and_bases():
    assert bandwidth_of("auto") == "auto"
    assert bandwidth_of("2.5") == 2.5 and bandwidth_of("2.5,1") == (2.5, 1.0)
    assert bandwidth_of("auto", "2,4", 0.3) == sf.Tuned((2.0, 4.0), 0.3)
    assert bandwidth_of("auto", "2,1;4,2") == sf.Tuned(((2.0, 1.0), (4.0, 2.0)))
    assert basis_of("auto") == "auto" and basis_of("binning:15") == sf.Binning(15)
    assert basis_of("binning:15,10") == sf.Binning((15, 10))
    assert basis_of("split:15:0.5") == sf.SplitLattice(15, 0.5)
    assert basis_of("split:15,10:0.5,1") == sf.SplitLattice((15, 10), (0.5, 1.0))
    assert basis_of("bernstein:20") == sf.Bernstein(20) and basis_of("bernstein:20:3") == sf.Bernstein(20, 3)


# --- pictures and progress on a terminal ------------------------------------------------------------------------


def test_block_characters():
    assert blocks([0, 0.5, 1], 1.0, 1) == [" ▄█"]
    assert blocks([0, 0], 0.0, 2) == ["  ", "  "]


def spark_lines(release, console):
    """What a terminal draws of what was just published."""
    return str(sketched(face_of(release).sketch(object()), console) or "").splitlines()


def test_small_pictures(files):
    wide = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    lines = spark_lines(sf.load(files / "one.sfumato"), wide)
    assert len(lines) == 5 and lines[-1].split() == ["0", "age", "110"]
    grouped = spark_lines(sf.load(files / "by.sfumato"), wide)
    assert [line.split()[1:3] for line in grouped if "age" in line] == [["age,", "F"], ["age,", "M"]]
    assert len([line for line in spark_lines(sf.load(files / "two.sfumato"), wide) if "0" in line]) == 2
    assert spark_lines(sf.load(files / "one.sfumato"), Console(file=io.TextIOWrapper(io.BytesIO(), "ascii"))) == []


class Context:
    obj = Settings()


@pytest.mark.parametrize("public", [True, False])
def test_progress_is_shown_late_and_counts_public_rows_only(monkeypatch, capsys, public):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    box = sf.Box([(0, 10)])
    with reading(Context(), "reading", public) as engine:
        rows, counts = counted(np.arange(10.0), box, (5,), engine=engine)
        Event().wait(0.3)
        step("choosing a basis")
        Event().wait(0.3)
    assert counts.tolist() == [2] * 5 and rows == 10
    shown = capsys.readouterr().err
    assert "reading" in shown and "choosing a basis" in shown and ("10 rows" in shown) == public


def test_no_progress_where_nobody_watches(capsys):
    with reading(Context(), "reading", True) as engine:
        assert isinstance(engine, MemoryEngine)
    assert capsys.readouterr().err == ""


# --- the other commands -----------------------------------------------------------------------------------------


def test_inspect(sfumato, files):
    out = sfumato("inspect", files / "two.sfumato").out
    for words in (
        "a density of age and bmi",
        "bandwidth  age 12, bmi 6",
        "25 coefficients",
        "bmi: mean",
        "Laplace noise",
    ):
        assert words in out, words
    assert "most frequent" in sfumato("inspect", files / "circle.sfumato").out
    data = sfumato("inspect", files / "by.sfumato", "--json").data
    assert data["kind"] == "grouped-density" and data["by"] == "sex"
    assert [group["group"] for group in data["groups"]] == ["F", "M"]
    assert sum(group["share"] for group in data["groups"]) == pytest.approx(1)
    assert data["groups"][0]["count"]["low"] < data["groups"][0]["count"]["high"]


def test_evaluate(sfumato, files):
    points = "age\n40\n60\n"
    path = files / "one.sfumato"
    rows = list(csv.DictReader(io.StringIO(sfumato("evaluate", path, "-", input=points).out)))
    release = sf.load(path)
    low, high = release.band([40, 60])
    assert [float(row["value"]) for row in rows] == release([40, 60]).tolist()
    assert [float(row["low"]) for row in rows] == low.tolist() and float(rows[0]["high"]) == high[0]
    worst = sfumato("evaluate", path, "-", "--include", "worst", "--json", input=points).data["points"]
    assert worst[0]["high"] > high[0]
    sfumato("evaluate", path, "-", "--include", "all", input=points).failed(2, "include must be one of")
    sfumato("evaluate", path, "-", "--group", "F", input=points).failed(2, "this release has no groups")


def test_evaluate_groups(sfumato, files):
    path, points = files / "by.sfumato", "age\n40\n60\n"
    rows = list(csv.DictReader(io.StringIO(sfumato("evaluate", path, "-", input=points).out)))
    assert [(row["age"], row["sex"]) for row in rows] == [("40.0", "F"), ("60.0", "F"), ("40.0", "M"), ("60.0", "M")]
    assert float(rows[3]["value"]) == pytest.approx(sf.load(path)["M"]([60])[0])
    one = list(csv.DictReader(io.StringIO(sfumato("evaluate", path, "-", "--group", "M", input=points).out)))
    assert "sex" not in one[0] and [row["value"] for row in one] == [rows[2]["value"], rows[3]["value"]]
    assert sfumato("evaluate", path, "-", "--json", input=points).data["points"][2]["group"] == "M"
    sfumato("evaluate", path, "-", "--group", "X", input=points).failed(2, "--group must be one of F, M, got 'X'")


def test_one_group_is_drawn_and_described(sfumato, here):
    names = ("-o", "r.sfumato", "--plot", "r.svg", "--report", "r.html")
    asked = ("density", "cohort.csv", *AGE, "--by", "sex=F,M", *QUICK, *names)
    sfumato(*asked, "--group", "X").failed(2, "--group must be one of F, M, got 'X'")
    sfumato(*asked, "--group", "f").failed(2, "got 'f'; did you mean 'F'?")
    sfumato("density", "cohort.csv", *AGE, *QUICK, *names, "--group", "F").failed(2, "there are no groups without --by")
    sfumato(*asked, "--map").failed(2, "--map draws two columns of numbers to scale, this release has ['age']")
    assert not list(here.glob("r.*"))  # nothing was spent
    assert sfumato(*asked, "--group", "M").code == 0
    assert sf.load(here / "r.sfumato").groups == ("F", "M")
    page = (here / "r.html").read_text()
    assert "sex = M" in page and "sex = F" not in page and "release[&#39;M&#39;]" in page
    assert sfumato("report", "r.sfumato", "-o", "f.html", "--group", "F").code == 0
    assert "sex = F" in (here / "f.html").read_text()
    sfumato("report", "r.sfumato", "-o", "x.html", "--group", "X").failed(2, "--group must be one of F, M, got 'X'")


def test_plot_and_report(sfumato, files, tmp_path):
    assert sfumato("plot", files / "by.sfumato", "-o", "by.png").out == "by.png\n"
    assert sfumato("plot", files / "by.sfumato", "--group", "F", "-o", "f.svg").code == 0
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    assert sfumato("report", files / "by.sfumato", "-o", "by.html").code == 0
    page = Path(tmp_path / "by.html").read_text()
    assert "What was published" in page and "release[&#39;F&#39;]" in page


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, files, tmp_path):
    result = shell("density", files / "cohort.csv", *AGE, *QUICK, "--json")
    assert result.returncode == 0 and result.stderr == ""
    assert json.loads(result.stdout)["kind"] == "density" and (tmp_path / "density.sfumato").exists()


def test_cells_that_span_lines_are_declared(sfumato, tmp_path):
    lines = ["note,age", *(f'"a\n{i}",{20 + i}' for i in range(40)), ""]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    for flags, rows in (((), 80), (("--multiline",), 40)):
        assert sfumato("density", "t.csv", *AGE, "--epsilon", "1", "--force", *flags).code == 0
        found = sf.load(tmp_path / "density.sfumato")
        assert found.masses.rows == rows
        assert any("span lines" in note for note in found.guarantee.assumptions) == bool(flags)
    wrong = sfumato("density", "t.parquet", *AGE, "--epsilon", "1", "--multiline", "--force")
    wrong.failed(2, "--multiline: path must end in .csv")


def test_a_file_without_a_header_is_refused_without_showing_it(sfumato, tmp_path):
    said = set()
    for first in ("Zoe,female", "47,53", "47,47", "", "Zoe,47"):
        (tmp_path / "t.csv").write_text(f"{first}\nYan,male\n")
        said.add(sfumato("density", "t.csv", *AGE, "--epsilon", "1").err)
    assert len(said) == 1  # not even what kind of a record it was
    assert "first line must name the columns" in said.pop()
