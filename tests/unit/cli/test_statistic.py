"""The command that publishes a statistic, and the other commands on what it publishes."""

import io
import json
from threading import Event

import numpy as np
import pytest
from rich.console import Console

import sfumato as sf
from opening import numbers_of
from sfumato.bases.statistics.sums import UNIT, Total
from sfumato.cli import output
from sfumato.cli.columns import bins_of, column_with_kind
from sfumato.cli.options import Settings
from sfumato.cli.progress import reading
from sfumato.cli.sparks import bar, sketched
from sfumato.cli.statistic import file_name
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.passes import Contributions
from sfumato.faces.value import Figures
from unit.drawing.support import PLANE, SEX, WARD, statistic

AGE = ("--column", "age:0:110")
BMI = ("--column", "bmi:10:60")
SEXES = ("--column", "sex=F,M")
ONE = ("--epsilon", "1")


@pytest.fixture
def here(sfumato, tmp_path):
    """Made-up records beside a runner of commands."""
    generator = np.random.default_rng(5)
    age, bmi = generator.normal(50, 12, 400).round(1), generator.normal(27, 4, 400).round(1)
    lines = ["patient,age,bmi,sex"] + [
        f"{i // 2},{a},{b},{'FM'[i % 2]}" for i, (a, b) in enumerate(zip(age, bmi, strict=True))
    ]
    lines[7] = "3,,,F"  # a missing value
    (tmp_path / "cohort.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "columns.toml").write_text(
        '[columns.age]\nlow = 0\nhigh = 110\n[columns.sex]\ncategories = ["F", "M"]\n'
    )
    return tmp_path


def drawn(release, width=100, encoding="utf-8"):
    """What a terminal of this width shows."""
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding=encoding), width=width)
    console.print(sketched(Figures.of(release, 0.95), console))
    console.file.flush()
    return raw.getvalue().decode(encoding)


# --- publishing -------------------------------------------------------------------------------------------------


def test_what_a_person_reads(sfumato, here):
    result = sfumato("statistic", "cohort.csv", "mean", "age", *AGE, *ONE)
    assert result.code == 0 and result.err == ""
    release = sf.load(here / "mean-age.sfumato")
    low, high = release.interval(0.95)
    value, left, _, right, *_ = result.out.splitlines()[2].split()
    assert float(value) == pytest.approx(release.value, abs=0.06)
    assert float(left) <= low and high <= float(right) and float(right) - float(left) < high - low + 0.25
    for words in (
        "Published the mean of age.",
        "(confidence 0.95)",
        "1-differential privacy for replacing one row",
        "no outcome more than 2.719 times as likely",
        "not of a population",
        "400 (public)",
        "records with a missing value count for nothing",
        "bounds and categories are public knowledge",
        "Laplace noise",
        "nothing keeps count",
        "mean-age.sfumato  the release, for anybody",
    ):
        assert words in result.out, words


def test_what_a_program_reads(sfumato, here):
    asked = ("covariance", "age", "bmi", *AGE, *BMI, "--missing", "none", *ONE, "--confidence", "0.9", "--json")
    data = sfumato("statistic", "cohort.csv", *asked).data
    release = sf.load(here / "covariance-age-bmi.sfumato")
    low, high = release.interval(0.9)
    assert (
        data["kind"] == "value"
        and data["statistic"] == "covariance"
        and data["what"] == "the covariance of age and bmi"
    )
    assert data["value"] == release.value.tolist() and data["labels"] == [["age", "bmi"]] * 2 and data["rows"] == 400
    assert data["interval"] == {"low": low.tolist(), "high": high.tolist(), "confidence": 0.9}
    assert data["noise"]["kind"] == "laplace" and data["numbers"] == release.numbers.tolist()
    assert data["random"] is None and data["selection"] is None and data["missing"] == "none" and data["left"] is None
    assert (
        "stated publicly that nothing is missing" in data["assumed"] and data["written"] == "covariance-age-bmi.sfumato"
    )


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("args", "size", "file"),
    [
        (["count", "age", *AGE], 1, "count-age"),
        (["sum", *AGE, *BMI], 2, "sum-age-bmi"),
        (["variance", "age", "--box", "columns.toml"], 1, "variance-age"),
        (["proportions", "sex", *SEXES], 2, "proportions-sex"),
        (["proportions", "sex", "--box", "columns.toml"], 2, "proportions-sex"),
        (["histogram", "age", "sex", *AGE, *SEXES, "--bins", "5"], 10, "histogram-age-sex"),
        (["histogram", *AGE, *BMI, "--bins", "5,3"], 15, "histogram-age-bmi"),
        (["histogram", "age", *AGE, "--edges", "18,65"], 3, "histogram-age"),
        (["histogram", "age", "--column", "age:0:110:integer"], 111, "histogram-age"),
        (["median", "age", *AGE], 1, "median-age"),
        (["quantiles", "age", *AGE, "--probabilities", ".1,.9"], 2, "quantiles-age"),
        (["quantiles", "age", *AGE, "--missing", "none"], 3, "quantiles-age"),
        (["quantiles", "age", *AGE, "--interval", "none"], 3, "quantiles-age"),
    ],
)
def test_every_statistic(sfumato, here, args, size, file):
    data = sfumato("statistic", "cohort.csv", *args, *ONE, "--json").data
    assert data["statistic"] == args[0] and np.size(data["value"]) == size
    assert np.all(np.asarray(data["interval"]["low"]) <= data["value"])
    assert np.all(np.asarray(data["value"]) <= data["interval"]["high"])
    assert sf.load(here / f"{file}.sfumato").value == pytest.approx(np.asarray(data["value"]))
    assert (data["noise"] is None) == ("--interval" in args) == (data["selection"] is not None)
    assert (data["tree"] is None) == (args[0] not in ("median", "quantiles") or "--interval" in args)


