"""The demo: everything that it promises is in the folder, and running it again works."""

import json
import sys
from contextlib import nullcontext
from importlib import import_module
from unittest import mock

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from effort import is_quick
from sfumato import demo
from sfumato.accounting.events import event_of_grant
from sfumato.boxfile import read_box
from sfumato.cli.app import app

FILES = {"age", "homes", "illness"}


@pytest.fixture(scope="module")
def first(request, tmp_path_factory):
    """One run, which the tests look at; no test looks at the pictures on its pages, and a quick run draws none."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "here"
    undrawn = mock.patch.object(import_module("sfumato.pages.pictures"), "svg_of", return_value="<svg></svg>")
    with undrawn if is_quick(request.config) else nullcontext():
        result = CliRunner().invoke(app, ["demo", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def test_the_files_are_there(first):
    folder, out = first
    for name in FILES:
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<html" in (folder / f"{name}.html").read_text()
    assert (folder / "cohort.csv").read_text() == demo.cohort_csv()
    assert read_box(folder / "columns.toml").names == ("age", "bmi", "bp")
    assert read_box(folder / "homes.toml").names == ("longitude", "latitude")
    assert "open this" in out and "epsilon 1 left of epsilon 4" in "".join(out.split("\n"))


def test_the_releases_are_paid_for_and_close_to_the_truth(first):
    folder, _ = first
    account = sf.Ledger(folder / "budget.db").account("clinic-demo")
    assert [entry.status for entry in account.history()] == ["published"] * 4  # the classifier's in two steps
    assert account.limit == sf.Privacy(epsilon=4, delta=1e-6)
    for study in demo.STUDIES:
        release = sf.load(folder / f"{study.name}.sfumato")
        assert release.guarantee.epsilon == 1.0 and release.receipt.account == "clinic-demo"
        cohort = np.stack([demo.cohort()[name] for name in study.columns], axis=1)
        if not study.bandwidths:
            assert (release.predict(cohort) == demo.cohort()["ill"]).mean() > 0.75
            continue
        points, widths = release.sample(200, seed=1), np.array(study.bandwidths)
        squares = (((points[:, None, :] - cohort[None, :, :]) / widths) ** 2).sum(axis=2)
        truth = np.exp(-squares / 2).mean(axis=1) / np.prod(widths * np.sqrt(2 * np.pi))
        assert abs(release(points) - truth).max() < 0.15 * truth.max()
        # The noise is there: the release is not the truth.
        assert (release(points) != truth).any() and (release.coefficients != np.rint(release.coefficients)).any()


def test_the_suggested_commands_work(first, sfumato):
    folder, _ = first
    assert "receipt" in sfumato("inspect", folder / "age.sfumato").out
    values = sfumato("evaluate", folder / "age.sfumato", folder / "points.csv").out
    assert values.count("\n") == demo.POINTS.count("\n")
    assert "published" in sfumato("ledger", "show", folder / "budget.db", "--account", "clinic-demo").out


@pytest.mark.slow
def test_running_it_again_starts_a_new_account_and_says_so(first):
    folder, _ = first
    result = CliRunner().invoke(app, ["demo", "--folder", str(folder), "--json"])
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert "people are simulated" in data["note"] and "real data is final" in data["note"]
    assert data["left"] == "epsilon 1" and result.stderr == ""
    assert {"path", "what"} == set(data["files"][0])
    assert len(sf.Ledger(folder / "budget.db").account("clinic-demo").history()) == 4


def test_more_than_the_limit_is_refused_before_anything_is_spent(sfumato, tmp_path):
    sfumato("demo", "--folder", "d", "--epsilon", "1.6").failed(5, "choose a smaller --epsilon; nothing was released")
    assert sf.Ledger(tmp_path / "d" / "budget.db").account("clinic-demo").history() == []
    assert not (tmp_path / "d" / "age.sfumato").exists()


def test_an_account_of_yours_is_never_emptied(sfumato, tmp_path):
    account = sf.Ledger(tmp_path / "b.db").account("mine", limit=sf.Privacy(epsilon=1))
    sfumato("demo", "--ledger", "b.db", "--account", "mine").failed(5, "account 'mine' has epsilon 1 left")
    account.charge(event_of_grant(sf.Privacy(epsilon=0.5)))
    sfumato("demo", "--ledger", "b.db", "--account", "mine", "--epsilon", "0.3").failed(5, "epsilon 0.5 left")
    assert len(account.history()) == 1
    sfumato("demo", "--ledger", "b.db", "--account", "other").failed(4, "no account 'other'")
    sfumato("demo", "--account", "mine").failed(2, "which ledger?")


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf"])
def test_bad_epsilon_writes_nothing(sfumato, tmp_path, epsilon):
    sfumato("demo", "--folder", "d", "--epsilon", epsilon).failed(2, "epsilon must be")
    assert not (tmp_path / "d").exists()


def test_a_folder_that_cannot_be_made(sfumato, tmp_path):
    (tmp_path / "file").write_text("here")
    sfumato("demo", "--folder", "file").failed(2, "--folder: file: cannot be made (File exists)")


def test_a_ledger_that_is_none(sfumato, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "budget.db").write_text("no database, but a text that is long enough to be taken for one")
    sfumato("demo").failed(4, "not a database")


def test_missing_extras_are_noticed_before_anything_is_spent(sfumato, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    sfumato("demo").failed(1, "pip install 'sfumato[plot]'")
    assert not (tmp_path / "demo").exists()
