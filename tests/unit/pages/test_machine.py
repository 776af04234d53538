"""The page about a learner, and its card."""

import html
import io
import re
from dataclasses import replace

import pytest

import sfumato as sf
from sfumato.faces import face_of
from sfumato.faces.tested import PublicTest
from sfumato.pages import card, render, write
from unit.drawing.support import LINE, PLANE, SPACE, machine
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
LINEAR = sf.LinearKernel()
TESTED = PublicTest("open.csv", ("no", "yes"), ((50, 10), (5, 35)), 103)


@pytest.fixture(scope="module")
def page():
    return render(machine(PLANE), tested=TESTED)


def test_what_a_page_says(page):
    text = words(page)
    share = 100 * machine(PLANE).certain_share()
    for part in (
        "Classifier of disease from age and bmi",
        "Trained on private records, published once with noise.",
        f"Label certain on{share:.3g} % of the box",
        "it says which disease is to be expected: no, yes.",
        f"On {share:.3g} % of the box the label is certain:",
        "That is a share of the box, not of people.",
        "noise was added once to what was learned",
        "Its sign is the label: positive for yes, otherwise no.",
        "loss logistic",
        "kernel RBF(gamma=2.0), on columns in box widths",
        "250.0 (scikit-learn&rsquo;s C multiplies the sum of losses",
        "noise in the output, on what was learned",
        "It is not certain to be right",
        "says nothing about causes",
        "nobody has calibrated them",
        "Half-width of the 95 % band of the decision function",
        "features 9 whitened directions at 9 public landmarks",
        "What is promised",
        "docs/proofs/regularised-erm.md",
        "How to use it",
    ):
        assert part in text, part
    assert "limits of certainty are wide" not in text and "density estimate" not in text
    assert page.count("<svg") == 2 and 'aria-label="classifier of disease over age and bmi' in page


def test_accuracy_on_public_records(page):
    text = words(page)
    assert "Of 100 public records in open.csv, 85 % get their own label." in text
    assert "Whoever always says no, the most frequent label there, is right for 60 %." in text
    assert "3 further records have no declared label or a missing value." in text
    assert "no 50 10 yes 5 35" in text
    assert "These counts carry no noise." in text and "must be public" in text
    assert "How often it is right is not known" not in text
    plain = words_of(machine(SPACE, kernel=LINEAR))
    assert "How often it is right is not known from the release" in plain and "On public records" not in plain


def test_a_test_without_labels_says_nothing():
    empty = PublicTest("open.csv", ("no", "yes"), ((0, 0), (0, 0)), 4)
    assert empty.accuracy is None and empty.left_out == 4
    assert "has no complete record with a declared label" in words_of(machine(LINE), tested=empty)


def test_tests_are_counted():
    assert (TESTED.used, TESTED.left_out, TESTED.majority) == (100, 3, 0)
    assert TESTED.accuracy == 0.85 and TESTED.baseline == 0.6


def test_objective_noise_is_said_to_have_wide_limits():
    release = machine(SPACE, kernel=LINEAR, objective=40.0)
    text = words_of(release)
    inside = release.handed.objective
    assert "The limits of certainty are wide." in text
    assert "cannot be said without looking at the data again" in text
    assert "divided by the strength of the regularisation" in text
    assert "Noise went in twice." in text
    assert f"with a confidence of 95 % is {inside.radius(0.95):.3g}" in text
    assert "losses whose slope is at most 1 and whose second derivative is at most 0.25" in text
    assert "It pays with &epsilon; = 1 of the promise" in text and "noise in the objective K-norm, L2, scale" in text
    assert "docs/proofs/objective.md" in text and "what a solver leaves open" in text
    assert "noise in the objective, before the best fit was sought" in text


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (machine(LINE), "where it is above zero the label is yes, elsewhere no"),
        (machine(LINE, classes=("a", "b", "c")), "There is one line for each label; the highest one wins."),
        (
            machine(SPACE),
            "while the others stay in the middle of the box, or at their first category.",
        ),
        (machine(SPACE, kernel=LINEAR), "whiskers say how far noise can have moved each"),
        (machine(LINE, range=(60, 220), loss="huber"), "The line is the prediction."),
        (machine(PLANE, range=(60, 220), loss="huber"), "The prediction, and how far its band reaches"),
    ],
)
def test_captions(release, said):
    assert said in words_of(release)


