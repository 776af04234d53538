"""What was paid for arrives: whatever is legal to make is legal to save, loads again, and says the same as before.

Each property draws legal parameters of one kind of release, and extremes of them. What is refused must be refused
before anything is charged.
"""

import math
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from effort import tries
from sfumato import pages
from sfumato.core.box import Categorical
from sfumato.dates import as_days, as_moments, iso
from sfumato.errors import ParameterError, SchemaError
from sfumato.faces import face_of
from sfumato.releases.base import Receipt

# --- what there is to draw ---------------------------------------------------------------------------------------

NAMES = st.sampled_from(["t", "größe", "x" * 400, "年齢", "a b", "x0", "=1+1", 'say "so"', "back\\slash", "🙂"])
WIDTHS = st.sampled_from([1e-9, 1e-3, 1.0, 110.0, 1e12])
LOWS = st.sampled_from([0.0, 0.0, -0.5, 3.0])  # in widths
ROWS = st.sampled_from([0, 1, 2, 40])
EPSILONS = st.sampled_from([1e-300, 1e-13, 1e-9, 1e-3, 1.0, 1.0, 30.0, 1e6, 1e300])


DATES = st.sampled_from([
    ("2024-01-01", "2025-01-01"),
    ("2024-01-01T08:00:00Z", "2024-01-01T08:00:01Z"),
    ("0001-01-02", "9999-12-30"),
]).map(lambda ends: sf.Date(*ends))  # fmt: skip


def numeric(kinds=("interval", "integer", "periodic", "circle", "date")):
    def made(kind, width, low):
        if kind == "circle":
            first = math.floor(low * width)
            return sf.Periodic(first, first + max(2, math.ceil(width)), whole=True)
        if kind == "integer":
            return sf.Integer(math.floor(low * width), math.floor(low * width) + max(1, math.ceil(width)))
        return (sf.Periodic if kind == "periodic" else sf.core.box.Interval)(low * width, (low + 1) * width)

    others = [kind for kind in kinds if kind != "date"]
    found = st.builds(made, st.sampled_from(others), WIDTHS, LOWS)
    return st.one_of(found, DATES) if "date" in kinds else found


CATEGORIES = st.sampled_from(
    [("no", "yes"), (0, 1, 2), (-1.5, 2.5), tuple(range(40)), ("ä", "=1", "  ", "\\"), ("x" * 300, "y")]
).map(Categorical)


@st.composite
def boxes(draw, least=1, most=3, columns=None, named=True):
    count = draw(st.integers(least, most))
    names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=True))
    found = [draw(columns if columns is not None else numeric()) for _ in names]
    return sf.Box(dict(zip(names, found, strict=True)))


@st.composite
def grants(draw, persons=True):
    if draw(st.integers(0, 3)) == 0:
        cost = {"rho": draw(st.sampled_from([1e-300, 1e-9, 0.1, 50.0, 1e100]))}
    else:
        cost = {"epsilon": draw(EPSILONS), "delta": draw(st.sampled_from([0.0, 0.0, 1e-6]))}
    return sf.Privacy(**cost, neighbours=draw(st.sampled_from(["replace", "add-remove"])))


def table(box, rows, **more):
    """So many records of a box, and columns that follow from the number of a record."""
    generator = np.random.default_rng(0)
    columns = {}
    for name, column in zip(box.names, box.columns, strict=True):
        if isinstance(column, Categorical):
            columns[name] = typed([column.categories[i] for i in generator.integers(0, 2, rows)], column.categories[0])
        else:
            values = column.low + (column.high - column.low) * generator.beta(2, 5, rows)
            columns[name] = pa.array(as_moments(values) if isinstance(column, sf.Date) else values)
    return pa.table({**columns, **{name: typed([of(i) for i in range(rows)], of(0)) for name, of in more.items()}})


def typed(values, like):
    """A column of the type that one of its values has, also where there are none."""
    return pa.array(values, pa.string() if isinstance(like, str) else pa.float64())


class Purse:
    """An account without a limit that remembers whether it was charged."""

    def __init__(self):
        self.charged = 0

    @contextmanager
    def spend(self, event, told=None):
        self.charged += 1
        yield Receipt("clinic 2026", self.charged, "basic", "epsilon 9", "epsilon 1", "epsilon 8")

    def would_cost(self, what, *more):
        return SimpleNamespace(fits=True)


# --- what must be the same ---------------------------------------------------------------------------------------


