"""A bar that shows itself on a terminal only, after a while only, and goes away again."""

import itertools
from types import SimpleNamespace

import pytest

from sfumato.sampler import progress as watching


class Terminal:
    """Remembers what was written to it."""

    def __init__(self, real=True):
        self.text, self.real = "", real

    def isatty(self):
        return self.real

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(watching, "sys", SimpleNamespace(stderr=found))
    return found


@pytest.fixture
def clock(monkeypatch):
    """Every look at the clock is ``clock.step`` seconds later than the last."""
    found, looks = SimpleNamespace(step=0.75), itertools.count()
    monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=lambda: found.step * next(looks)))
    return found


def run(wanted=True, ticks=4):
    with watching.watching("sampling pairs", 40, wanted) as tick:
        for _ in range(ticks):
            tick(10)


def test_it_says_how_far_it_is_and_goes_away(terminal, clock):
    run()
    shown = terminal.text.split("\r")
    assert "sampling pairs" in shown[1] and "20 of 40" in shown[1]  # the first tick came too early
    assert "40 of 40, 0 s left" in shown[-2] and "#" * 30 in shown[-2]
    assert shown[-1] == "\x1b[K"


def test_what_is_quick_shows_nothing(terminal, clock):
    clock.step = 0.01
    run()
    assert terminal.text == ""


def test_it_is_not_shown_more_often_than_anybody_can_read(terminal, clock):
    clock.step = 0.03
    run(ticks=100)
    assert 0 < terminal.text.count("sampling") <= (100 - 33) / 3


def test_it_goes_away_after_a_failure(terminal, clock):
    def fail():
        with watching.watching("sampling pairs", 4, True) as tick:
            tick(1)
            tick(1)
            raise ValueError("the oracle failed")

    with pytest.raises(ValueError, match="the oracle failed"):
        fail()
    assert terminal.text.endswith("\r\x1b[K")


def test_nobody_who_did_not_ask_sees_it(terminal, clock):
    run(wanted=False)
    assert terminal.text == ""


def test_a_file_gets_no_bar(monkeypatch, clock):
    file = Terminal(real=False)
    monkeypatch.setattr(watching, "sys", SimpleNamespace(stderr=file))
    run()
    assert file.text == ""
