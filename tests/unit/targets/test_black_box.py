"""Any procedure of the caller's: what it must declare, and that nothing it does can raise."""

import math
import signal
import sys
import warnings

import numpy as np
import pytest

import sfumato as sf
from sfumato.core import mechanism
from sfumato.core.privacy import Privacy
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.targets.black_box import BlackBox

BOX = sf.Box([(0, 1)])
BASIS = sf.Bernstein(4)
PURE = Privacy(epsilon=1.0)


def constant(value):
    """fit(data) -> a function that is this value everywhere."""
    return lambda data: lambda points: np.full(len(points), value)


@pytest.fixture
def coefficients(monkeypatch):
    """What a target would publish if there were no noise."""
    monkeypatch.setattr(mechanism, "draw", lambda law: np.zeros(law.size, dtype=np.int64))

    def run(target, data=None, box=BOX, basis=BASIS):
        table = open_table(np.zeros(3) if data is None else data, box, "row")
        certificate = target.certificate(basis, box, 3, PURE)
        private = target.coefficients(table, basis, box, certificate)
        return mechanism.publish(private, PURE)[0]

    return run


# --- declarations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", [None, 3, "fit"])
def test_fit_must_be_callable(fit):
    with pytest.raises(ParameterTypeError, match="fit must be callable") as error:
        BlackBox(fit, sensitivity=1.0)
    assert repr(fit) in str(error.value)


def test_a_missing_sensitivity_is_refused():
    with pytest.raises(TypeError, match="sensitivity"):
        BlackBox(constant(0.0))
    with pytest.raises(ParameterError, match="sensitivity is missing"):
        BlackBox(constant(0.0), sensitivity=None)


@pytest.mark.parametrize("sensitivity", [0, 0.0, -1, -1e-300, math.inf, math.nan])
def test_sensitivity_must_be_positive_and_finite(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity") as error:
        BlackBox(constant(0.0), sensitivity=sensitivity)
    assert f"sensitivity={sensitivity!r}" in str(error.value)


@pytest.mark.parametrize("bounds", [(1, 0), (1, 1), (math.nan, 1), (0, math.inf), (-math.inf, 0)])
def test_range_must_be_finite_and_ordered(bounds):
    with pytest.raises(ParameterError, match="range"):
        BlackBox(constant(0.0), sensitivity=1.0, range=bounds)


@pytest.mark.parametrize("bounds", [3, (1,), (0, 1, 2), "ab", (None, 1), ("0", 1), {0, 1}])
def test_range_must_be_a_pair_of_numbers(bounds):
    with pytest.raises(ParameterTypeError, match="range"):
        BlackBox(constant(0.0), sensitivity=1.0, range=bounds)


@pytest.mark.parametrize(
    ("bounds", "fallback"), [(None, 0.0), ((0, 1), 0.5), ((-4, 2), -1.0), ((1e308, 1.5e308), 1.25e308)]
)
def test_the_fallback_is_the_middle_of_the_range(bounds, fallback):
    assert (
        BlackBox(constant(0.0), sensitivity=1e308 if bounds and bounds[1] > 1e300 else 1.0, range=bounds).fallback
        == fallback
    )


def test_a_declared_fallback_is_kept():
    assert BlackBox(constant(0.0), sensitivity=1.0, range=(0, 1), fallback=0.25).fallback == 0.25


@pytest.mark.parametrize("fallback", [1.5, -0.1, math.nan, math.inf])
def test_the_fallback_must_lie_in_the_range(fallback):
    with pytest.raises(ParameterError, match="fallback"):
        BlackBox(constant(0.0), sensitivity=1.0, range=(0, 1), fallback=fallback)


@pytest.mark.parametrize("smoothness", ["smooth", 2, sf.Smooth])
def test_smoothness_must_be_a_promise(smoothness):
    with pytest.raises(ParameterTypeError, match="smoothness"):
        BlackBox(constant(0.0), sensitivity=1.0, smoothness=smoothness)


def test_a_target_is_immutable():
    with pytest.raises(AttributeError):
        BlackBox(constant(0.0), sensitivity=1.0).sensitivity = 2.0


def test_a_sensitivity_that_doubles_cannot_resolve_is_refused():
    target = BlackBox(constant(0.0), sensitivity=1e-300, range=(0, 1))
    with pytest.raises(ParameterError, match="64-bit"):
        sf.release(target, np.zeros(3), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0), basis=sf.Bernstein(2))


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1e-9, 1e6), (1e-3, 1e10), (1e-12, 1.0), (1e-14, 1.0)])
def test_with_next_to_no_noise_the_release_is_the_expansion(sensitivity, epsilon):
    function = lambda points: 1.0 + points[:, 0]  # noqa: E731
    box, basis = sf.Box([(0, 1)]), sf.Bernstein(4, 2)
    target = BlackBox(lambda _: function, sensitivity=sensitivity, range=(0, 3))
    release = sf.release(target, np.zeros(3), box, sf.Privacy(epsilon=epsilon), basis=basis)
    grid = np.linspace(0, 1, 7)
    assert release(grid) == pytest.approx(basis.approximate(function, box)(grid), abs=1e-9)


