"""What tests of collectors share."""

import numpy as np

import sfumato as sf

BOX = sf.Box({"x": (0, 1), "y": (0, 1)})
P = sf.local.Density(BOX, epsilon=1.0, lattice=4, seed=7, users=2**20, randomizer="hadamard")
RECORDS = np.random.default_rng(3).uniform(size=(600, 2))


def same(one, other):
    """Bit for bit the same."""
    return (
        one.reports == other.reports
        and one.rejected == other.rejected
        and one._state.keys() == other._state.keys()
        and all(np.array_equal(values, other._state[name]) for name, values in one._state.items())
        and one._seen.keys() == other._seen.keys()
        and all(np.array_equal(bits, other._seen[key]) for key, bits in one._seen.items())
    )


def filled(first=0, count=50):
    collector = P.collector()
    assert collector.add_batch(P.encode_many(RECORDS[:count], first_user=first)) == count
    return collector


def filled_of(data):
    collector = P.collector()
    collector.add_batch(data)
    return collector
