"""The target behind private bounds: what it counts, what it promises, what it refuses."""

import math
import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.statistics.magnitudes import WIDEST, Magnitudes
from sfumato.core import mechanism
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError
from sfumato.targets.bounds import Bounds

BOX = sf.Box([(-WIDEST, WIDEST)])
ROW = sf.Privacy(epsilon=1.0)


@pytest.fixture
def counts(monkeypatch):
    """The counts that would be published without noise."""
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))

    def run(values):
        target, basis = Bounds(), Magnitudes()
        source = target.gather(
            MemoryEngine().open(np.asarray(values, dtype=np.float64), BOX, "row"), BOX, MemoryEngine()
        )
        certificate = target.certificate(basis, BOX, len(values), ROW)
        return mechanism.publish(target.coefficients(source, basis, BOX, certificate), ROW)[0]

    return run


def test_every_record_is_counted_once(counts):
    values = np.random.default_rng(1).normal(size=70_000) * 1e3  # more than one chunk
    found = counts(values)
    assert found.sum() == 70_000
    assert found.tolist() == np.bincount(Magnitudes().index(values), minlength=len(found)).tolist()


@pytest.mark.parametrize("values", [[], [math.nan] * 3, [math.inf, -math.inf, 1e308, math.nan, 5e-324, 0.0]])
def test_no_values_raise_or_warn(counts, values):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        assert counts(values).sum() == np.sum(~np.isnan(values))


@pytest.mark.parametrize("grant", [ROW, sf.Privacy(rho=0.5), sf.Privacy(epsilon=1.0, neighbours="add-remove")])
def test_the_certificate_is_enforced(grant):
    certificate = Bounds().certificate(Magnitudes(), BOX, None, grant)
    assert (certificate.known, certificate.proof, certificate.exponent) == ("enforced", "statistics", 0)
    assert certificate.bound == Magnitudes().apart(BOX, grant, certificate.norm)


@pytest.mark.parametrize("miss", [0.001, 0.2])
def test_noise_alone_reaches_the_threshold_as_rarely_as_it_says(miss):
    """Of 169 Laplace numbers of scale 2, none exceeds the threshold with probability 1 - miss, or more."""
    plan = sf.plan(Bounds(miss), BOX, ROW, 100)
    above = 0.5 * math.exp(-plan.noise_error / plan.law.deviation)
    assert miss / 4 <= 1 - (1 - above) ** plan.law.size <= miss


def test_one_column_of_numbers():
    with pytest.raises(ParameterError, match=r"bounds are of one column, got \['x0', 'x1'\]"):
        sf.plan(Bounds(), sf.Box([(0, 1), (0, 1)]), ROW)
    with pytest.raises(ParameterError, match="categorical"):
        sf.plan(Bounds(), sf.Box({"sex": sf.Categorical(["F", "M"])}), ROW)


@pytest.mark.parametrize("miss", [0, 1, -0.1, math.nan, "0.1"])
def test_how_often_they_may_be_too_wide(miss):
    with pytest.raises(ParameterError, match="miss must"):
        Bounds(miss)


def test_its_description_is_public_text():
    assert Bounds(0.01).describe() == (("target", "bounds"), ("probability of too wide bounds", "0.01"))
