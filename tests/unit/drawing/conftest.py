"""No picture warns, and none is left open."""

import warnings

import pytest

from sfumato.errors import NothingThereWarning


@pytest.fixture(autouse=True)
def _no_leftovers():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingThereWarning)  # which noisy numbers decide on
        yield
    pyplot.close("all")
