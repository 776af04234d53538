"""The mutation check itself: what it changes, and that a living module then behaves otherwise."""

import sys
import types

import pytest

from mutants.__main__ import EXPLAINED, TESTS, exchange
from mutants.changes import mutants

SOURCE = '''
"""Not a change: text that nobody runs."""
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

LIMIT = 3


def bounded(x: int, most: int = 2 + 1) -> int:
    """Nor this."""
    if x > most:
        raise ValueError("nor this")
    return min(x, LIMIT)


@dataclass(frozen=True)
class Place:
    here: float = 0.5

    @property
    def there(self):
        return self.here + 1

    @cached_property
    @np.errstate(all="ignore")
    def beyond(self):
        return self.here + 4

    @classmethod
    @cache
    def first(cls):
        return 6 + 1


@cache
def doubled(x):
    return 2 * x


@np.errstate(all="ignore")
@np.errstate(all="ignore")
def tripled(x):
    return 3 * x
'''


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("made_for_mutants")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(SOURCE, vars(made))
    return made


def changed(name):
    (found,) = [mutant for mutant in mutants(SOURCE, "made") if mutant.name == name]
    return found


def test_each_small_change_has_a_name_of_its_own():
    names = [mutant.name for mutant in mutants(SOURCE, "made")]
    assert len(set(names)) == len(names)
    assert set(names) >= {
        "module: LIMIT = 3 -> LIMIT = 4",
        "module: LIMIT = 3 -> LIMIT = 2",
        "bounded: 2 + 1 -> 2 - 1",
        "bounded: x > most -> x >= most",
        "bounded: if x > most: -> if not x > most:",
        "bounded: raise ValueError('nor this') -> nothing",
        "bounded: min(x, LIMIT) -> max(x, LIMIT)",
        "bounded: return min(x, LIMIT) -> return None",
        "Place: here: float = 0.5 -> here: float = 0.25",
        "Place.there: self.here + 1 -> self.here - 1",
        "doubled: 2 * x -> 2 / x",
    }
    assert not any("Nor" in name or "Not" in name or "nor this?" in name for name in names)


@pytest.mark.parametrize(
    ("name", "before", "after", "look"),
    [
        ("module: LIMIT = 3 -> LIMIT = 2", 3, 2, lambda m: m.bounded(3)),
        ("bounded: 2 + 1 -> 2 - 1", 3, None, lambda m: m.bounded(3) if m.bounded.__defaults__ == (3,) else None),
        ("bounded: min(x, LIMIT) -> max(x, LIMIT)", 1, 3, lambda m: m.bounded(1)),
        ("Place: here: float = 0.5 -> here: float = 0.25", 0.5, 0.25, lambda m: m.Place().here),
        ("Place.there: self.here + 1 -> self.here - 1", 1.5, -0.5, lambda m: m.Place().there),
        ("Place.beyond: self.here + 4 -> self.here - 4", 4.5, -3.5, lambda m: m.Place().beyond),
        ("Place.first: 6 + 1 -> 6 - 1", 7, 5, lambda m: m.Place.first()),
        ("doubled: 2 * x -> 3 * x", 8, 12, lambda m: m.doubled(4)),
        ("tripled: 3 * x -> 4 * x", 12, 16, lambda m: m.tripled(4)),
    ],
)
def test_a_living_module_behaves_as_the_mutant(module, name, before, after, look):
    assert look(module) == before
    module.doubled.cache_clear()
    module.Place.first.cache_clear()
    exchange(module, changed(name))
    assert look(module) == after


def test_every_module_of_the_core_is_checked():
    core = EXPLAINED.parents[1] / "src" / "sfumato" / "core"
    assert {path.stem for path in core.glob("*.py")} - {"__init__"} == set(TESTS)
