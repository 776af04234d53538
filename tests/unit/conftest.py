"""Pictures take most of the time of those tests that draw any; interrupts are heard wherever tests run."""

import signal
from contextlib import nullcontext
from importlib.util import find_spec

import pytest

from effort import is_quick, unarranged


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
