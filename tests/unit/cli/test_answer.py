"""The command that asks a summary."""

import json

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.faces.words import rounded
from unit.cli.support import published


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A summary of made-up records, and one of single columns."""
    made = tmp_path_factory.mktemp("summaries")
    generator = np.random.default_rng(5)
    lines = ["age,blood pressure,sex"]
    lines += [f"{generator.normal(50, 12):.1f},{generator.normal(120, 9):.0f},{'FM'[i % 2]}" for i in range(3000)]
    (made / "cohort.csv").write_text("\n".join(lines) + "\n")
    box = sf.Box({"age": (0, 110), "blood pressure": (50, 200), "sex": sf.Categorical(("F", "M"))})
    grant = sf.Privacy(epsilon=5.0)
    sf.summarize(made / "cohort.csv", box, grant, degree=8).save(made / "s.sfumato")
    sf.summarize(made / "cohort.csv", box, grant, degree=4, interactions=1).save(made / "apart.sfumato")
    published(sf.Box([(0, 1)]), sf.Bernstein(4)).save(made / "curve.sfumato")
    return made


def test_what_a_person_reads(sfumato, folder):
    result = sfumato("answer", folder / "s.sfumato", "mean(age)")
    assert result.code == 0 and result.err == ""
    for words in ("mean(age)", " to ", "(confidence 0.95)", "error (95 %)", "noise sd", "approximation  none"):
        assert words in result.out, words
    assert "WARNING" not in result.out


def test_what_a_program_reads(sfumato, folder):
    path = folder / "s.sfumato"
    asked = (
        "mean(age)",
        'share(sex == "F" and between(age, 30, 60, 30))',
        "sd(`blood pressure`)",
        "exp(-(age-40)**2/900)",
    )
    data = sfumato("answer", path, *asked, "--confidence", "0.9", "--json").data
    assert [one["question"] for one in data["answers"]] == list(asked)
    assert [one["statistic"] for one in data["answers"]] == ["mean", "share", "sd", "mean"]
    assert data["answers"][1]["columns"] == ["age", "sex"]
    wanted = sf.load(path).mean("age", confidence=0.9)
    first = data["answers"][0]
    assert (first["value"], first["error"], first["noise_sd"]) == (wanted.value, wanted.error, wanted.noise_sd)
    assert first["low"] == first["value"] - first["error"] and first["confidence"] == 0.9
    assert all(one["error"] > 0 and one["warnings"] == [] for one in data["answers"])


def test_several_questions_make_a_table(sfumato, folder):
    out = sfumato("answer", folder / "s.sfumato", "mean(age)", "abs(age - 50)", "--confidence", "0.9").out
    lines = out.splitlines()
    assert lines[0].split() == ["question", "value", "error", "(90", "%)", "noise", "sd", "approximation"]
    assert lines[1].split()[0] == "mean(age)" and lines[1].split()[-1] == "none"
    assert "WARNING: abs(age - 50): this question is not smooth enough for this summary" in out
    assert "WARNING: mean(age)" not in out


def test_softened_edges_are_told_with_their_width_and_what_sharp_ones_hold(sfumato, folder):
    sharp = sf.load(folder / "s.sfumato").share({"age": (45, None)}).sharp
    out = " ".join(sfumato("answer", folder / "s.sfumato", "share(between(age, 45, 110))").out.split())
    assert "edges softened, deviation: age 27.5; a record at an edge counts by half" in out
    limits = f"{np.floor(1e3 * sharp[0]) / 1e3:.3f} to {np.ceil(1e3 * sharp[1]) / 1e3:.3f}"
    assert f"sharp edges {limits} of the records lie within them (confidence 0.95)" in out
    assert "the records themselves, brought into the box, counted with softened edges; not a population" in out
    plain = sfumato("answer", folder / "s.sfumato", 'share(sex == "F")').out
    assert "soft" not in plain and "brought into the box; not a population" in " ".join(plain.split())
    table = sfumato("answer", folder / "s.sfumato", "mean(age)", "share(between(age, 45, 110))").out
    assert "share(between(age, 45, 110)): edges: softened, deviation: age 27.5" in table and "; sharp edges: " in table
    other = sfumato("answer", folder / "s.sfumato", "mean(between(2*age, 60, 120, 30) * age)", "--json").data[
        "answers"
    ][0]
    assert other["softness"] == {"2*age": 30.0} and other["sharp"] is None
    data = sfumato("answer", folder / "s.sfumato", "share(between(age, 45, 110, 30))", "--json").data["answers"][0]
    assert data["softness"] == {"age": 30.0} and data["sharp"] == {"low": sharp[0], "high": sharp[1]}
    whole = sfumato("answer", folder / "s.sfumato", "share(between(age, 0, 110))", "--json").data["answers"][0]
    assert whole["softness"] == {} and whole["sharp"] is None


def test_a_summary_that_does_not_tell_about_sharp_edges_says_so(sfumato, folder):
    out = " ".join(sfumato("answer", folder / "s.sfumato", "share(between(age, 30, 60))").out.split())
    assert "sharp edges this summary does not tell how many of the records lie within them; a histogram would" in out


def test_what_is_not_smooth_enough_is_told(sfumato, folder):
    out = sfumato("answer", folder / "s.sfumato", "bump(age, 40, 1)").out
    assert "this question is not smooth enough for this summary: " in out and "try --damping balanced" in out
    assert "says nothing about it" in out
    balanced = sfumato("answer", folder / "s.sfumato", "bump(age, 40, 1)", "--damping", "balanced").out
    assert "this question is not smooth enough" in balanced and "try --damping" not in balanced
    apart = sfumato("answer", folder / "apart.sfumato", "age * `blood pressure`").out
    assert "it is about 2 columns at once, and the summary has products of 1" in apart
    exact = sfumato("answer", folder / "apart.sfumato", "covariance(age, `blood pressure`)")
    exact.failed(2, "interactions=2 or more")


def test_noise_that_drowns_everything_is_told(sfumato, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))  # errors need no noise
    box = sf.Box({"age": (0, 110)})
    for neighbours in ("replace", "add-remove"):
        grant = sf.Privacy(epsilon=1e-4, neighbours=neighbours)
        sf.summarize(folder / "cohort.csv", box, grant, degree=3).save(tmp_path / "loud.sfumato")
        out = sfumato("answer", "loud.sfumato", "mean(age)").out
        assert "says nothing about it" in out and "not smooth enough" not in out
    # How many records there are is not known at all: the error is infinite, and JSON has no infinities.
    assert "error (95 %)   unknown" in out
    assert sfumato("answer", "loud.sfumato", "mean(age)", "--json").data["answers"][0]["error"] is None


@pytest.mark.parametrize(
    ("question", "reason", "at"),
    [
        ("mean(exp(-(agee-40)**2/200))", "unknown column 'agee'; did you mean 'age'?", 11),
        ("age.__class__", "unexpected '.'", 3),
        ("mean(age", "expected ')' or ','", 8),
        ("log(age)", "is not finite at age=0", 0),
        ('sex == "X"', "no category of sex", 7),
    ],
)
def test_what_is_wrong_is_pointed_at(sfumato, folder, question, reason, at):
    result = sfumato("answer", folder / "s.sfumato", "mean(age)", question)
    assert result.code == 2 and result.out == ""
    shown, carets, said = result.err.splitlines()
    assert shown == f"  {question}" and carets.index("^") == at + 2
    assert said.startswith(f"error: character {at + 1}: ") and reason in said
    data = sfumato("answer", folder / "s.sfumato", question, "--json")
    assert data.code == 2 and reason in json.loads(data.err)["error"]


def test_a_question_cannot_steer_a_terminal(sfumato, folder):
    result = sfumato("answer", folder / "s.sfumato", "age + \x1b[2J\nb")
    assert result.code == 2 and "\x1b" not in result.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("curve.sfumato", "age"), "a release of kind 'function', questions need a summary"),
        (("s.sfumato",), "Missing argument 'QUESTION'"),
        (("s.sfumato", "age", "--confidence", "2"), "--confidence must lie strictly between 0 and 1"),
        (("s.sfumato", "age", "--damping", "jackson"), "--damping must be one of 'none', 'balanced'"),
        (("s.sfumato", "a" * 3000), "at most 2,000 characters"),
    ],
)
def test_wrong_use(sfumato, folder, args, words):
    sfumato("answer", folder / args[0], *args[1:]).failed(2, words)


@pytest.mark.slow
def test_balanced_answers_are_about_few_columns(sfumato, tmp_path):
    box = sf.Box([(0, 1)] * 5)
    sf.summarize(np.zeros((50, 5)), box, sf.Privacy(epsilon=1.0), degree=2).save(tmp_path / "five.sfumato")
    assert sfumato("answer", "five.sfumato", "x0 + x1 + x2 + x3 + x4").code == 0
    asked = ("answer", "five.sfumato", "x0 + x1 + x2 + x3 + x4", "--damping", "balanced")
    sfumato(*asked).failed(2, "--damping balanced needs at most 4 columns, 'x0 + x1 + x2 + x3 + x4' has 5")


def test_a_question_may_begin_with_a_minus(sfumato, folder):
    data = sfumato("answer", folder / "s.sfumato", "--json", "--", "-age").data
    assert data["answers"][0]["value"] < 0


def test_files_that_are_none(sfumato, folder):
    sfumato("answer", folder / "nothing.sfumato", "age").failed(3, "there is no such file")
    sfumato("answer", folder / "cohort.csv", "age").failed(3, "not a sfumato release")


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [(46.26194, 1.08, "46.26"), (0.123456, 0.0213, "0.1235"), (1234.5, 300.0, "1234"), (1e12, 1.0, "1e+12")],
)
def test_digits_follow_the_error(value, error, words):
    assert rounded(value, error) == words


@pytest.mark.slow  # those of other commands start and end the same way
def test_a_process_of_its_own(shell, folder):
    result = shell("answer", folder / "s.sfumato", "mean(age)", "--json")
    assert result.returncode == 0 and result.stderr == "" and json.loads(result.stdout)["answers"]


@pytest.mark.parametrize("command", ["answer", "summarize"])
def test_help_has_examples(sfumato, command):
    result = sfumato(command, "--help")
    assert result.code == 0 and "Examples:" in result.out and f"sfumato {command} " in result.out
