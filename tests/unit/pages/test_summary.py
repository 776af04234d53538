"""The page about a summary, and its card."""

import html
import io
import re

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces.words import above, readable
from sfumato.pages import render
from sfumato.releases.summary.quality import errors_by_width, share_error
from unit.drawing.summary_support import LINE, MIXED, PLANE, SEX, WARD, summary
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def release():
    return summary(MIXED, 8, 2, count=100_000)


@pytest.fixture(scope="module")
def page(release):
    return render(release)


def test_what_a_page_says(page, release):
    text = words(page)
    for part in (
        "Summary for smooth questions of age, bmi, sex and ward",
        "A summary of private records, published once with noise",
        f"moments {release.indices.size:,}",
        "8 along a numeric column, as many as it has categories along a categorical one",
        "products those of at most two columns at a time",
        "records 100,000 (public)",
        "missing values spread over their column",
        "A share among 100,000 people drawn at random is off by up to 0.32 points by chance alone.",
        "Questions about more than two columns at once: the summary has no moments for them.",
        "share of two categories at once, as of sex and ward",
        "Medians, quantiles, smallest and largest values",
        "every answer, models that are fitted to it, this page",
        "docs/proofs/moments.md",
        "Not charged to a ledger.",
        "one row is replaced",
        "Differentially Private Data Releasing for Smooth Queries",
        "sums received one random vector",
        "sex categorical F, M",
    ):
        assert part in text, part
    assert "Bernstein" not in text and "function is right" not in text
    assert page.count("<svg") == 2 and 'aria-label="densities of the numeric columns, shares of categories' in page
    assert "<script" not in page and "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def points(error):
    return str(above(100 * error, 2)) if error < 1 else "100"


def test_numbers_are_those_of_the_release(page, release):
    text = words(page)
    means, variances = release.mean(), release.variance()
    for i, name in enumerate(("age", "bmi")):
        assert f"{name} {readable(means.value[i], 4)} {above(means.error[i], 2)} " in text
        assert f" {readable(variances.value[i], 4)} {above(variances.error[i], 2)} " in text
    one, two = errors_by_width(release, [0]), errors_by_width(release, [0, 1])
    for width in (0.1, 0.2, 0.5):
        noise, missed, total = one.at(width)
        missed = points(missed) if missed > 5e-5 else "0"
        assert f"{100 * width:g} % {points(noise)} {missed} {points(total)} " in text
        assert f" {points(two.at(width)[2])} " in text
    assert f"as of ward {points(share_error(release, [3])[0])} points" in text
    assert f"one {100 * one.narrowest():g} % {100 * one.narrowest(0.05):g} %" in text
    assert f"two {100 * two.narrowest():g} % {100 * two.narrowest(0.05):g} %" in text
    assert f"{points(one.at(0.2)[2])} points" in text.partition("Bump of 20 % of a column")[2][:40]


def test_noise_beside_sampling():
    assert "The noise is below what sampling leaves uncertain." in words_of(summary(LINE, 8))
    assert "The noise is above what sampling leaves uncertain." in words_of(summary(LINE, 8, count=100))


def test_more_confidence_means_larger_errors():
    release = summary(LINE, 8)
    sure = release.mean("age", 0.99).error
    text = words_of(release, confidence=0.99)
    assert f"{readable(release.mean('age').value, 4)} {above(sure, 2)}" in text and "confidence of 99 %" in text


@pytest.mark.slow
def test_many_columns_are_summarised():
    release = summary({f"x{i}": (0, 1) for i in range(40)}, 3, 2, count=200, delta=1e-6)
    text = words_of(release)
    assert "Summary for smooth questions of 40 columns" in text and "And 28 more columns" in text
    assert "x11 " in text and "x12" not in text and "and 28 more" in text and "(the first 12)" in text
    card = words(release._repr_html_())
    assert "40 columns" in card and "x12" not in card


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("columns", "degree", "interactions", "told"),
    [
        (PLANE, 6, "full", "products all those of the 2 columns"),
        (PLANE, 6, "cross", "multiply to at most 6 (hyperbolic cross)"),
        (PLANE, 6, 1, "those of at most one column at a time"),
        (PLANE, (6, 9), "full", "6 to 9 along a numeric column"),
    ],
)
def test_which_products_there_are(columns, degree, interactions, told):
    text = words_of(summary(columns, degree, interactions))
    assert told in text
    assert ("more than one column at once" in text) is (interactions == 1)
    assert ("no moments for it" in text) is (interactions == 1)


def test_one_column_has_no_products():
    text = words_of(summary(LINE, 8))
    assert "products" not in text.partition("What was published")[2].partition("records")[0].replace(
        "their products", ""
    )
    assert "two columns" not in text and "Questions about more than" not in text


def test_a_low_degree_has_no_variances():
    means = summary(PLANE, 2, "full").mean()
    text = words_of(summary(PLANE, 2, "full"))
    assert f"age {readable(means.value[0], 4)} {above(means.error[0], 2)} \N{EN DASH} " in text
    assert 5 * "\N{EN DASH} " + "none" in words_of(summary({**LINE, **SEX}, (1, 2)))


def test_only_categories():
    text = words_of(summary(WARD))
    assert "Share of a category" in text and "bump" not in text and "were moved to them" not in text
    assert "categories that were not declared count as missing" in text


def test_a_private_number_of_records():
    text = words_of(summary({**LINE, **SEX}, 8, neighbours="add-remove"))
    assert "records private; about 20,000, with noise" in text and "which is itself noisy" in text
    nothing = words_of(summary(LINE, 8, count=2, neighbours="add-remove", epsilon=0.01))
    assert "The noise hides everything." in nothing and "unbounded" in nothing and "one none none none none" in nothing


def test_circles_are_cut_open():
    text = words_of(summary({"hour": sf.Periodic(0, 24)}, 8))
    assert "hour: the two ends of a column that goes round in a circle count as far apart here." in text


def test_nothing_that_was_named_is_code_and_pages_are_valid():
    html5lib = pytest.importorskip("html5lib")
    names = {EVIL: (0, 1), "$x^{\\frac{$": sf.Categorical([EVIL, "b\u202e"]), "b\x00\u202e": sf.Periodic(0, 1)}
    page = render(summary(names, 4), name=EVIL)
    html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
    assert EVIL not in page and "&lt;script&gt;" in page and not re.search("[\x00\u202e]", page)
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [MIXED, WARD])
def test_the_code_on_the_page_runs(tmp_path, monkeypatch, columns):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    release = summary(columns, 4)
    release.save(tmp_path / "it's.sfumato")
    release.report(tmp_path / "it's.html")
    page = (tmp_path / "it's.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import numpy.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(html.unescape(code), found)
    assert np.isfinite(found["summary"].moments).all()
    matplotlib.pyplot.close("all")


def test_the_card(release):
    text, found = words(release._repr_html_()), errors_by_width(release, [0]).narrowest()
    for part in (
        "summary for smooth questions of age, bmi, sex, ward",
        f"{release.indices.size:,}: 8 along a numeric column",
        "100,000",
        f"of one column: from a width of {100 * found:g} % on; two at once: from a width of",
    ):
        assert part in text, part
    assert "of one column: none" in words(summary(LINE, 3, count=50)._repr_html_())
    assert "bumps" not in words(summary(WARD)._repr_html_())
    assert EVIL not in summary({EVIL: sf.Categorical([EVIL, "b"])})._repr_html_()
