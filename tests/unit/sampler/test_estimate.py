"""Sampled sensitivities: what is sampled, from what, by which plan; the same from any number of processes."""

import math
import os

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.checks import as_written
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Oracle
from sfumato.sampler import estimate

UNIT = sf.Box([(0, 1)])
LATTICE = {"box": UNIT, "basis": sf.Bernstein(20)}
NORMAL, UNIFORM = sf.oracles.gaussian(), sf.oracles.uniform(UNIT)


def sample(target=np.mean, oracle=NORMAL, n=5, m=40, rule="exchangeable", seed=1, **options):
    return sf.sample_sensitivity(target, oracle, n, m=m, rule=rule, seed=seed, progress=False, **options)


def counting(start=0.0):
    """An oracle of one's own whose records are 0, 1, 2, ... in the order of the calls."""
    state = {"next": start}

    def oracle(n):
        first = state["next"]
        state["next"] += n
        return first + np.arange(n, dtype=np.float64)

    return oracle


# --- the certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "m"), [(0.1, None), (None, 300), (0.2, 300)])
@pytest.mark.parametrize("rule", ["dkw", "exchangeable", "pac"])
def test_the_certificate_says_how_it_was_made(gamma, m, rule):
    plan = sf.sampler_plan(gamma=gamma, m=m, rule=rule)
    found = sf.sample_sensitivity(np.mean, NORMAL, 5, gamma, m, rule=rule, seed=1, progress=False)
    assert isinstance(found, sf.SampledCertificate) and isinstance(found, sf.Certificate)
    assert (found.m, found.k, found.gamma, found.rho, found.rule) == (plan.m, plan.k, plan.gamma, plan.rho, rule)
    assert (found.known, found.relation, found.proof, found.exponent) == ("sampled", "replace", "sampler", None)
    assert as_written(found.confidence) <= 1 - as_written(plan.gamma)
    assert found.confidence == pytest.approx(1 - plan.gamma, abs=1e-15)
    assert (found.n, found.size, found.seed, found.lattice, found.spent) == (5, 1, 1, None, None)


def test_its_words_name_everything_it_rests_on():
    found = sample(gamma=0.1, m=285, rule="dkw")
    (words,) = found.assumptions
    for part in (
        "random differential privacy only",
        "gamma 0.1",
        "rule dkw",
        f"distance {found.k} of 285 pairs",
        f"rho {found.rho:.4g}",
        f"l1 sensitivity {found.bound:g}",
        "Gaussian of mean 0.0 and deviation 1.0",
        "one random pair of tables of 5 records",
    ):
        assert part in words
    assert "rho" not in sample(gamma=0.1).assumptions[0]


def test_it_does_not_change():
    with pytest.raises(AttributeError):
        sample().bound = 0.1


def test_the_bound_is_the_kth_smallest_distance():
    """Tables 0..4, 5; 6..10, 11; ...: the mean moves by 1/5 each time. With a growing step, by what was planned."""
    assert sample(np.mean, counting(), seed=None).bound == pytest.approx(0.2)
    found = []
    oracle = counting()

    def last_squared(records):
        return records[-1] ** 2

    def watched(first, second):
        found.append(abs(first - second))
        return found[-1]

    got = sample(last_squared, oracle, m=50, gamma=0.3, seed=None, norm=watched)
    assert len(found) == 50
    assert got.bound == sorted(found)[got.k - 1]
    assert got.k < 50


@pytest.mark.parametrize(("norm", "far"), [("l1", 1.5), ("l2", math.hypot(1.0, 0.5)), ("linf", 1.0)])
def test_the_norm_is_the_one_asked_for(norm, far):
    found = sample(lambda x: [x[-1], x[-1] / 2], counting(), seed=None, norm=norm)
    assert (found.norm, found.size) == (norm, 2)
    assert found.bound == pytest.approx(far)


def test_l1_is_the_default_for_numbers_and_linf_for_functions():
    assert sample().norm == "l1"
    assert sample(sf.KDE(0.1), UNIFORM, **LATTICE).norm == "linf"
    assert sample(lambda data: lambda points: points[:, 0] * data.mean(), UNIFORM, **LATTICE).norm == "linf"


