"""No hunted pair of neighbours beats the certificate of a regression curve; the printed Priestley-Chao bound is beaten.

Nothing here draws noise: there are no false alarms.
"""

from __future__ import annotations

import functools
import math
import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from harness.hunter import hunt
from scipy.spatial.distance import cdist

import sfumato as sf
from opening import numbers_of
from sfumato.bases.density.shares import axis_table, shape_of_cells, share_bits
from sfumato.bases.unit import from_unit
from sfumato.core.mechanism import Private
from sfumato.core.whole import Wide
from sfumato.engines.memory import MemoryEngine
from sfumato.engines.totals import Totals

BOXES = {
    "interval": sf.Box([(0, 10)]),
    "circle": sf.Box([sf.Periodic(0, 24)]),
    "plane": sf.Box([(0, 10), sf.Periodic(-1, 1)]),
    "cube": sf.Box([(0, 1), (0, 1), (-5, 5)]),
    "extreme": sf.Box([(-1e100, 1e100)]),
}
LOW, HIGH = 60.0, 220.0
STEPS = {1: 2**12, 2: 2**10, 3: 2**7}  # of a response
GRANTS = {"l1": {"epsilon": 1.0}, "l2": {"rho": 0.5}}
METRICS = {"l1": "cityblock", "l2": "euclidean"}
RELATIONS = ("replace", "add-remove")


def bandwidth(box):
    return tuple(0.04 * (c.high - c.low) for c in box.intervals())


def lattice(name, box):
    return sf.Binning(9) if name == "Binning" else sf.SplitLattice(16, tuple(w / 2 for w in bandwidth(box)))


def opened(target, basis, box, privacy, n=None):
    """What the mechanism would perturb, and its certificate: data in, private numbers out."""
    certificate = target.certificate(basis, box, n, privacy)

    def statistic(data):
        gathered = target.gather(MemoryEngine().open(data, box, privacy.unit), box, MemoryEngine())
        private = target.coefficients(gathered, basis, box, certificate)
        assert isinstance(private, Private)
        return numbers_of(private)

    return statistic, certificate


def pair(records):
    """An ``(X, y)`` pair from rows whose last entry is the response."""
    records = np.asarray(records, dtype=np.float64)
    return records[:, :-1], records[:, -1].copy()


def grant(norm, relation, **options):
    return sf.Privacy(**GRANTS[norm], neighbours=relation, **options)


def smoother(box):
    return sf.NadarayaWatson(bandwidth(box), range=(LOW, HIGH))


def farthest(vectors, norm, relation):
    """The largest distance between sums of neighbours, if these vectors are all that records can be."""
    nothing = np.zeros((1, vectors.shape[1]))
    others = np.concatenate([vectors, nothing]) if relation == "replace" else nothing  # a record may go missing
    return float(cdist(vectors, others, METRICS[norm]).max())


# --- Nadaraya-Watson: pairs of records --------------------------------------------------------------------------------


