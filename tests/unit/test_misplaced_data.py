"""Data that stand by mistake in the place of a public parameter are refused without being printed."""

import inspect

import pandas as pd
import pytest

import sfumato as sf
from sfumato.releases.base import Release

SECRET = "a private value"
DATA = {
    "frame": pd.DataFrame({"age": [SECRET] * 3, "dose": [1.0, 2.0, 3.0]}),
    "series": pd.Series([SECRET] * 3),
    "mapping": {"age": pd.Series([SECRET] * 3)},
    "text of a file": "age,name\n" + f"44,{SECRET}\n" * 20,
}
FITTING = {
    "box": sf.Box({"age": (0, 100), "dose": (0, 9)}),
    "privacy": sf.Privacy(1.0),
    "data": pd.DataFrame({"age": [44.0], "dose": [1.0]}),
    "columns": "age",
    "what": "mean",
}
# What names a file is a name, however long; a release is made of public numbers.
NAMES_OF_FILES = {"path", "trust"}


def entrances():
    for name in sf.__all__:
        entrance = getattr(sf, name)
        released = inspect.isclass(entrance) and issubclass(entrance, (BaseException, Release))
        if callable(entrance) and not released:
            yield name, entrance


def places(entrance):
    parameters = inspect.signature(entrance).parameters.values()
    return [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def called_with(entrance, place, value):
    """What the entrance says if ``value`` stands in one place, and something fitting in all that need something."""
    given = {one.name: FITTING.get(one.name, 1) for one in places(entrance) if one.default is one.empty}
    given[place.name] = value
    first = [given.pop(one.name) for one in places(entrance) if one.kind is one.POSITIONAL_ONLY and one.name in given]
    try:
        entrance(*first, **given)
    except Exception as error:
        return f"{error} {error.__cause__} {'' if error.__suppress_context__ else error.__context__}"
    return ""


@pytest.mark.few(30)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "entrance"), list(entrances()))
def test_no_error_prints_data_in_the_place_of_a_parameter(name, entrance):
    for place in places(entrance):
        for kind, data in DATA.items():
            if place.name not in NAMES_OF_FILES:
                assert SECRET not in called_with(entrance, place, data), (place.name, kind)
