"""Naive Bayes: what is refused, what a record adds, that labels outside count for nothing, and the plain formulas."""

import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from opening import numbers_of, places_kept
from sfumato.bases.bayes.attributes import Attributes
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import ParameterError, ParameterTypeError, SchemaError
from unit.targets.sources import SOURCES

MIXED = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "bmi": (10, 60)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
ONE = sf.Privacy(epsilon=1.0)
RNG = np.random.default_rng(7)
ROWS = 400
ILL = RNG.choice(["no", "yes"], ROWS, p=[0.7, 0.3])
FRAME = pd.DataFrame(
    {
        "age": np.where(ILL == "yes", RNG.normal(70, 12, ROWS), RNG.normal(40, 15, ROWS)).clip(0, 110),
        "sex": np.where(RNG.uniform(size=ROWS) < np.where(ILL == "yes", 0.7, 0.4), "M", "F"),
        "bmi": np.where(ILL == "yes", RNG.normal(31, 5, ROWS), RNG.normal(24, 4, ROWS)).clip(10, 60),
        "ill": ILL,
    }
)
PAIR = (FRAME[["age", "bmi"]].to_numpy(), np.array(ILL))
KERNEL = sf.NaiveBayes("ill", ["no", "yes"], bandwidth=[8.0, 3.0])
NORMAL = sf.NaiveBayes("ill", ["no", "yes"], likelihood="normal")
LATTICES = Attributes((sf.Binning(12), None, sf.Binning(12)))
MOMENTS = Attributes((None, None, None))


def whole(data, target=KERNEL, box=MIXED, basis=LATTICES, privacy=ONE):
    """The integer coefficients before any noise."""
    gathered = target.gather(MemoryEngine().open(data, box, privacy.unit, target.columns), box, MemoryEngine())
    certificate = target.certificate(basis, box, None, privacy)
    return numbers_of(target.coefficients(gathered, basis, box, certificate))


# --- errors -----------------------------------------------------------------------------------------------------


def test_undeclared_classes_are_refused():
    with pytest.raises(ParameterError, match=r"classes=\[...\].*never taken from the data"):
        sf.NaiveBayes("ill", None)


@pytest.mark.parametrize(
    ("classes", "kind", "words"),
    [
        (["no"], ParameterError, "two or more different values"),
        ([], ParameterError, "two or more different values"),
        (["no", "no"], ParameterError, "two or more different values"),
        (["no", 1], ParameterTypeError, "all text or all numbers"),
        ([0, math.nan], ParameterError, "all numbers below 1e99"),
        ("yes", ParameterTypeError, "classes must be a list"),
        (2, ParameterTypeError, "classes must be a list"),
        ({"no", "yes"}, ParameterTypeError, "classes must be a list"),
    ],
)
def test_bad_classes_are_refused(classes, kind, words):
    with pytest.raises(kind, match=words):
        sf.NaiveBayes("ill", classes)


@pytest.mark.parametrize("response", [["ill", "dead"], ("ill",), "", 3, None])
def test_one_response_only(response):
    with pytest.raises(ParameterTypeError, match="response must be the name of a column, got response="):
        sf.NaiveBayes(response, ["no", "yes"])


@pytest.mark.parametrize("bandwidth", [[0.0, 3.0], [8.0, -1.0]])
def test_a_bandwidth_must_be_positive(bandwidth):
    with pytest.raises(ParameterError, match="bandwidth must be positive, got bandwidth="):
        sf.NaiveBayes("ill", ["no", "yes"], bandwidth=bandwidth)


@pytest.mark.parametrize(
    ("bandwidth", "kind", "words"),
    [
        (8.0, ParameterTypeError, "bandwidth must be 'auto' or a list, got bandwidth=8.0"),
        (None, ParameterTypeError, "bandwidth must be 'auto' or a list"),
        ("wide", ParameterError, "bandwidth must be one of 'auto'"),
        ([8.0, math.nan], ParameterError, "bandwidth must be finite"),
    ],
)
def test_what_is_no_bandwidth_is_refused(bandwidth, kind, words):
    with pytest.raises(kind, match=words):
        sf.NaiveBayes("ill", ["no", "yes"], bandwidth=bandwidth)