# --- certificates -------------------------------------------------------------------------------------------------


def test_the_certificate_is_the_stated_bound():
    certificate = BlackBox(constant(0.0), sensitivity=0.1, range=(0, 1)).certificate(BASIS, BOX, 3, PURE)
    assert (certificate.norm, certificate.bound, certificate.known) == ("linf", 0.1, "stated")
    assert certificate.relation == "replace"
    assert certificate.assumptions


def test_a_narrow_range_bounds_the_sensitivity():
    certificate = BlackBox(constant(0.0), sensitivity=5.0, range=(0, 1)).certificate(BASIS, BOX, 3, PURE)
    assert certificate.known == "enforced"
    assert 1.0 <= certificate.bound < 1.0 + 1e-12


def test_a_person_counts_as_many_rows():
    privacy = Privacy(epsilon=1.0, unit=sf.Person("id", 3))
    certificate = BlackBox(constant(0.0), sensitivity=0.1, range=(0, 1)).certificate(BASIS, BOX, None, privacy)
    assert 3 * 0.1 <= certificate.bound <= 0.3 * (1 + 1e-12)


def test_the_range_bounds_what_a_person_can_do():
    privacy = Privacy(epsilon=1.0, unit=sf.Person("id", 30))
    certificate = BlackBox(constant(0.0), sensitivity=0.1, range=(0, 1)).certificate(BASIS, BOX, None, privacy)
    assert certificate.bound == pytest.approx(1.0)
    assert certificate.known == "enforced"


# --- bases --------------------------------------------------------------------------------------------------------


def test_a_promise_chooses_the_basis():
    target = BlackBox(constant(0.0), sensitivity=1e-3, smoothness=sf.Smooth(4, 1.0))
    assert target.choose_basis(BOX, None, PURE) == sf.Smooth(4, 1.0).basis(BOX, 1e-3, 1.0)


def test_the_basis_depends_on_public_quantities_only():
    target = BlackBox(constant(0.0), sensitivity=1e-3, smoothness=sf.Smooth(4, 1.0))
    assert target.choose_basis(BOX, 10, PURE) == target.choose_basis(BOX, 10**6, PURE)


def test_no_promise_no_basis():
    with pytest.raises(ParameterError, match="basis is missing"):
        BlackBox(constant(0.0), sensitivity=1e-3).choose_basis(BOX, None, PURE)


# --- what fit may do ----------------------------------------------------------------------------------------------


def test_fit_sees_the_data_and_the_function_the_lattice(coefficients):
    seen = []

    def fit(data):
        seen.append(data)
        return lambda points: seen.append(points.copy()) or points[:, 0] * data.sum()

    found = coefficients(BlackBox(fit, sensitivity=0.1), np.array([1.0, 2.0]))
    assert seen[0].tolist() == [1.0, 2.0]
    assert seen[1].tolist() == BASIS.lattice(BOX).tolist()
    assert found == pytest.approx([0.0, 0.75, 1.5, 2.25, 3.0], abs=1e-4)


def fail(data):
    raise ValueError(f"the secret is {data}")


def leave(data):
    sys.exit("secret")


def recurse(data):
    return recurse(data)


def warn(data):
    warnings.warn("the secret is out", stacklevel=2)
    return lambda points: np.log(points[:, 0] - 5)


BROKEN = {
    "fit raises": fail,
    "fit exits": leave,
    "fit recurses": recurse,
    "fit returns nothing": lambda data: None,
    "fit returns a number": lambda data: 3.0,
    "fit takes no data": lambda: None,
    "function raises": lambda data: fail,
    "function exits": lambda data: leave,
    "function returns nothing": lambda data: lambda points: None,
    "function returns too few": lambda data: lambda points: np.zeros(len(points) - 1),
    "function returns a matrix": lambda data: lambda points: np.zeros((len(points), 2)),
    "function returns text": lambda data: lambda points: ["x"] * len(points),
    "function returns complex numbers": lambda data: lambda points: np.full(len(points), 1j),
    "function returns nan": lambda data: lambda points: np.full(len(points), np.nan),
    "function returns infinity": lambda data: lambda points: np.full(len(points), np.inf),
    "function returns none": lambda data: lambda points: [None] * len(points),
    "function warns": warn,
    "function divides by zero": lambda data: lambda points: (points[:, 0] * 0) / (points[:, 0] * 0),
    "fit touches what is not there": lambda data: data.no_such_attribute,
}


