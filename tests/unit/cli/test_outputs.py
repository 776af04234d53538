"""Where a release cannot be written is found out before it is paid for, by every command that publishes."""

from __future__ import annotations

import os

import pytest

import sfumato as sf
from sfumato.accounting.ledger import Account

COMMANDS = {
    "density": ("density", "cohort.csv", "--column", "age:0:110", "--bandwidth", "12", "--basis", "binning:9"),
    "classify": ("classify", "cohort.csv", "--label", "ill=no,yes", "--column", "age:0:110", "--landmarks", "5"),
    "naive Bayes": (
        *("classify", "cohort.csv", "--method", "naive-bayes"),
        *("--label", "ill=no,yes", "--column", "age:0:110"),
    ),
    "regress": ("regress", "cohort.csv", "--response", "bp:60:220", "--column", "age:0:110", "--bandwidth", "12"),
    "statistic": ("statistic", "cohort.csv", "mean", "age", "--column", "age:0:110"),
    "summarize": ("summarize", "cohort.csv", "--column", "age:0:110", "--degree", "4"),
    "synthesize": (
        *("synthesize", "cohort.csv", "--column", "age:0:110", "--column", "bp:60:220"),
        *("--column", "ill=no,yes", "--label", "ill"),
    ),
}
WHERE = {
    "a folder that takes no files": ("--output", "closed/out.sfumato", "cannot be written"),
    "no folder": ("--output", "no/out.sfumato", "there is no folder 'no'"),
    "a folder itself": ("--output", "folder", "cannot be written, it is not a file"),
    "a pipe": ("--output", "pipe", "cannot be written, it is not a file"),
    "a long name": ("--output", "x" * 300, "cannot be written (File name too long)"),
    "the ledger": ("--output", "b.db", "belongs to the ledger"),
    "its counter": ("--output", "b.db-count", "belongs to the ledger"),
    "a picture of no kind": ("--plot", "out.gif", "the name of a picture must end in"),
    "a picture in a folder that takes no files": ("--plot", "closed/out.png", "cannot be written"),
    "a page in a folder that takes no files": ("--report", "closed/out.html", "cannot be written"),
    "a page over a folder": ("--report", "folder", "cannot be written, it is not a file"),
}


@pytest.fixture
def here(sfumato, tmp_path, monkeypatch):
    """Records, an account, and every kind of bad place; nothing may be charged."""
    lines = [f"{20 + i % 60},{'yes' if i % 3 else 'no'},{100 + i % 50}" for i in range(60)]
    (tmp_path / "cohort.csv").write_text("age,ill,bp\n" + "\n".join(lines) + "\n")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    if os.geteuid():
        (tmp_path / "closed").mkdir(mode=0o500)
    else:  # the superuser may write everywhere but here
        (tmp_path / "closed").symlink_to("/proc")
    account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=9.0))
    spent = []
    real = Account._reserve
    monkeypatch.setattr(Account, "_reserve", lambda self, event: spent.append(event) or real(self, event))
    yield sfumato, spent
    assert len(account.history()) == len(spent)


PAYING = ("--epsilon", "1", "--ledger", "b.db", "--account", "clinic")


@pytest.mark.few(10)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE)
def test_nothing_is_charged_for_what_cannot_be_written(here, command, where):
    sfumato, spent = here
    option, path, words = where
    sfumato(*command, *PAYING, "--force", option, path).failed(2, words)
    assert spent == []


@pytest.mark.few(4)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_can_be_written_is(here, command, tmp_path):
    sfumato, spent = here
    result = sfumato(*command, *PAYING, "-o", "folder/out.sfumato")
    steps = 2 if "classify" in command and "naive-bayes" not in command else 1
    assert (result.code, len(spent), os.listdir(tmp_path / "folder")) == (0, steps, ["out.sfumato"]), result.err