def telling_places(table):
    """Middles of the cells where a record weighs most at both ends of an axis, and a few others; in [0, 1]."""
    squares = np.asarray(table.multiply(table).sum(axis=1)).ravel().astype(float)
    size = len(squares)
    first, last = squares[: size // 4], squares[size - size // 4 :]
    return (np.unique([0, np.argmax(first), size // 2, size - size // 4 + np.argmax(last), size - 1]) + 0.5) / size


@functools.cache
def one_record_each(name, where):
    """``(m, 2 N)``: what single records at telling places with telling responses add, through the whole target."""
    box = BOXES[where]
    target, basis = smoother(box), lattice(name, box)
    kernel = sf.KDE(target.bandwidth).gaussian(box)
    sizes = shape_of_cells(box, 2)
    axes = [telling_places(axis_table(basis, box, kernel, i, size)) for i, size in enumerate(sizes)]
    places = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    responses = [LOW, HIGH, 100.0, -math.inf, math.nan]
    if box.dimension == 3:  # each record is 2**22 cells: corners and middles are enough
        places, responses = places[[0, len(places) // 2, -1]], [LOW, HIGH, 100.0]
    statistic, _ = opened(target, basis, box, sf.Privacy(epsilon=1.0))
    records = [[*from_unit(box, place[None, :])[0], y] for place in places for y in responses]
    return np.array([statistic(pair([record])) for record in records], dtype=np.float64)


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("where", list(BOXES))
@pytest.mark.parametrize("name", ["Binning", "SplitLattice"])
def test_pairs_of_records_attain_the_certificate_and_never_exceed_it(name, where, norm, relation):
    box = BOXES[where]
    bound = smoother(box).certificate(lattice(name, box), box, None, grant(norm, relation)).bound
    assert 0.99 * bound <= farthest(one_record_each(name, where), norm, relation) <= bound


@pytest.mark.parametrize("where", list(BOXES))
def test_the_certificate_is_that_of_a_density(where):
    """High and low together cost what the records' density costs: a response is free."""
    box = BOXES[where]
    for norm in ("l1", "l2"):
        for relation in RELATIONS:
            both = smoother(box).certificate(lattice("Binning", box), box, None, grant(norm, relation))
            density = sf.KDE(bandwidth(box)).certificate(lattice("Binning", box), box, None, grant(norm, relation))
            one = density.bound * 2.0**density.exponent
            assert both.bound * 2.0**both.exponent == pytest.approx(one, rel=1e-6 if box.dimension == 1 else 0.02)


def test_negative_control_too_small_certificates_are_beaten():
    """Half the certificate, and that of add-remove used for replacement, in either norm."""
    box = BOXES["interval"]
    for norm, factor in (("l1", 2), ("l2", math.sqrt(2))):
        added = smoother(box).certificate(lattice("Binning", box), box, None, grant(norm, "add-remove")).bound
        assert farthest(one_record_each("Binning", "interval"), norm, "replace") > 0.99 * factor * added


def test_negative_control_parts_that_are_rounded_one_by_one_exceed_the_budget():
    """``T - w`` must be what ``w`` leaves of T: with both parts rounded up a record weighs T + 1."""
    share, steps = 0.3, STEPS[1]
    apart = 2 * (math.ceil(share * steps) + math.ceil((1 - share) * steps)) * 2 ** share_bits(BOXES["interval"])
    box = BOXES["interval"]
    assert apart > smoother(box).certificate(lattice("Binning", box), box, None, grant("l1", "replace")).bound


# --- Nadaraya-Watson: hunts -------------------------------------------------------------------------------------------


def hunted(name, where, norm, relation, restarts=4, steps=12):
    """Records in and outside of the box, some missing, responses in and outside of their range, some missing."""
    box = BOXES[where]
    privacy = grant(norm, relation)
    statistic, certificate = opened(smoother(box), lattice(name, box), box, privacy)
    wide = 0.2 * np.append(box.high - box.low, HIGH - LOW)
    low, high = np.append(box.low, LOW) - wide, np.append(box.high, HIGH) + wide

    def with_missing(data):
        return statistic(pair(np.where(data > high - wide / 4, np.nan, data)))

    found = hunt(with_missing, low, high, 4, norm, relation, restarts=restarts, steps=steps)
    return found.distance, certificate.bound


@pytest.mark.few(2)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_hunted_rows_stay_within_the_certificate(norm, relation):
    distance, bound = hunted("SplitLattice", "interval", norm, relation)
    assert (0.9 if norm == "l1" else 0.6) * bound <= distance <= bound


@pytest.mark.slow
@pytest.mark.parametrize("where", ["interval", "circle", "plane"])
@pytest.mark.parametrize("name", ["Binning", "SplitLattice"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_long_hunts_stay_within_the_certificate(name, where, norm):
    distance, bound = hunted(name, where, norm, "replace", restarts=8, steps=30)
    assert 0.6 * bound <= distance <= bound


def test_a_data_set_is_the_sum_of_its_records():
    """What pairs of single records rest on."""
    box, rng = BOXES["plane"], np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(box.low, box.high, size=(5, 2)), rng.uniform(LOW, HIGH, 5)])
    statistic, _ = opened(smoother(box), lattice("SplitLattice", box), box, sf.Privacy(epsilon=1.0))
    assert (statistic(pair(rows)) == sum(statistic(pair(row[None, :])) for row in rows)).all()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_persons_attain_the_certificate_and_never_exceed_it(norm, relation):
    """A person of whom 3 rows count and up to 6 are there, replaced by one with any other number of rows."""
    box, rng = sf.Box({"x": (0, 10)}), np.random.default_rng(1)
    privacy = grant(norm, relation, unit=sf.Person("who", max_rows=3))
    statistic, certificate = opened(sf.NadarayaWatson(0.4, "bp", (LOW, HIGH)), sf.Binning(9), box, privacy)

    def table(rows):
        everyone = [(7, x, y) for x, y in rows] + [(99, 3.0, 100.0), (99, 4.0, 200.0), (98, 9.0, 90.0)]
        return pa.table({name: [row[i] for row in everyone] for i, name in enumerate(("who", "x", "bp"))})

    telling = [[], [(0.0, LOW)] * 3, [(0.0, HIGH)] * 6, [(10.0, LOW)] * 2, [(math.nan, HIGH)] * 3]
    telling += [rng.uniform([-1, 50], [11, 230], size=(rng.integers(1, 7), 2)).tolist() for _ in range(15)]
    sums = np.array([statistic(table(rows)) for rows in telling], dtype=np.float64)
    distance = float(cdist(sums, sums if relation == "replace" else sums[:1], METRICS[norm]).max())
    assert 0.99 * certificate.bound <= distance <= certificate.bound
    row = sf.NadarayaWatson(0.4, "bp", (LOW, HIGH)).certificate(sf.Binning(9), box, None, grant(norm, relation))
    assert distance > 2.9 * row.bound  # the control: a person who counts as a row is caught


# --- whatever the values are ------------------------------------------------------------------------------------------

WHOLE = [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0, 7]


@pytest.mark.few(1)
@pytest.mark.parametrize("target", [smoother(BOXES["interval"]), sf.PriestleyChao(0.4, range=(LOW, HIGH))])
def test_no_value_raises_or_warns(target):
    box, odd = BOXES["interval"], [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 3.0, 3.0]
    x = np.array([[a] for a in odd for _ in odd])
    y = np.array([b for _ in odd for b in odd])
    tables = [(x, y), (x[:1], y[:1]), (np.full((3, 1), math.nan), np.full(3, math.nan))]
    tables += [(np.array(WHOLE)[:, None], np.array(WHOLE)), (np.array([[2**64 - 1]] * 2, dtype=np.uint64), y[:2])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", sf.errors.NothingThereWarning)  # which noisy numbers decide on
        for data in tables:
            released = sf.release(target, data, box, sf.Privacy(epsilon=1.0))
            assert np.isfinite(released(np.linspace(0, 10, 5))).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("where", ["interval", "plane", "cube"])
def test_rows_beyond_64_bits_are_exact_and_leave_neighbours_as_far_apart(where):
    """2**26 rows (2**25 of three columns), all in one place, are 2**62 steps; of more, sums have a second limb."""
    box = BOXES[where]
    target, basis = smoother(box), lattice("Binning", box)
    certificate = target.certificate(basis, box, None, sf.Privacy(epsilon=1.0))
    shape, steps, fits = shape_of_cells(box, 2), STEPS[box.dimension], 2 ** (62 + certificate.exponent)
    assert fits == {1: 2**26, 2: 2**26, 3: 2**25}[box.dimension]

    def values(rows, moved=0):
        low, high = np.zeros((2, 2, *shape), dtype=np.int64)
        for place, number in (((0,) * (1 + box.dimension), rows - moved), ((1, *(n - 1 for n in shape)), moved)):
            high[place], low[place] = divmod(number * steps, 2**48)
        gathered = Totals(low.size, steps)
        gathered._saved, gathered.rows = Wide(low.ravel(), high.ravel()), rows
        return numbers_of(target.coefficients(gathered, basis, box, certificate)).astype(object)

    one = values(1)
    for rows in (fits, 40 * fits, 2**62):
        assert (values(rows) == rows * one).all()
        assert np.abs(values(rows) - values(rows, 1)).sum() <= certificate.bound


# --- Priestley-Chao ---------------------------------------------------------------------------------------------------

UNIT, SMOOTH = sf.Box([(0, 1)]), sf.Bernstein(10, order=3)


def priestley_chao(n, gap, width):
    return opened(sf.PriestleyChao(width, range=(-1, 1), gap=gap), SMOOTH, UNIT, sf.Privacy(epsilon=1.0), n)


def largest(statistic, first, second):
    return float(np.abs(statistic(pair(first)) - statistic(pair(second))).max())


def worst_pair(n, gap):
    """A record leaves whose own term and whose successor's gap both matter, and comes back where both matter again."""
    tau = gap / n
    others = [[0.0, 0.0]] * (n - 3)
    kept = [[0.5, 1.0], [0.5 + 1.01 * tau, -1.0]]
    return [*others, *kept, [0.5, -1.0]], [*others, *kept, [math.nextafter(0.5 + 1.01 * tau, 0), 1.0]]


@pytest.mark.parametrize(("n", "gap", "width"), [(5000, 4.0, 0.05), (4, 0.04, 0.5), (300, 1.0, 0.1), (3, 1e-3, 3.0)])
def test_priestley_chao_attains_its_bound_where_gaps_are_small_beside_the_bandwidth(n, gap, width):
    statistic, certificate = priestley_chao(n, gap, width)
    assert 0.99 * certificate.bound <= largest(statistic, *worst_pair(n, gap)) <= certificate.bound


@pytest.mark.slow
@pytest.mark.parametrize(("n", "gap", "width"), [(4, 4.0, 0.1), (4, 0.2, 0.1), (8, 0.4, 0.3), (12, 2.0, 0.05)])
def test_hunted_neighbours_stay_within_priestley_chaos_certificate(n, gap, width):
    """Random, corners, ties, then hill climbing; missing values, and responses outside of the range."""
    statistic, certificate = priestley_chao(n, gap, width)

    def with_ties(data):  # positions on a grid as often as not
        place = np.where(data[:, 0] > 0.6, np.rint(data[:, 0] * 20) / 20, data[:, 0])
        return statistic((np.where(place > 1.05, np.nan, place)[:, None], data[:, 1].copy()))

    found = hunt(with_ties, np.array([-0.05, -1.2]), np.array([1.15, 1.2]), n, "linf", restarts=12, steps=150)
    assert 0.25 * certificate.bound <= found.distance <= certificate.bound


@pytest.mark.slow
def test_a_search_by_coordinates_comes_near_priestley_chaos_bound():
    """From random data sets, each number of the pair in turn to the worst of many values: .956 of the bound."""
    n, gap, width, best = 5, 0.25, 0.3, 0.0
    statistic, certificate = priestley_chao(n, gap, width)
    values = [np.unique([*np.linspace(0, 1, 41), *(0.5 + gap / n * np.arange(-3, 4)), 0.4999999]), np.array([-1, 1.0])]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data = np.column_stack([rng.random(n + 1), rng.choice([-1.0, 1.0], n + 1)])  # the last two are the pair

        def moved(data):
            return largest(statistic, data[:-1], np.delete(data, -2, axis=0))

        reached = moved(data)
        for _ in range(3):
            for i, j in rng.permutation([(i, j) for i in range(n + 1) for j in range(2)]):
                for value in values[j]:
                    trial = data.copy()
                    trial[i, j] = value
                    if (distance := moved(trial)) > reached:
                        data, reached = trial, distance
        best = max(best, reached)
    assert 0.875 * certificate.bound <= best <= certificate.bound


def test_records_without_a_value_count_for_nothing_but_their_row():
    statistic, _ = priestley_chao(4, 4.0, 0.1)
    some = [[0.2, 1.0], [0.6, -1.0]]
    hidden = statistic(pair([*some, [math.nan, 1.0], [0.4, math.nan]]))
    assert (hidden == statistic(pair([[0.4, math.nan], some[1], [math.nan, math.nan], some[0]]))).all()


def test_the_order_of_rows_is_forgotten_to_the_last_bit():
    rng = np.random.default_rng(0)
    data = np.column_stack([rng.integers(0, 9, 400) / 8, rng.choice([-1.0, -0.0, 0.0, 1.0], 400)])
    statistic, _ = priestley_chao(400, 4.0, 0.1)
    assert (statistic(pair(data)) == statistic(pair(rng.permutation(data)))).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(("n", "gap"), [(100, 4.0), (20_000, 0.5), (20_000, 4.0)])
def test_sums_of_doubles_stay_within_what_the_certificate_adds_for_them(n, gap):
    """Against exact arithmetic on the same doubles (kernels to 1e-16); each of a pair may use half of the margin."""
    rng = np.random.default_rng(n)
    data = np.column_stack([np.sort(rng.random(n)), rng.choice([-1.0, 1.0], n)])
    statistic, certificate = priestley_chao(n, gap, 0.1)
    got, points = statistic(pair(data)), np.arange(11) / 10
    tau = Fraction(gap / n)
    places = [Fraction(0), *map(Fraction, data[:, 0])]
    gaps = np.array([min(b - a, tau) for a, b in pairwise(places)], dtype=object)
    plain = 4 * (gap / n) / (math.sqrt(2 * math.pi) * 0.1)
    for point, value in zip(points, got, strict=True):
        kernels = np.exp(-0.5 * ((point - data[:, 0].astype(np.longdouble)) / np.longdouble(0.1)) ** 2)
        exact = math.fsum(float(g) * float(k) * y for g, k, y in zip(gaps, kernels, data[:, 1], strict=True))
        assert abs(value - exact / (math.sqrt(2 * math.pi) * 0.1)) <= (certificate.bound - plain) / 2 + 1e-18


# --- Priestley-Chao as it was printed: negative controls --------------------------------------------------------------


def printed(data, points, width, tau=math.inf):
    """The paper's estimator: sorted by position alone, gaps as they are (or clipped), from the second record on."""
    data = data[np.argsort(data[:, 0], kind="stable")]
    gaps = np.minimum(np.diff(data[:, 0]), tau)
    kernels = np.exp(-0.5 * ((points[:, None] - data[1:, 0]) / width) ** 2) / math.sqrt(2 * math.pi)
    return kernels @ (gaps * data[1:, 1]) / width


def printed_bound(n, gap, width):
    return 4 * gap / (n * width) / math.sqrt(2 * math.pi)


def test_negative_control_the_printed_condition_does_not_bound_consecutive_gaps():
    """Everybody has somebody within ``c/n``, in both data sets, and yet the bound is exceeded tenfold."""
    n, gap, width, points = 200, 4.0, 0.1, np.linspace(0, 1, 101)
    crowds = np.concatenate([np.zeros(n // 2), np.linspace(0.6, 0.6 + gap / n, n // 2)])
    data = np.column_stack([crowds, np.full(n, -1.0)])
    other = data.copy()
    other[n // 2, 1] = 1.0  # the first of the second crowd, after a gap of 0.6
    for rows in (data, other):
        near = np.abs(rows[:, 0][:, None] - rows[:, 0]) + np.diag(np.full(n, math.inf))
        assert (near.min(axis=1) <= gap / n).all()
    apart = np.abs(printed(data, points, width) - printed(other, points, width)).max()
    assert apart > 10 * printed_bound(n, gap, width)
    statistic, certificate = priestley_chao(n, gap, width)
    assert largest(statistic, data, other) <= certificate.bound


def test_negative_control_ties_in_any_order_exceed_the_printed_bound():
    """Clipped gaps do not help: of equal positions, whoever comes first has the gap; here in forty places at once."""
    n, gap, width, points = 400, 1.0, 0.3, np.linspace(0, 1, 101)
    places = 0.5 + np.linspace(-0.1, 0.1, 40)
    data = np.array([[x, y] for x in places for y in (-1.0, *[1.0] * 9)])
    other = data.copy()
    other[0, 1] = 1.0
    other = other[::-1]  # the same rows but one, in another order
    apart = np.abs(printed(data, points, width, gap / n) - printed(other, points, width, gap / n)).max()
    assert apart > 15 * printed_bound(n, gap, width)
    statistic, certificate = priestley_chao(n, gap, width)
    assert largest(statistic, data, other) <= certificate.bound
