"""What has no room in a file is refused before it is paid for; what is at the limits has room."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.releases.file.container import LARGEST_HEADER, MOST_PARTS

ONE = sf.Privacy(epsilon=1.0)
CODES = [f"code {number:05d} of a long list" for number in range(20_000)]


class Purse:
    """Nothing is ever paid out of it."""

    def spend(self, event, told=None):
        raise AssertionError("charged")

    def would_cost(self, what, *more):
        raise AssertionError("asked")


def proportions(categories):
    return sf.Statistic("proportions", "c"), {"c": categories[:9]}, {"c": sf.Categorical(categories)}


def groups(count):
    names = [str(number) for number in range(count)]
    columns = {"t": [0.5] * 9, "g": names[:9]}
    return sf.KDE(0.3, by="g", post="none"), columns, {"t": (0, 1), "g": sf.Categorical(names)}


TOO_MUCH = {
    "long categories": proportions(CODES),
    "a long name": (sf.Statistic("mean"), {"n" * 300_000: [1.0]}, {"n" * 300_000: (0, 1)}),
    "many classes": (
        sf.KernelMachine("hinge", response="y", classes=CODES[:6000], mechanism="output"),
        {"t": [0.5] * 9, "y": CODES[:9]},
        {"t": (0, 1)},
    ),
    "many groups": groups(MOST_PARTS + 1),
}


@pytest.mark.parametrize("asked", TOO_MUCH.values(), ids=TOO_MUCH)
def test_what_has_no_room_is_refused_before_the_charge(asked):
    target, columns, box = asked
    with pytest.raises(ParameterError, match=r"shorten names|some at a time"):
        sf.release(target, pa.table(columns), sf.Box(box), ONE, ledger=Purse())


@pytest.mark.parametrize("letter", ["x", '"', "\\", "\N{GREEK SMALL LETTER ALPHA}", "\N{GRINNING FACE}"], ids=ascii)
def test_names_as_long_as_allowed_have_room(letter, tmp_path):
    """However they are escaped."""
    import json

    most = LARGEST_HEADER // 4 - 2**14 - 2000
    name = letter * (most // 5 // len(json.dumps(letter)[1:-1]))  # told five times
    target = sf.Statistic("mean", missing="none")
    release = sf.release(target, np.zeros((3, 1)), sf.Box({name: (0, 1)}), ONE)
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").box.names == (name,)


@pytest.mark.slow  # a density for each of two thousand groups
def test_as_many_groups_as_allowed_have_room(tmp_path):
    target, columns, box = groups(MOST_PARTS)
    release = sf.release(target, pa.table(columns), sf.Box(box), ONE, basis=sf.Binning(2))
    release.save(tmp_path / "r.sfumato")
    assert len(sf.load(tmp_path / "r.sfumato")) == MOST_PARTS


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 10**120])
def test_categories_that_no_file_holds_are_refused(number):
    with pytest.raises(ParameterError, match="numbers below 1e99"):
        sf.Categorical([0, number])


def test_a_summary_of_such_categories_is_not_paid_for():
    with pytest.raises(ParameterError, match="numbers below 1e99"):
        sf.summarize(np.zeros((5, 1)), sf.Box({"c": sf.Categorical([0, float("inf")])}), ONE, degree=3, ledger=Purse())