def test_slopes_are_listed():
    release = machine(SPACE, kernel=LINEAR, weights=[[1.5, -0.25, 0.0, 0.0]])
    text = words_of(release)
    reach = face_of(release, 0.95).page()["machine"]["slopes"]["rows"][0]["reach"]
    assert f"age 1.5 {reach} bmi \N{MINUS SIGN}0.25 {reach}" in text
    several = words_of(machine(SPACE, kernel=LINEAR, classes=("a", "b", "c")))
    assert "column a b c noise within" in several


def test_a_regression():
    text = words_of(machine(SPACE, kernel=LINEAR, range=(60, 220), loss="huber"))
    assert "Regression of value from age, bmi and systolic" in text
    assert "it predicts value, a number from 60 to 220." in text
    assert "Noise typically within" in text and "Label certain" not in text and "is certain:" not in text
    assert "undeclared response" in text


def test_a_regression_is_drawn():
    assert render(machine(PLANE, range=(60, 220), loss="huber")).count("<svg") == 2


def test_what_has_no_picture_says_so():
    many = render(machine(LINE, classes=tuple("abcdefg")))
    assert "<svg" not in many and "too many labels for one, or its kernel is not in the file" in words(many)
    release = machine(PLANE)
    features = replace(release.handed.features, kernel=None)
    lost = replace(release, handed=replace(release.handed, features=features))
    assert face_of(lost, 0.95).certain is None
    assert "Label certain" not in words_of(lost)


def test_many_columns_are_counted_not_named():
    columns = {f"x{i}": (0, 1) for i in range(9)}
    assert "Classifier of disease from 9 columns" in words_of(machine(columns, kernel=LINEAR))


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("kernel", [None, LINEAR])
def test_nothing_that_was_named_is_code_and_pages_are_valid(columns, kernel):
    html5lib = pytest.importorskip("html5lib")
    names = dict.fromkeys((EVIL, "$x^{\\frac{$", "b\x00\u202e")[:columns], (0, 1))
    release = machine(names, kernel=kernel, classes=(EVIL, "$a_$"))
    tested = PublicTest(EVIL, release.classes, ((1, 0), (0, 1)), 2)
    page = render(release, name=EVIL, tested=tested)
    html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
    assert EVIL not in page and "&lt;script&gt;" in page and not re.search("[\x00\u202e]", page)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", [{}, {"range": (0, 1), "loss": "huber"}, {"loss": "hinge"}])
def test_the_code_on_the_page_runs(tmp_path, monkeypatch, settings):
    release = machine(SPACE, kernel=LINEAR, **settings)
    release.save(tmp_path / "it's.sfumato")
    release.report(tmp_path / "it's.html")
    page = (tmp_path / "it's.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import sfumato.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(html.unescape(code), {})


def test_a_report_with_a_test_is_written(tmp_path):
    write(machine(SPACE, kernel=LINEAR), tmp_path / "x.html", tested=TESTED)
    assert "open.csv" in (tmp_path / "x.html").read_text("utf-8")


def test_the_card():
    text = words(machine(PLANE)._repr_html_())
    for part in (
        "classifier of disease from age, bmi",
        "disease: no, yes",
        "logistic, RBF(gamma=2.0)",
        "in the output",
    ):
        assert part in text
    assert "250.0 times the mean loss" in text and "9 coefficients" in text
    assert "regression of value" in card(machine(LINE, range=(0, 1)))
    assert EVIL not in card(machine({EVIL: (0, 1)}, classes=(EVIL, "b")))
