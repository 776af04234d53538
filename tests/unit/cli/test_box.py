"""The command that drafts a box file, and the option that reads one."""

import tomllib
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sfumato.boxfile import read_box
from sfumato.cli.options import BoxFile


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "cohort.csv"
    path.write_text("age,sex\n77,secret\n")
    return path


def test_a_draft(sfumato, data, tmp_path):
    assert sfumato("box", data).out == "columns.toml: 2 columns, bounds to be filled in\n"
    text = (tmp_path / "columns.toml").read_text()
    assert tomllib.loads(text) == {"columns": {"age": {}, "sex": {}}}
    assert "77" not in text and "secret" not in text


def test_to_stdout_and_as_json(sfumato, data, tmp_path):
    out = sfumato("box", data, "-o", "-").out
    assert tomllib.loads(out) == {"columns": {"age": {}, "sex": {}}}
    document = sfumato("box", data, "-o", "-", "--json").data
    assert document == {
        "columns": [{"name": "age", "type": "unknown"}, {"name": "sex", "type": "unknown"}],
        "template": out,
    }
    assert not (tmp_path / "columns.toml").exists()
    assert sfumato("box", data, "--json").data["written"] == "columns.toml"


def test_a_file_that_was_filled_in_is_not_lost(sfumato, data, tmp_path):
    (tmp_path / "mine.toml").write_text("work")
    sfumato("box", data, "-o", "mine.toml").failed(2, "mine.toml: is there already")
    assert (tmp_path / "mine.toml").read_text() == "work"
    assert sfumato("box", data, "-o", "mine.toml", "--force").code == 0
    assert "[columns.age]" in (tmp_path / "mine.toml").read_text()


def test_errors(sfumato, data, tmp_path):
    sfumato("box", "nothing.csv").failed(2, "nothing.csv: there is no such file")
    sfumato("box", tmp_path).failed(2, "the name must end in")
    sfumato("box", data, "-o", "no/columns.toml").failed(1, "No such file or directory")
    sfumato("box", data, "-o", tmp_path, "--force").failed(1, "Is a directory")
    data.write_text("77,secret\n")
    result = sfumato("box", data)
    result.failed(2, "the first line must name the columns")
    told = result.err.replace(str(data), "")
    assert "77" not in told and "secret" not in told


def test_the_box_option(tmp_path):
    app = typer.Typer()
    seen: list[Any] = []

    @app.command()
    def command(box: BoxFile) -> None:
        seen.append(read_box(box))

    (tmp_path / "columns.toml").write_text("[columns.age]\nlow = 0\nhigh = 110")
    assert CliRunner().invoke(app, ["--box", str(tmp_path / "columns.toml")]).exit_code == 0
    assert seen[0].names == ("age",)
    assert CliRunner().invoke(app, []).exit_code == 2


def test_a_filled_in_file_is_checked_against_the_table(sfumato, data, tmp_path):
    filled = tmp_path / "columns.toml"
    filled.write_text("[columns.age]\nlow = 0\nhigh = 110\n")
    assert "fits cohort.csv" in sfumato("box", data, "--box", filled).out.replace("\n", " ")
    assert sfumato("box", data, "--box", filled, "--json").data["columns"] == ["age"]
    filled.write_text("[columns.bmi]\nlow = 0\nhigh = 110\n")
    sfumato("box", data, "--box", filled).failed(2, "'bmi' is not in")
    filled.write_text("[columns.age]\nlow = 0\nhigh = 110\nmode = 3\n")
    sfumato("box", data, "--box", filled).failed(2, "mode")
