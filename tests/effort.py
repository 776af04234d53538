"""How much of the same work tests do: `make test` does less of it than `make test-all`, which does all.

A run without the slow tests (``-m "not slow"``) is quick: properties are tried on a quarter of their examples, and
pictures are drawn without arranging what is in them, which takes three quarters of the time of a drawing.
"""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

from hypothesis import settings

# The same examples in every run, and no clock.
settings.register_profile("full", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("quick", settings.get_profile("full"), max_examples=25)


def is_quick(config):
    """Whether this run leaves slow tests out."""
    return config.getoption("markexpr") == "not slow"


def tries(count):
    """Decorate a property that a full run tries on ``count`` examples."""
    share = settings.default.max_examples / settings.get_profile("full").max_examples
    return settings(max_examples=max(1, round(count * share)))


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
