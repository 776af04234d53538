"""Pages and cards of what people's devices reported."""

import re

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.pages import card, render
from unit.drawing.test_collected import WARD, YESNO, density, marginals, summary
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"


MADE = {
    "line": (lambda: density(1), ["Density of age", "piecewise linear between 5 lattice points", "release.band("]),
    "plane": (lambda: density(2), ["Density of age and bmi", "5 x 5 lattice points", "the number of a public set"]),
    "space": (lambda: density(3, 3), ["Density of age, bmi and hour", "3 x 3 x 3"]),
    "tables": (
        marginals,
        ["Tables of ill and ward", "cardiology", "at most", "towards independence", "release.table("],
    ),
    "summary": (summary, ["Summary of age and ward", "cosine moments", "release.mean('age')"]),
    "groups": (lambda: summary({"ward": WARD, "ill": YESNO}), ["Summary of ward and ill", "release.share("]),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MADE)
def test_what_a_page_says(name, tmp_path):
    make, told = MADE[name]
    release = make()
    release.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    text = words(page).replace("&#39;", "'")
    for word in (
        *told,
        "nobody had to be trusted",
        "nobody (local model)",
        "Collected from 3,000 reports",
        "7.39 times",  # e**2, rounded up
        "k reports of one person promise",
        "sf.load('page.sfumato')",
    ):
        assert word in text, word
    assert page.count("<svg") == 2 and "<script" not in page
    assert not re.search(r"\b(None|nan|inf)\b", text)


def test_a_page_needs_a_confidence_between_zero_and_one():
    with pytest.raises(ParameterError, match="confidence"):
        render(density(1), confidence=1.0)


def test_the_limits_on_a_page_are_those_of_its_confidence():
    release = marginals()
    row = re.search(r"ill no ([\d.]+) % ([\d.]+) % ([\d.]+) %", words_of(release, confidence=0.5))
    low, high = release.band("ill", 0.5)
    found = [float(number) / 100 for number in row.groups()]
    assert found == pytest.approx([release.table("ill")[0], low[0], high[0]], abs=1e-3)


def test_names_cannot_do_harm():
    release = marginals({EVIL: YESNO, "ward": sf.Categorical(["a", EVIL])})
    for page in (render(release), card(release)):
        assert EVIL not in page


@pytest.mark.parametrize("name", MADE)
def test_what_a_card_says(name):
    release = MADE[name][0]()
    text = words(release._repr_html_()).replace("&#x27;", "'")
    assert text == words(card(release)).replace("&#x27;", "'")
    for word in (
        "2-differential privacy",
        "local model",
        "nobody: every report was randomised",
        "3,000",
        *release.box.names,
    ):
        assert word in text, word


def test_a_card_of_many_columns_is_short():
    text = words(card(marginals({f"q{j}": YESNO for j in range(12)})))
    assert "and 6 more columns" in text and "q11" not in text
