"""Pictures take most of the time of those tests that draw any; what tests of several folders ask for."""

import signal
from contextlib import nullcontext
from importlib.util import find_spec

import numpy as np
import pytest

from effort import is_quick, unarranged
from sfumato.core import mechanism


@pytest.fixture(scope="session", autouse=True)
def _pictures(request):
    with unarranged() if is_quick(request.config) and find_spec("matplotlib") else nullcontext():
        yield


@pytest.fixture
def interruptible():
    """A process in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def no_noise(monkeypatch):
    """What is released is what was summed."""
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))