def test_settings_are_checked():
    with pytest.raises(ParameterError, match="likelihood must be one of 'kernel', 'normal', got likelihood='gauss'"):
        sf.NaiveBayes("ill", ["no", "yes"], likelihood="gauss")
    with pytest.raises(ParameterError, match="expected_rows"):
        sf.NaiveBayes("ill", ["no", "yes"], expected_rows=0)


@pytest.mark.parametrize(
    ("target", "box", "words"),
    [
        (KERNEL, sf.Box({"age": (0, 110), "ill": (0, 1)}), "response 'ill' must not be among the columns of the box"),
        (KERNEL, sf.Box({"age": (0, 110)}), r"one number per numeric column \(1\), got bandwidth=\(8.0, 3.0\)"),
        (KERNEL, sf.Box({"age": (0, 5), "bmi": (10, 60)}), "column 'age' is 5 wide"),
        (KERNEL, sf.Box({"age": (0, 110), "bmi": (0, 60)}, max_norm=50), "a box with max_norm has no meaning here"),
    ],
)
def test_a_box_that_does_not_fit_is_refused_before_data_are_read(target, box, words):
    with pytest.raises(ParameterError, match=words):
        sf.release(target, "there is no such file.csv", box, ONE)


@pytest.mark.parametrize("basis", [sf.Binning(9), sf.Bernstein(5), sf.Step(5), sf.Landmarks(4)])
def test_other_bases_are_refused(basis):
    with pytest.raises(ParameterTypeError, match="basis"):
        sf.release(KERNEL, FRAME, MIXED, ONE, basis=basis)


@pytest.mark.parametrize(
    "lattices",
    [
        (None, None, None),
        (sf.Binning(9), None),
        (sf.Binning(9), sf.Binning(2), sf.Binning(9)),
        (None, sf.Binning(9), None),
    ],
)
def test_every_smoothed_column_has_a_lattice_and_no_other(lattices):
    with pytest.raises(ParameterError, match="a lattice for each smoothed column, and for no other"):
        sf.release(KERNEL, FRAME, MIXED, ONE, basis=Attributes(lattices))


def test_moments_have_no_lattice():
    with pytest.raises(ParameterError, match="a lattice for each smoothed column, and for no other"):
        sf.release(NORMAL, FRAME, MIXED, ONE, basis=LATTICES)


def test_a_lattice_finer_than_the_kernel_is_refused():
    with pytest.raises(ParameterError, match=r"points must be at most .* along column 'bmi'"):
        sf.release(KERNEL, FRAME, MIXED, ONE, basis=Attributes((sf.Binning(9), None, sf.Binning(3000))))


def test_noise_that_ties_columns_together_is_refused_before_anything_is_paid(tmp_path):
    account = sf.Ledger(tmp_path / "budget.db").account("clinic", ONE)
    with pytest.raises(ParameterError, match=r"noise='l2' ties all columns together; use noise='auto'"):
        sf.release(KERNEL, FRAME, MIXED, ONE, noise="l2", ledger=account)
    assert account.history() == []


def test_tables_must_have_the_columns():
    with pytest.raises(SchemaError, match="'ill'"):
        sf.release(KERNEL, FRAME.drop(columns="ill"), MIXED, ONE)
    with pytest.raises(SchemaError, match="'sex'"):
        sf.release(KERNEL, FRAME.drop(columns="sex"), MIXED, ONE)
    with pytest.raises(SchemaError, match="'ill' must hold text, as its categories do"):
        sf.release(KERNEL, FRAME.assign(ill=1), MIXED, ONE)
    with pytest.raises(SchemaError, match=r"pass an \(X, y\) pair"):
        sf.release(KERNEL, PAIR[0], PLANE, ONE)
    with pytest.raises(SchemaError, match="text as declared"):
        sf.release(KERNEL, (PAIR[0], np.zeros(ROWS)), PLANE, ONE)
    with pytest.raises(SchemaError, match="y must hold one value for each row"):
        sf.release(KERNEL, (PAIR[0], np.stack([PAIR[1]] * 2, axis=1)), PLANE, ONE)