@pytest.mark.parametrize("name", BROKEN)
def test_whatever_goes_wrong_gives_the_fallback(coefficients, name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning that depends on the data is an output too
        found = coefficients(BlackBox(BROKEN[name], sensitivity=0.1, range=(0, 1), fallback=0.25))
    assert found == pytest.approx([0.25] * 5, abs=1e-4)


def test_only_what_is_not_finite_is_replaced(coefficients):
    def fit(data):
        return lambda points: np.array([0.1, np.nan, 0.3, np.inf, -np.inf])

    assert coefficients(BlackBox(fit, sensitivity=0.1, range=(0, 1))) == pytest.approx(
        [0.1, 0.5, 0.3, 0.5, 0.5], abs=1e-4
    )


def test_values_are_clipped_to_the_range(coefficients):
    def fit(data):
        return lambda points: np.array([-7.0, 0.0, 0.5, 1.0, 1e300])

    assert coefficients(BlackBox(fit, sensitivity=0.1, range=(0, 1))) == pytest.approx([0, 0, 0.5, 1, 1], abs=1e-4)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, 5e-324])
def test_extreme_values_without_a_range(coefficients, value):
    assert np.isfinite(coefficients(BlackBox(constant(value), sensitivity=0.1))).all()


@pytest.mark.parametrize(
    "shape", [lambda v: v, lambda v: v[:, None], list, lambda v: v.astype(np.float32), lambda v: v.astype(object)]
)
def test_values_may_come_in_any_reasonable_form(coefficients, shape):
    found = coefficients(BlackBox(lambda data: lambda points: shape(points[:, 0]), sensitivity=0.1))
    assert found == pytest.approx([0, 0.25, 0.5, 0.75, 1], abs=1e-4)


def test_the_data_frame_is_left_alone_by_a_fit_that_changes_points(coefficients):
    def fit(data):
        def function(points):
            points[:] = -1
            return np.zeros(len(points))

        return function

    assert coefficients(BlackBox(fit, sensitivity=0.1)).tolist() == [0.0] * 5


def test_an_interrupt_that_was_sent_is_the_callers(coefficients, interruptible):
    def fit(data):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        coefficients(BlackBox(fit, sensitivity=0.1))


def test_an_interrupt_that_nobody_sent_is_a_failure_of_fit(coefficients):
    """A value may raise one when it is asked what it is, and to stop without a release would be an output."""

    def fit(data):
        raise KeyboardInterrupt("a private value")

    assert coefficients(BlackBox(fit, sensitivity=0.1, fallback=0.25)).tolist() == [0.25] * 5


def test_large_lattices_are_evaluated_in_parts(coefficients):
    sizes = []

    def fit(data):
        return lambda points: sizes.append(len(points)) or np.zeros(len(points))

    coefficients(BlackBox(fit, sensitivity=0.1), basis=sf.Step(20_000))
    assert sum(sizes) == 20_001
    assert max(sizes) < 10_000


# --- rehearsal and description ------------------------------------------------------------------------------------


def test_a_rehearsal_shows_errors():
    with pytest.raises(ValueError, match="secret"):
        BlackBox(fail, sensitivity=0.1).rehearse("made up", BOX, BASIS)


def test_a_rehearsal_shows_values():
    target = BlackBox(lambda data: lambda points: points[:, 0] + data, sensitivity=0.1)
    assert target.rehearse(10.0, BOX, BASIS).tolist() == [10.0, 10.25, 10.5, 10.75, 11.0]


def test_the_description_is_public_text():
    described = dict(BlackBox(constant(0.0), sensitivity=0.1, range=(0, 1)).describe())
    assert described["target"] == "black box"
    assert described["stated sensitivity"] == "0.1"
    assert described["range"] == "(0.0, 1.0)"
    assert described["fallback"] == "0.5"
    assert all(isinstance(part, str) for pair in described.items() for part in pair)


# --- a sensitivity that was sampled ---------------------------------------------------------------------------------


def shifted(data):
    """One record moves this by at most 1/len(data), everywhere."""
    return lambda points: points[:, 0] + np.mean(data)


def sampled(norm=None, n=20, basis=BASIS, box=BOX, **options):
    return sf.sample_sensitivity(
        shifted, sf.oracles.uniform(BOX), n, m=19, norm=norm, rule="exchangeable", box=box, basis=basis, seed=1,
        progress=False, **options,
    )  # fmt: skip


