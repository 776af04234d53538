"""Workers that die, clusters that go away: the same bits, or nothing released and nothing charged."""

from __future__ import annotations

import pytest

import sfumato as sf
from contracts.far import Dying, dask_frame, session, spark_frame
from contracts.folding import passes_of, table
from contracts.test_passes import folded
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import EngineError

BOX = sf.Box({"a": (0, 10)})


@pytest.fixture
def cluster(tmp_path):
    """Two processes of Dask's, on this machine."""
    distributed = pytest.importorskip("distributed", reason="Dask's cluster is not installed")
    made = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        local_directory=str(tmp_path / "dask"),
        silence_logs=60,
    )
    client = distributed.Client(made, set_as_default=False)
    yield client
    client.close()
    made.close()


def deaths(folder, count):
    folder.mkdir()
    for number in range(count):
        (folder / str(number)).write_text("")
    return Dying(str(folder), BOX)


@pytest.mark.slow
def test_dask_survives_the_death_of_a_worker(cluster, tmp_path):
    one = deaths(tmp_path / "deaths", 1)
    engine = sf.engines.Dask(cluster)
    found = folded(one, dask_frame(table(), 8), BOX, engine)
    assert not list((tmp_path / "deaths").iterdir())
    assert found == folded(one, table(), BOX, MemoryEngine())
    # Features stay where they were made; after a death they are made again, and the same.
    for one in passes_of("logistic regression"):
        assert folded(one, dask_frame(table(), 8), one.box, engine) == folded(one, table(), one.box, MemoryEngine())


@pytest.mark.slow
def test_a_cluster_that_went_away_costs_nothing(cluster, tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", sf.Privacy(epsilon=1.0))
    frame, engine = dask_frame(table(), 4), sf.engines.Dask(cluster)
    cluster.cluster.close()
    with pytest.raises(EngineError, match="nothing was released, and nothing was charged"):
        sf.release(sf.KDE(1.0), frame, BOX, sf.Privacy(epsilon=0.5), engine=engine, ledger=account)
    assert account.remaining().epsilon == 1.0


@pytest.mark.slow
def test_spark_survives_the_death_of_a_worker(tmp_path):
    one = deaths(tmp_path / "deaths", 1)
    found = folded(one, spark_frame(table(), 3), BOX, sf.engines.Spark(session()))
    assert not list((tmp_path / "deaths").iterdir())
    assert found == folded(one, table(), BOX, MemoryEngine())