def test_a_target_cannot_change():
    classes, bandwidth = ["no", "yes"], [8.0, 3.0]
    target = sf.NaiveBayes("ill", classes, bandwidth)
    classes[0], bandwidth[0] = "maybe", 1.0
    assert (target.classes, target.bandwidth) == (("no", "yes"), (8.0, 3.0))
    assert hash(target) == hash(sf.NaiveBayes("ill", np.array(["no", "yes"]), np.array([8.0, 3.0])))


# --- what a record adds -----------------------------------------------------------------------------------------


def places(basis, box=MIXED, classes=2):
    """Where each class's numbers of each column are: ``(column, class) -> slice``."""
    found, start = {}, 0
    for column, size in enumerate(basis.sizes(box)):
        for label in range(classes):
            found[column, label] = slice(start, start + size)
            start += size
    return found


@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_record_adds_to_its_class_alone(label):
    record = pd.DataFrame({"age": [30.0], "sex": ["M"], "bmi": [22.0], "ill": [label]})
    own, other = (0, 1) if label == "no" else (1, 0)
    for target, basis in ((KERNEL, LATTICES), (NORMAL, MOMENTS)):
        found, where = whole(record, target, basis=basis), places(basis)
        assert not any(found[where[column, other]].any() for column in range(3))
        assert found[where[1, own]].tolist() == [0, 2**24]
        if target is KERNEL:
            assert all(found[where[column, own]].sum() == 2**24 for column in (0, 2))
        else:
            z = 2 * 30 / 110 - 1
            assert found[where[0, own]] / 2**24 == pytest.approx([z, z * z - 0.5, 0.5], abs=1e-4)


@pytest.mark.parametrize("target", [KERNEL, NORMAL])
def test_labels_outside_the_declared_set_contribute_nothing(target):
    basis = LATTICES if target is KERNEL else MOMENTS
    strange = FRAME.copy()
    strange["ill"] = strange.ill.astype(object)
    strange.loc[::4, "ill"] = "perhaps"
    strange.loc[1::4, "ill"] = None
    strange.loc[2::8, "ill"] = "YES"
    kept = strange[strange.ill.isin(["no", "yes"])]
    assert 0 < len(kept) < ROWS
    assert (whole(strange, target, basis=basis) == whole(kept, target, basis=basis)).all()
    assert sf.release(target, strange.assign(ill="perhaps"), MIXED, ONE).predict(strange[:3]).shape == (3,)


def test_numeric_labels_outside_the_declared_set_contribute_nothing():
    target, basis = sf.NaiveBayes("y", [0, 1, 2.5], [8.0, 3.0]), Attributes((sf.Binning(9), sf.Binning(9)))
    labels = np.resize([0.0, 1.0, 2.5, 7.0, np.nan, np.inf, 0.999], ROWS)
    known = np.isin(labels, [0, 1, 2.5])
    found = whole((PAIR[0], labels), target, PLANE, basis)
    assert (found == whole((PAIR[0][known], labels[known]), target, PLANE, basis)).all()


@pytest.mark.parametrize("target", [KERNEL, NORMAL])
def test_a_record_with_a_missing_value_counts_for_nothing(target):
    """All columns count the same records: the classes' shares are those of one set of them."""
    basis, holed = LATTICES if target is KERNEL else MOMENTS, FRAME.copy()
    holed.loc[::3, "age"] = np.nan
    holed.loc[1::6, "sex"] = "unknown"
    kept = holed[holed.age.notna() & (holed.sex != "unknown")]
    assert 0 < len(kept) < ROWS / 2 + 1
    assert (whole(holed, target, basis=basis) == whole(kept, target, basis=basis)).all()