def points_of(box):
    unit = np.random.default_rng(4).uniform(size=(5, len(box.names)))
    columns = []
    for part, column in zip(unit.T, box.columns, strict=True):
        if isinstance(column, Categorical):
            columns.append([column.categories[int(u * len(column.categories))] for u in part])
        else:
            values = (column.low + (column.high - column.low) * part).tolist()
            columns.append([iso(days, True) for days in values] if isinstance(column, sf.Date) else values)
    return [list(row) for row in zip(*columns, strict=True)]


def answers(release):
    """Values and limits, whatever the kind."""
    parts = [release[name] for name in release] if release.kind == "grouped-density" else [release]
    found = []
    for part in parts[:3]:
        at = points_of(part.box)
        if release.kind == "value":
            found += [part.value] if part.statistic == "bounds" else [part.value, *part.interval()]
        elif release.kind == "summary":
            asked = asked_of(part, part.box.names[0], part.box.columns[0])
            found += [part.moments, asked.value, asked.error]
        elif release.kind == "table":
            found += [part.numbers, part.densities.shares, *(c.weights for c in part.densities.columns.values())]
        elif release.kind == "components":
            found += [part.numbers, part.mean, part.components, part.values, part.points(5, seed=1)]
        elif release.kind == "marginals":
            found += [t for _, t in part.tables()]
        elif release.kind == "collected-model":
            found += [part.weights, part.cross_moments, part.fit().coefficients]
        elif release.kind == "collected-moments":
            found += [part.second_moments, part.cross_moments, part.fit().coefficients, *part.slopes()]
        elif release.kind == "naive-bayes":
            found += [part.predict_proba(at), *part.band(at), part.counts]
        else:
            found += [part(at), *part.band(at)]
    return [in_numbers(one) for one in found]


def asked_of(summary, name, column):
    """A question that a column's kind allows: numbers round a circle have no mean."""
    if isinstance(column, Categorical):
        return summary.share({name: [column.categories[0]]})
    if isinstance(column, sf.Periodic):
        return summary.share({name: (column.high - (column.high - column.low) / 4, column.low)})
    return summary.mean(name)


def in_numbers(answer):
    """An answer as doubles, dates as days."""
    found = np.asarray(answer)
    return np.vectorize(as_days, otypes=[np.float64])(found) if found.dtype.kind in "MO" else found.astype(np.float64)


def report_text(release):
    """The page without its pictures, which take long and show the same numbers."""
    with mock.patch.object(pages, "pictures", return_value=[]):
        return pages.render(release)


def check_arrival(make):
    """Make, save, load, compare; what is refused was not charged."""
    purse = Purse()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = make(purse)
        except (ParameterError, SchemaError):
            assert not purse.charged, "refused after it was charged"
            return
        with tempfile.TemporaryDirectory() as folder:
            release.save(Path(folder) / "r.sfumato")
            loaded = sf.load(Path(folder) / "r.sfumato")
            loaded.save(Path(folder) / "again.sfumato")
            assert (Path(folder) / "again.sfumato").read_bytes() == (Path(folder) / "r.sfumato").read_bytes()
        with np.errstate(all="ignore"):
            assert type(loaded) is type(release)
            assert (loaded.guarantee, loaded.law, loaded.target, loaded.box, loaded.receipt) == (
                release.guarantee, release.law, release.target, release.box, release.receipt)  # fmt: skip
            assert repr(loaded) == repr(release)
            for before, after in zip(answers(release), answers(loaded), strict=True):
                assert before.tobytes() == after.tobytes()
            old, new = face_of(release), face_of(loaded)
            assert repr({**new.common_data(), **new.data()}) == repr({**old.common_data(), **old.data()})
            assert new.rows() == old.rows()
            assert report_text(loaded) == report_text(release)


def released(target, data, box, privacy, **more):
    return lambda purse: sf.release(target, data, box, privacy, ledger=purse, **more)


# --- every kind of release ---------------------------------------------------------------------------------------


@pytest.mark.slow
@tries(24)
@given(boxes(most=2), grants(), st.integers(0, 6), st.sampled_from([1e-9, 0.05, 1e9]), st.booleans(), st.booleans())
def test_functions(box, privacy, degree, sensitivity, step, bounded):
    basis = sf.Step(degree + 1) if step else sf.Bernstein(degree + 1, 2)
    target = sf.BlackBox(
        lambda data: lambda points: points[:, 0] * 0 + 0.5,
        sensitivity=sensitivity,
        range=(0, 1) if bounded else None,
        smoothness=None if step else sf.Smooth(4, 2.0),
    )
    check_arrival(released(target, table(box, 3), box, privacy, basis=basis))


