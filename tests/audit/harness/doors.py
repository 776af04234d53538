"""Everything that takes private records, small: targets, estimators, and the functions that add noise to numbers.

A door says which columns it reads and how it is opened. What leaves by it is looked at in ``watching``.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import sfumato as sf
from harness.containers import ARRAYS, FILES, FRAMES, LISTS, NAMED, TABLES, VECTORS, Maker
from harness.containers import TEXTS as TEXT_ARRAYS
from harness.reading import CODES, NUMBERS, TEXTS, several
from sfumato import estimators
from sfumato.accounting.binding import fingerprint
from sfumato.local.records import read_records, within
from sfumato.local.wire import unpack_batches
from sfumato.values import is_sparse

KINDS: dict[str, Any] = {
    **NUMBERS,
    "z": sf.Integer(*NUMBERS["z"]),
    "t": sf.Periodic(*NUMBERS["t"]),
    "k": sf.Categorical(CODES),
    "g": sf.Categorical(TEXTS["g"]),
    "c": sf.Categorical(TEXTS["c"]),
    "d": sf.Date("2024-01-01", "2025-01-01"),
}
PURE = {"epsilon": 1.0}
GRANTS = (PURE, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.5})
BOTH = ("replace", "add-remove")
Witness = Callable[[Any], None]
_HEAD = 30  # bytes of a batch before its reports


@dataclass(frozen=True)
class Door:
    """A way out.

    Parameters
    ----------
    columns, response
        What it reads: the columns of its box, and one more.
    opened
        ``opened(data, privacy, witness)`` returns what is published; a caller's function tells the witness what it saw.
    weight
        How often it is tried.
    bounded
        Whether the certificate bounds how far neighbours move what leaves; not so for noise inside an objective, and
        where the sensitivity is the caller's affair.
    """

    name: str
    columns: tuple[str, ...]
    opened: Callable[[Any, sf.Privacy, Witness], Any]
    response: str | None = None
    weight: float = 1.0
    relations: tuple[str, ...] = BOTH
    persons: bool = True
    grants: tuple[dict[str, float], ...] = GRANTS
    bounded: bool = True
    kind: str = "table"  # or "estimator", "numbers", "command", "reports"
    by_name: bool = False  # whether it asks for columns by their names, which arrays do not have

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns, the response last."""
        return self.columns if self.response is None else (*self.columns, self.response)

    def containers(self) -> dict[str, Maker]:
        """What its records can come in."""
        arrays = {} if self.by_name or {"g", "k", "c"} & {*self.columns} else ARRAYS  # of numbers without categories
        arrays = {} if "d" in self.columns and len(self.columns) > 1 else arrays  # nor with dates beside numbers
        return {
            "table": TABLES | arrays,
            "command": FILES,
            "estimator": FRAMES | arrays | {"objects": ARRAYS["objects"]} | LISTS,
            "reports": NAMED | arrays | {"objects": ARRAYS["objects"]} | LISTS | TEXT_ARRAYS,
            "numbers": VECTORS,
        }[self.kind]


def _box(columns: tuple[str, ...]) -> sf.Box:
    return sf.Box({name: KINDS[name] for name in columns})


def _released(target: Any, columns: tuple[str, ...], basis: Any = "auto") -> Callable[[Any, sf.Privacy, Witness], Any]:
    box = _box(columns)
    return lambda data, privacy, _: sf.release(target, data, box, privacy, basis=basis)


def target(name: str, what: Any, *columns: str, basis: Any = "auto", **rest: Any) -> Door:
    """A target of ``sf.release``."""
    return Door(name, columns, _released(what, columns, basis), **rest)


# --- functions of a caller's ------------------------------------------------------------------------------------

_MOST_ROWS = 100


def _values(table: Any, name: str) -> list[Any]:
    column = table[name]
    if isinstance(column, np.ndarray):
        return column.tolist()
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list()


def _column_of(table: Any, name: str, place: int) -> list[Any]:
    """One column of whatever the caller's function was given."""
    if isinstance(table, tuple):
        table = table[0]
    if is_sparse(table):
        return table.toarray()[:, place].tolist()
    if isinstance(table, np.ndarray):
        return (table if table.ndim == 1 else table[:, place]).tolist()
    return _values(table, name)