def test_values_outside_the_box_are_clipped():
    odd = FRAME.assign(age=np.where(FRAME.age > 50, np.inf, -1e300))
    tame = FRAME.assign(age=np.where(FRAME.age > 50, 110.0, 0.0))
    assert (whole(odd) == whole(tame)).all()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", [KERNEL, NORMAL])
def test_every_kind_of_table_gives_the_same_numbers(source, target, tmp_path):
    frame = FRAME.assign(name="somebody")
    frame.loc[::7, "bmi"] = np.nan
    frame.loc[::11, "ill"] = "perhaps"
    basis = LATTICES if target is KERNEL else MOMENTS
    assert (whole(SOURCES[source](frame, tmp_path), target, basis=basis) == whole(frame, target, basis=basis)).all()


def test_pairs_give_the_same_numbers_as_tables():
    basis = Attributes((sf.Binning(9), sf.Binning(9)))
    assert (whole(PAIR, KERNEL, PLANE, basis) == whole(FRAME, KERNEL, PLANE, basis)).all()
    coded = np.where(ILL == "yes", 1, 0)
    numbers = sf.NaiveBayes("ill", [0, 1], [8.0, 3.0])
    assert (whole((PAIR[0], coded), numbers, PLANE, basis) == whole(PAIR, KERNEL, PLANE, basis)).all()


def test_many_records_are_read_in_pieces(monkeypatch):
    once = whole(FRAME)
    monkeypatch.setattr(MemoryEngine, "chunk_rows", 7)
    assert (whole(FRAME) == once).all()