@st.composite
def densities(draw):
    box, privacy, rows = draw(boxes()), draw(grants()), draw(ROWS)
    share = st.sampled_from([1e-5, 1e-3, 0.006, 0.02, 0.1, 0.3, 1.0])
    chosen = draw(st.sampled_from(["auto", "number", "each", "each", "matrix", "tuned"]))
    widths = [column.high - column.low for column in box.columns]
    each = [draw(share) * width for width in widths]
    bandwidth = {"auto": "auto", "number": each[0], "each": each}.get(chosen)
    if chosen == "matrix":
        tilt = draw(st.sampled_from([0.0, 0.5, -0.9]))
        bandwidth = [[a * b * (1.0 if i == j else tilt) for j, b in enumerate(each)] for i, a in enumerate(each)]
    if chosen == "tuned":
        bandwidth = sf.Tuned([0.1 * widths[0], 0.3 * widths[0]])
    basis = draw(st.sampled_from(["auto", sf.Binning(5), sf.SplitLattice(5, 0.1 * widths[0]), sf.Bernstein(4, 2)]))
    return box, privacy, rows, bandwidth, basis


@pytest.mark.slow
@tries(60)
@given(densities(), st.sampled_from(["simplex", "none"]), st.sampled_from(["drop", "none"]))
def test_densities(asked, post, missing):
    box, privacy, rows, bandwidth, basis = asked
    target = sf.KDE(bandwidth, post=post, missing=missing)
    check_arrival(released(target, table(box, rows), box, privacy, basis=basis))


@pytest.mark.slow
@pytest.mark.parametrize("share", ["auto", 0.006, 0.3])
@pytest.mark.parametrize(
    "column",
    [
        sf.Date("2024-01-01", "2025-01-01"),
        sf.Date("2024-01-01T08:00:00Z", "2024-01-01T08:00:01Z"),
        sf.Date("0001-01-02", "9999-12-30"),
        sf.Periodic(0, 24, whole=True),
        sf.Periodic(0, 2, whole=True),
        sf.Periodic(3 * 10**12, 4 * 10**12, whole=True),
    ],
    ids=str,
)
def test_densities_of_dates_and_of_whole_numbers_round_a_circle(column, share):
    box = sf.Box({"größe": column})
    bandwidth = share if share == "auto" else share * (column.high - column.low)
    check_arrival(released(sf.KDE(bandwidth), table(box, 40), box, sf.Privacy(epsilon=1.0)))


@pytest.mark.slow
@tries(20)
@given(boxes(most=2), CATEGORIES, grants(), ROWS, st.sampled_from(["auto", 0.2, 0.03]))
def test_groups(box, groups, privacy, rows, share):
    many = len(groups.categories) > 9
    columns = dict(list(zip(box.names, box.columns, strict=True))[: 1 if many else 2])
    whole, widths = sf.Box({**columns, "group": groups}), [column.high - column.low for column in columns.values()]
    bandwidth = share if share == "auto" else [share * width for width in widths]
    basis = sf.Binning(4) if many else "auto"
    check_arrival(released(sf.KDE(bandwidth, by="group"), table(whole, rows), whole, privacy, basis=basis))


@pytest.mark.slow
@tries(16)
@given(boxes(most=2), grants(), ROWS, st.sampled_from(["auto", 0.3, 0.02]), WIDTHS, st.booleans())
def test_curves(box, privacy, rows, share, width, chao):
    widths = [column.high - column.low for column in box.columns]
    each = share if share == "auto" else [share * width for width in widths]
    data = table(box, rows, y=lambda i: width * math.sin(i))
    if chao:
        target = sf.PriestleyChao(0.1 * widths[0] if share == "auto" else each[0], "y", (-width, width))
    else:
        target = sf.NadarayaWatson(each, "y", (-width, width))
    check_arrival(released(target, data, box, privacy))


LOSSES = ["logistic", "hinge", "smoothed-hinge", "squared", "huber"]


