"""Questions as text: every word and rule of precedence, what is answered, and what is refused with a caret."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtr

import sfumato as sf
from sfumato.core import mechanism
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.expressions import ask, read
from sfumato.expressions import question as asking
from sfumato.expressions.grammar import STATISTICS, Parser
from sfumato.expressions.points import Written, look
from sfumato.expressions.tokens import LONGEST, tokens
from sfumato.expressions.tree import FUNCTIONS
from sfumato.releases.summary.answers import Answer

BOX = sf.Box(
    {
        "age": (0, 110),
        "bmi": (10, 60),
        "sex": sf.Categorical(("f", "m")),
        "stage": sf.Categorical((-1, 0, 2.5)),
        "blood pressure": (50, 200),
        "größe": (0, 3),
    }
)
SHAPE = (16, 8, 2, 3, 4, 4)
COLUMNS = {
    "age": np.array([0.0, 40.0, 110.0]),
    "bmi": np.array([10.0, 27.5, 60.0]),
    "sex": np.array([0.0, 1.0, 0.0]),
    "stage": np.array([-1.0, 0.0, 2.5]),
    "blood pressure": np.array([50.0, 120.0, 200.0]),
    "größe": np.array([0.0, 1.7, 3.0]),
}


def parsed(text):
    return Parser(text, BOX, SHAPE).question()


def value(text):
    """The values of the function that a mean is of, at three points."""
    name, (part,) = parsed(text)
    assert name == "mean"
    with np.errstate(all="ignore"):
        return np.broadcast_to(part.value(COLUMNS), (3,))


def python(text):
    """The same by Python itself; these texts are our own."""
    known = {name: function for name, function in vars(np).items() if name in FUNCTIONS}
    with np.errstate(all="ignore"):
        return np.broadcast_to(eval(text, {"__builtins__": {}}, {**known, **COLUMNS}), (3,))


def refused(text, words, at=None, call=parsed):
    """Refused with words and a caret; ``at`` is the character that the caret is under."""
    with pytest.raises(ParameterError) as caught:
        call(text)
    reason, shown, carets = str(caught.value).split("\n")
    assert words in reason, reason
    assert set(carets.strip()) == {"^"}
    if at is not None:
        assert reason.startswith(f"character {at + 1}: ")
        if len(text) < 40:
            assert len(carets) - len(carets.lstrip()) == at + 2
            assert shown[2:] == text.replace("\x00", "\ufffd")
    return reason


# --- words and precedence -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "age + bmi - 3",
        "age - bmi - 3",
        "age - (bmi - 3)",
        "age / bmi / 2",
        "age / (bmi / 2)",
        "age * bmi + 2",
        "2 + age * bmi",
        "(2 + age) * bmi",
        "age / 2 * bmi",
        "-bmi ** 2",
        "(-bmi) ** 2",
        "2 ** -bmi",
        "2 ** -bmi ** .5",
        "2 ** 3 ** 2 + age",
        "(2 ** 3) ** 2 + age",
        "--bmi",
        "-bmi * -2",
        "3 - -bmi",
        "bmi ** 2 * 3",
        "3 * bmi ** 2",
        "-bmi / 2 - -3 ** 2",
        "exp(-age / 50) * 2",
        "sin(age) ** 2 + cos(age) ** 2",
        "abs(30 - bmi) - tan(bmi) + tanh(bmi / 20)",
        "sqrt(bmi) + log(bmi)",
        "1 + age - 1 * 2 / 4 ** 2",
    ],
)
def test_precedence_is_that_of_python(text):
    np.testing.assert_allclose(value(text), python(text), rtol=1e-14)


@pytest.mark.parametrize("text", ["0", "12", "1.5", "1.", ".5", "1e3", "1E+3", "2.5e-3", ".5e1", "007", "0.0"])
def test_numbers(text):
    assert value(f"{text} + 0 * bmi") == pytest.approx([float(text)] * 3)


def test_functions_of_their_own():
    age = COLUMNS["age"]
    np.testing.assert_allclose(value("sigmoid(age - 40)"), expit(age - 40))
    np.testing.assert_allclose(value("logistic(age - 40)"), expit(age - 40))
    np.testing.assert_allclose(value("min(age, bmi, 20)"), np.minimum(np.minimum(age, COLUMNS["bmi"]), 20))
    np.testing.assert_allclose(value("max(age, bmi)"), np.maximum(age, COLUMNS["bmi"]))
    np.testing.assert_allclose(value("bump(age, 30 + 10, 2 * 5)"), np.exp(-(((age - 40) / 10) ** 2) / 2))
    for text, x in (("age", age), ("2 * age", 2 * age)):
        soft = ndtr((x - 30) / 7) * ndtr((50 - x) / 7)
        np.testing.assert_allclose(value(f"between({text}, 30, 50, 7)"), soft, atol=1e-15)


def test_edges_are_as_sharp_as_the_summary_and_none_at_the_bounds():
    age, soft = COLUMNS["age"], 55 * 4.0 / 16
    both = ndtr((age - 30) / soft) * ndtr((50 - age) / soft)
    np.testing.assert_allclose(value("between(age, 30, 50)"), both, atol=1e-15)
    np.testing.assert_allclose(value("between(age, 30, 110)"), ndtr((age - 30) / soft), atol=1e-15)
    np.testing.assert_allclose(value("between(age, -5, 50)"), ndtr((50 - age) / soft), atol=1e-15)
    np.testing.assert_allclose(value("between(age, 0, 110)"), np.ones(3))


def test_conditions_are_numbers_and_join_as_products():
    np.testing.assert_array_equal(value('sex == "f"'), [1, 0, 1])
    np.testing.assert_array_equal(value("sex != 'f'"), [0, 1, 0])
    np.testing.assert_array_equal(value('sex in ("f")'), [1, 0, 1])
    np.testing.assert_array_equal(value('sex in ("m", "f")'), [1, 1, 1])
    np.testing.assert_array_equal(value("stage == 2.5"), [0, 0, 1])
    np.testing.assert_array_equal(value("stage in (-1, 0)"), [1, 1, 0])
    np.testing.assert_array_equal(value("stage != -1"), [0, 1, 1])
    np.testing.assert_array_equal(value('(sex == "f") * age'), [0, 0, 110])
    np.testing.assert_array_equal(value('sex == "f" and stage == 2.5'), [0, 0, 1])
    np.testing.assert_array_equal(value("stage * 2"), [-2, 0, 5])
    np.testing.assert_allclose(
        value('sex == "f" and (bump(bmi, 30, 20) and sigmoid(age))'),
        [1, 0, 1] * np.exp(-(((COLUMNS["bmi"] - 30) / 20) ** 2) / 2) * expit(COLUMNS["age"]),
    )


def test_names_of_columns():
    np.testing.assert_array_equal(value("`blood pressure` + `age`"), [50, 160, 310])
    np.testing.assert_array_equal(value("größe"), COLUMNS["größe"])
    odd = sf.Box({"exp": (0, 1), "mean": (0, 1), "and": (0, 1)})
    _, (part,) = Parser("exp(exp) + mean + `and`", odd, (2, 2, 2)).question()
    assert part.value({"exp": 0.0, "mean": 1.0, "and": 2.0}) == 4.0


def test_spaces_do_not_matter():
    assert (value(" \n( age\t-\u00a040 )**2 ") == value("(age-40)**2")).all()


@pytest.mark.parametrize(("name", "many"), STATISTICS.items())
def test_statistics_stand_at_the_beginning(name, many):
    argument = 'sex == "f"' if name == "share" else "age"
    found, parts = parsed(f" {name} ({', '.join([argument] * many)})")
    assert found == name and len(parts) == many
    refused(f"{name}({', '.join([argument] * (many + 1))})", f"{name} takes {many} argument")
    refused(f"{name}({argument}", "expected ')'") if many == 1 else None
    refused(f"1 + {name}(age)", "is a whole question", 4)
    refused(f"{name}({', '.join([argument] * many)}) + 1", "expected the end of the question, got '+'")


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        ("", "got the end", 0),
        ("   ", "got the end", 3),
        ("()", "expected a number, a column, a function or '(', got ')'", 1),
        ("age +", "got the end", 5),
        ("+age", "got '+'", 0),
        ("age age", "expected the end of the question, got 'age'", 4),
        ("(age", "expected ')' to close a bracket, got the end", 4),
        ("age)", "expected the end", 3),
        ("exp()", "got ')'", 4),
        ("exp(age", "expected ')' or ','", 7),
        ("exp(age, 2)", "exp takes 1 argument, got 2", 0),
        ("min(age)", "min takes 2 to 20 arguments", 0),
        ("bump(age, 3)", "bump takes 3 arguments", 0),
        ("bump(age, bmi, 3)", "this must be a number, without columns", 10),
        ("bump(age, 3, 0)", "must be positive", 13),
        ("bump(age, 1/0, 1)", "no finite number", 10),
        ("between(age, 5)", "between takes 3 to 4 arguments", 0),
        ("between(age, 5, 4)", "must end above its beginning, got 5 to 4", 16),
        ("between(age, 4, 5, -1)", "must be positive", 19),
        ("between(age + 1, 4, 5)", "needs a softness", 8),
        ("agee", "unknown column 'agee'; did you mean 'age'?", 0),
        ("AGE", "did you mean 'age'?", 0),
        ("`blood presure`", "did you mean 'blood pressure'?", 0),
        ("zzz", "there are age, bmi, sex, stage", 0),
        ("expo(age)", "unknown function 'expo'; did you mean 'exp'?", 0),
        ("varience(age)", "did you mean 'variance'?", 0),
        ("var(age)", "it is called 'variance' here", 0),
        ("age(2)", "age is a column and cannot be called", 0),
        ("exp", "exp needs its arguments", 0),
        ("2age", "right after a number", 1),
        ("1.2.3", "one decimal point", 3),
        ("1e", "right after a number", 1),
        ("age > 3", "sharp", 4),
        ("3 <= age", "sharp", 2),
        ("age ^ 2", "x**2", 4),
        ("age = 2", "==", 4),
        ("age == 40", "only a column of categories", 0),
        ('2 * sex == "f"', "only a column of categories", 0),
        ("sex", "compare it, such as sex == \"f\"", 0),
        ("sex + 1", "holds categories", 0),
        ('sex == "g"', "'g' is no category of sex; there are 'f', 'm'", 7),
        ("sex == f", "expected a text in quotes", 7),
        ("sex == 1", "expected a text in quotes", 7),
        ('stage == "0"', "expected a number", 9),
        ("stage == 7", "no category of stage; there are -1, 0, 2.5", 9),
        ('sex == -"f"', "expected a text", 8),
        ("sex in f", "expected '(' and the categories", 7),
        ('sex in ("f"', "expected ')' after the categories", 11),
        ('age * "f"', "a text stands after ==", 6),
        ('sex == "f" and age', "'and' joins conditions, and this is a number", 15),
        ('age and sex == "f"', "'and' joins conditions", 0),
        ('sex == "f" or sex == "m"', "there is no 'or'", 11),
        ("not age", "got 'not'", 0),
        ("share(age)", "share needs conditions", 6),
        ("age ** 65", "between -64 and 64", 7),
        ("age ** -1e9", "between -64 and 64", 7),
        ("1e999", "too large", 0),
        ("9" * 400 + " + age", "too large", 0),
        ("'abc", "begins here and does not end", 0),
        ('sex == "f', "begins here and does not end", 7),
        ("`age", "begins here and does not end", 0),
    ],
)  # fmt: skip
def test_what_is_wrong_is_pointed_at(text, words, at):
    refused(text, words, at)


HOSTILE = [
    "age.__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "__import__('os').system('id')",
    "lambda: 3",
    "(lambda x: x)(age)",
    "import os",
    "exec('1')",
    "open('/etc/passwd')",
    "getattr(age, 'x')",
    "globals()",
    "f'{age}'",
    "[x for x in age]",
    "{age}",
    "age; bmi",
    "age\\",
    "age if 1 else bmi",
    "age := 3",
    "@age",
    "age # comment",
    "exp(x=age)",
    "exp(*age)",
    "exp(**age)",
    "1_000 + age",
    "0x10 + age",
    "1j * age",
    "9**9**9**9**9 + age",
    "2**64**64 + age",
    "(" * 100_0,
    "(" * 60 + "age" + ")" * 60,
    "-" * 60 + "age",
    "exp(" * 60 + "age" + ")" * 60,
    "2**" * 60 + "age",
    "age+" * 400 + "1",
    "age\x00",
    "\x00",
    "age\x1b[2J",
    "\ud800",
    "аge",  # a Cyrillic letter
    "ａｇｅ",  # wide letters
    "ехр(age)",
    "age − 3",  # a minus sign that is none
    "age × 3",
    "٣ + age",  # a digit, but not one of ours
    "age²",
    "“f”",
    "\N{ZERO WIDTH SPACE}age",
    "\N{RIGHT-TO-LEFT OVERRIDE}age",
    'sex == "f\n',
    "'" * 3,
    "``",
    "nan",
    "inf * age",
    "None",
    "True",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_with_a_caret(text):
    refused(text, "character ")


def test_letters_that_look_alike_are_told():
    assert "U+0430" in refused("аge", "did you mean 'age'?", 0)
    assert "U+0000" in refused("age\x00", "unexpected", 3)


def test_a_caret_stands_below_wide_letters_and_in_long_texts():
    with pytest.raises(ParameterError) as caught:
        parsed("'漢字' + age")
    assert str(caught.value).split("\n")[2] == "  ^^^^^^"
    with pytest.raises(ParameterError) as caught:
        parsed("age + " * 100 + "agee" + " + age" * 50)
    _, shown, carets = str(caught.value).split("\n")
    assert shown.startswith("  ...") and shown.endswith("...") and len(shown) < 120
    assert shown[carets.index("^") : carets.rindex("^") + 1] == "agee"


def test_a_question_is_a_text_of_some_length():
    with pytest.raises(ParameterTypeError, match="a question must be text"):
        tokens(3)
    with pytest.raises(ParameterError, match=f"at most {LONGEST:,} characters, got"):
        tokens("a" * (LONGEST + 1))
    refused("age +" * 390 + "1", "may have 400 parts")


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def records():
    generator = np.random.default_rng(3)
    age = generator.normal(45, 12, 4000).clip(5, 105)
    frame = {"age": age, "bmi": (generator.normal(22, 3, 4000) + 0.1 * age).clip(12, 58)}
    return pd.DataFrame(
        {**frame, "sex": generator.choice(["f", "m"], 4000), "stage": generator.choice([0, 1, 5], 4000)}
    )


@pytest.fixture(scope="module")
def summary(records):
    """A summary of these records without any noise: what is left is rounding, below a ten-thousandth."""
    box = sf.Box(
        {"age": (0, 110), "bmi": (10, 60), "sex": sf.Categorical(("f", "m")), "stage": sf.Categorical((0, 1, 5))}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
        return sf.summarize(records, box, sf.Privacy(epsilon=500.0), degree=20)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("age", lambda r: r.age.mean()),
        ("mean(age)", lambda r: r.age.mean()),
        ("mean(exp(-(age-40)**2/800))", lambda r: np.exp(-((r.age - 40) ** 2) / 800).mean()),
        ("bump(age, 40, 20)", lambda r: np.exp(-(((r.age - 40) / 20) ** 2) / 2).mean()),
        ("age * bmi / 100", lambda r: (r.age * r.bmi / 100).mean()),
        ("variance(age)", lambda r: r.age.var(ddof=0)),
        ("variance(age / 10 + 3)", lambda r: (r.age / 10).var(ddof=0)),
        ("variance(stage)", lambda r: r.stage.var(ddof=0)),
        ("sd(age)", lambda r: r.age.std(ddof=0)),
        ("sd(log(1 + bmi))", lambda r: np.log(1 + r.bmi).std(ddof=0)),
        ("covariance(age, bmi)", lambda r: np.cov(r.age, r.bmi, ddof=0)[0, 1]),
        ("covariance(age, age)", lambda r: r.age.var(ddof=0)),
        ("covariance(exp(age / 100), bmi)", lambda r: np.cov(np.exp(r.age / 100), r.bmi, ddof=0)[0, 1]),
        ("correlation(age, bmi)", lambda r: r.age.corr(r.bmi)),
        ("correlation(age ** 2, 3 - bmi)", lambda r: (r.age**2).corr(3 - r.bmi)),
        ('correlation(age, sex == "f")', lambda r: r.age.corr((r.sex == "f").astype(float))),
        ("correlation(age, age)", lambda r: 1.0),
        ('share(sex == "f")', lambda r: (r.sex == "f").mean()),
        ('share(sex != "f" and stage in (0, 5))', lambda r: ((r.sex == "m") & (r.stage != 1)).mean()),
        ('(sex == "f") * age', lambda r: ((r.sex == "f") * r.age).mean()),
        (
            'share(between(age, 30, 50, 20) and sex == "f")',
            lambda r: (ndtr((r.age - 30) / 20) * ndtr((50 - r.age) / 20) * (r.sex == "f")).mean(),
        ),
        (
            "share(bump(age, 50, 25) and bump(age, 40, 20))",
            lambda r: np.exp(-(((r.age - 50) / 25) ** 2) / 2 - ((r.age - 40) / 20) ** 2 / 2).mean(),
        ),
    ],
)
def test_answers_are_those_of_the_records(summary, records, text, truth):
    found, wanted = ask(summary, text), truth(records)
    assert isinstance(found, Answer) and found.confidence == 0.95
    assert found.value == pytest.approx(wanted, rel=5e-3, abs=1e-3)
    assert abs(found.value - wanted) <= found.error + 1e-4 * max(1, abs(wanted))
    assert 0 <= found.approximation <= found.error and found.noise_sd >= 0


@pytest.mark.parametrize(
    "text", ["age", "abs(age - 50)", "variance(age)", 'share(sex == "f" and between(age, 30, 50))']
)
def test_balanced_answers_are_no_worse(summary, text):
    plain, balanced = ask(summary, text), ask(summary, text, damping="balanced")
    assert abs(plain.value - balanced.value) <= plain.error + balanced.error
    assert balanced.error <= 1.1 * plain.error


def test_texts_and_functions_agree(summary):
    """The same questions by ``share`` and by ``answer``, whose default softness must be the same one."""
    for text, wanted in (
        ("between(age, 30, 50)", summary.share({"age": (30, 50)})),
        ('between(age, 30, 200) and sex == "f"', summary.share({"age": (30, None), "sex": "f"})),
    ):
        assert ask(summary, text) == wanted
        general = ask(summary, f"1 * ({text})")
        assert general.value == pytest.approx(wanted.value, abs=1e-9)
        assert general.noise_sd == pytest.approx(wanted.noise_sd, rel=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("plain", "general"),
    [
        ("variance(age)", "variance(1 * age)"),
        ("sd(age)", "sd(age + 0)"),
        ("covariance(age, bmi)", "covariance(age * 1, bmi)"),
        ("correlation(age, bmi)", "correlation(1 * age, bmi)"),
    ],
)
def test_plain_columns_and_expressions_agree(summary, plain, general):
    one, two = ask(summary, plain), ask(summary, general)
    assert two.value == pytest.approx(one.value, rel=1e-6)
    assert two.noise_sd == pytest.approx(one.noise_sd, rel=1e-6)
    assert two.error == pytest.approx(one.error, rel=0.05)  # both simulate noise, not with the same draws
    assert one.approximation == 0 and two.approximation < 1e-6


def test_only_the_columns_that_are_named_are_asked_for(summary, monkeypatch):
    asked = []
    many = sf.SummaryRelease.answer_many

    def spy(self, queries, *, columns=None, **settings):
        asked.append((columns, settings["confidence"]))
        return many(self, queries, columns=columns, **settings)

    monkeypatch.setattr(sf.SummaryRelease, "answer_many", spy)
    ask(summary, "mean(bmi * exp(age / 100) + 0 * bmi)", confidence=0.9)
    assert asked == [(("age", "bmi"), 0.9)]  # in the order of the box
    assert read("stage * 2", summary).columns == ("stage",)


@pytest.mark.slow
def test_limits_cover_more_with_more_confidence(summary):
    for text in ("sd(1 * age)", "correlation(1 * age, bmi)", "mean(exp(age / 100))"):
        low, high = (ask(summary, text, confidence=c).error for c in (0.5, 0.99))
        assert low < high
    with pytest.raises(ParameterError, match="confidence"):
        ask(summary, "age", confidence=1.0)
    with pytest.raises(ParameterError, match="damping"):
        ask(summary, "exp(age)", damping="strong")


def test_what_is_not_smooth_says_so(summary):
    sharp = ask(summary, "abs(sin(age))")
    assert sharp.approximation > sharp.error / 2
    assert ask(summary, "bump(age, 40, 25)").approximation < 1e-3


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        ("log(age)", "log(age) is not finite at age=0, and that is inside the box", 0),
        ("1 + sqrt(bmi - 30)", "sqrt(bmi - 30) is not finite at bmi=10", 4),
        ("bmi / age", "bmi / age is not finite at age=0", 0),
        ("2 * 1 / (age - 40)", "a division by zero near age=39.9", 8),
        ("(bmi - 30.123) ** -1", "a division by zero near bmi=30.1", 0),
        ("exp(exp(age))", "exp(exp(age)) is not finite at age=", 0),
        ("exp(exp(age)) * bmi", "exp(exp(age)) is not finite at age=", 0),
        ("1e90 * exp(age)", "larger than 1e+100 in size at age=", 0),
        ('log(sex == "m")', "is not finite at sex='f'", 0),
        ("1 / (stage - 1)", "is not finite at stage=1", 0),
        ("variance(log(age))", "log(age) is not finite", 9),
        ("correlation(age, 3 + 0 * age)", "a constant has no correlation", 17),
        ("3 + 4", "names no column", 0),
    ],
)
def test_what_is_not_finite_in_the_box_is_pointed_at(summary, text, words, at):
    refused(text, words, at, lambda question: ask(summary, question))


def test_a_jump_over_zero_is_no_division_by_it(summary):
    assert ask(summary, '1 / ((sex == "f") - 0.5)').error < 1
    assert ask(summary, "1 / (bmi - 5)").value == pytest.approx(1 / 21.5, rel=0.2)


def test_many_columns_are_looked_at_along_lines():
    box, text = sf.Box({f"x{i}": (0, 1) for i in range(6)}), "x0 + x1 + x2 + x3 + x4 + log(x5)"
    (part,) = Parser(text, box, (2,) * 6).question()[1]
    with pytest.raises(ParameterError, match=r"log\(x5\) is not finite at .*x5=0"):
        look(Written(part, box.names, text, box))


def test_negative_variances_have_no_correlation():
    """Noise may make a variance negative: then nothing is known."""
    value, error = asking.correlated(np.array([1.0, -2.0, 3.0]), np.array([0.5, 3.0, 1.0]))
    assert value == 0 and error == 1
    value, error = asking.correlated(np.array([1.0, 2.0, 2.0]), np.array([0.1, 0.2, 0.2]))
    assert value == pytest.approx(0.5) and error == pytest.approx(1.1 / 1.8 - 0.5)
    low = asking.root(Answer(4.0, 5.0, 1.0, 0.0, 0.95))
    assert (low.value, low.error, low.noise_sd) == (2.0, 2.0, 0.25)
    assert asking.root(Answer(0.0, 4.0, 1.0, 0.0, 0.95)).noise_sd == math.inf
