"""What holds for every test: linear algebra on one thread, and as much effort as the run is given."""

import gc
import os

# Tests run side by side, one process for each core. Threads of a BLAS library beside them wait in loops that take more
# processor time than the algebra itself; this must stand before numpy is first imported.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import pytest  # noqa: E402
from _pytest.doctest import DoctestModule  # noqa: E402
from hypothesis import settings  # noqa: E402

from effort import is_quick, thin  # noqa: E402


def pytest_configure(config):
    settings.load_profile("quick" if is_quick(config) else "full")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples in docstrings are in the source: looking for them in tests takes longer than collecting these."""
    return [file for file in (yield) if not isinstance(file, DoctestModule)]


@pytest.hookimpl(tryfirst=True)  # before ``-m`` is asked
def pytest_collection_modifyitems(items):
    thin(items)


def pytest_collection_finish():
    """Thousands of collected tests stay to the end: garbage is looked for elsewhere, and less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this run's own; tests that need it are skipped where there can be none."""
    from servers.postgres import Server, missing

    if (why := missing()) is not None:
        pytest.skip(why)
    from sfumato.accounting.store import close_all

    server = Server().start()
    yield server
    close_all()
    server.remove()