def test_a_sampled_sensitivity_stands_in_for_a_number():
    certificate = sampled()
    target = BlackBox(shifted, sensitivity=certificate)
    found = target.certificate(BASIS, BOX, 20, PURE)
    assert found == certificate.plain()
    release = sf.release(target, np.linspace(0, 1, 20), BOX, Privacy(epsilon=1.0, gamma=0.05), basis=BASIS)
    assert release.law.kind == "linf"
    assert release.guarantee.confidence == 0.95
    assert release.guarantee.assumptions == certificate.assumptions
    assert ("sampled sensitivity", repr(certificate.bound)) in release.target


def test_it_chooses_a_basis_by_its_bound():
    target = BlackBox(shifted, sensitivity=sampled(), smoothness=sf.Smooth(2, 3.0))
    stated = BlackBox(shifted, sensitivity=target.sensitivity.bound, smoothness=sf.Smooth(2, 3.0))
    assert target.choose_basis(BOX, 20, PURE) == stated.choose_basis(BOX, 20, PURE)


def test_nobody_gets_random_privacy_without_having_heard_of_it():
    target = BlackBox(shifted, sensitivity=sampled())
    with pytest.warns(sf.errors.RandomPrivacyWarning, match=r"gamma 0.05\), not differential privacy"):
        sf.release(target, np.zeros(20), BOX, PURE, basis=BASIS)
    with pytest.raises(ParameterError, match=r"gamma=0(\.0)?, but this sensitivity is only sampled"):
        sf.release(target, np.zeros(20), BOX, Privacy(epsilon=1.0, gamma=0), basis=BASIS)


def test_a_narrow_range_is_differential_privacy_proper():
    target = BlackBox(shifted, sensitivity=sampled(), range=(0, 0.01))
    found = target.certificate(BASIS, BOX, 20, PURE)
    assert (found.known, found.confidence) == ("enforced", 1.0)
    other = BlackBox(shifted, sensitivity=sampled("l2"), range=(0, 0.01))
    assert other.certificate(BASIS, BOX, 20, PURE).known == "sampled"  # the range says nothing simple about L2


def test_it_must_have_been_sampled_for_what_is_released():
    target = BlackBox(shifted, sensitivity=sampled())
    with pytest.raises(ParameterError, match="sampled for n=20 records, the data have 21"):
        target.certificate(BASIS, BOX, 21, PURE)
    with pytest.raises(ParameterError, match="sampled on another lattice"):
        target.certificate(sf.Bernstein(5), BOX, 20, PURE)
    with pytest.raises(ParameterError, match="sampled on another lattice"):
        target.certificate(BASIS, sf.Box([(0, 2)]), 20, PURE)
    with pytest.raises(ParameterError, match="a sampled sensitivity speaks of one row"):
        target.certificate(BASIS, BOX, None, Privacy(epsilon=1.0, unit=sf.Person("id", 2)))


def test_responses_that_were_arrays_must_be_as_long_as_the_lattice():
    values = lambda data: shifted(data)(np.linspace(0, 1, 5)[:, None])  # noqa: E731
    array = sf.sample_sensitivity(
        values, sf.oracles.uniform(BOX), 20, m=19, norm="linf", rule="exchangeable", seed=1, progress=False
    )
    assert array.bound == pytest.approx(sampled().bound)
    assert BlackBox(shifted, sensitivity=array).certificate(BASIS, BOX, 20, PURE).bound == array.bound
    with pytest.raises(ParameterError, match="responses of 5 numbers, the release has 6"):
        BlackBox(shifted, sensitivity=array).certificate(sf.Bernstein(5), BOX, 20, PURE)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_any_norm_will_do(norm):
    target = BlackBox(shifted, sensitivity=sampled(norm))
    kinds = {"l1": "laplace", "l2": "l2", "linf": "linf"}
    release = sf.release(target, np.zeros(20), BOX, Privacy(epsilon=1.0, gamma=0.05), basis=BASIS)
    assert release.law.kind == kinds[norm]


def test_a_certificate_of_steps_is_refused():
    steps = sf.Certificate("linf", 3, "replace", "enforced", "page", -4)
    with pytest.raises(ParameterError, match="sensitivity must bound a real vector"):
        BlackBox(shifted, sensitivity=steps)


def test_the_description_says_how_it_is_known():
    described = dict(BlackBox(shifted, sensitivity=sampled()).describe())
    assert "stated sensitivity" not in described
    assert float(described["sampled sensitivity"]) == sampled().bound