def seen(table: Any, names: tuple[str, ...]) -> tuple[str, list[str], int]:
    """The types that a caller's function saw, and its rows, as text; and in how many pieces."""
    if isinstance(table, pd.DataFrame):
        types = str(list(zip(table.columns, map(str, table.dtypes), strict=True)))
        types += f" {type(table.index).__name__} {list(table.index) == list(range(len(table)))}"
    elif isinstance(table, pl.DataFrame | pa.Table):
        types = str(table.schema)
    elif isinstance(table, dict):
        types = str([(name, type(c).__name__, str(getattr(c, "dtype", None) or c.type)) for name, c in table.items()])
    else:
        types = str([part.dtype for part in (table if isinstance(table, tuple) else (table,))])
    columns = [_column_of(table, name, place) for place, name in enumerate(names)]
    pieces = max(1, table.column(0).num_chunks) if isinstance(table, pa.Table) else 1
    return f"{type(table).__name__} {types}", [repr(row) for row in zip(*columns, strict=True)], pieces


def _in_order(names: tuple[str, ...], witness: Witness) -> Callable[[Any], float]:
    """``sum_i i x_i``, i the place of a row: replacing one moves it by less than one, moving the others by more."""

    def statistic(table: Any) -> float:
        witness(seen(table, names))
        values = [float(v) if v is not None and v == v else 0.0 for v in _column_of(table, names[0], 0)]
        inside = np.clip(values, *NUMBERS[names[0]])  # arrays are given as they are
        return float(np.dot(np.arange(1, len(values) + 1), inside) / (10 * _MOST_ROWS))

    return statistic


def _own(*columns: str, mapped: bool = False) -> Callable[[Any, sf.Privacy, Witness], Any]:
    def opened(data: Any, privacy: sf.Privacy, witness: Witness) -> Any:
        function = _in_order(columns, witness)
        declared = {name: KINDS[name] for name in columns} if mapped else None
        return sf.release(sf.Statistic(function, declared, sensitivity=1.0), data, _box(columns), privacy)

    return opened


def _beside(data: Any, privacy: sf.Privacy, witness: Witness) -> Any:
    """A function that asks for a column without bounds, which it is given as it is."""
    statistic = sf.Statistic(_in_order(("x",), witness), ["x", "g"], sensitivity=1.0)
    return sf.release(statistic, data, _box(("x",)), privacy)


def _black_box(*columns: str) -> Callable[[Any, sf.Privacy, Witness], Any]:
    def opened(data: Any, privacy: sf.Privacy, witness: Witness) -> Any:
        function = _in_order(columns, witness)

        def fit(table: Any) -> Any:
            level = function(table)
            return lambda points: np.full(len(points), level)

        box, declared = sf.Box([(0, 1)]), {name: KINDS[name] for name in columns}
        return sf.release(
            sf.BlackBox(fit, sensitivity=1.0, columns=declared), data, box, privacy, basis=sf.Bernstein(2)
        )

    return opened


# --- estimators -------------------------------------------------------------------------------------------------


def _parts(data: Any, door_columns: tuple[str, ...], response: str | None) -> tuple[Any, Any]:
    """X and y of a table."""
    if isinstance(data, tuple) or response is None:
        return data if isinstance(data, tuple) else (data, None)
    if isinstance(data, pd.DataFrame):
        return data[list(door_columns)], data[response]
    if isinstance(data, pl.DataFrame):
        return data.select(door_columns), data[response]
    return (data.select(list(door_columns)), data[response]) if isinstance(data, pa.Table) else (data, None)


def estimator(name: str, made: Callable[..., Any], *columns: str, response: str | None = None, **rest: Any) -> Door:
    """An estimator of scikit-learn's kind."""
    bounds = {column: KINDS[column] for column in columns}

    def opened(data: Any, privacy: sf.Privacy, _: Witness) -> Any:
        model = made(bounds=bounds, epsilon=privacy.epsilon, delta=privacy.delta, neighbours=privacy.neighbours)
        x, y = _parts(data, columns, response)
        return model.fit(x) if response is None else model.fit(x, y)

    rest = {"grants": GRANTS[:2], "persons": False, "kind": "estimator"} | rest
    return Door(name, columns, opened, response, **rest)


def _classifier(made: Any, **settings: Any) -> Callable[..., Any]:
    return lambda **common: made(classes=TEXTS["c"], **settings, **common)


def _regressor(made: Any, **settings: Any) -> Callable[..., Any]:
    return lambda **common: made(response_range=NUMBERS["y"], **settings, **common)


# --- the command line -------------------------------------------------------------------------------------------


