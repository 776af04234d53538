"""The HTML page about a release: what it says, that nothing on it is code, and how it is written."""

import io
import os
import re
import sys
from dataclasses import replace

import numpy as np
import pandas
import pytest

import sfumato as sf
from sfumato import pages
from sfumato.bases.lattice.expansion import Expansion
from sfumato.core.calibration import NOISES, calibrate
from sfumato.core.certificate import Certificate
from sfumato.errors import MissingExtraError, ParameterError
from sfumato.faces import face_of, function
from sfumato.faces.function import FunctionFace
from sfumato.faces.promise import noise_facts
from sfumato.pages import card, render
from sfumato.releases.base import Receipt
from sfumato.releases.function import FunctionRelease
from unit.pages.reading import words, words_of

pytest.importorskip("matplotlib")
jinja2 = pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
LINE = sf.Box({"age": (0, 110)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
CUBE = sf.Box({"age": (0, 110), "hour": sf.Periodic(0, 24), "children": sf.Integer(0, 12)})


def make(box=LINE, privacy=None, basis=None, noise="auto", known="enforced", confidence=1.0, assumptions=(), **more):
    """A release with chosen coefficients: nothing here is random."""
    privacy, basis = privacy or sf.Privacy(epsilon=1.0), basis or sf.Bernstein(3)
    certificate = Certificate(
        "linf", 0.01, privacy.neighbours, known, "bernstein", assumptions=assumptions, confidence=confidence
    )
    law, guarantee = calibrate(certificate, basis.size(box), privacy, noise)
    expansion = Expansion(basis, box, np.sin(np.arange(basis.size(box))))
    return FunctionRelease(
        **{"guarantee": guarantee, "law": law, "target": (("target", "black box"),), "expansion": expansion, **more}
    )


@pytest.fixture(autouse=True)
def _few_points(monkeypatch):
    monkeypatch.setattr(function, "_POINTS", 200)


@pytest.fixture(scope="module")
def cheap():
    """What a page about a function of three columns says."""
    return lambda **settings: words_of(make(box=CUBE, **settings))


# --- the file ---------------------------------------------------------------------------------------------------


def test_a_report_is_one_file_that_needs_nothing_else(tmp_path):
    path = tmp_path / "ages.html"
    make().report(path)
    page = path.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"<script|<link|@import|@font-face|src=|https?://(?!www\.w3\.org)", page)
    assert "default-src 'none'" in page
    assert os.listdir(tmp_path) == ["ages.html"]
    assert path.stat().st_mode & 0o777 == 0o644
    assert render(make(), name="ages") == page  # and always the same one


def test_a_failure_leaves_the_old_report(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        make(box=CUBE).report(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_report_replaces_an_old_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    make(box=CUBE).report(str(path))
    assert "What is promised" in path.read_text("utf-8")


@pytest.mark.parametrize("confidence", [0, 1, "high"])
def test_confidence_must_be_a_probability(tmp_path, confidence):
    with pytest.raises(ParameterError, match="confidence"):
        make().report(tmp_path / "x.html", confidence=confidence)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_names_the_extra(tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is not installed; pip install 'sfumato\[plot\]'"):
        make().report(tmp_path / "x.html")
    assert os.listdir(tmp_path) == []


# --- HTML -------------------------------------------------------------------------------------------------------


def hostile(box):
    """Whatever a caller or a file can name, named by somebody who means harm."""
    return make(
        box=box,
        privacy=sf.Privacy(epsilon=1.0, unit=sf.Person(EVIL, 2)),
        known="stated",
        assumptions=(EVIL,),
        receipt=Receipt(EVIL, 1, EVIL, EVIL, EVIL, EVIL),
        target=((EVIL, EVIL), ("target", EVIL)),
    )


BOXES = {
    "one": sf.Box({EVIL: (0, 1)}),
    "two": sf.Box({EVIL: (0, 1), '"><img src=x onerror=alert(1)>\x00\u202e': (0, 1)}),
    "three": sf.Box({EVIL: (0, 1), "'\"&amp;": (0, 1), "{{ 7 * 7 }}": (0, 1)}),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", BOXES)
def test_nothing_that_was_named_is_code(columns):
    html5lib = pytest.importorskip("html5lib")
    page = render(hostile(BOXES[columns]), name=EVIL)
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    tags = {str(element.tag).rpartition("}")[2] for element in tree.iter()}
    assert not tags & {"script", "iframe", "object", "a", "form", "img"}
    assert not [e for e in tree.iter() for name in e.attrib if str(name).lower().startswith("on")]
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search("[\x00\u202e]", page)


def test_names_are_not_templates():
    assert "{{ 7 * 7 }}" in words_of(hostile(BOXES["three"]))


@pytest.fixture(scope="module", params=[LINE, PLANE], ids=["line", "plane"])
def page(request):
    return render(make(box=request.param))


@pytest.mark.few(1)
def test_pages_are_valid(page):
    html5lib = pytest.importorskip("html5lib")
    html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
    identifiers = re.findall(r'\bid="([^"]*)"', page)
    assert identifiers
    assert len(identifiers) == len(set(identifiers))
    for used in re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', page):
        assert "".join(used) in identifiers


def test_categories_are_shown():
    box = sf.Box({"sex": sf.Categorical(("f", EVIL)), "code": sf.Categorical((1, 2))})
    stand_in = type("Stand", (), {"box": box, "expansion": type("E", (), {"derivatives": (0, 0)})})
    assert [row["values"] for row in FunctionFace(stand_in).column_rows()] == [f"f, {EVIL}", "1, 2"]


# --- the picture ------------------------------------------------------------------------------------------------


@pytest.mark.few(1)
def test_the_picture_takes_its_colours_from_the_page(page):
    assert page.count("<svg") == 2  # for wide and for narrow screens
    assert 'role="img"' in page and 'aria-label="released function over age' in page
    assert "prefers-color-scheme: dark" in page
    assert page.count("var(--ink)") > 10
    drawing = page[page.index("<svg") : page.rindex("</svg>")]
    assert "#2b2824" not in drawing
    assert "<style" not in drawing and "<metadata" not in drawing


def test_more_columns_are_drawn_one_by_one_and_the_page_says_so():
    page = render(make(box=CUBE))
    assert page.count("<svg") == 2
    assert "The function along each column, while the others stay in the middle of the box" in words(page)


# --- what it says -----------------------------------------------------------------------------------------------


def test_pure_privacy_in_words_and_symbols(cheap):
    text = cheap()
    assert "at most 2.719 times its probability in the other." in text
    assert "they can be at most 73.11 % sure" in text
    assert "+ &delta;" not in text
    assert "Not that nothing can be learned." in text
    assert "The number of rows is not protected" in text
    assert "(central model)" in text
    assert "other values of" not in text


def test_approximate_privacy(cheap):
    text = cheap(privacy=sf.Privacy(epsilon=1.0, delta=1e-6))
    assert "2.719 times its probability in the other, plus 1e-06 (one chance in 1,000,000)." in text
    assert "+ &delta;" in text
    assert "The same promise at other values of" in text
    assert "% sure of either" not in text  # true of pure privacy only


def test_concentrated_privacy(cheap):
    text = cheap(privacy=sf.Privacy(rho=0.5))
    assert "mean &rho; = 0.5 and variance 2&rho;" in text
    assert "&rho;&alpha; for all &alpha; &gt; 1" in text
    assert "The same promise at other values of" in text


def test_add_remove_persons_and_the_local_model(cheap):
    release = make(box=CUBE, privacy=sf.Privacy(epsilon=1.0, neighbours="add-remove", unit=sf.Person("id", 3)))
    text = words_of(replace(release, guarantee=replace(release.guarantee, model="local")))
    assert "imagine the data without it, or with it if it is not there" in text
    assert "share one value of the column id. At most 3 rows of each person" in text
    assert "Whether somebody is in the data at all is protected too." in text
    assert "adding or removing one person of up to 3 rows" in text
    assert "(local model): not even the collector had to be trusted" in text


def test_random_privacy_is_called_weaker(cheap):
    text = cheap(known="sampled", confidence=0.9)
    assert "This is random differential privacy, a weaker promise." in text
    assert "probability of at least 0.9" in text
    assert "up to 10 % of them, nothing is promised" in text
    assert "with probability at least 0.9 over the data" in text
    assert not re.search(r"random (differential|&epsilon;)", cheap())


def test_a_large_epsilon_is_called_weak(cheap):
    assert "This is a large &epsilon;." in cheap(privacy=sf.Privacy(epsilon=12.0))
    assert "e1000 times" in cheap(privacy=sf.Privacy(epsilon=1000.0))
    assert "This is a large" not in cheap()


def test_what_it_rests_on(cheap):
    stated = cheap(known="stated", assumptions=("the moon is made of cheese",))
    assert "The sensitivity was stated, not proved." in stated
    assert "the linf sensitivity 0.01 to one row is stated by the caller" in stated
    assert "the moon is made of cheese" in stated
    enforced = cheap()
    assert "nothing was assumed" in enforced
    assert "enforced: the code makes it true" in enforced
    assert "docs/proofs/bernstein.md" in enforced
    assert "largest change of any single coefficient" in enforced


def test_a_certificate_in_grid_steps():
    certificate = Certificate("l1", 2**20, "replace", "enforced", "rounding", exponent=-21)
    law, guarantee = calibrate(certificate, 4**3, sf.Privacy(epsilon=1.0))
    text = words_of(make(box=CUBE, law=law, guarantee=guarantee))
    assert "1048576 grid steps, that is 0.5" in text
    assert "sum of the absolute changes of all coefficients" in text


def test_a_receipt_or_a_warning(cheap):
    assert "Not charged to a ledger." in cheap()
    assert "Spending adds up" in cheap()
    text = cheap(receipt=Receipt("ward 7", 3, "pure", "epsilon 4", "epsilon 2.5", "epsilon 1.5"))
    for part in ("account ward 7", "entry 3", "limit epsilon 4", "with this release epsilon 2.5", "left epsilon 1.5"):
        assert part in text
    assert "Not charged" not in text


@pytest.mark.parametrize(
    ("noise", "privacy", "said"),
    [
        ("laplace", {"epsilon": 1.0}, "a Laplace (double exponential) law of scale"),
        ("gaussian", {"rho": 0.5}, "a normal (Gaussian) law with standard deviation"),
        ("linf", {"epsilon": 1.0}, "its largest entry in size"),
        ("l2", {"epsilon": 1.0}, "its Euclidean length"),
    ],
)
def test_the_noise_in_words(cheap, noise, privacy, said):
    assert said in cheap(noise=noise, privacy=sf.Privacy(**privacy))


def test_half_widths_are_those_of_the_band():
    release = make()
    points = np.linspace(0, 110, 401)
    low, high = release.band(points, 0.9)
    width = (high - low) / 2
    text = words_of(release, confidence=0.9)
    assert "Half-width of the 90 % band, which holds at 401 points" in text
    assert f"{width.min():.3g} {np.median(width):.3g} {width.max():.3g}" in text
    assert "takes values from" in text


def test_the_total_error_needs_smoothness(cheap):
    assert "no smoothness of the target was declared" in cheap()
    smooth = cheap(smoothness=sf.Smooth(2, 1.0))
    assert "The target was declared smooth (derivatives up to order 2 at most 1" in smooth
    assert "noise and basis together by at most" in smooth
    assert "affine in each column" in cheap(smoothness=sf.Linear())
    assert "H\xf6lder with exponent 0.5" in cheap(smoothness=sf.Hoelder(0.5, 1.0))
    assert "gives no bound" in cheap(smoothness=sf.Linear(), basis=sf.Step(2))
    derivative = make(box=CUBE, smoothness=sf.Smooth(2, 1.0)).derivative("age")
    assert "gives no bound" in words_of(derivative)


def test_parameters_code_and_citation(cheap):
    text = cheap()
    for part in ("age interval 0 to 110", "hour periodic 0 to 24", "children integer 0 to 12", "coefficients 64"):
        assert part in text
    assert "Bernstein(degree=3, order=1)" in text
    assert "Aldà" not in text and "Ald{\\`a}, Francesco and Rubinstein, Benjamin I. P." in text
    assert f"version {sf.__version__}" in text
    assert "largest Euclidean norm 2" in words_of(make(box=sf.Box([(-1, 1)] * 3, max_norm=2.0)))


def test_the_code_on_the_page_runs(tmp_path, monkeypatch):
    release = make(box=CUBE)
    release.save(tmp_path / "it's.sfumato")
    release.report(tmp_path / "it's.html")
    page = (tmp_path / "it's.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import sfumato.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(code.replace("&#34;", '"').replace("&#39;", "'"), {})


def test_derivatives_say_so():
    text = words_of(make(box=CUBE).derivative("age").derivative("age"))
    assert "Derivative along age (twice) of the released function of 3 columns" in text
    assert "differentiated along age, 2 times" in text


# --- densities --------------------------------------------------------------------------------------------------


def dense(box, by=None, basis=None, **settings):
    """A density of made-up records, which fill the box's columns."""
    generator = np.random.default_rng(3)
    numeric = {n: c for n, c in zip(box.names, box.columns, strict=True) if c.kind != "categorical"}
    data = {n: c.low + (c.high - c.low) * generator.beta(3, 4, 500) for n, c in numeric.items()}
    if by is not None:
        data[by] = np.resize(box.columns[box.names.index(by)].categories, 500)
    widths = tuple((c.high - c.low) / 5 for c in numeric.values())
    target = sf.KDE(widths, by=by, **settings)
    return sf.release(target, pandas.DataFrame(data), box, sf.Privacy(epsilon=1.0), basis=basis or sf.Binning(5))


SEXES = sf.Box({"age": (0, 110), "sex": sf.Categorical(("F", EVIL))})


def test_a_page_about_a_density():
    release = dense(LINE)
    low, high = release.count_band()
    text = words_of(release)
    for part in (
        "Density of age",
        "How private records are distributed, published once with noise.",
        "Band typically within",
        "bandwidth 22",
        f"records {release.count:,.0f} ({low:,.0f} to {high:,.0f} with a confidence of at least 95 %)",
        "records with a missing value count for nothing",
        "non-negative, of mass one",
        "age " + " ".join(f"{v:.4g}" for v in [release.mean(), *release.quantile([0.25, 0.5, 0.75])]),
        "Mean and quartiles are those of the released measure",
        "Binning(points=5): given by the caller.",
        "its largest error is expected to be about",
        "noise total (drawn) worst",
        "if records lie alike in neighbouring cells of the lattice wherever its noisy masses are smooth",
        "whatever the records are, even if all of them are equal",
        "has a standard deviation of 2.29, in records",  # zero-sum, of scale 2: 2 sqrt(55 / 42)
    ):
        assert part in text, part
    assert "half-width" not in text.lower() and "group by" not in text


def test_a_page_about_groups():
    page = render(dense(SEXES, by="sex"))
    text = words(page)
    assert EVIL not in page
    assert "Density of age by sex" in text
    assert "There is one for each value of sex, from one budget" in text
    assert "records, F" in text and "F, typical" in text and "F, largest" in text
    assert "sex categorical F, &lt;script&gt;" in text
    assert "density = release[&#39;F&#39;]" in text
    assert page.count("<svg") == 2 and "var(--series-1)" in page


@pytest.mark.slow
def test_pages_about_densities_are_valid():
    html5lib = pytest.importorskip("html5lib")
    for release in (dense(PLANE), dense(SEXES, by="sex", post="none")):
        page = render(release)
        html5lib.HTMLParser(strict=True).parse(io.StringIO(page))
        identifiers = re.findall(r'\bid="([^"]*)"', page)
        assert len(identifiers) == len(set(identifiers))


@pytest.mark.slow
def test_three_columns_circles_and_what_was_stated():
    text = words_of(dense(CUBE, missing="none", basis=sf.Binning(4)))
    assert "Density of age, hour and children" in text and "Each column by itself" in text
    assert re.search("hour [0-9.]+ \N{EN DASH} \N{EN DASH} \N{EN DASH} [0-9.]+", text)
    assert "goes round in a circle" in text
    assert "records 500 (public)" in text and "stated publicly that there are none" in text
    assert "bandwidth, hour 4.8" in text


@pytest.mark.slow
def test_a_page_about_more_groups_than_a_panel_tells_apart():
    box = sf.Box({"age": (0, 110), "ward": sf.Categorical(tuple("abcdefg"))})
    page = render(dense(box, by="ward"))
    assert all(f"ward = {name}" in page for name in "abcdefg")


def test_a_page_about_one_group_says_which_and_how_to_get_it():
    box = sf.Box({"age": (0, 110), "ward": sf.Categorical(tuple("ab"))})
    page = render(dense(box, by="ward"), name="wards", group="b")
    assert "Density (ward = b) of age" in words(page)
    assert "density = release[&#39;b&#39;]  # one of its groups" in page and "low, high = density.band(" in page


@pytest.mark.slow
def test_a_release_writes_the_page_about_one_group(tmp_path):
    box = sf.Box({"age": (0, 110), "ward": sf.Categorical(tuple("ab"))})
    dense(box, by="ward").report(tmp_path / "wards.html", group="b")
    assert "Density (ward = b) of age" in words((tmp_path / "wards.html").read_text("utf-8"))
    dense(PLANE).report(tmp_path / "map.html", map=True)


@pytest.mark.slow
def test_a_basis_without_marginals_and_a_tilted_kernel():
    text = words_of(dense(PLANE, basis=sf.Bernstein(6, 2)))
    assert "A few figures" not in text and ".marginal(" not in text
    tilted = sf.KDE(((400.0, 50.0), (50.0, 100.0)))
    data = np.random.default_rng(1).uniform((0, 10), (110, 60), (300, 2))
    data = pandas.DataFrame(data, columns=["age", "bmi"])
    release = sf.release(tilted, data, PLANE, sf.Privacy(epsilon=1.0), basis=sf.Binning(5))
    assert "tilted against the axes" in words_of(release)


@pytest.mark.few(1)
@pytest.mark.parametrize("by", [None, "sex"])
def test_the_code_on_a_page_about_densities_runs(tmp_path, monkeypatch, by):
    box = LINE if by is None else sf.Box({"age": (0, 110), "sex": sf.Categorical(("F", "M"))})
    release = dense(box, by=by)
    release.save(tmp_path / "ages.sfumato")
    pages.write(release, tmp_path / "ages.html")
    page = (tmp_path / "ages.html").read_text("utf-8")
    code = re.search(r"<pre><code>(import sfumato.*?)</code>", page, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(code.replace("&#34;", '"').replace("&#39;", "'"), {})


def test_pages_about_other_functions_do_not_speak_of_densities(cheap):
    text = cheap()
    assert "density estimate" not in text and "What was published" not in text and "A function computed" in text
    assert "--series-1" not in render(make(box=CUBE))


def test_the_card_of_a_density():
    text = dense(LINE)._repr_html_()
    assert "density of age" in text and "bandwidth" in text and "records" in text


# --- notebooks --------------------------------------------------------------------------------------------------


def test_the_card_needs_no_extra_and_is_escaped(monkeypatch):
    for package in ("jinja2", "matplotlib", "markupsafe"):
        monkeypatch.setitem(sys.modules, package, None)
    text = hostile(BOXES["two"])._repr_html_()
    assert EVIL not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert "1-differential privacy for replacing one person" in text
    assert "Bernstein(degree=3, order=1), 16 coefficients" in text


def test_the_card_shows_no_coefficient():
    assert "0.84" not in card(make())


# --- what is said of noise ----------------------------------------------------------------------------------------

LAWS = {
    "laplace": "received noise of its own from a Laplace (double exponential) law of scale",
    "gaussian": "received noise of its own from a normal (Gaussian) law with standard deviation",
    "linf": "received one random vector, with a density proportional to exp(&minus;m",
    "l2": "where r is its Euclidean length",
    "blocks": "stand in 2 blocks. Each block received a random vector of its own",
    "zero-sum": "where t is the sum of the sizes of its entries plus the size of their sum",
}


def told(kind):
    """The page of a release whose noise is said to be of this kind; only its law is looked at."""
    release = make()
    law = replace(release.law, kind=kind)
    if kind == "blocks":
        law = replace(law, certificate=Certificate("l1-linf", 2, "replace", "proved", "blocks", -9, blocks=(2, 2)))
    facts = {**pages.facts(face_of(release), "release"), "noise": noise_facts(law), "pictures": []}
    return pages._template("function").render(facts)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", NOISES)
def test_a_page_names_its_law_and_no_other(kind):
    """Laws without words of their own were once called K-norm noise of Euclidean length."""
    text = words(told(kind))
    assert [one for one, said in LAWS.items() if said in text] == [kind]
    assert ("in the root mean square over all blocks" in text) == (kind == "blocks")


def test_a_law_without_words_is_an_error_and_no_other_law():
    facts = {**pages.facts(face_of(make()), "release"), "pictures": []}
    facts["noise"] = {**facts["noise"], "kind": "cauchy"}
    with pytest.raises(jinja2.UndefinedError):
        pages._template("function").render(facts)
