"""Every face keeps the contract, and a new kind is seen everywhere through its face alone."""

import dataclasses
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from golden.rendering import FILES, command, pictures
from sfumato import pages
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.drawing import PAINTERS
from sfumato.errors import ParameterError
from sfumato.faces import FACES, LOCAL, Face, face_of
from sfumato.faces.promise import short
from sfumato.faces.scales import axes_of
from sfumato.faces.views import Sample, View, Views
from sfumato.releases import io
from sfumato.releases.base import Release
from sfumato.upwards import Shown

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

# One of each face by default, all golden releases with the slow tests.
QUICK = {
    *("pure", "derivative", "density", "grouped-density", "curve", "machine-linear", "naive-bayes-normal"),
    *("value-mean", "value-median", "value-histogram", "value-bounds", "value-random", "summary", "table"),
    *("collected-density-line", "collected-marginals", "collected-summary", "collected-moments"),
    *("collected-risk", "collected-model", "components"),
}
CASES = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in FILES]


@cache
def loaded(name):
    return sf.load(FILES[name])


@pytest.fixture(params=CASES)
def face(request):
    return face_of(loaded(request.param))


def is_line(text):
    return isinstance(text, str) and bool(text) and "\n" not in text and text.isprintable()


def is_plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(one) for key, one in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


def test_every_kind_has_a_golden_release_by_default():
    kinds = {type(face_of(loaded(name))) for name in QUICK}
    assert kinds == {*FACES.values(), *LOCAL.values()}
    assert {*io._EVERY} == {*FACES}


def test_names_are_lines(face):
    for text in (face.title, face.heading, face.quantity, face.columns, face.picture_words):
        assert is_line(text), text
    assert face.caption and "\x00" not in face.caption


def test_rows_are_names_and_printable_lines(face):
    for name, lines in [*face.rows(), *face.details()]:
        assert is_line(name) and isinstance(lines, list) and lines, name
        assert all(is_line(line) for line in lines), (name, lines)


def test_data_are_plain(face):
    told = {**face.common_data(), **face.data()}
    assert is_plain(told) and json.dumps(told)
    assert told["kind"] == face.release.kind and told["what"] == face.title


def test_cards_and_code(face):
    for name, text in face.card_rows():
        assert is_line(name) and isinstance(text, str) and "\n" not in text
    assert {"guarantee", "box"} <= {name for name, _ in face.card_rows()}
    code = face.code("it's")
    compile(code, "page", "exec")
    assert 'sf.load("it\'s.sfumato")' in code


def test_a_page_can_be_laid_out(face, monkeypatch):
    monkeypatch.setattr(pages, "pictures", lambda _: [{"class": "wide", "svg": "", "words": "It."}])
    page = pages.render(face.release, 0.9)
    assert page.lstrip().startswith("<!DOCTYPE html>") and short(face.release.guarantee) in page
    assert ("90 %" in page) == (face.release.kind != "value" or face.release.statistic != "bounds")


def test_pictures_are_data_that_has_a_painter(face):
    try:
        seen = face.picture()
    except ParameterError:
        return
    painter = PAINTERS[type(seen)]
    assert dataclasses.is_dataclass(seen) and painter.needed(seen) >= 1
    for stacked in (False, True):
        rows, columns = painter.shape(seen, stacked)
        assert rows * columns >= painter.needed(seen) and min(painter.size(seen, stacked)) > 1


def everything(face):
    return repr((face.rows(), face.data(), face.page(), face.card()))


def test_the_confidence_is_that_of_all_that_is_told(face):
    if face.release.kind == "value" and face.release.statistic == "bounds":
        pytest.skip("bounds have no limits")
    one, other = (face_of(face.release, confidence) for confidence in (0.6, 0.99))
    assert everything(one) != everything(other)
    assert all("0.95" not in str(value) for value in one.rows())


def test_commands_that_are_named_exist(face):
    named = {*face.serves, *([] if face.use is None else [face.use])}
    assert named <= {"inspect", "evaluate", "predict", "answer"}


# --- a kind of its own ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Tide(Shown, Release):
    """The mean level of every hour of a day: a kind that the package has never heard of."""

    kind: ClassVar[str] = "tide"

    hours: sf.Box
    levels: Any

    @property
    def box(self):
        return self.hours

    def arrays(self):
        return {"levels": self.levels}

    def fields(self):
        return {}

    @classmethod
    def rebuild(cls, common, box, fields, arrays):
        return cls(**common, hours=box, levels=arrays["levels"])


