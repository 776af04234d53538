"""How much of the same work tests do: `make test` does less of it than `make test-all`, which does all.

A run without the slow tests (``-m "not slow"``) is quick: of a long grid of cases a few are run, properties and pairs
of neighbouring tables are tried on a quarter of their examples, and pictures are drawn without arranging what is in
them, which takes three quarters of the time of a drawing.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from functools import wraps
from unittest import mock

import pytest
from hypothesis import settings

# The same examples in every run, and no clock.
settings.register_profile("full", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("quick", settings.get_profile("full"), max_examples=25)


def is_quick(config):
    """Whether this run leaves slow tests out."""
    return config.getoption("markexpr") == "not slow"


def share(count):
    """How many tries this run takes where a full run takes ``count``: all, or a quarter.

    Of a range of places, ``range(0, size, size // share(size))`` is every one, or every third or fourth.
    """
    return max(1, round(count * settings.default.max_examples / settings.get_profile("full").max_examples))


def tries(count):
    """Decorate a property that a full run tries on ``count`` examples."""
    return settings(max_examples=share(count))


@contextmanager
def unarranged():
    """Pictures are drawn, but axes stay where they are put first."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with (
        mock.patch.object(ConstrainedLayoutEngine, "execute"),
        mock.patch.object(Figure, "draw_without_rendering"),
    ):
        yield


def thin(tests):
    """Mark slow, of the cases of each test with the mark ``few(count)``, all but ``count``."""
    grids = defaultdict(list)
    for test in tests:
        if test.get_closest_marker("few") and not test.get_closest_marker("slow"):
            grids[test.nodeid.partition("[")[0]].append(test)
    for cases in grids.values():
        (count,) = cases[0].get_closest_marker("few").args
        kept = spread([frozenset(case.callspec.indices.items()) for case in cases], count)
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker(pytest.mark.slow)


def spread(cases, count):
    """The places of ``count`` cases that take as many values of each parameter as they can, and lie apart."""
    left = sorted(range(len(cases)), key=lambda place: place * 0.6180339887 % 1)
    kept, seen = set(), set()
    while left and len(kept) < count:
        best = max(left, key=lambda place: len(cases[place] - seen))
        left.remove(best)
        kept.add(best)
        seen |= cases[best]
    return kept


def shared(make):
    """Make a release once for all tests that ask for the same: nothing in it is random, and nothing changes it.

    Arguments are told apart by what they print, so they must not be arrays.
    """
    made = {}

    @wraps(make)
    def once(*given, **settings):
        key = repr((given, settings))
        if key not in made:
            made[key] = make(*given, **settings)
        return made[key]

    return once
