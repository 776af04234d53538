"""The page about a naive Bayes classifier, and its card."""

import html
import io
import re

import pytest

import sfumato as sf
from sfumato.faces.bayes import NaiveBayesFace
from sfumato.faces.tested import PublicTest
from sfumato.pages import render
from unit.drawing.support import LINE, SEX, WARD, bayes
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
TESTED = PublicTest("open.csv", ("no", "yes"), ((50, 10), (5, 35)), 103)


@pytest.fixture(scope="module")
def release():
    return bayes({**LINE, **SEX, **WARD})


@pytest.fixture(scope="module")
def page(release):
    return render(release)


def test_what_a_page_says(page, release):
    text, share = words(page), 100 * NaiveBayesFace(release, 0.95).certain
    first = NaiveBayesFace(release).telling[0]
    for part in (
        "Naive Bayes classifier of ill from age, sex and ward",
        "Trained on private records, published once with noise.",
        f"Label certain on{share:.3g} % of the box",
        "it says which ill is to be expected (no, yes), and with what probability.",
        "that is what is naive about it",
        f"On {share:.3g} % of the box the label is certain:",
        "That is a share of the box, not of people",
        "no 50 % 2,000",
        "sex 2 categories, counted",
        f"{release.box.names[first.column]} density, bandwidth",
        f"{first.distance:.2f}",
        "It says nothing about causes.",
        "too sure of themselves where columns go together",
        "How often it is right is not known from the release",
        "A missing value or an undeclared category says nothing about the class",
        "How far apart the 95 % limits of a class&rsquo;s probability typically are",
        "labels, probabilities, this page",
        "counts and sums received noise of its own",
        "docs/proofs/naive-bayes.md",
        "sex categorical F, M",
    ):
        assert part in text, part
    assert "basis" not in text.partition("The rest")[2].partition("How to use it")[0]
    assert page.count("<svg") == 2 and 'aria-label="shares of the classes of ill' in page


def test_accuracy_on_public_records(release):
    text = words_of(release, tested=TESTED)
    assert "Of 100 public records in open.csv, 85 % get their own label." in text and "no 50 10 yes 5 35" in text
    assert "How often it is right is not known" not in text


def test_normal_likelihoods():
    text = words_of(bayes(likelihood="normal"))
    assert "age normal, from a mean and a deviation" in text and "lie alike" not in text


@pytest.mark.slow
def test_of_too_many_classes_the_largest_are_drawn():
    page = render(bayes(LINE, classes=tuple("abcdefg")))
    assert "the 6 largest of 7 classes" in page


@pytest.mark.slow
def test_many_columns_are_counted_not_named():
    assert "Naive Bayes classifier of ill from 7 columns" in words_of(
        bayes({f"x{i}": (0, 1) for i in range(7)}, count=200)
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_nothing_that_was_named_is_code_and_pages_are_valid(likelihood):
    html5lib = pytest.importorskip("html5lib")
    names = {EVIL: (0, 1), "$x\x00^{\\frac{$": sf.Categorical([EVIL, "b\u202e"])}
    release = bayes(names, classes=(EVIL, "$a_$"), likelihood=likelihood, response=EVIL + "y")
    tested = PublicTest(EVIL, release.classes, ((1, 0), (0, 1)), 2)
    page = render(release, name=EVIL, tested=tested)
    html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
    assert EVIL not in page and "&lt;script&gt;" in page and not re.search("[\x00\u202e]", page)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.slow
def test_the_code_on_the_page_runs(tmp_path, monkeypatch, release):
    release.save(tmp_path / "it's.sfumato")
    release.report(tmp_path / "it's.html")
    page = (tmp_path / "it's.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import sfumato.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(html.unescape(code), {})


def test_the_card(release):
    text = words(release._repr_html_())
    for part in (
        "naive Bayes classifier of ill from age, sex, ward",
        "ill: no, yes",
        "no: 2,000, yes: 2,000",
        "kernel",
    ):
        assert part in text, part
    assert EVIL not in bayes({EVIL: (0, 1)}, classes=(EVIL, "b"), response=EVIL + "y")._repr_html_()
