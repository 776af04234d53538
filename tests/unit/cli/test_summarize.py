"""The command that publishes a summary, and the other commands on what it publishes."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.progress import WatchedEngine

QUICK = ("--epsilon", "1", "--degree", "4")
BOX = ("--box", "columns.toml")


@pytest.fixture
def here(tmp_path, sfumato):
    """Made-up records beside a runner of commands."""
    generator = np.random.default_rng(5)
    age, bmi = generator.normal(50, 12, 400).round(1), generator.normal(27, 4, 400).round(1)
    sex = generator.choice(["F", "M"], 400)
    lines = ["patient,age,bmi,sex,ward"]
    lines += [f"{i // 2},{a},{b},{s},{i % 3}" for i, (a, b, s) in enumerate(zip(age, bmi, sex, strict=True))]
    lines[7] = "3,,,F,1"  # missing values
    (tmp_path / "cohort.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "columns.toml").write_text(
        "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
        '[columns.sex]\ncategories = ["F", "M"]\n'
    )
    return tmp_path


def test_what_a_person_reads(sfumato, here):
    result = sfumato("summarize", "cohort.csv", *BOX, *QUICK, "-o", "s.sfumato")
    assert result.code == 0 and result.err == ""
    for words in (
        "Published a summary of age, bmi and sex.",
        "1-differential privacy for replacing one row",
        "32: 4 along age, 4 along bmi, 2 along sex; all their products",
        "400 (public)",
        "in each moment",
        "means      age ",
        " +- ",
        "categories: without approximation",
        "a missing value is spread over its column",
        "sfumato answer s.sfumato 'share(between(age, 27.5, 55))'",
        "nothing keeps count",
        "s.sfumato  the release, for anybody",
    ):
        assert words in result.out, words
    release = sf.load(here / "s.sfumato")
    assert isinstance(release, sf.SummaryRelease) and release.basis == sf.Cosines(4)


def test_what_a_program_reads(sfumato, here):
    data = sfumato("summarize", "cohort.csv", "--column", "age:0:110", "--column", "ward=0,1,2", *QUICK, "--json").data
    assert data["written"] == "summary.sfumato" and data["kind"] == "summary" and data["left"] is None
    assert data["moments"] == 12 and data["frequencies"] == {"age": 4, "ward": 3} and data["rows"] == 400
    assert data["basis"] == {"name": "cosines", "degree": 4, "interactions": "full"}
    assert data["noise_sd"] > 0 and data["means"][0]["column"] == "age" and data["means"][0]["error"] > 0
    assert data["narrowest"][0]["column"] == "age"
    assert data["box"]["columns"][1]["kind"] == "categorical"


@pytest.mark.parametrize(
    ("options", "basis"),
    [
        (("--degree", "5,3,2"), sf.Cosines((5, 3, 2))),
        (("--degree", "4", "--interactions", "cross"), sf.Cosines(4, "cross")),
        (("--degree", "3", "--interactions", "1"), sf.Cosines(3, 1)),
        (("--smoothness", "2"), sf.Cosines(5)),  # ceil(2 * 400 ** (1 / (2 * 3 + 2)))
    ],
)
def test_which_moments(sfumato, here, options, basis):
    assert sfumato("summarize", "cohort.csv", *BOX, "--epsilon", "1", *options).code == 0
    assert sf.load(here / "summary.sfumato").basis == basis


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (("--epsilon", "1", "--noise", "laplace"), "laplace"),
        (("--epsilon", "1", "--noise", "linf"), "linf"),
        (("--epsilon", "1", "--delta", "1e-6", "--noise", "gaussian"), "gaussian"),
        (("--rho", "0.1"), "gaussian"),
    ],
)
def test_which_noise(sfumato, here, options, kind):
    assert sfumato("summarize", "cohort.csv", *BOX, "--degree", "4", *options).code == 0
    assert sf.load(here / "summary.sfumato").law.kind == kind


def test_persons_and_private_counts(sfumato, here):
    out = sfumato("summarize", "cohort.csv", *BOX, *QUICK, "--person", "patient:2").out
    assert "any one person (column 'patient', up to 2 rows)" in out and "records    about " in out
    data = sfumato(
        "summarize", "cohort.csv", *BOX, *QUICK, "--neighbours", "add-remove", "-o", "a.sfumato", "--json"
    ).data
    assert data["rows"] is None and data["guarantee"]["neighbours"] == "add-remove"


def test_an_account_pays_and_says_what_is_left(sfumato, here):
    sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "1.5")
    paying = ("--ledger", "b.db", "--account", "clinic")
    assert "epsilon 0.5 left of epsilon 1.5" in sfumato("summarize", "cohort.csv", *BOX, *QUICK, *paying).out
    again = ("summarize", "cohort.csv", *BOX, *QUICK, *paying)
    sfumato(*again).failed(2, "--output: summary.sfumato: is there already")
    sfumato(*again, "-o", "b.sfumato").failed(5, "nothing was released")
    assert not (here / "b.sfumato").exists()


def test_a_plan_reads_nothing_and_spends_nothing(sfumato, here):
    result = sfumato("summarize", "cohort.csv", *BOX, *QUICK, "--plan", "--expected-rows", "5000")
    assert result.code == 0 and "no record was read" in result.out and "5,000 rows" in result.out
    assert "31 noisy moments" in result.out and not (here / "summary.sfumato").exists()
    data = sfumato("summarize", "cohort.csv", *BOX, "--epsilon", "1", "--plan", "--json").data
    assert data["rows"] == 10_000 and data["noise_error"] > data["mean_noise_error"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "how much privacy may it cost?"),
        (("--epsilon", "1", "--rho", "1"), "either --epsilon or --rho"),
        (("--epsilon", "-1"), "--epsilon must be"),
        ((*QUICK[:2], "--degree", "x"), "--degree must be auto, a whole number such as 8"),
        ((*QUICK[:2], "--degree", "2.5"), "--degree must be auto, a whole number such as 8"),
        ((*QUICK[:2], "--degree", "3,4"), "--degree needs one number, or one per column (3)"),
        ((*QUICK[:2], "--degree", "2000"), "--degree must be at most 1024"),
        ((*QUICK[:2], "--degree", "1000"), "the index set has 2,000,000 moments of 3 columns"),
        ((*QUICK[:2], "--smoothness", "0"), "--smoothness must be at least 1"),
        ((*QUICK, "--smoothness", "3"), "either --degree or --smoothness"),
        ((*QUICK, "--interactions", "some"), "--interactions must be auto, full, cross or a number"),
        ((*QUICK, "--interactions", "0"), "--interactions must be at least 1"),
        ((*QUICK, "--noise", "loud"), "--noise must be one of"),
        ((*QUICK, "--noise", "gaussian"), "--noise gaussian needs --delta"),
        (("--rho", "1", "--noise", "laplace"), "--noise laplace needs --epsilon"),
        ((*QUICK, "--neighbours", "all"), "--neighbours must be one of"),
        ((*QUICK, "--person", "patient"), "--person must be COLUMN:MAXROWS"),
        ((*QUICK, "--person", "nobody:2"), "--person nobody: cohort.csv has no such column"),
        ((*QUICK, "--column", "weight:0:9"), "cohort.csv: the first line must name the columns that are needed"),
        ((*QUICK, "--column", "age", "--column", "age"), "--column age is given twice"),
        ((*QUICK, "--expected-rows", "0"), "--expected-rows must be at least 1"),
        ((*QUICK, "-o", "no/where.sfumato"), "there is no folder 'no'"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_read(sfumato, here, options, words):
    sfumato("summarize", "cohort.csv", *BOX, *options).failed(2, words)
    assert not (here / "summary.sfumato").exists()


def test_a_summary_needs_columns_and_data(sfumato, here):
    sfumato("summarize", "cohort.csv", *QUICK).failed(2, "a summary of which columns?")
    sfumato("summarize", "nothing.csv", *BOX, *QUICK).failed(3, "there is no such file")


# --- reading it -------------------------------------------------------------------------------------------------


def test_inspect(sfumato, here):
    sfumato("summarize", "cohort.csv", *BOX, *QUICK)
    out = sfumato("inspect", "summary.sfumato").out
    for words in (
        "a summary of age, bmi and sex",
        "sex: one of F, M",
        "32: 4 along age",
        "K-norm noise",
        "not charged",
    ):
        assert words in out, words
    data = sfumato("inspect", "summary.sfumato", "--json").data
    assert data["kind"] == "summary" and data["moments"] == 32
    sfumato("evaluate", "summary.sfumato", "-", input="age\n3\n").failed(2, "use 'sfumato answer'")


def test_progress_counts_rows(tmp_path):
    ticks = []
    engine = WatchedEngine(ticks.append)
    rows = np.random.default_rng(0).uniform(size=(1000, 2))
    box, grant = sf.Box([(0, 1), (0, 1)]), sf.Privacy(epsilon=1.0)
    assert sf.summarize(rows, box, grant, degree=3, engine=engine).rows == 1000
    assert sum(ticks) == 1000


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, here, tmp_path):
    result = shell("summarize", "cohort.csv", *BOX, *QUICK, "--json")
    assert result.returncode == 0 and result.stderr == ""
    assert json.loads(result.stdout)["kind"] == "summary" and (tmp_path / "summary.sfumato").exists()
