"""Pages and cards of statistics, and of everything that rests on a sampled sensitivity."""

import re
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.quantiles import Grid, Quantiles
from sfumato.bases.statistics.sums import Given
from sfumato.pages import card, render
from unit.drawing.support import PLANE, SEX, WARD, sampled_certificate, statistic
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
WARNING = "Random differential privacy, not differential privacy."


def own(**more):
    """A statistic on a sampled certificate."""
    return statistic("own", certificate=sampled_certificate(0.1), **more)


# --- pages ------------------------------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("what", "columns", "told"),
    [
        ("count", None, ["Number of records with age", "between"]),
        ("sum", PLANE, ["Sum of age and bmi", "44,000", "Limits hold for all values at once"]),
        ("mean", None, ["Mean of age", "60.50 between", "confidence of at least 95 %"]),
        ("covariance", PLANE, ["Covariance of age and bmi", "with column"]),
        ("proportions", {**SEX, **WARD}, ["Proportions of sex and ward", "F cardiology", "in records"]),
        ("histogram", None, ["Histogram of age", "0 to 11", "99 to 110"]),
        (
            "tree",
            None,
            ["read from counts of records in public cells", "on 236 counts", "in records"],
        ),
        ("several", None, ["Caller's own statistic of age", "procedure of the caller", "numbers received"]),
        ("own", None, ["One number received noise"]),
    ],
)
def test_what_a_page_says(what, columns, told):
    page = render(statistic(what, columns))
    text = words(page)
    for word in told:
        assert word in text.replace("&#39;", "'"), word
    assert page.count("<svg") == 2 and "records in the data 1,000 (public)" in text
    assert not re.search(r"\b(None|nan|inf)\b", text.replace("range=None", "")) and "release.interval(0.95)" in text
    assert "Random differential" not in text and "alda2017bernstein" not in text
    assert ("missing value count for nothing" in text) == (what not in ("own", "several"))


def test_limits_on_a_page_are_rounded_outwards():
    release = statistic("mean")
    low, high = release.interval(0.9)
    text = words_of(release, confidence=0.9)
    told = re.search(r"between ([\d.]+) and ([\d.]+) with a confidence of at least 90 %", text)
    assert float(told[1]) <= low <= high <= float(told[2])
    assert low - 0.02 < float(told[1]) and float(told[2]) < high + 0.02


def test_what_is_chosen_has_no_noise():
    text = words_of(statistic("median"))
    for told in (
        "published once with a random choice",
        "40.00 with no limits closer than the bounds of the column",
        "chosen from 11,001 values, 0 to 110 in steps of 0.01",
        "chosen by permute-and-flip, 1 choice from one budget",
        "The choice was made random enough for this bound",
        "measured as change of the rank of any candidate, in records at most 1 when one row is replaced",
        "noise none: chosen by permute-and-flip",
        "docs/proofs/statistics.md",
    ):
        assert told in text, told
    assert "received noise" not in text and "grid step" not in text
    paid = Quantiles("quantiles", (0.25, 0.75), Grid(0, 111, 0), True, 0.1, 0.4)
    text = words_of(statistic(paid, numbers=[40, 60, 30, 50, 55, 70]))
    assert "6 choices from one budget (40 % of it for the limits)" in text and "nothing closer is known" not in text


def test_bounds_have_no_limits():
    text = words_of(statistic("bounds"))
    assert "Bounds16 to 128" in text and "There are no limits: the bounds are cautious by themselves." in text
    assert "counts as filled from 24 on" in text and "low, high = release.value # for a box" in text


def test_a_table_along_three_columns_has_no_picture_and_long_ones_are_cut():
    text = words_of(statistic("histogram", {**PLANE, **SEX}))
    assert "There is no picture: this statistic is along 3 columns" in text
    cube = words_of(statistic("histogram", {**PLANE, "hour": (0, 24)}))
    assert "And 800 more, which are in the file." in cube