@tries(8)
@given(
    boxes(columns=st.one_of(numeric(("interval", "integer", "date")), CATEGORIES)),
    grants(),
    st.sampled_from([1, 2, 40]),
    st.sampled_from(LOSSES),
    st.sampled_from(["rbf", "matern", "polynomial", "linear"]),
    st.sampled_from(["auto", 1e-6, 1.0, 1e3]),
    st.sampled_from(["auto", "output", "objective"]),
    CATEGORIES,
    WIDTHS,
    st.sampled_from(["auto", "even", "told"]),
)
def test_learners(box, privacy, rows, loss, kernel, strength, mechanism, classes, width, prior):
    numbers = loss in ("squared", "huber")
    sizes = {"auto": "auto", "even": "even", "told": [1.0 + i for i in range(len(classes.categories[:4]))]}
    more = {"prior": sizes[prior]} if loss == "logistic" else {}
    told = {"range": (-width, width)} if numbers else {"classes": list(classes.categories[:4])}
    values = [0.0, width] if numbers else list(classes.categories[:4])
    data = table(box, rows, y=lambda i: values[i % len(values)])
    basis = "auto" if kernel == "linear" else sf.Landmarks(4)
    check_arrival(
        lambda purse: sf.release(
            sf.KernelMachine(loss, kernel, strength, response="y", mechanism=mechanism, **told, **more),
            data,
            box,
            privacy,
            basis=basis,
            ledger=purse,
        )
    )


@pytest.mark.slow
@tries(20)
@given(
    boxes(columns=st.one_of(numeric(), CATEGORIES)), grants(), ROWS, CATEGORIES, st.sampled_from(["kernel", "normal"])
)
def test_naive_bayes(box, privacy, rows, classes, likelihood):
    labels = list(classes.categories[:5])
    data = table(box, rows, y=lambda i: labels[i % len(labels)])
    check_arrival(released(sf.NaiveBayes("y", labels, likelihood=likelihood), data, box, privacy))


STATISTICS = ["count", "sum", "mean", "variance", "covariance", "histogram", "median", "quantiles", "proportions"]


@tries(24)
@given(
    st.sampled_from(STATISTICS),
    st.data(),
    grants(),
    ROWS,
    st.sampled_from(["drop", "none"]),
    st.sampled_from(["counts", "none"]),
)
def test_statistics(what, data, privacy, rows, missing, interval):
    one = what in ("median", "quantiles")
    columns = CATEGORIES if what == "proportions" else numeric(("interval", "integer", "date"))
    if what in ("count", "histogram"):
        columns = st.one_of(columns, CATEGORIES, numeric())
    box = data.draw(boxes(most=1 if one else 2, columns=columns))
    more = {"interval": interval} if one else {}
    check_arrival(
        lambda purse: sf.release(
            sf.Statistic(what, missing=missing, **more), table(box, rows), box, privacy, ledger=purse
        )
    )


@tries(8)
@given(boxes(most=2), grants(), WIDTHS, st.sampled_from(["l1", "l2", "linf"]), st.integers(1, 40), st.booleans())
def test_statistics_of_the_callers_own(box, privacy, sensitivity, norm, length, bounded):
    target = sf.Statistic(
        lambda data: np.zeros(length),
        sensitivity=sensitivity,
        norm=norm,
        length=length,
        range=(-2 * sensitivity, 3 * sensitivity) if bounded else None,
    )
    check_arrival(released(target, table(box, 3), box, privacy))


@tries(4)
@given(grants(), st.sampled_from([1e-9, 1.0, 1e12]))
def test_bounds(privacy, width):
    data = pa.table({"größe": np.linspace(-width, width, 50)})
    check_arrival(lambda purse: sf.private_bounds(data, "größe", privacy=privacy, ledger=purse))


@tries(8)
@given(EPSILONS, st.sampled_from([0.05, 0.3]), boxes(most=1, columns=numeric(("interval",))))
def test_sampled_sensitivities(epsilon, gamma, box):
    oracle = sf.oracles.uniform(box)
    found = sf.sample_sensitivity(np.mean, oracle, 20, gamma=gamma, rule="exchangeable", seed=1, progress=False)
    data = table(box, 20)[0].to_numpy()
    grant = sf.Privacy(epsilon=epsilon, gamma=gamma)
    check_arrival(released(sf.Statistic(np.mean, sensitivity=found), data, box, grant))


@pytest.mark.slow
@tries(24)
@given(
    boxes(most=3, columns=st.one_of(numeric(("interval", "integer", "periodic")), CATEGORIES)),
    grants(),
    ROWS,
    st.sampled_from(["auto", 2, 5]),
    st.sampled_from(["auto", "full", "cross", 1, 2]),
    st.sampled_from(["auto", "linf", "laplace", "gaussian"]),
)
def test_summaries(box, privacy, rows, degree, interactions, noise):
    more = {"degree": degree, "interactions": interactions, "noise": noise}
    check_arrival(lambda purse: sf.summarize(table(box, rows), box, privacy, ledger=purse, **more))