def test_the_demo_finds_out_too(here, tmp_path):
    sfumato, spent = here
    for folder in ("closed", "cohort.csv", "closed/deeper"):
        sfumato("demo", "--folder", folder, "--ledger", "b.db", "--account", "clinic").failed(2, f"--folder: {folder}")
    (tmp_path / "demo" / "age.png").mkdir(parents=True)
    sfumato("demo", "--ledger", "b.db", "--account", "clinic").failed(2, "age.png: cannot be written")
    assert spent == []


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 2**40)])
def test_a_ledger_that_is_a_pipe_or_a_hole_is_refused_at_once(here, tmp_path, make):
    sfumato, _ = here
    make(tmp_path / "odd.db")
    sfumato(*COMMANDS["statistic"], "--epsilon", "1", "--ledger", "odd.db", "--account", "clinic").failed(4, "odd.db")
    sfumato("ledger", "create", "odd.db", "clinic", "--epsilon", "1").failed(4, "odd.db")


def test_nothing_is_left_behind(here, tmp_path):
    from sfumato.cli.publication import check_writable

    before = sorted(os.listdir(tmp_path))
    check_writable(tmp_path / "new.sfumato", False)
    check_writable(tmp_path / "cohort.csv", True)
    assert sorted(os.listdir(tmp_path)) == before


# --- numbers that nobody grants ----------------------------------------------------------------------------------

TINY = "1e-300"


@pytest.mark.few(4)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("grant", [("--epsilon", TINY), ("--rho", TINY), ("--epsilon", TINY, "--delta", TINY)])
def test_a_tiny_grant_is_refused_in_one_line(here, command, grant):
    sfumato, spent = here
    result = sfumato(*command, *grant, "--ledger", "b.db", "--account", "clinic", "--force")
    assert result.code == 2 and result.err.startswith("error: ") and result.err.count("\n") == 1
    assert spent == []


def test_a_degree_and_a_bandwidth_are_chosen_for_a_tiny_grant_too(here):
    sfumato, _ = here
    sfumato("summarize", "cohort.csv", "--column", "age:0:110", "--epsilon", TINY).failed(2, "--epsilon: ")
    sfumato("density", "cohort.csv", "--column", "age:0:110", "--epsilon", TINY).failed(2, "--epsilon: ")


def test_tiny_numbers_of_the_local_model(here, tmp_path):
    sfumato, _ = here
    (tmp_path / "box.toml").write_text('[columns.a]\ncategories = ["x", "y"]\n[columns.b]\ncategories = ["x", "y"]\n')
    asked = ("--kind", "marginals", "--box", "box.toml")
    sfumato("local", "init", *asked, "--epsilon", TINY).failed(2, "--epsilon must be at least 1e-06")
    sfumato("local", "plan", *asked, "--epsilon", "1", "--error", TINY).failed(2, "--error is too small")


def test_a_tiny_confidence_has_an_answer(here):
    sfumato, _ = here
    sfumato(*COMMANDS["summarize"], "--epsilon", "1")
    answers = [
        sfumato("answer", "summary.sfumato", "mean(age)", "--confidence", c, "--json").data["answers"][0]["error"]
        for c in (TINY, ".5")
    ]
    assert 0 <= answers[0] < answers[1]


def test_a_share_without_a_choice_is_refused(here):
    sfumato, _ = here
    sfumato(*COMMANDS["density"], "--epsilon", "1", "--tune-share", ".2").failed(2, "--tune-share pays for")


def test_a_bad_box_file_names_the_option_and_the_file(here, tmp_path):
    sfumato, _ = here
    (tmp_path / "bad.toml").write_text("x = [")
    for file, words in (("bad.toml", "not valid TOML"), ("none.toml", "there is no such file")):
        for command in (
            ("density", "cohort.csv", "--epsilon", "1"),
            ("summarize", "cohort.csv", "--epsilon", "1"),
            ("local", "init", "--kind", "density", "--epsilon", "1"),
            ("box", "cohort.csv"),
        ):
            sfumato(*command, "--box", file).failed(2, f"--box: {file}: {words}")