def test_bounds_need_no_bounds(sfumato, here):
    result = sfumato("statistic", "cohort.csv", "bounds", "bmi", *ONE)
    assert (
        "Published the private bounds of bmi." in result.out and "the bounds are cautious by themselves" in result.out
    )
    data = sfumato("statistic", "cohort.csv", "bounds", "bmi", *ONE, "-o", "b.sfumato", "--json").data
    low, high = data["value"]
    assert data["interval"] is None and data["labels"] == [["low", "high"]]
    assert low <= 16 and high >= 32  # some 350 records lie between these


def test_other_budgets_units_and_relations(sfumato, here):
    who = ("--person", "patient:2", "--neighbours", "add-remove", "--rho", "0.5")
    data = sfumato("statistic", "cohort.csv", "median", "age", *AGE, *who, "--json").data
    assert data["guarantee"]["unit"] == {"column": "patient", "max_rows": 2} and data["guarantee"]["rho"] == 0.5
    assert data["noise"]["kind"] == "gaussian" and data["rows"] is None and data["numbers"] is None
    data = sfumato(
        "statistic", "cohort.csv", "median", "age", *AGE, *who, "--interval", "none", "--json", "--force"
    ).data
    assert data["selection"]["mechanism"] == "exponential mechanism" and data["rows"] is None
    data = sfumato("statistic", "cohort.csv", "sum", "bmi", *BMI, *ONE, "--delta", "1e-6", "--json").data
    assert data["noise"]["kind"] == "laplace"  # smaller than what delta would buy