@st.composite
def protocols(draw):
    kind = draw(st.sampled_from(["density", "smooth", "marginals", "linear", "risk", "generalized"]))
    common = {"epsilon": draw(st.sampled_from([1e-6, 0.1, 1.0, 20.0])), "seed": 7}
    if kind == "marginals":
        box = draw(boxes(least=2, most=3, columns=CATEGORIES))
        return lambda: sf.local.Marginals(box, ways=draw(st.integers(1, 2)), **common), box
    if kind == "smooth":
        box = draw(boxes(most=2, columns=st.one_of(numeric(("interval", "integer", "date")), CATEGORIES)))
        return lambda: sf.local.SmoothQueries(box, degree=draw(st.integers(2, 5)), **common), box
    if kind == "linear":
        box = draw(boxes(least=2, most=3, columns=st.one_of(numeric(("interval", "integer", "date")), CATEGORIES)))
        return lambda: sf.local.LinearModel(box, response=draw(st.sampled_from(box.names)), **common), box
    if kind == "generalized":
        box = draw(boxes(least=2, most=3, columns=numeric(("interval", "integer"))))
        common |= draw(st.sampled_from([{}, {"copies": "gaussian", "delta": 1e-6}, {"degree": 2, "steps": 1}]))
        return lambda: sf.local.GeneralizedLinear(
            box, response=draw(st.sampled_from(box.names)), loss="absolute", **common
        ), box
    if kind == "risk":
        box = draw(boxes(least=2, most=3, columns=numeric(("interval", "integer"))))
        weights = sf.Box({box.names[0]: (-draw(st.sampled_from([1e-6, 1.0, 1e6])), 1)})
        common |= {"loss": draw(st.sampled_from(["logistic", "squared", "huber", "smoothed-hinge"]))}
        common |= {"lattice": draw(st.integers(4, 6)), "degree": draw(st.integers(1, 3)), "response": box.names[1]}
        return lambda: sf.local.RiskMinimization(box, parameters=weights, **common), box
    box = draw(boxes(most=2))
    randomizer = draw(
        st.sampled_from(["auto", "hadamard", "subset", "bit", "laplace", "likelihood", "loglog", "privunit"])
    )
    return lambda: sf.local.Density(box, lattice=draw(st.integers(2, 6)), randomizer=randomizer, **common), box


@tries(16)
@given(protocols(), st.sampled_from([1, 2, 300]))
def test_collected_reports(asked, people):
    make, box = asked

    def collected(purse):
        protocol = make()
        collector = protocol.collector()
        collector.add_batch(protocol.encode_many(table(box, people)))
        return collector.release()

    check_arrival(collected)


PARTS = st.sampled_from(["auto", {"means": 0.5, "norm": 0.2, "spreads": 0.2, "pairs": 0.1}, {"means": 1.0}])


@pytest.mark.slow
@tries(24)
@given(boxes(columns=st.one_of(numeric(), CATEGORIES)), CATEGORIES, grants(), ROWS, PARTS, st.booleans())
def test_tables(box, classes, privacy, rows, shares, labelled):
    columns = dict(zip(box.names, box.columns, strict=True)) | ({"label": classes} if labelled else {})
    whole = sf.Box(columns)
    target = sf.TableMoments("label" if labelled else None, shares, rows=7, seed=1)
    check_arrival(released(target, table(whole, rows), whole, privacy))


@pytest.mark.slow
@tries(16)
@given(boxes(most=4), grants(), ROWS, st.integers(1, 4), st.sampled_from(["auto", "covariance", "products"]))
def test_components(box, privacy, rows, rank, noise):
    target = sf.PrincipalComponents(min(rank, box.dimension), 2, noise)
    check_arrival(released(target, table(box, rows), box, privacy))


@pytest.mark.slow
@tries(10)
@given(boxes(most=5, columns=numeric(("interval", "integer", "date"))), grants(), ROWS, PARTS)
def test_tables_by_a_linear_program(box, privacy, rows, shares):
    target = sf.TableMoments(None, shares, 7, 1, "lp")
    check_arrival(released(target, table(box, rows), box, privacy))
