"""Pictures take most of the time of those tests that draw any."""

from contextlib import nullcontext
from importlib.util import find_spec

import pytest

from effort import is_quick, unarranged


@pytest.fixture(scope="session", autouse=True)
def _pictures(request):
    with unarranged() if is_quick(request.config) and find_spec("matplotlib") else nullcontext():
        yield
