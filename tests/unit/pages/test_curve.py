"""The page about a regression curve, and its card."""

import html
import io
import re

import pytest

from sfumato.faces.curve import CurveOnGrid, overall
from sfumato.pages import render
from unit.drawing.support import LINE, PLANE, SPACE, curve
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page():
    return render(curve(LINE, least=0.3, most=0.7))


def test_what_a_page_says(page):
    text, release = words(page), curve(LINE, least=0.3, most=0.7)
    seen = CurveOnGrid.of(release, 0.95)
    for part in (
        "Regression of bp on age",
        "How a mean changes with age in private records, published once with noise.",
        f"Band typically within&plusmn;&thinsp;{seen.typical():.3g}",
        "the mean bp of the private records near it",
        "range of bp 60 to 220; records outside were moved to its ends",
        "bandwidth 8.8",
        "of 20,000 rows (public)",
        "records without a response, or with a missing value, count for nothing",
        f"mean of all {overall(release):.4g}",
        f"lowest mean {seen.ends()[0][0]:.4g}, at age {seen.ends()[0][1][0]:.3g}",
        f"highest mean {seen.ends()[1][0]:.4g}, at age {seen.ends()[1][1][0]:.3g}",
        f"Something is known on {100 * seen.known():.3g} % of the box.",
        "Binning(points=16), for the density of the records:",
        "It says nothing about causes, and little about any single record.",
        "it leans towards the mean of all",
        "How far the 95 % bands reach from the curve, each holding at 101 points of the box at once",
        f"total (drawn) {seen.typical():.3g} {100 * seen.known():.3g} % of the box",
        "No band here speaks of sampling or of the blur",
        "docs/proofs/nadaraya-watson.md",
        "received noise of its own from a Laplace (double exponential) law",
        ", in records.",
    ):
        assert part in text, part
    assert "kernel density estimate of the records" not in text and "public test" not in text
    assert page.count("<svg") == 2 and 'aria-label="regression of bp over age' in page


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("release", "said"),
    [
        (curve(LINE), "The line is the release: the mean bp of the records near each point."),
        (curve(PLANE), "Darker means a higher mean."),
        (curve(SPACE), "Along each column, while the others stay at their most frequent values."),
    ],
)
def test_captions(release, said):
    assert said in words_of(release)


def test_where_everything_is_known_nothing_is_said_of_it():
    assert "Something is known on" not in words_of(curve(LINE))


def test_where_nothing_is_known_the_page_warns():
    text = words_of(curve(LINE, count=20, epsilon=0.01))
    assert "Bandsays nothing anywhere" in text and "The band says nothing anywhere." in text
    assert "total (drawn) \N{EN DASH} 0 % of the box" in text


def test_a_private_number_of_rows_is_not_told():
    assert "rows (public)" not in words_of(curve(LINE, rows=False))


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_nothing_that_was_named_is_code_and_pages_are_valid(columns):
    html5lib = pytest.importorskip("html5lib")
    names = dict.fromkeys((EVIL, "$x^{\\frac{$", "b\x00\u202e")[:columns], (0, 1))
    page = render(curve(names, response=EVIL + "y"), name=EVIL)
    html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
    assert EVIL not in page and "&lt;script&gt;" in page and not re.search("[\x00\u202e]", page)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [LINE, PLANE])
def test_the_code_on_the_page_runs(tmp_path, monkeypatch, columns):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    release = curve(columns)
    release.save(tmp_path / "it's.sfumato")
    release.report(tmp_path / "it's.html")
    page = (tmp_path / "it's.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import sfumato.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(html.unescape(code), {})
    matplotlib.pyplot.close("all")


def test_the_card():
    text = words(curve(PLANE)._repr_html_())
    for part in (
        "regression of bp on age, bmi",
        "the mean of bp, 60 to 220",
        "14.3, 7",
        "144 coefficients",
        "20,000",
        "140",
    ):
        assert part in text, part
    assert EVIL not in curve({EVIL: (0, 1)}, response=EVIL + "y")._repr_html_()