def command(name: str, *columns: str, **rest: Any) -> Door:
    """``sfumato statistic``, on a file; what it prints is watched, as everything is."""
    given = {"x": "x:0:10", "g": "g=a,b,c"}

    def opened(data: Any, privacy: sf.Privacy, _: Witness) -> Any:
        from sfumato.cli.app import app

        grant = ["--epsilon", str(privacy.epsilon), "--neighbours", privacy.neighbours]
        if isinstance(privacy.unit, sf.Person):
            grant += ["--person", f"{privacy.unit.column}:{privacy.unit.max_rows}"]
        declared = [word for column in columns for word in ("--column", given[column])]
        with contextlib.suppress(SystemExit):
            app(["statistic", data, name, *columns, *declared, *grant, "-o", f"{data}.sfumato"])

    return Door(f"command {name}", columns, opened, grants=(PURE,), kind="command", **rest)


# --- the local model --------------------------------------------------------------------------------------------


def reports(name: str, kind: Any, *columns: str, **rest: Any) -> Door:
    """A gateway's batch: its head and its length, and what each person's record is read as."""
    box = _box(columns)
    protocol = kind(box, 1.0)

    def opened(data: Any, _: sf.Privacy, witness: Witness) -> Any:
        batch = protocol.encode_many(data, first_user=7)
        held = within(box, read_records(box, data)).T
        witness((f"{len(batch)} bytes after {batch[:_HEAD].hex()}", [repr(row) for row in held.tolist()], 1))

    rest = {"relations": ("replace",), "persons": False, "grants": (PURE,), "kind": "reports"} | rest
    return Door(name, columns, opened, **rest)


def encoding(name: str, *columns: str, **rest: Any) -> Door:
    """``sfumato local encode``, on a file: how many people there are in which batch."""
    protocol = sf.local.Density(_box(columns), 1.0)

    def opened(data: Any, _: sf.Privacy, __: Witness) -> Any:
        from sfumato.cli.app import app

        protocol.save(f"{data}.json")
        with contextlib.suppress(SystemExit):
            app(["local", "encode", f"{data}.json", data, "-o", f"{data}.batch", "--force"])
        with open(f"{data}.batch", "rb") as file:
            sent = unpack_batches(file.read(), protocol.fingerprint, protocol.channel.width, protocol.channel.bitwise)
            return [(batch.first, batch.count) for batch in sent]

    return Door(name, columns, opened, relations=("replace",), persons=False, grants=(PURE,), kind="command", **rest)


# --- numbers ----------------------------------------------------------------------------------------------------


def _noisy(data: Any, privacy: sf.Privacy, integer: bool) -> Any:
    settings = {"integer": True} if integer else {}
    if privacy.rho is None and not privacy.delta:
        return sf.noise.laplace(data, l1=2.0, epsilon=privacy.epsilon, **settings)
    return sf.noise.gaussian(data, l2=2.0, epsilon=privacy.epsilon, delta=privacy.delta, rho=privacy.rho, **settings)


def _select(data: Any, privacy: sf.Privacy, _: Witness) -> Any:
    scores = data if several(data) else [data]
    return sf.select(range(len(scores)), scores, sensitivity=1.0, privacy=privacy)


def _above(data: Any, privacy: sf.Privacy, _: Witness) -> Any:
    kind = type(data)  # which is not to be compared: it may be one that fails at that
    for value in data if kind is list or kind is tuple else [data]:
        sf.AboveThreshold(0.0, 1.0, privacy).above(0.0 if several(value) else value)
    return None  # the answers are what was paid for


def numbers(name: str, opened: Any, **rest: Any) -> Door:
    """What takes numbers that a caller has computed from records."""
    rest = {"relations": ("replace",), "persons": False, "kind": "numbers", "bounded": False} | rest
    return Door(name, ("x",), opened, **rest)