def test_a_norm_of_ones_own_fits_no_noise_unless_it_stands_for_one():
    own = sample(lambda x: {"middle": x.mean()}, norm=lambda a, b: abs(a["middle"] - b["middle"]))
    assert (own.norm, own.size) == ("user", None)
    assert own.bound == sample().bound
    above = sample(lambda x: [x.mean(), 0.0], norm=lambda d: 2 * np.abs(d).sum(), stands_for="l2")
    assert above.norm == "l2"
    assert above.bound == pytest.approx(2 * own.bound)


def test_tables_and_pairs_of_arrays_are_sampled_too():
    box = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})
    share = lambda table: table.column("sex").to_pylist().count("F") / table.num_rows  # noqa: E731
    assert sample(share, sf.oracles.uniform(box, table=True), n=10).bound == pytest.approx(0.1)
    slope = lambda pair: float(pair[0] @ pair[1])  # noqa: E731
    pairs = Oracle("X and y", lambda n, g: (g.uniform(size=n), g.uniform(size=n)))
    assert 0 < sample(slope, pairs).bound <= 1
    public = pd.DataFrame({"age": [1.0, 5.0]})
    assert sample(lambda t: t["age"].sum(), sf.oracles.bootstrap(public)).bound == 4.0


def test_the_guarantee_of_a_private_oracle_is_kept():
    release = sf.release(sf.KDE(0.2), np.linspace(0, 1, 500), UNIT, sf.Privacy(epsilon=0.5))
    found = sample(oracle=sf.oracles.density(release), n=20)
    assert found.spent == release.guarantee
    assert "a released density that cost 0.5-differential privacy" in found.oracle
    assert found.oracle in found.assumptions[0]


# --- targets ---------------------------------------------------------------------------------------------------------


def test_a_black_box_and_a_statistic_are_sampled_as_they_would_be_released():
    fit = lambda data: lambda points: points[:, 0] * data.mean()  # noqa: E731
    plain = sample(lambda data: fit(data), UNIFORM, **LATTICE)
    box = sample(sf.BlackBox(fit, sensitivity=1.0), UNIFORM, **LATTICE)
    assert (box.bound, box.size, box.lattice) == (plain.bound, 21, (UNIT, sf.Bernstein(20)))
    both = lambda data: [data.mean(), data.std()]  # noqa: E731
    assert sample(sf.Statistic(both, sensitivity=1.0, length=2)) == sample(both)


def density(records):
    """The same estimate as sf.KDE's, by hand, from all records."""
    nodes = np.linspace(0, 1, 21)
    return np.exp(-0.5 * ((nodes[:, None] - records) / 0.1) ** 2).mean(axis=1) / (0.1 * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("n", [1, 7, 50])
def test_only_the_replaced_record_of_a_density_is_looked_at(n):
    """Whatever the oracle's other records are: the same bound as from whole tables, drawn alike."""
    whole = sample(density, counting_uniform(), n=n, norm="linf", seed=None)
    quick = sample(sf.KDE(0.1), counting_uniform(), n=n, seed=None, **LATTICE)
    assert quick.bound == pytest.approx(whole.bound, rel=1e-9)
    assert quick.size == 21


def counting_uniform():
    numbers = np.random.default_rng(8)
    return lambda n: numbers.uniform(size=n)


def test_a_density_never_exceeds_its_analytic_bound_and_nearly_reaches_it():
    """b = 0.1, n = 5000, 21 lattice points: one record moves the estimate by at most the kernel's peak over n."""
    peak = 1 / (0.1 * math.sqrt(2 * math.pi)) / 5000
    found = sample(sf.KDE(0.1), UNIFORM, n=5000, m=1305, gamma=0.05, rule="dkw", **LATTICE)
    assert 0.99 * peak <= found.bound <= peak


def test_blocks_of_pairs_do_not_matter_for_the_law(monkeypatch):
    """More pairs than a block: the largest of them is still below the peak, and there are as many as planned."""
    seen = []
    monkeypatch.setattr(estimate, "_BLOCK", 16)
    monkeypatch.setattr(estimate, "_bound", lambda found, plan: seen.append(len(found)) or 1.0)
    sample(sf.KDE(0.1), UNIFORM, m=50, **LATTICE)
    sample(m=50)
    assert seen == [50, 50]


def test_built_in_statistics_have_nothing_to_sample():
    with pytest.raises(ParameterTypeError, match="Statistic has a proved certificate"):
        sample(sf.Statistic("mean"))


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (sf.KDE(0.1), {}),
        (sf.KDE("auto"), LATTICE),
        (sf.KDE(0.1, by="sex"), LATTICE),
    ],
)
def test_a_density_needs_a_lattice_and_a_bandwidth(target, options):
    with pytest.raises(ParameterError, match=r"densities are compared on the lattice of sf.Bernstein"):
        sample(target, UNIFORM, **options)