def test_persons_and_private_numbers_of_records():
    release = statistic("median", rows=None)
    promise = replace(release.guarantee, unit=sf.Person("id", 3), neighbours="add-remove")
    text = words_of(replace(release, guarantee=promise))
    assert "records in the data private" in text and "at most 3 when one person is added or removed" in text


def test_nothing_that_was_named_is_code():
    wild = {EVIL: sf.Categorical([EVIL, "b"])}
    pages = [render(statistic("proportions", wild)), card(statistic("proportions", wild))]
    oracle = replace(sf.oracles.gaussian(), name=EVIL)
    release = statistic("own", certificate=sampled_certificate(oracle=oracle))
    pages += [render(release), card(release)]
    for page in pages:
        assert EVIL not in page and "&lt;script&gt;" in page


# --- random differential privacy --------------------------------------------------------------------------------


def test_a_page_warns_before_it_says_anything_else():
    page = render(own())
    text = words(page)
    assert text.index(WARNING) < text.index("Promise random") < text.index("What was published")
    box = words(page[page.index('class="callout random"') : page.index('class="strip"')])
    assert "gamma 0.1 rule exchangeable: distance 9 of 9 pairs of tables of 5 records" in box
    assert "oracle Gaussian of mean 0.0 and deviation 1.0" in box
    for told in (
        "This is random differential privacy, a weaker promise.",
        "For example, where the promise holds:",
        "Where it holds, it holds against everybody",
        "sampled, not proved: estimated with confidence 0.9, gamma 0.1",
        "rubinstein2017sampler",
        "docs/proofs/sampler.md",
    ):
        assert told in text, told
    assert page.count("var(--warn)") > 2  # the warning in both drawings too


def test_a_random_function_warns_in_the_same_way():
    box, basis = sf.Box([(0, 110)]), sf.Bernstein(3)

    def fit(data):
        return lambda points: points[:, 0] * np.mean(data)

    settings = {"n": 20, "gamma": 0.05, "rule": "pac", "box": box, "basis": basis, "seed": 1}
    certificate = sf.sample_sensitivity(fit, sf.oracles.uniform(box), progress=False, **settings)
    privacy = sf.Privacy(epsilon=1.0, gamma=0.05)
    release = sf.release(sf.BlackBox(fit, certificate), np.full((20, 1), 40.0), box, privacy, basis=basis)
    for page in (render(release), card(release)):
        text = words(page)
        assert "Random differential privacy, not differential privacy" in text and "gamma 0.05" in text
        assert "pac: distance 90 of 90 pairs" in text and "uniform on Box" in text


def test_a_file_that_does_not_tell_how_it_was_sampled():
    release = own()
    vague = replace(release, guarantee=replace(release.guarantee, assumptions=("trust me",)))
    assert "gamma 0.1 rule not told oracle not told" in words_of(vague)
    assert "rule not told; oracle: not told" in words(card(vague))


# --- cards ------------------------------------------------------------------------------------------------------


def test_cards_show_values_and_limits():
    text = words(card(statistic("mean")))
    assert "mean of age" in text and "value (95 % limits)60.50 (" in text and "Laplace, scale 2" in text
    assert "not differential privacy" not in text
    assert "and 4 more" in words(card(statistic("histogram")))
    assert "none: chosen by permute-and-flip from 11,001 values" in words(card(statistic("median")))
    assert "low: 16; high: 128" in words(card(statistic("bounds")))


def test_cards_of_random_promises_warn():
    page = own()._repr_html_()
    text = words(page)
    assert text.index("Random differential privacy, not differential privacy") < text.index("guarantee")
    assert "gamma 0.1; rule exchangeable: distance 9 of 9 pairs" in text and "oracle: Gaussian" in text


def test_writing_a_page(tmp_path):
    statistic(Given(3, (0.0, 1.0))).report(tmp_path / "own.html")
    page = (tmp_path / "own.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and not re.search(r"<script|<link|src=|https?://(?!www\.w3\.org)", page)