def test_only_so_many_rows_of_a_person_count():
    frame = FRAME.assign(who=np.arange(ROWS) // 3)
    privacy = sf.Privacy(epsilon=1.0, unit=sf.Person("who", 2))
    kept = places_kept(frame, MIXED, privacy.unit, KERNEL.columns)
    assert np.bincount(kept // 3).max() == 2
    assert (whole(frame, privacy=privacy) == whole(frame.iloc[kept])).all()
    twice = KERNEL.certificate(LATTICES, MIXED, None, privacy)
    assert twice.bound == 2 * KERNEL.certificate(LATTICES, MIXED, None, ONE).bound


# --- certificates -----------------------------------------------------------------------------------------------


def test_the_certificate_adds_up_over_columns():
    for relation, records in (("replace", 2), ("add-remove", 1)):
        found = KERNEL.certificate(LATTICES, MIXED, None, sf.Privacy(epsilon=1.0, neighbours=relation))
        assert (found.norm, found.relation, found.known, found.proof) == ("l1", relation, "enforced", "naive-bayes")
        assert found.bound * 2.0**found.exponent == 3 * records


def test_the_euclidean_certificate_grows_with_the_root_of_the_columns():
    found = KERNEL.certificate(LATTICES, MIXED, None, sf.Privacy(rho=0.5))
    assert found.norm == "l2"
    assert found.bound * 2.0**found.exponent == pytest.approx(math.sqrt(2 * 3), rel=1e-3)
    once = KERNEL.certificate(LATTICES, MIXED, None, sf.Privacy(rho=0.5, neighbours="add-remove"))
    assert once.bound * 2.0**once.exponent == pytest.approx(math.sqrt(3), rel=1e-3)


def test_moments_have_the_certificate_of_their_longest_vector():
    """|z| + |z^2 - 1/2| + 1/2 is at most 2, at the edges; two vectors of one class are at most 2 apart."""
    box, basis = sf.Box({"age": (0, 110)}), Attributes((None,))
    found = NORMAL.certificate(basis, box, None, ONE)
    assert found.bound * 2.0**found.exponent == pytest.approx(4.0, rel=1e-3)
    squared = NORMAL.certificate(basis, box, None, sf.Privacy(rho=0.5))
    assert squared.bound * 2.0**squared.exponent == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_any_number_of_classes_costs_the_same(classes):
    target = sf.NaiveBayes("y", list(range(classes)), [8.0, 3.0])
    assert target.certificate(LATTICES, MIXED, None, ONE) == KERNEL.certificate(LATTICES, MIXED, None, ONE)
    assert target.size(LATTICES, MIXED) == classes * (12 + 2 + 12)


# --- the release ------------------------------------------------------------------------------------------------


def kernel_odds(points, smoothing):
    """Shares of the classes times products of their likelihoods, in plain numpy."""
    odds = []
    for label in ("no", "yes"):
        own = FRAME[FRAME.ill == label]
        value = np.full(len(points), float(len(own)))
        for name, width in (("age", 8.0), ("bmi", 3.0)):
            if smoothing == "normal":
                mean, deviation = own[name].mean(), own[name].std(ddof=0)
                value *= np.exp(-0.5 * ((points[name].to_numpy() - mean) / deviation) ** 2) / deviation
            else:
                apart = (points[name].to_numpy()[:, None] - own[name].to_numpy()) / width
                value *= np.exp(-0.5 * apart**2).mean(axis=1)
        value *= [(own.sex == sex).mean() for sex in points.sex]
        odds.append(value)
    return np.stack(odds, axis=1) / np.sum(odds, axis=0)[:, None]


@pytest.mark.parametrize("smoothing", ["kernel", "normal"])
def test_without_noise_it_is_the_plain_formula(no_noise, smoothing):
    target = KERNEL if smoothing == "kernel" else NORMAL
    release = sf.release(target, FRAME, MIXED, sf.Privacy(epsilon=1e6))
    points = FRAME[:60]
    assert release.predict_proba(points) == pytest.approx(kernel_odds(points, smoothing), abs=0.01)
    assert release.counts == pytest.approx([(ILL == "no").sum(), (ILL == "yes").sum()], abs=0.01)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "privacy",
    [ONE, sf.Privacy(epsilon=1.0, neighbours="add-remove"), sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.1)],
)
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_every_grant_is_published(privacy, likelihood):
    release = sf.release(sf.NaiveBayes("ill", ["no", "yes"], likelihood=likelihood), FRAME, MIXED, privacy)
    assert (release.guarantee.epsilon, release.guarantee.rho) == (privacy.epsilon, privacy.rho)
    found = release.predict_proba(FRAME[:20])
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert release.law.size == len(release.classes) * sum(part.law.size for part in release.likelihoods)


def test_it_learns():
    release = sf.release(sf.NaiveBayes("ill", ["no", "yes"]), FRAME, MIXED, sf.Privacy(epsilon=20.0))
    assert (release.predict(FRAME) == ILL).mean() > 0.8


def test_categories_alone():
    box = sf.Box({"sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})
    frame = FRAME[["sex", "ill"]].assign(grade=np.resize([1, 2, 3], ROWS))
    release = sf.release(sf.NaiveBayes("ill", ["no", "yes"]), frame, box, ONE)
    assert release.law.size == 2 * (2 + 3)
    assert sf.plan(sf.NaiveBayes("ill", ["no", "yes"]), box, ONE, 400).noise_error > 0


def test_open_bandwidths_are_settled_by_a_public_rule():
    settled = sf.NaiveBayes("ill", ["no", "yes"]).settled(MIXED, ROWS, ONE)
    assert len(settled.bandwidth) == 2
    part = sf.Privacy(epsilon=1 / 3)
    assert settled.bandwidth[0] == pytest.approx(sf.KDE().settled(sf.Box({"age": (0, 110)}), 200, part).bandwidth[0])
    assert sf.NaiveBayes("ill", ["no", "yes"], likelihood="normal").settled(MIXED, ROWS, ONE).bandwidth == ()
    assert KERNEL.settled(MIXED, ROWS, ONE).bandwidth == (8.0, 3.0)
