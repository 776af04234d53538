"""Every command that publishes, and every option that it has: a bad value is refused, by the name of the option."""

import pytest
from typer.main import get_command

from sfumato.cli.app import app

APP = get_command(app)  # made once: it takes longer than to refuse something

BAD = {
    "--C": "-1",
    "--bandwidth": "-1",
    "--basis": "binning:1",
    "--bins": "0",
    "--box": "none.toml",
    "--by": "sex=F",
    "--column": "age:110:0",
    "--confidence": "2",
    "--degree": "0",
    "--copies": "x",
    "--delta": "2",
    "--epsilon": "-1",
    "--error": "0",
    "--expected-rows": "0",
    "--rows": "0",
    "--folder": "data.csv",
    "--gamma": "-1",
    "--gap": "0",
    "--group": "nobody",
    "--interactions": "x",
    "--interval": "paid",
    "--edges": "9,3",
    "--kernel": "x",
    "--kind": "x",
    "--label": "disease=no",
    "--landmarks": "0",
    "--lattice": "1",
    "--likelihood": "x",
    "--loss": "x",
    "--mechanism": "x",
    "--method": "x",
    "--missing": "x",
    "--neighbours": "x",
    "--noise": "x",
    "--numbers": "x",
    "--output": "none/file",
    "--parameter": "age:2:1",
    "--people": "0",
    "--person": "pid:0",
    "--plot": "picture.bmp",
    "--post": "x",
    "--probabilities": "2",
    "--protocol": "none.json",
    "--public-test": "none.csv",
    "--randomizer": "x",
    "--range": "x",
    "--report": "none/page.html",
    "--response": "bp:220:60",
    "--rho": "-1",
    "--ridge": "-1",
    "--rule": "x",
    "--scale": "age:x",
    "--step": "-1",
    "--steps": "0",
    "--public": "none.csv",
    "--m": "0",
    "--smoothness": "-1",
    "--tune-bandwidth": "5",
    "--tune-share": "2",
    "--users": "0",
    "--ways": "0",
}
AGE = ("--column", "age:0:110")
COMMANDS = {
    "density": ("density", "data.csv", *AGE, "--epsilon", "1"),
    "density of groups": ("density", "data.csv", *AGE, "--by", "sex=F,M", "--epsilon", "1"),
    "machine": ("classify", "data.csv", "--label", "disease=no,yes", *AGE, "--epsilon", "1"),
    "naive Bayes": (
        *("classify", "data.csv", "--method", "naive-bayes", "--label", "disease=no,yes", *AGE, "--epsilon", "1"),
    ),
    "curve": ("regress", "data.csv", "--response", "bp:60:220", *AGE, "--epsilon", "1"),
    "Priestley-Chao": (
        *("regress", "data.csv", "--response", "bp:60:220", *AGE, "--epsilon", "1"),
        *("--method", "priestley-chao", "--bandwidth", "5"),
    ),
    "mean": ("statistic", "data.csv", "mean", *AGE, "--epsilon", "1"),
    "histogram": ("statistic", "data.csv", "histogram", *AGE, "--epsilon", "1"),
    "quantiles": ("statistic", "data.csv", "quantiles", *AGE, "--epsilon", "1"),
    "summary": ("summarize", "data.csv", *AGE, "--epsilon", "1"),
    "density of devices": ("local", "init", "--kind", "density", "--box", "numbers.toml", "--epsilon", "1"),
    "queries of devices": ("local", "init", "--kind", "smooth-queries", "--box", "numbers.toml", "--epsilon", "1"),
    "linear model": (
        *("local", "init", "--kind", "linear-model", "--box", "both.toml", "--response", "ill", "--epsilon", "1"),
    ),
    "generalized linear": (
        *("local", "init", "--kind", "generalized-linear", "--box", "both.toml", "--response", "ill"),
        *("--epsilon", "1"),
    ),
    "risk": (
        *("local", "init", "--kind", "risk", "--box", "both.toml", "--response", "ill", "--epsilon", "1"),
        *("--loss", "logistic", "--parameter", "age:-2:2", "--lattice", "5", "--degree", "2"),
    ),
    "marginals": ("local", "init", "--kind", "marginals", "--box", "words.toml", "--epsilon", "1"),
    "plan of devices": (
        "local",
        "plan",
        "--kind",
        "density",
        "--box",
        "numbers.toml",
        "--epsilon",
        "1",
        "--people",
        "9",
    ),
    "sampler": ("sensitivity", "plan", "--gamma", "0.05"),
    "demo": ("demo",),
}


def options_of(words):
    """The options of a command that take a value."""
    command = APP
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return [param.opts[0] for param in command.params if param.opts[0].startswith("--") and not param.is_flag]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("options")
    rows = [
        "age,bp,sex,disease,pid",
        *(f"{20 + i},{100 + i},{'FM'[i % 2]},{('no', 'yes')[i % 2]},{i}" for i in range(40)),
    ]
    (made / "data.csv").write_text("\n".join(rows) + "\n")
    (made / "numbers.toml").write_text("[columns.age]\nlow = 0\nhigh = 110\n")
    (made / "both.toml").write_text("[columns.age]\nlow = 0\nhigh = 110\n[columns.ill]\ncategories = [0, 1]\n")
    (made / "words.toml").write_text('[columns.sex]\ncategories = ["F", "M"]\n[columns.ill]\ncategories = [0, 1]\n')
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_every_refusal_names_its_option(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    words = COMMANDS[name]
    for option in options_of(words):
        value = BAD[option]  # a new option needs a value that is refused
        given = list(words)
        if option in given:
            place = given.index(option)
            del given[place : place + 2]
        if option == "--rho":
            given = [word for place, word in enumerate(given) if "--epsilon" not in (word, words[place - 1])]
        if option == "--tune-share":
            given += ["--tune-bandwidth", "5,10"]
        with pytest.raises(SystemExit) as left:
            APP.main([*given, option, value])
        said = capsys.readouterr().err
        assert left.value.code in (2, 3), (option, said)
        # A file that is not there is named itself.
        assert option in said or value in said.split(":")[1], said
        assert sorted(path.name for path in folder.iterdir()) == ["both.toml", "data.csv", "numbers.toml", "words.toml"]