class TideFace(Face):
    """All that there is to say of it."""

    thing = "tide"
    quantity = "mean level"

    @property
    def title(self):
        return f"the mean level of every {self.release.box.names[0]}"

    def rows(self, asked=None):
        highest = int(np.argmax(self.release.levels))
        reach = self.reach()
        return [
            ("highest", [f"at {highest} o'clock: {self.release.levels[highest]:.3g}"]),
            ("limits", [f"within {reach:.3g} of each, all at once", f"with confidence {self.confidence:g}"]),
        ]

    def reach(self):
        law = self.release.law
        return law.deviation * np.log(law.size / (1 - self.confidence))

    def picture(self):
        levels, reach = self.release.levels, self.reach()
        hours = np.arange(len(levels), dtype=np.float64)
        seen = Sample((hours,), levels, levels - reach, levels + reach, self.confidence)
        return Views((View(axes_of(self.release.box), (seen,), self.quantity, short(self.release.guarantee)),))


@pytest.fixture
def tide(monkeypatch, tmp_path):
    """A file of a kind that was made known to the reader of files and has a face: nothing else knows of it."""
    monkeypatch.setitem(io._KINDS, "tide", Tide)
    monkeypatch.setitem(FACES, Tide, TideFace)
    monkeypatch.chdir(tmp_path)
    privacy = sf.Privacy(epsilon=1.0)
    law, guarantee = calibrate(Certificate("l1", 0.5, "replace", "proved", "statistics"), 24, privacy)
    levels = 3 + np.cos(np.arange(24) / 4)
    target = (("target", "tide"),)
    made = Tide(guarantee=guarantee, law=law, target=target, hours=sf.Box({"hour": (0, 24)}), levels=levels)
    made.save("tide.sfumato")
    return made


def test_a_new_kind_is_said_in_a_terminal_and_to_programs(tide):
    code, out, _ = command("inspect", "tide.sfumato")
    assert code == 0
    for words in ("the mean level of every hour", "at 0 o'clock: 4", "all at once", "Laplace noise", "hour: 0 to 24"):
        assert words in out, words
    told = json.loads(command("--json", "inspect", "tide.sfumato", "--confidence", "0.9")[1])
    assert told["kind"] == "tide" and told["what"] == "the mean level of every hour"
    assert told["highest"] == "at 0 o'clock: 4" and told["limits"][1] == "with confidence 0.9"


def test_a_new_kind_has_a_page_and_a_card(tide):
    html5lib = pytest.importorskip("html5lib")
    assert command("report", "tide.sfumato")[0] == 0
    page = Path("tide.html").read_text("utf-8")
    html5lib.HTMLParser(strict=True).parse(page)
    for words in ("Mean level", "at 0 o&#39;clock: 4", "<svg", "Mean level of hour.", "one row, replaced", "Laplace"):
        assert words in page, words
    card = tide._repr_html_()
    assert "mean level of hour" in card and "at 0 o&#x27;clock: 4" in card and "1-differential privacy" in card


def test_a_new_kind_has_a_picture(tide):
    with pictures() as drawn:
        assert command("plot", "tide.sfumato")[0] == 0
    assert "mean level" in drawn[0] and "epsilon = 1, replace one row" in drawn[0] and Path("tide.png").exists()


def test_a_new_kind_is_refused_where_it_serves_nothing(tide):
    for args in (("evaluate", "tide.sfumato", "-"), ("predict", "tide.sfumato", "x"), ("answer", "tide.sfumato", "x")):
        code, _, err = command(*args)
        assert code == 2 and "a release of kind 'tide'" in err


class Least(Face):
    """What a face must have."""

    @property
    def title(self):
        return "something"

    def rows(self, asked=None):
        return [("fact", ["one"]), ("facts", ["one", "two"])]


def test_the_least_face_says_what_it_has_to(tide, monkeypatch):
    monkeypatch.setitem(FACES, Tide, Least)
    face = face_of(tide)
    assert face.data() == {"fact": "one", "facts": ["one", "two"]} and face.card()[1] == ("facts", "one; two")
    assert "There is no picture of this release." in pages.render(tide)
    with pytest.raises(ParameterError, match="a release of kind 'tide' has no picture"):
        tide.plot()
    assert command("inspect", "tide.sfumato")[0] == 0
