"""No hunted pair of neighbours beats the certificate of a naive Bayes classifier; the printed bound is beaten.

The paper releases the product of l likelihoods, on an l-dimensional lattice. That product is here only for comparison:
the library releases every column by itself. Nothing here draws noise: there are no false alarms.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings

import numpy as np
import pyarrow as pa
import pytest
from harness.hunter import hunt
from scipy.spatial.distance import cdist

import sfumato as sf
from opening import numbers_of
from sfumato.bases.bayes.attributes import Attributes
from sfumato.bases.bayes.contributions import BITS, column_norms, shares_of
from sfumato.core.mechanism import Private
from sfumato.engines.memory import MemoryEngine

GRANTS = {"l1": {"epsilon": 1.0}, "l2": {"rho": 0.5}}
METRICS = {"l1": "cityblock", "l2": "euclidean"}
RELATIONS = ("replace", "add-remove")

# Numeric categories, so that an (X, y) pair can hold them; the lattice of the first column has points in its corners.
BOX = sf.Box([(0, 10), sf.Periodic(0, 24), sf.Categorical((1, 2, 3)), sf.Integer(-5, 5)])
MIXED = {
    "kernel": (
        sf.NaiveBayes("y", (0, 1, 2), [0.4, 1.0, 0.4]),
        Attributes((sf.Binning(9), sf.SplitLattice(24, 0.5), None, sf.Binning((21,)))),
    ),
    "normal": (sf.NaiveBayes("y", (0, 1, 2), likelihood="normal"), Attributes((None,) * 4)),
}


def opened(target, basis, box, privacy):
    """What the mechanism would perturb, and its certificate: data in, private integers out."""
    certificate = target.certificate(basis, box, None, privacy)

    def statistic(data):
        gathered = target.gather(MemoryEngine().open(data, box, privacy.unit), box, MemoryEngine())
        private = target.coefficients(gathered, basis, box, certificate)
        assert isinstance(private, Private)
        return numbers_of(private)

    return statistic, certificate


def pair(records):
    """An ``(X, y)`` pair from rows whose last entry is the label."""
    records = np.asarray(records, dtype=np.float64)
    return records[:, :-1], records[:, -1].copy()


def grant(norm, relation, **options):
    return sf.Privacy(**GRANTS[norm], neighbours=relation, **options)


def farthest(vectors, norm, relation):
    """The largest distance between sums of neighbours, if these vectors are all that records can be."""
    nothing = np.zeros((1, vectors.shape[1]))
    others = np.concatenate([vectors, nothing]) if relation == "replace" else nothing
    return float(cdist(vectors, others, METRICS[norm]).max())


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [2, 3, 64, 501])
def test_all_pairs_of_rows_of_moments_are_within_their_norms(cells):
    """Every two cells, in one class and in two."""
    table = shares_of(sf.Box([(0, 1)]), None, None, cells).astype(np.float64)
    norms = column_norms(table.astype(np.int64))
    assert np.abs(table).sum(axis=1).max() == norms.sum
    assert (table**2).sum(axis=1).max() == norms.square
    assert cdist(table, table).max() ** 2 <= norms.pair_square
    assert 2 * norms.square <= norms.pair_square
    if cells > 500:
        assert cdist(table, table).max() ** 2 > 0.99 * norms.pair_square


def test_moments_of_two_places_are_at_most_two_apart():
    """``t^2 (1 + s^2) <= 4``, with equality for the two ends alone; twice the longer one squared would be 3."""
    z = np.linspace(-1, 1, 2001)
    apart = (z[:, None] - z) ** 2 * (1 + (z[:, None] + z) ** 2)
    assert apart.max() == 4.0 == apart[0, -1]
    assert (apart > 3.99).sum() < 20
    assert (z**2 + (z**2 - 0.5) ** 2 + 0.25).max() == 1.5


def test_counts_and_masses_have_rows_of_sum_one():
    target, basis = MIXED["kernel"]
    for table in target._tables(basis, BOX):
        assert table.data.min() >= 0
        assert (np.asarray(table.sum(axis=1)).ravel() == 2**BITS).all()
        assert column_norms(table).sum == 2**BITS


# --- pairs of records -------------------------------------------------------------------------------------------------


@functools.cache
def one_record_each(kind):
    """``(m, N)``: what single records with telling values and labels add, through the whole target."""
    target, basis = MIXED[kind]
    statistic, _ = opened(target, basis, BOX, sf.Privacy(epsilon=1.0))
    # Lattice points and ends of the box; undeclared categories and labels, what is missing, what lies outside.
    columns = [[1e-5, 9.9999, -math.inf], [12.0004, 0.0004, 23.9996, math.nan], [1, 3, 7], [-5, 5, math.inf]]
    labels = [0, 2, 0.5, math.nan]
    return np.array([statistic(pair([[*x, y]])) for x in itertools.product(*columns) for y in labels], dtype=np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kind", list(MIXED))
def test_pairs_of_records_attain_the_certificate_and_never_exceed_it(kind, norm, relation):
    target, basis = MIXED[kind]
    bound = target.certificate(basis, BOX, None, grant(norm, relation)).bound
    assert 0.99 * bound <= farthest(one_record_each(kind), norm, relation) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(MIXED))
def test_negative_control_too_small_certificates_are_beaten(kind):
    """That of add-remove, a column forgotten, and for moments the factor that only non-negative vectors have."""
    target, basis = MIXED[kind]
    norms = [column_norms(table) for table in target._tables(basis, BOX)]
    found = {norm: farthest(one_record_each(kind), norm, "replace") for norm in ("l1", "l2")}
    for norm in ("l1", "l2"):
        assert found[norm] > 1.4 * target.certificate(basis, BOX, None, grant(norm, "add-remove")).bound
    assert found["l1"] > 2 * sum(n.sum for n in norms[1:])
    assert found["l2"] ** 2 > sum(n.pair_square for n in norms[1:])
    if kind == "normal":
        assert found["l2"] ** 2 > 1.1 * sum(2 * n.square for n in norms)


def test_a_data_set_is_the_sum_of_its_records():
    """What pairs of single records rest on."""
    target, basis = MIXED["kernel"]
    statistic, _ = opened(target, basis, BOX, sf.Privacy(epsilon=1.0))
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(0, 10, 6), rng.uniform(0, 24, 6), *rng.integers(0, 4, (3, 6))])
    assert (statistic(pair(rows)) == sum(statistic(pair(row[None, :])) for row in rows)).all()


# --- hunts ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kind", list(MIXED))
def test_hunted_rows_stay_within_the_certificate(kind, norm, relation):
    """Labels 0 to 3, of which 3 is not declared; categories 1 to 4, of which 4 is not; the highest values missing."""
    target, basis = MIXED[kind]
    statistic, certificate = opened(target, basis, BOX, grant(norm, relation))
    low, high = np.array([-1.0, 0.0, 0.6, -6.0, -0.4]), np.array([11.0, 24.0, 4.4, 6.0, 3.4])

    def whole(data):
        data = data.copy()
        data[:, [2, 4]] = np.rint(data[:, [2, 4]])
        data[data[:, 0] > 10.9, 0] = np.nan
        return statistic(pair(data))

    found = hunt(whole, low, high, 4, norm, relation, restarts=4, steps=15)
    assert 0.5 * certificate.bound <= found.distance <= certificate.bound


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_persons_attain_the_certificate_and_never_exceed_it(likelihood, norm, relation):
    """A person of whom 3 rows count and up to 6 are there, replaced by one with any other number of rows."""
    box, rng = sf.Box({"x": (0, 10), "c": sf.Categorical(["a", "b"])}), np.random.default_rng(1)
    target = sf.NaiveBayes("ill", ["no", "yes"], [0.4] if likelihood == "kernel" else "auto", likelihood)
    basis = Attributes((sf.Binning(9) if likelihood == "kernel" else None, None))
    privacy = grant(norm, relation, unit=sf.Person("who", max_rows=3))
    statistic, certificate = opened(target, basis, box, privacy)

    def table(rows):
        everyone = [(7, *row) for row in rows] + [(99, 3.0, "a", "no"), (99, 4.0, None, "yes"), (98, None, "b", "no")]
        return pa.table({name: [row[i] for row in everyone] for i, name in enumerate(("who", "x", "c", "ill"))})

    telling = [[], [(10.0, "a", "no")] * 6, [(10.0, "b", "yes")] * 3, [(0.0, "b", "no")] * 3, [(5.0, "a", "maybe")] * 3]
    for _ in range(20):
        several = range(rng.integers(1, 7))
        telling.append([(rng.uniform(-1, 11), rng.choice(["a", "b", "z"]), rng.choice(["no", "yes"])) for _ in several])
    sums = np.array([statistic(table(rows)) for rows in telling], dtype=np.float64)
    distance = float(cdist(sums, sums if relation == "replace" else sums[:1], METRICS[norm]).max())
    assert 0.99 * certificate.bound <= distance <= certificate.bound
    row = target.certificate(basis, box, None, grant(norm, relation))
    assert distance > 2.9 * row.bound  # the control: a person who counts as a row is caught


@pytest.mark.parametrize("likelihood", ["kernel", "normal"])
def test_no_value_raises_or_warns(likelihood):
    box, odd = sf.Box([(0, 10), sf.Categorical((0, 2**60))]), [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 3.0]
    rows = np.array(list(itertools.product(odd, odd, odd)))
    whole = np.array([2**53 + 1, -(2**63), 2**63 - 1, 2**60, 0])
    tables = [pair(rows), pair(rows[:1]), (np.stack([whole, whole], axis=1), whole)]
    tables += [(rows[:, :2], np.full(len(rows), math.nan)), (np.full((2, 2), 2**64 - 1, dtype=np.uint64), whole[:2])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        for data in tables:
            target = sf.NaiveBayes("y", (0, 3), likelihood=likelihood)
            released = sf.release(target, data, box, sf.Privacy(epsilon=1.0))
            assert np.isfinite(released.predict_proba(np.array([[1.0, 0.0], [9.0, np.nan]]))).all()


# --- the paper's product, for comparison ------------------------------------------------------------------------------


def product_score(data, point, width):
    """The paper's ``P(y|+) P(+) - P(y|-) P(-)`` at one point: ``(n, l)`` places and a label of 1 or -1 in each row."""
    places, labels, score = data[:, :-1], data[:, -1], 0.0
    for label in (1.0, -1.0):
        own = places[labels == label]
        if len(own):
            kernels = np.exp(-0.5 * ((point - own) / width) ** 2) / (math.sqrt(2 * math.pi) * width)
            score += label * float(np.prod(kernels.mean(axis=0))) * len(own) / len(data)
    return score