# --- the same whoever works ------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_certificate():
    assert sample(seed=7) == sample(seed=7)
    assert sample(seed=7).bound != sample(seed=8).bound


@pytest.mark.few(1)
@pytest.mark.parametrize("processes", [2, 3])
@pytest.mark.parametrize("m", [1, 2, 17, 100])
def test_the_number_of_processes_does_not_matter(m, processes):
    """A lambda is no obstacle where processes are forked."""
    shift = 3.0
    target = lambda x: float(np.exp(x).mean() + shift)  # noqa: E731
    assert sample(target, m=m) == sample(target, m=m, processes=processes)


def test_several_processes_do_the_work():
    found = sample(
        lambda x: [os.getpid(), x.mean()], m=64, processes=2, norm=lambda a, b: float(a[0] != os.getpid()) + 1
    )
    assert found.bound == 1.0  # each pair is compared by the process that responds to it
    assert sample(lambda x: float(os.getpid() == parent) + x[-1] * 0, m=4, norm=lambda a, b: a + 1).bound == 2.0
    assert (
        sample(lambda x: float(os.getpid() == parent) + x[-1] * 0, m=4, processes=2, norm=lambda a, b: a + 1).bound
        == 1.0
    )


parent = os.getpid()


def test_a_target_may_sample_itself():
    def nested(x):
        return x.mean() + 0 * sample(np.median, m=3, seed=5).bound

    assert sample(nested).bound == pytest.approx(sample().bound)


def test_an_oracle_of_ones_own_is_called_in_this_process_only():
    """Copies in other processes could all draw the same records."""
    seen = []

    def oracle(n):
        seen.append(os.getpid())
        return np.random.default_rng(len(seen)).normal(size=n)

    alone = sample(np.mean, oracle, seed=None)
    assert len(seen) == 80
    seen.clear()
    together = sample(np.mean, oracle, seed=None, processes=2)
    assert set(seen) == {os.getpid()} and len(seen) == 80
    assert together.bound == alone.bound


def test_errors_in_other_processes_are_told():
    with pytest.raises(ParameterError, match="asked for 6 records and returned 3"):
        sample(oracle=Oracle("short", lambda n, g: g.normal(size=3)), processes=2)


def test_a_fresh_seed_is_drawn_and_told():
    one, two = sample(seed=None), sample(seed=None)
    assert one.seed != two.seed
    assert sample(seed=one.seed) == one


def test_an_oracle_of_ones_own_has_no_seed():
    assert sample(np.mean, counting(), seed=None).seed is None
    with pytest.raises(ParameterError, match="seed your own oracle yourself"):
        sample(np.mean, counting(), seed=1)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, 3, "mean"])
def test_the_target_must_be_callable(target):
    with pytest.raises(ParameterTypeError, match="target must be a function of records or a target"):
        sample(target)


@pytest.mark.parametrize("oracle", [None, 3, np.zeros(5)])
def test_the_oracle_must_be_callable(oracle):
    with pytest.raises(ParameterTypeError, match="oracle must be callable"):
        sample(oracle=oracle)


@pytest.mark.parametrize(("name", "value"), [("n", 0), ("n", 1.5), ("n", None), ("processes", 0), ("processes", "2")])
def test_counts_must_be_whole_and_positive(name, value):
    with pytest.raises(ParameterError, match=name):
        sample(**{name: value})


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(ParameterTypeError, match="seed must be a whole number"):
        sample(seed=seed)