def test_an_account_pays(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("statistic", "cohort.csv", "mean", *AGE, *ONE, *paying).out
    sfumato("statistic", "cohort.csv", "median", *AGE, *ONE, *paying).failed(5, "nothing was released")
    sfumato("statistic", "cohort.csv", "mean", *AGE, *ONE, *paying).failed(2, "mean-age.sfumato: is there already")
    assert not (here / "median-age.sfumato").exists()


def test_pictures_and_pages(sfumato, here):
    names = ("-o", "r.sfumato", "--plot", "r.png", "--report", "r.html", "--confidence", "0.9")
    assert sfumato("statistic", "cohort.csv", "histogram", *AGE, *ONE, *names).code == 0
    assert (here / "r.png").read_bytes().startswith(b"\x89PNG")
    page = (here / "r.html").read_text()
    assert "<html" in page and "90 %" in page and "95 %" not in page


@pytest.mark.parametrize(
    "args", [["mean", *AGE], ["quantiles", *AGE], ["quantiles", *AGE, "--interval", "none"], ["bounds", "age"]]
)
def test_a_plan_reads_and_spends_nothing(sfumato, here, args):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    (here / "cohort.csv").write_text("age\nnot a number that anybody reads\n")
    asked = ("statistic", "cohort.csv", *args, *ONE, "--plan", "--expected-rows", "500")
    out = sfumato(*asked, "--ledger", "b.db", "--account", "clinic").out
    assert "nothing was spent" in out and "would leave clinic: epsilon 0.5 left" in out
    assert "500 rows" in out and ("in rank" in out) == (args[0] == "quantiles")
    data = sfumato(*asked, "--json").data
    assert data["noise_error"] >= data["mean_noise_error"] > 0 and data["rows"] == 500
    assert (data["coefficients"] is None) == ("--interval" in args) and data["ranks"] == (args[0] == "quantiles")
    assert "epsilon 1.5 left" in sfumato("ledger", "remaining", "b.db").out
    assert not list(here.glob("*.sfumato"))


def test_a_plan_for_more_rows_errs_less(sfumato, here):
    def error(rows):
        asked = ("mean", *AGE, *ONE, "--plan", "--expected-rows", rows, "--json")
        return sfumato("statistic", "cohort.csv", *asked).data["noise_error"]

    assert error(1000) == pytest.approx(10 * error(10_000), rel=0.1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["meen", "age", *AGE], "WHAT must be one of 'count'"),
        (["mean"], "the mean of which column?"),
        (
            ["mean", "age"],
            "COLUMN age: its bounds must be known without looking at the data: give --column age:LOW:HIGH",
        ),
        (["mean", "bmi", *AGE], "COLUMN bmi: its bounds must be known"),
        (["mean", "age", "age", *AGE], "COLUMN age is given twice"),
        (["mean", *AGE, *AGE], "--column age is given twice"),
        (["mean", "age", "--column", "age"], "--column must be NAME:LOW:HIGH"),
        (["mean", "age", "--column", "age:110:0"], "--column age:110:0: column 'age': low must be below high"),
        (
            ["mean", "height", "--column", "height:0:3"],
            "cohort.csv: the first line must name the columns that are needed",
        ),
        (["mean", "sex", *SEXES], "--column sex: a mean needs numbers with bounds"),
        (["proportions", "sex", "--column", "sex=F"], "--column sex=F: categories must be two or more"),
        (["proportions", "age", *AGE], "--column age: proportions are of categories"),
        (["median", *AGE, *BMI], "median needs one COLUMN, got age and bmi"),
        (["quantiles", "age", "--column", "age:0:110:periodic"], "--column age: a circle has no quantiles"),
        (["mean", *AGE, "--bins", "5"], "--bins are for a histogram"),
        (["mean", *AGE, "--edges", "5"], "--edges are for a histogram"),
        (["histogram", *AGE, "--edges", "65,18"], "--edges must ascend within (0, 110)"),
        (["histogram", *AGE, "--edges", "old"], "--edges must be numbers such as 18,65"),
        (["histogram", *AGE, "--bins", "0"], "--bins must be at least 1"),
        (["histogram", *AGE, "--bins", "2.5"], "must be whole numbers, got 2.5"),
        (["histogram", *AGE, "--bins", "few"], "--bins must be whole numbers such as 20"),
        (["histogram", *AGE, "--bins", "3,3"], "--bins needs one number, or one per numeric column (1)"),
        (["quantiles", *AGE, "--probabilities", "half"], "--probabilities must be levels such as .25,.5,.75"),
        (["quantiles", *AGE, "--probabilities", "2"], "--probabilities must lie strictly between 0 and 1"),
        (["mean", *AGE, "--probabilities", ".5"], "--probabilities are for quantiles"),
        (["mean", *AGE, "--interval", "none"], "--interval is for quantiles"),
        (["median", *AGE, "--interval", "paid"], "--interval must be one of 'counts', 'none'"),
        (["mean", *AGE, "--missing", "guess"], "--missing must be one of 'drop', 'none'"),
        (["mean", *AGE, "--confidence", "1"], "--confidence must lie strictly between 0 and 1"),
        (["mean", *AGE, "--plan", "--expected-rows", "0"], "--rows must be at least 1"),
        (["mean", *AGE, "--rho", "1"], "either --epsilon or --rho"),
        (["mean", *AGE, "--person", "nobody:2"], "--person nobody: cohort.csv has no such column"),
        (["mean", *AGE, "-o", "cohort.csv", "--force"], "--output: cohort.csv is the data"),
        (["bounds"], "bounds needs one COLUMN, got none"),
        (["bounds", "age", "bmi"], "bounds needs one COLUMN, got age and bmi"),
        (["bounds", "age", *AGE], "leave out --column and --box"),
        (["bounds", "age", "--bins", "3"], "--bins is for other statistics than bounds"),
        (["bounds", "age", "--missing", "none"], "--missing is for other statistics than bounds"),
        (["bounds", "height"], "cohort.csv: the first line must name the columns that are needed"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_read(sfumato, here, args, message):
    sfumato("statistic", "cohort.csv", *args, *ONE).failed(2, message)
    assert sorted(p.name for p in here.iterdir()) == ["cohort.csv", "columns.toml"]


def test_other_refusals(sfumato, here):
    sfumato("statistic", "cohort.csv", "mean", *AGE).failed(2, "give --epsilon E")
    sfumato("statistic", "nothing.csv", "mean", *AGE, *ONE).failed(3, "nothing.csv: there is no such file")
    failed = sfumato("statistic", "cohort.csv", "meen", *AGE, *ONE, "--json")
    assert failed.code == 2 and "WHAT must be one of" in json.loads(failed.err)["error"]


# --- options ----------------------------------------------------------------------------------------------------


def test_columns_with_bounds_or_categories(here):
    def made(text):
        return column_with_kind(text, {}, None, here / "cohort.csv")

    assert made("sex=F,M") == ("sex", sf.Categorical(["F", "M"])) and made("age:0:9:integer") == (
        "age",
        sf.Integer(0, 9),
    )
    assert made("time=1:2,3:4") == ("time", sf.Categorical(["1:2", "3:4"]))
    assert made("a:b=c:0:1")[0] == "a:b=c"
    assert bins_of(None) is None and bins_of("20") == 20 and bins_of("20,5") == (20, 5)


def test_names_of_files():
    assert str(file_name("mean", sf.Box({"../etc/pass wd": (0, 1)}))) == "mean----etc-pass-wd.sfumato"
    assert len(str(file_name("mean", sf.Box({"x" * 300: (0, 1)})))) < 60


# --- on a terminal ----------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_numbers():
    assert bar(1.0, 4) == "████" and bar(0.5, 4) == "██" and bar(0.0, 4) == "" and bar(1 / 32, 4) == "▏"
    lines = drawn(statistic("proportions", WARD)).splitlines()[1:]
    counts = [line.count("█") for line in lines]
    assert counts[0] == 36 and counts[0] > counts[1] > counts[2] > 0
    assert "█" not in drawn(statistic("proportions", WARD), width=44)
    assert "█" not in drawn(statistic("proportions", WARD), encoding="ascii")
    assert "█" not in drawn(statistic("mean", PLANE))


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_a_terminal(width):
    for what, columns in (("histogram", None), ("proportions", {**SEX, **WARD}), ("covariance", PLANE)):
        lines = drawn(statistic(what, columns), width=width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) == 1 + Figures.of(statistic(what, columns), 0.95).count  # nothing is folded


def test_long_tables_are_cut():
    out = drawn(statistic("histogram", PLANE))
    assert "and 40 more; --json prints them all" in " ".join(out.split()) and out.count(" to ") >= 120


def test_names_cannot_steer_the_terminal():
    wild = {"a\x1b[2J": sf.Categorical(["x\x1b[2J\n", "[bold]b[/bold]"])}
    out = drawn(statistic("proportions", wild))
    assert "\x1b" not in out and "[bold]b[/bold]" in out


class Context:
    obj = Settings()


@pytest.mark.parametrize("public", [True, False])
def test_progress_while_summing(monkeypatch, capsys, public):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    box = sf.Box([(0, 10)])

    def work(engine):
        one = Contributions(box, Total(False), UNIT)
        return numbers_of(engine.fold(engine.open(np.arange(10.0), box, "row"), one).wide()).tolist()

    with reading(Context(), "summing", public) as engine:
        assert work(engine) == work(MemoryEngine())
        Event().wait(0.3)
    shown = capsys.readouterr().err
    assert "summing" in shown and ("10 rows" in shown) == public


# --- the other commands -----------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("what", ["mean", "median", "histogram", "covariance", "several", "bounds"])
def test_commands_that_read_a_release(sfumato, tmp_path, what):
    statistic(what).save(tmp_path / "r.sfumato")
    out = sfumato("inspect", "r.sfumato", "--confidence", "0.9").out
    assert "WARNING" not in out and "of age" in out and "rests on" in out and "1,000 (public)" in out
    assert ("none: chosen by permute-and-flip" in out) == (what == "median")
    data = sfumato("inspect", "r.sfumato", "--confidence", "0.9", "--json").data
    assert data["random"] is None and data["kind"] == "value"
    assert data["interval"] is None if what == "bounds" else data["interval"]["confidence"] == 0.9
    assert sfumato("plot", "r.sfumato").out == "r.png\n" and (tmp_path / "r.png").exists()
    assert sfumato("report", "r.sfumato").out == "r.html\n" and "<html" in (tmp_path / "r.html").read_text()
    sfumato("evaluate", "r.sfumato", "-", input="age\n1\n").failed(
        2, "of kind 'value', this needs a function; use 'sfumato inspect'"
    )
    (tmp_path / "new.csv").write_text("age\n1\n")
    sfumato("predict", "r.sfumato", "new.csv").failed(2, "of kind 'value', this needs a learner")
    sfumato("plot", "r.sfumato", "--group", "F").failed(2, "this release has no groups")
    if what != "bounds":  # which have no limits
        sfumato("inspect", "r.sfumato", "--confidence", "2").failed(2, "confidence must lie strictly between 0 and 1")


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, here):
    result = shell("statistic", "cohort.csv", "mean", "age", *AGE, *ONE, "--json")
    assert result.returncode == 0 and result.stderr == "" and json.loads(result.stdout)["statistic"] == "mean"