def product_bound(n, columns, width):
    """``max(l, 2 max(1, l - 1)) s^l / n``: docs/proofs/naive-bayes.md."""
    return max(columns, 2 * max(1, columns - 1)) * (math.sqrt(2 * math.pi) * width) ** -columns / n


def printed_product_bound(n, columns, width):
    """The paper's ``2 (1/n + (2^l - 1) / (n sqrt(2 pi) b))``."""
    return 2 * (1 / n + (2**columns - 1) / (n * math.sqrt(2 * math.pi) * width))


def searched(n, columns, width):
    """The worst replacement found from crowds: where each class stands, how large it is, who leaves and who comes."""
    point, best = np.zeros(columns), 0.0
    shape = {"plus": [0.0] * columns, "minus": [0.0] * columns, "old": [1.0] * columns, "new": [1.0] * columns}
    for size, before, after, start in itertools.product((n // 2, n - 1), (1.0, -1.0), (1.0, -1.0), (0.0, 1.0)):
        state = {**{name: list(place) for name, place in shape.items()}, "old": [start] * columns}

        def moved(state, size=size, before=before, after=after):
            crowd = [[*state["plus"], 1.0]] * size + [[*state["minus"], -1.0]] * (n - 1 - size)
            pair = [np.array([*crowd, [*state[name], label]]) for name, label in (("old", before), ("new", after))]
            return abs(product_score(pair[0], point, width) - product_score(pair[1], point, width))

        reached = moved(state)
        for _ in range(2):
            for name, i, value in itertools.product(state, range(columns), (0.0, width, 0.5, 1.0)):
                trial = {**state, name: [*state[name][:i], value, *state[name][i + 1 :]]}
                if (distance := moved(trial)) > reached:
                    state, reached = trial, distance
        best = max(best, reached)
    return best


@pytest.mark.few(1)
@pytest.mark.parametrize(("columns", "width"), [(1, 0.1), (2, 0.1), (3, 0.1), (4, 0.05)])
def test_the_corrected_bound_of_the_product_is_attained_and_never_exceeded(columns, width):
    bound = product_bound(200, columns, width)
    assert 0.95 * bound <= searched(200, columns, width) <= bound * (1 + 1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_hunted_neighbours_stay_within_the_corrected_bound_of_the_product(columns):
    """Random, corners and crowds, then hill climbing, at nine points at once."""
    n, width = 12, 0.15
    points = np.random.default_rng(0).random((9, columns)).round()

    def scores(data):
        data = np.column_stack([data[:, :-1], np.where(data[:, -1] < 0.5, -1.0, 1.0)])
        return np.array([product_score(data, point, width) for point in points])

    found = hunt(scores, np.zeros(columns + 1), np.ones(columns + 1), n, "linf", restarts=10, steps=80)
    assert found.distance <= product_bound(n, columns, width) * (1 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "columns", "width", "factor"), [(200, 2, 0.1, 1.2), (200, 3, 0.1, 4.0), (600, 4, 0.05, 99.0)]
)
def test_negative_control_the_printed_bound_of_the_product_is_exceeded(n, columns, width, factor):
    """It takes likelihoods to be below one, and each class to have n records."""
    assert searched(n, columns, width) > factor * printed_product_bound(n, columns, width)