_STATISTIC, _BINS = sf.Statistic, sf.Binning(4)
_LABEL, _RANGE = {"response": "c", "classes": TEXTS["c"]}, {"response": "y", "range": NUMBERS["y"]}
_OUTPUT: dict[str, Any] = {"mechanism": "output"}
DOORS = (
    target("count", _STATISTIC("count"), "x", weight=4),
    target("count of categories", _STATISTIC("count"), "g", "k", weight=3),
    target("sum", _STATISTIC("sum", "x"), "x", "w", weight=3),
    target("mean", _STATISTIC("mean", "x"), "x", weight=5),
    target("mean, nothing missing", _STATISTIC("mean", missing="none"), "z", "w", weight=2),
    target("variance", _STATISTIC("variance", "w"), "w", weight=2),
    target("covariance", _STATISTIC("covariance"), "x", "w", weight=2),
    target("proportions", _STATISTIC("proportions", "g"), "g", weight=4),
    target("proportions of numbers", _STATISTIC("proportions", "k"), "k", weight=3),
    target("histogram", _STATISTIC("histogram", bins=3), "x", "g", weight=3),
    target("histogram of a circle", _STATISTIC("histogram", bins=3), "t", "z", weight=2),
    target("histogram of whole numbers", _STATISTIC("histogram", "z"), "z", weight=1),
    target("histogram between edges", _STATISTIC("histogram", "x", edges=[2.5, 4.0]), "x", weight=1),
    target("median", _STATISTIC("median", "x"), "x"),
    target("quantiles", _STATISTIC("quantiles", "z", probabilities=[0.3]), "z", weight=0.6),
    target("chosen quantiles", _STATISTIC("quantiles", "x", probabilities=[0.2, 0.7], interval="none"), "x", weight=1),
    target("chosen median", _STATISTIC("median", "x", interval="none"), "x", weight=0.6),
    Door("a caller's statistic", ("x", "g"), _own("x", "g"), weight=6),
    Door("a caller's statistic of declared columns", ("x", "k"), _own("x", "k", mapped=True), weight=4, by_name=True),
    Door("a caller's statistic of a pair", ("x",), _own("x"), "y", weight=1, persons=False),
    Door("a caller's statistic beside undeclared columns", ("x", "g"), _beside, weight=2, by_name=True),
    Door("a caller's statistic of numbers", ("x", "t"), _own("x", "t"), weight=2),
    Door("black box", ("x", "g", "k"), _black_box("x", "g", "k"), weight=4, by_name=True),
    target("mean of dates", _STATISTIC("mean", "d"), "d", weight=3),
    target("histogram of dates", _STATISTIC("histogram", bins=3), "d", "g", weight=2),
    target("median of dates", _STATISTIC("median", "d"), "d", weight=0.5),
    Door("a caller's statistic of dates", ("x", "d"), _own("x", "d"), weight=3),
    target("density of dates", sf.KDE(60.0, post="none"), "d", basis=_BINS, weight=0.3),
    target("summary of dates", sf.CosineMoments(3), "d", "x", weight=0.5),
    Door("private bounds", ("x",), lambda data, privacy, _: sf.private_bounds(data, "x", privacy), by_name=True),
    Door("data of an account", ("x", "g"), lambda data, *_: fingerprint(data, "0a" * 32), by_name=True),
    target("density", sf.KDE(2.0, post="none"), "x", basis=_BINS, weight=0.6),
    target("density, simplex", sf.KDE(2.0, missing="none"), "x", basis=sf.SplitLattice(4, 1.0), weight=0.3),
    target("density of a circle", sf.KDE(3.0, post="none"), "t", basis=_BINS, weight=0.3),
    target("density in a polynomial basis", sf.KDE(2.0, post="none"), "x", basis=sf.Bernstein(3),
           relations=("replace",), persons=False, weight=0.2),
    target("density of two columns", sf.KDE([2.0, 0.5], post="none"), "x", "w", basis=_BINS, weight=0.2),
    target("density of three columns", sf.KDE([2.0, 0.5, 2.0], post="none"), "x", "w", "z", basis=_BINS, weight=0.1),
    target("densities by group", sf.KDE(2.0, by="g", post="none"), "x", "g", basis=_BINS, weight=0.3),
    target("tuned density", sf.KDE(sf.Tuned([1.0, 2.0]), post="none"), "x", basis=_BINS, relations=("replace",),
           persons=False, weight=0.02),
    target("Nadaraya-Watson", sf.NadarayaWatson(2.0, **_RANGE), "x", basis=_BINS, response="y", weight=0.2),
    target("Priestley-Chao", sf.PriestleyChao(2.0, **_RANGE), "x", basis=sf.Bernstein(3), response="y",
           relations=("replace",), persons=False, weight=2),
    target("naive Bayes", sf.NaiveBayes("c", TEXTS["c"]), "x", "g", response="c", weight=0.2),
    target("naive Bayes, normal", sf.NaiveBayes("c", TEXTS["c"], likelihood="normal"), "x", "g", "k", response="c",
           weight=1),
    target("logistic regression", sf.LogisticRegression(1.0, **_LABEL, **_OUTPUT), "x", "w", response="c", weight=1),
    target("logistic regression, objective noise", sf.LogisticRegression(1.0, **_LABEL, mechanism="objective"), "x",
           response="c", persons=False, grants=GRANTS[:2], bounded=False, weight=0.5),
    target("ridge", sf.Ridge(1.0, **_RANGE, **_OUTPUT), "x", "w", response="y", relations=("replace",), persons=False,
           weight=1),
    target("logistic regression by descent", sf.LogisticRegression(1.0, **_LABEL, mechanism="descent"), "x", "w",
           response="c", grants=GRANTS[1:], weight=0.3),
    target("ridge by descent", sf.Ridge(1.0, **_RANGE, mechanism="descent"), "x", response="y", grants=GRANTS[1:],
           weight=0.3),
    target("logistic regression, categories", sf.LogisticRegression(1.0, **_LABEL, **_OUTPUT), "g", "x", "k",
           response="c"),
    target("support vectors", sf.KernelMachine("hinge", sf.RBF(1.0), 1.0, **_LABEL, **_OUTPUT), "x",
           basis=sf.Landmarks(rank=3), response="c", weight=0.5),
    target("summary", sf.CosineMoments(3), "x", "g", weight=1.5),
    target("table", sf.TableMoments("g", seed=7), "x", "g", "t", "k", weight=1),
    target("table of dates", sf.TableMoments("g", seed=7), "d", "g", weight=0.5),
    target("table of pairs", sf.TableMoments(shares={"means": 0.5, "pairs": 0.5}, seed=7), "x", "w", "z", weight=1),
    target("components", sf.PrincipalComponents(1, noise="covariance"), "x", "w", weight=0.5),
    target("components by products", sf.PrincipalComponents(2, 2, "products"), "x", "z", "w", weight=0.5),
    target("summary of a circle", sf.CosineMoments(3), "t", "k", weight=1),
    estimator("PrivateKernelDensity", lambda **common: estimators.PrivateKernelDensity(2.0, post="none", **common), "x",
              weight=0.7),
    estimator("PrivateKernelClassifier", _classifier(estimators.PrivateKernelClassifier, rank=3, **_OUTPUT), "x",
              response="c", weight=1),
    estimator("PrivateLogisticRegression", _classifier(estimators.PrivateLogisticRegression, C=1.0, **_OUTPUT), "x",
              "w", response="c", weight=2),
    estimator("PrivateKernelRegressor", _regressor(estimators.PrivateKernelRegressor, rank=3, C=1.0, **_OUTPUT), "x",
              response="y", weight=1),
    estimator("PrivateRidge", _regressor(estimators.PrivateRidge, C=1.0, **_OUTPUT), "x", "w", response="y",
              relations=("replace",), weight=2),
    estimator("PrivateKernelSmoother", _regressor(estimators.PrivateKernelSmoother, bandwidth=2.0), "x", response="y",
              weight=0.1),
    estimator("PrivateNaiveBayes", _classifier(estimators.PrivateNaiveBayes, likelihood="normal"), "x", "g",
              response="c", weight=2),
    command("mean", "x", weight=0.15),
    command("proportions", "g", weight=0.15),
    reports("reports of a number", sf.local.Density, "x", weight=1),
    reports("reports of numbers", sf.local.SmoothQueries, "x", "w", weight=1),
    reports("reports of dates", sf.local.Density, "d", weight=1),
    reports("reports of dates and numbers", sf.local.SmoothQueries, "d", "x", weight=1),
    reports("reports of categories", sf.local.Marginals, "g", "k", weight=2),
    reports("reports of a category", functools.partial(sf.local.Marginals, ways=1), "g", weight=1),
    reports("reports of a linear model", functools.partial(sf.local.LinearModel, response="c", seed=1), "x", "d", "c"),
    reports("reports of losses", functools.partial(
        sf.local.RiskMinimization, loss="squared", response="y", parameters=sf.Box({"x": (-1, 1)}), lattice=5,
        degree=2), "x", "y"),
    reports("reports of gradients", functools.partial(sf.local.GeneralizedLinear, response="c", seed=1), "x", "t", "c"),
    encoding("command local encode", "x", "w", weight=0.15),
    numbers("noise", lambda data, privacy, _: _noisy(data, privacy, False), weight=4),
    numbers("whole noise", lambda data, privacy, _: _noisy(data, privacy, True), weight=4),
    numbers("select", _select, weight=4, grants=(PURE, {"rho": 0.5})),
    numbers("above threshold", _above, weight=2, grants=(PURE,)),
)  # fmt: skip
