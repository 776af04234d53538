"""For any records, any bandwidth and any noise: a density is published, holds together, and keeps within its bands."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import sfumato as sf
from effort import tries
from sfumato.bases.density.kernel import GaussianKernel
from sfumato.bases.density.mixture import Mixture
from sfumato.errors import ParameterError

anything = st.one_of(st.floats(), st.floats(-5, 15), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 10.0]))
records = arrays.arrays(np.float64, st.integers(0, 30), elements=anything)
boxes = st.sampled_from([sf.Box({"t": (0, 10)}), sf.Box({"t": sf.Periodic(0, 10)}), sf.Box({"t": sf.Integer(0, 10)})])
grants = st.sampled_from(
    [
        sf.Privacy(epsilon=1.0),
        sf.Privacy(epsilon=1e-4),
        sf.Privacy(epsilon=50.0, neighbours="add-remove"),
        sf.Privacy(rho=0.3),
        sf.Privacy(epsilon=1.0, delta=1e-7, neighbours="add-remove"),
    ]
)
bases = st.sampled_from(["auto", sf.Binning(7), sf.SplitLattice(8, 0.6), sf.SplitLattice(5, 1e-5)])
GRID = np.linspace(0, 10, 13)


@tries(25)
@given(records, boxes, grants, bases, st.sampled_from(["simplex", "none"]), st.sampled_from(["drop", "none"]))
def test_any_records_give_a_density(data, box, privacy, basis, post, missing):
    assume(len(data) or privacy.neighbours != "replace")  # a public number of none is refused
    release = sf.release(sf.KDE(1.2, post=post, missing=missing), data, box, privacy, basis=basis)
    values = release(GRID)
    assert np.isfinite(values).all()
    if post == "simplex":
        assert values.min() >= 0
        assert values.max() <= release.masses.kernel.peak(box) * (1 + 1e-9)
        assert 0 < release.integrate() <= 1 + 1e-6
    for include in ("noise", "total", "worst"):
        low, high = release.band(GRID, include=include)
        assert (low <= values).all() and (values <= high).all()
    assert 0 <= release.quantile(0.3) <= release.quantile(0.7) <= 10
    assert 0 <= release.count < np.inf


@tries(40)
@given(
    st.one_of(
        anything,
        st.integers(-3, 12),
        st.lists(anything, max_size=3),
        arrays.arrays(np.float64, (2, 2), elements=st.floats(-4, 4)),
        st.text(max_size=3),
        st.none(),
    )
)
def test_any_bandwidth_is_used_or_refused(bandwidth):
    box = sf.Box({"x": (0, 10), "y": (0, 10)})
    try:
        kernel = sf.KDE(bandwidth).gaussian(box)
    except ParameterError:
        return
    assert np.linalg.eigvalsh(np.array(kernel.covariance)).min() > 0
    assert math.isfinite(kernel.peak(box))


@given(
    arrays.arrays(np.float64, 9, elements=st.floats(0, 1)),
    st.floats(0.2, 9.0),
    st.floats(0, 10),
    st.floats(0, 10),
    st.booleans(),
)
def test_integrals_of_mixtures_add_up(weights, bandwidth, one, other, periodic):
    box = sf.Box({"t": sf.Periodic(0, 10)}) if periodic else sf.Box({"t": (0, 10)})
    function = Mixture(box, GaussianKernel.of(bandwidth, box), weights)
    low, high = min(one, other), max(one, other)
    parts = [function.integrate([part]) for part in ((0, low), (low, high), (high, 10))]
    assert min(parts) >= -1e-12
    assert sum(parts) == pytest.approx(function.integrate(), abs=1e-9)
    if periodic:
        assert function.integrate() == pytest.approx(weights.sum(), abs=1e-9)


@given(
    st.one_of(
        st.builds(sf.Binning, st.integers(2, 40)),
        st.builds(sf.SplitLattice, st.integers(2, 40), st.floats(1e-300, 10.0)),
    ),
    boxes,
    arrays.arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1)),
)
def test_any_lattice_shares_each_record_out_completely(lattice, box, places):
    shares = lattice.axis_shares(box, 0, places).toarray()
    assert shares.min() >= 0
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (shares.max(axis=1) >= 1 / lattice.size(box) - 1e-12).all()


@tries(25)
@given(records, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(data, random):
    """With next to no noise the masses are those of the set of records."""
    assume(len(data))
    shuffled = data.copy()
    random.shuffle(shuffled)
    box, sure = sf.Box({"t": (0, 10)}), sf.Privacy(epsilon=1e9)
    one, two = (sf.release(sf.KDE(1.0), d, box, sure, basis=sf.Binning(9)).coefficients for d in (data, shuffled))
    assert one == pytest.approx(two, abs=1e-5)
    present = ~np.isnan(data)
    assert one.sum() == pytest.approx(present.sum(), abs=1e-4)
