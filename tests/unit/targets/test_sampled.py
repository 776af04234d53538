"""Sensitivities that a caller brings along: numbers, certificates, sampled ones; what each may be used for."""

import math
import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.certificate import Certificate
from sfumato.errors import ParameterError, ParameterTypeError, RandomPrivacyWarning
from sfumato.targets.sampled import bound_of, certify, check_sampled, check_sensitivity, how_known

UNIT = sf.Box([(0, 1)])
ROW = sf.Privacy(epsilon=1.0)
DATA = np.linspace(0, 1, 20)
STATED = Certificate("l2", 0.25, "replace", "stated", "page", None, ("I looked it up",))


@pytest.fixture(scope="module")
def sampled():
    return sf.sample_sensitivity(np.mean, sf.oracles.uniform(UNIT), 20, gamma=0.1, seed=1, progress=False)


def publish(sensitivity, privacy=ROW, data=DATA, **options):
    return sf.release(sf.Statistic(np.mean, sensitivity=sensitivity, **options), data, UNIT, privacy)


# --- what may be brought along -------------------------------------------------------------------------------------


def test_a_number_or_a_certificate(sampled):
    assert check_sensitivity(2) == 2.0
    assert check_sensitivity(STATED) is STATED
    assert (bound_of(2.0), bound_of(STATED), bound_of(sampled)) == (2.0, 0.25, sampled.bound)
    assert (how_known(2.0), how_known(STATED), how_known(sampled)) == ("stated", "stated", "sampled")


@pytest.mark.parametrize("wrong", [0, -1.0, math.inf, math.nan, "1", None, True, (1.0,)])
def test_nothing_else(wrong):
    with pytest.raises(ParameterError, match="sensitivity must be"):
        check_sensitivity(wrong)


def test_a_certificate_of_whole_steps_is_for_another_vector():
    steps = Certificate("l1", 3, "replace", "enforced", "page", -30)
    with pytest.raises(ParameterError, match=r"must bound a real vector, got a certificate in steps of 2\*\*-30"):
        check_sensitivity(steps)


def test_a_sampled_certificate_is_plain_in_a_release(sampled):
    plain = sampled.plain()
    assert type(plain) is Certificate
    assert (plain.bound, plain.norm, plain.known, plain.confidence) == (sampled.bound, "l1", "sampled", 0.9)
    assert plain.assumptions == sampled.assumptions


@pytest.mark.parametrize("known", ["proved", "enforced", "stated"])
def test_only_a_sampled_bound_can_be_a_sampled_certificate(known, sampled):
    fields = {name: getattr(sampled, name) for name in type(sampled).__dataclass_fields__} | {"known": known}
    for confidence in (0.9, 1.0):
        with pytest.raises(ParameterError, match="confidence"):
            sf.SampledCertificate(**fields | {"confidence": confidence})


def test_its_confidence_is_not_more_than_its_gamma_leaves(sampled):
    fields = {name: getattr(sampled, name) for name in type(sampled).__dataclass_fields__}
    assert sf.SampledCertificate(**fields | {"confidence": 0.8}).confidence == 0.8
    with pytest.raises(ParameterError, match=r"confidence=0.95 is more than gamma=0.1 gives"):
        sf.SampledCertificate(**fields | {"confidence": 0.95})


# --- a stated one ----------------------------------------------------------------------------------------------------


def test_a_number_becomes_a_stated_certificate():
    found = certify(0.5, "l2", "page", "a note", ROW)
    assert found == Certificate("l2", 0.5, "replace", "stated", "page", None, ("a note",))


@pytest.mark.parametrize("sensitivity", [0.25, STATED])
def test_what_is_stated_for_a_row_holds_for_a_person_so_many_times(sensitivity):
    found = certify(sensitivity, "l2", "page", "a note", sf.Privacy(epsilon=1.0, unit=sf.Person("id", 3)))
    assert 0.75 <= found.bound <= 0.75 * (1 + 1e-15)


@pytest.mark.parametrize("known", ["stated", "proved", "enforced"])
def test_a_certificate_of_ones_own_is_ones_own_word(known):
    """Whoever proved it, the library did not."""
    found = publish(Certificate("l2", 0.25, "replace", known, "page", None, ("I looked it up",)))
    certificate = found.law.certificate
    assert (certificate.bound, certificate.norm, certificate.known) == (0.25, "l2", "stated")
    assert found.guarantee.assumptions[:2] == (
        "the l2 sensitivity 0.25 to one row is stated by the caller",
        "I looked it up",
    )
    assert found.guarantee.confidence == 1


def test_a_certificate_speaks_of_one_relation():
    with pytest.raises(ParameterError, match="'replace' neighbours, the privacy of 'add-remove'"):
        publish(STATED, sf.Privacy(epsilon=1.0, neighbours="add-remove"))


# --- a sampled one ---------------------------------------------------------------------------------------------------


def test_a_release_on_it_says_random_everywhere(sampled, tmp_path):
    with pytest.warns(
        RandomPrivacyWarning, match=r"random differential privacy \(gamma 0.1\), not differential privacy"
    ):
        found = publish(sampled)
    assert found.guarantee.confidence == 0.9
    assert str(found.guarantee).startswith("random 1-differential privacy (confidence 0.9)")
    words = found.guarantee.assumptions[0]
    for part in ("gamma 0.1", "rule dkw", "of 285 pairs", "rho ", "uniform on", "tables of 20 records"):
        assert part in words
    assert "random" in repr(found)
    assert ("sampled sensitivity", repr(sampled.bound)) in found.target
    found.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert (loaded.guarantee, loaded.law.certificate) == (found.guarantee, sampled.plain())