@pytest.mark.parametrize("norm", ["l3", "user", ""])
def test_a_norm_must_be_known(norm):
    with pytest.raises(ParameterError, match="norm must be one of 'l1', 'l2', 'linf'"):
        sample(norm=norm)


def test_a_norm_must_be_a_word_or_a_function():
    with pytest.raises(ParameterTypeError, match="norm must be one of"):
        sample(norm=2)


def test_a_norm_can_stand_for_three_only():
    with pytest.raises(ParameterError, match="stands_for must be one of 'l1', 'l2', 'linf'"):
        sample(norm=np.linalg.norm, stands_for="user")
    with pytest.raises(ParameterError, match="stands_for is for a norm of your own"):
        sample(norm="l1", stands_for="l2")


@pytest.mark.parametrize("options", [{"box": UNIT}, {"basis": sf.Bernstein(3)}])
def test_a_box_and_a_basis_come_together(options):
    with pytest.raises(ParameterError, match="box and basis come together"):
        sample(**options)


@pytest.mark.parametrize("options", [{"box": (0, 1), "basis": sf.Bernstein(3)}, {"box": UNIT, "basis": sf.Binning(3)}])
def test_a_lattice_is_that_of_a_box_and_a_polynomial(options):
    with pytest.raises(ParameterTypeError, match=r"box must be an sf.Box and basis an sf.Bernstein"):
        sample(**options)


def test_too_few_pairs_say_the_least():
    with pytest.raises(ParameterError, match=r"m=284 pairs are too few for gamma=0.1: .*at least m=285"):
        sample(m=284, gamma=0.1, rule="dkw")


@pytest.mark.parametrize("gamma", [0.0, 1.0, -1, 2])
def test_gamma_must_lie_between_0_and_1(gamma):
    with pytest.raises(ParameterError, match="gamma must lie strictly between 0 and 1"):
        sample(gamma=gamma)


@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_rho_must_lie_between_0_and_1(rho):
    with pytest.raises(ParameterError, match="rho must lie strictly between 0 and 1"):
        sample(gamma=0.1, rho=rho, m=500, rule="dkw")


@pytest.mark.parametrize("processes", [1, 2])
def test_the_wrong_number_of_records_is_said(processes):
    with pytest.raises(ParameterError, match="the oracle was asked for 5 records and returned 4"):
        sample(oracle=lambda n: np.zeros(4), seed=None, processes=processes)
    with pytest.raises(ParameterError, match="the oracle was asked for 6 records and returned 5"):
        sample(oracle=Oracle("short", lambda n, g: g.normal(size=n - 1)), processes=processes)


def test_the_wrong_shape_of_records_is_said():
    with pytest.raises(ParameterError, match="the oracle's records differ in shape"):
        sample(oracle=lambda n: np.zeros((n, n)), seed=None)


def test_responses_must_be_of_one_size():
    with pytest.raises(ParameterError, match="responses differ in shape"):
        sample(lambda x: np.zeros(1 + int(9 * abs(x[-1]))))
    with pytest.raises(ParameterError, match="responses differ in size"):
        sample(lambda x: np.zeros(1 + int(9 * abs(x[0]))), norm=lambda a, b: 1.0)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_an_infinite_sensitivity_is_no_bound(value):
    with pytest.raises(ParameterError, match="40 of 40 pairs are not a finite distance apart: no bound follows"):
        sample(norm=lambda d: value)


def test_a_negative_distance_is_no_bound():
    with pytest.raises(ParameterError, match="no bound follows"):
        sample(norm=lambda d: -1.0)


def test_no_difference_is_no_bound():
    """A bound of 0 would mean no noise at all."""
    with pytest.raises(ParameterError, match="40 of 40 pairs gave the same response: no noise would be added"):
        sample(lambda x: 0.0)


def test_a_target_that_fails_shows_its_error():
    """The records are made up: nothing need be hidden."""
    with pytest.raises(ZeroDivisionError):
        sample(lambda x: 1 / 0)
