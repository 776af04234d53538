"""No page warns."""

import warnings

import pytest

from sfumato.errors import NothingThereWarning


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NothingThereWarning)  # which noisy numbers decide on
        yield