def test_a_plan_warns_too(sampled):
    with pytest.warns(RandomPrivacyWarning, match="sampled"):
        plan = sf.plan(sf.Statistic(np.mean, sensitivity=sampled), UNIT, ROW, 20)
    assert plan.guarantee.confidence == 0.9


@pytest.mark.parametrize("gamma", [0.1, 0.2, 0.999])
def test_who_accepts_it_is_not_warned(sampled, gamma):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert publish(sampled, sf.Privacy(epsilon=1.0, gamma=gamma)).guarantee.confidence == 0.9


@pytest.mark.parametrize("gamma", [0, 0.0, 0.05, 0.0999])
def test_who_demands_more_gets_nothing(sampled, gamma):
    with pytest.raises(ParameterError, match=r"the grant takes gamma=0.*, but this sensitivity is only sampled"):
        publish(sampled, sf.Privacy(epsilon=1.0, gamma=gamma))


def test_who_demands_differential_privacy_gets_what_is_not_sampled():
    assert publish(0.05, sf.Privacy(epsilon=1.0, gamma=0)).guarantee.confidence == 1
    proper = sf.release(sf.Statistic("mean"), DATA, UNIT, sf.Privacy(epsilon=1.0, gamma=0))
    assert proper.guarantee.confidence == 1
    assert sf.release(sf.Statistic("median"), DATA, UNIT, sf.Privacy(epsilon=1.0, gamma=0)).guarantee.confidence == 1


def test_a_range_that_is_narrower_makes_it_differential_privacy_proper(sampled):
    found = publish(sampled, sf.Privacy(epsilon=1.0, gamma=0), range=(0, sampled.bound / 2))
    assert (found.guarantee.confidence, found.law.certificate.known) == (1, "enforced")


def test_it_speaks_of_one_row(sampled):
    person = sf.Privacy(epsilon=1.0, unit=sf.Person(1, 3))
    with pytest.raises(ParameterError, match="a sampled sensitivity speaks of one row"):
        publish(sampled, person, np.zeros((20, 2)))


def test_it_speaks_of_replacement(sampled):
    with pytest.raises(ParameterError, match="'replace' neighbours, the privacy of 'add-remove'"):
        publish(sampled, sf.Privacy(epsilon=1.0, neighbours="add-remove"))


def test_it_speaks_of_so_many_records(sampled):
    with pytest.raises(ParameterError, match="was sampled for n=20 records, the data have 21"):
        publish(sampled, data=np.zeros(21))


def test_it_speaks_of_so_many_numbers(sampled):
    with pytest.raises(ParameterError, match="sampled for responses of 1 numbers, the release has 2"):
        publish(sampled, length=2)


def test_it_speaks_of_one_lattice():
    basis = sf.Bernstein(4)
    found = sf.sample_sensitivity(
        lambda data: lambda points: points[:, 0] * data.mean(), sf.oracles.uniform(UNIT), 20, m=9,
        rule="exchangeable", box=UNIT, basis=basis, progress=False,
    )  # fmt: skip
    check_sampled(found, 20, 5, (UNIT, basis))
    check_sampled(found, 20, 5, (UNIT, sf.Bernstein(4, 2)))  # the same points, read in another way
    for lattice in (None, (UNIT, sf.Bernstein(5)), (sf.Box([(0, 2)]), basis)):
        with pytest.raises(ParameterError, match="sampled on another lattice"):
            check_sampled(found, 20, 5, lattice)


def test_a_stated_one_is_the_callers_affair():
    check_sampled(0.5, 7, 3, None)
    check_sampled(STATED, 7, 3, None)


def test_a_norm_of_ones_own_fits_no_noise():
    own = sf.sample_sensitivity(
        np.mean, sf.oracles.uniform(UNIT), 20, m=9, rule="exchangeable", norm=np.abs, progress=False
    )
    with pytest.raises(ParameterError, match="'user'"):
        publish(own, sf.Privacy(epsilon=1.0, gamma=0.5))


def test_the_norm_of_the_certificate_counts_not_that_of_the_statistic():
    two = sf.sample_sensitivity(
        lambda x: [x.mean(), x.max()],
        sf.oracles.uniform(UNIT),
        20,
        m=9,
        rule="exchangeable",
        norm="linf",
        progress=False,
    )
    target = sf.Statistic(lambda x: [x.mean(), x.max()], sensitivity=two, norm="l1", length=2)
    assert sf.release(target, DATA, UNIT, sf.Privacy(epsilon=1.0, gamma=0.1)).law.kind == "linf"


@pytest.mark.parametrize("grant", [{"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0}])
def test_every_currency_can_be_random(sampled, grant):
    found = publish(sampled, sf.Privacy(**grant, gamma=0.1))
    assert found.guarantee.confidence == 0.9
    assert "random" in str(found.guarantee)


def test_nothing_of_it_is_callable_from_a_file(sampled):
    """Everything that a release carries of it is text and numbers."""
    assert all(isinstance(note, str) for note in sampled.plain().assumptions)
    with pytest.raises(ParameterTypeError):
        sf.Statistic(np.mean, sensitivity=lambda: 1.0)
