"""Oracles: where the sensitivity sampler gets its made-up records from. All of them are public.

An oracle is anything to call with a number that returns that many records. These are ready to use; they can be seeded,
so that a sampled certificate can be checked by anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from sfumato.checks import positive_integer, shown
from sfumato.core.box import Box, Categorical, Column, Date, Integer
from sfumato.core.privacy import Guarantee
from sfumato.dates import as_moments
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.density.distribution import Distribution
from sfumato.values import is_sparse

Generator = np.random.Generator
Draw = Callable[[int, Generator], Any]

_TEXTS = ("a", "b", "c")  # that stand in a column of which nobody declared what it holds


def fresh_seed() -> int:
    """A public seed that nobody has used before."""
    return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]


def stream(seed: int | None, number: int) -> Generator:
    """One of many independent streams from a seed: the same whoever draws from it, and in which order."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


@dataclass(frozen=True)
class Oracle:
    """Draws independent records from one public law.

    Parameters
    ----------
    name
        The law in words, for the guarantee of what is built on it.
    draw
        ``draw(n, generator)``: n records, from nothing but the generator.
    spent
        The guarantee of the private release behind the law, if there is one.

    >>> gaussian()(3).shape
    (3,)
    """

    name: str
    draw: Draw
    spent: Guarantee | None = None

    def __call__(self, n: int) -> Any:
        """``n`` fresh records."""
        return self.draw(positive_integer("n", n), np.random.default_rng())

    def __str__(self) -> str:
        return self.name


def uniform(box: Box, *, table: bool = False) -> Oracle:
    """Uniform over a box: an array, ``(n,)`` for one column and ``(n, l)`` for more, or a pyarrow table.

    Dates are moments in a table, and in an array that holds nothing else; beside numbers they are days since 1970.

    >>> uniform(Box({"age": (0, 110), "bmi": (10, 60)}))(2).shape
    (2, 2)
    """
    if not isinstance(box, Box):
        raise ParameterTypeError(f"box must be an sf.Box, got box={shown(box)}")
    if not table:
        box.intervals()  # refuses categories, which no array of numbers holds

    def draw(n: int, generator: Generator) -> Any:
        columns = [_uniform_column(column, n, generator) for column in box.columns]
        if table:
            made = (_stored(column, values) for column, values in zip(box.columns, columns, strict=True))
            return pa.table(dict(zip(box.names, made, strict=True)))
        rows = np.stack(columns, axis=1)
        rows = as_moments(rows) if all(isinstance(column, Date) for column in box.columns) else rows
        return rows[:, 0] if box.dimension == 1 else rows

    return Oracle(f"uniform on {box!r}", draw)


def _uniform_column(column: Column, n: int, generator: Generator) -> Any:
    if isinstance(column, Categorical):
        return [column.categories[i] for i in generator.integers(len(column.categories), size=n)]
    if isinstance(column, Integer) or getattr(column, "whole", False):
        low, high = int(np.ceil(column.low)), int(np.floor(column.high))
        ends = isinstance(column, Integer)  # of a circle the upper bound is the lower one again
        return generator.integers(low, high, size=n, endpoint=ends).astype(np.float64)
    return generator.uniform(column.low, column.high, size=n)


def like(empty: Any, declared: Mapping[str, Column] | None = None) -> Oracle:
    """Records in the container of an empty one: the same type, the same columns, the same types of columns.

    Parameters
    ----------
    empty
        A table without records: a numpy array, an ``(X, y)`` pair of them, a data frame. Nothing but its schema is
        used.
    declared
        What is publicly known of columns, which are then uniform over that; an array has them in this order. Other
        columns hold small numbers or short texts.

    >>> like(np.empty((0, 2)), dict(zip("ab", Box([(0, 1), (5, 6)]).columns)))(3).shape
    (3, 2)
    """
    known = {} if declared is None else dict(declared)

    def draw(n: int, generator: Generator) -> Any:
        if isinstance(empty, tuple):
            first, second = empty
            return _array_like(first, list(known.values()), n, generator), _array_like(second, [], n, generator)
        if isinstance(empty, np.ndarray) or is_sparse(empty):
            return _array_like(empty, list(known.values()), n, generator)
        if isinstance(empty, Mapping):
            return {name: _column_like(column, known.get(name), n, generator) for name, column in empty.items()}
        return _frame_like(nw.from_native(empty, eager_only=True), known, n, generator)

    return Oracle("made up, with the schema of a table", draw)


def _column_like(empty: Any, kind: Column | None, n: int, generator: Generator) -> Any:
    """One column of a dict of them."""
    if isinstance(empty, np.ndarray):
        if empty.dtype.kind == "O":  # a list of any values
            return np.array(_values("text", kind, n, generator), dtype=object)
        return _array_like(empty, [] if kind is None else [kind], n, generator)
    series = nw.from_native(empty, series_only=True)
    return _typed(series, _values(_word(series), kind, n, generator)).to_native()


def _array_like(empty: Any, columns: list[Column], n: int, generator: Generator) -> Any:
    if not isinstance(empty, np.ndarray):  # compressed rows
        return type(empty)(_array_like(empty.toarray(), columns, n, generator))
    width = 1 if empty.ndim == 1 else empty.shape[1]
    kinds: list[Column | None] = [*columns] if len(columns) == width else [None] * width
    word = {"U": "text", "f": "float", "M": "moment"}.get(empty.dtype.kind, "whole")
    made = [_values(word, kind, n, generator) for kind in kinds]
    if word == "whole":
        made = [np.rint(column) for column in made]
    whole = np.stack(made, axis=1).astype("U" if word == "text" else empty.dtype)
    return whole[:, 0] if empty.ndim == 1 else whole


def _frame_like(frame: Any, known: Mapping[str, Column], n: int, generator: Generator) -> Any:
    made = [_typed(frame[name], _values(_word(frame[name]), known.get(name), n, generator)) for name in frame.columns]
    return nw.concat([series.to_frame() for series in made], how="horizontal").to_native()


def _values(word: str, kind: Column | None, n: int, generator: Generator) -> Any:
    """Values of a column that was declared, or of which no more than a type is known."""
    if isinstance(kind, Date) and word in ("moment", "text"):
        moments = as_moments(np.asarray(_uniform_column(kind, n, generator)))
        return moments if word == "moment" else moments.astype("M8[s]").astype(str).tolist()
    if kind is not None:
        return _uniform_column(kind, n, generator)
    places = generator.integers(len(_TEXTS), size=n)
    if word == "float":
        return generator.uniform(size=n)
    if word == "whole":
        return places
    if word == "moment":
        return np.datetime64("2000-01-01", "us") + places.astype("timedelta64[D]")
    return [_TEXTS[place] for place in places]


def _word(series: Any) -> str:
    """What a column holds by its type; of a column of objects narwhals would look for values."""
    stored = getattr(series.to_native(), "dtype", None)
    if isinstance(stored, np.dtype) and stored.kind == "O":
        return "text"
    kind = series.dtype
    if kind.is_temporal():
        return "moment"
    if kind.is_float() or kind.is_decimal():
        return "float"
    return "whole" if kind.is_integer() or kind == nw.Boolean else "text"


def _typed(series: Any, values: Any) -> Any:
    """The values as a column of the same type; gaps where the type does not hold them."""
    backend = series.implementation
    listed = nw.new_series(series.name, values, backend=backend)
    if series.dtype in (nw.Categorical, nw.Enum):  # whose own categories may be those of the records
        return listed.cast(nw.Categorical)
    gaps = nw.new_series(series.name, [None] * len(values), backend=backend)
    for made in (listed, gaps):
        with suppress(Exception):  # whatever a library says of a type that it does not cast to
            return nw.from_native(_cast(made.to_native(), series.to_native(), backend), series_only=True).alias(
                series.name
            )
    return gaps


def _cast(made: Any, like: Any, backend: Any) -> Any:
    if backend.is_pyarrow():
        return made.cast(like.type)
    return made.cast(like.dtype) if backend.is_polars() else made.astype(like.dtype)


def _stored(column: Column, values: Any) -> Any:
    """A column as a table has it."""
    if not isinstance(column, Date):
        return values
    return pa.array(as_moments(values), pa.timestamp("us", "UTC" if column.zoned else None))


def gaussian(mean: ArrayLike = 0.0, deviation: ArrayLike = 1.0, covariance: ArrayLike | None = None) -> Oracle:
    """Normal: ``(n,)`` for a number as the mean, ``(n, l)`` for a list; with a covariance matrix, correlated.

    >>> gaussian([0.0, 0.0], covariance=[[1, 0.5], [0.5, 1]])(4).shape
    (4, 2)
    """
    middle = np.asarray(mean, dtype=np.float64)
    if covariance is None:
        spread = np.broadcast_to(np.asarray(deviation, dtype=np.float64), middle.shape)
        if not (np.isfinite(middle).all() and np.isfinite(spread).all() and (spread > 0).all()):
            raise ParameterError(f"mean and deviation must be finite, deviation positive, got {mean!r}, {deviation!r}")
        words = f"Gaussian of mean {middle.tolist()} and deviation {spread.tolist()}"
        return Oracle(words, lambda n, generator: generator.normal(middle, spread, size=(n, *middle.shape)))
    matrix = np.asarray(covariance, dtype=np.float64)
    if middle.ndim != 1 or matrix.shape != (len(middle),) * 2 or not np.isfinite(matrix).all():
        raise ParameterError(f"covariance must be a finite matrix, one row per entry of the mean, got {covariance!r}")
    try:
        root = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ParameterError(f"covariance must be positive definite, got covariance={covariance!r}") from None
    words = f"Gaussian of mean {middle.tolist()} and covariance {matrix.tolist()}"
    return Oracle(words, lambda n, generator: middle + generator.normal(size=(n, len(middle))) @ root.T)


def bootstrap(public: Any, name: str = "a public data set") -> Oracle:
    """Records drawn with replacement from a **public** data set: an array, a list, or a data frame.

    Never pass the private records: what is computed from them here would be published unprotected.

    >>> bootstrap(np.array([1.0, 2.0]), "two numbers").name
    'bootstrap of two numbers (2 records)'
    """
    if isinstance(public, list | np.ndarray):
        take = public.__getitem__ if isinstance(public, np.ndarray) else lambda rows: [public[i] for i in rows]
    else:
        try:
            frame = nw.from_native(public, eager_only=True)
        except TypeError:
            raise ParameterTypeError(
                f"public must be an array, a list or a data frame, got {type(public).__name__}"
            ) from None
        take = lambda rows: frame[rows.tolist()].to_native()  # noqa: E731
    if not len(public):
        raise ParameterError("public must have at least one record, got none")
    size = len(public)
    return Oracle(f"bootstrap of {name} ({size} records)", lambda n, generator: take(generator.integers(size, size=n)))


def density(release: Any) -> Oracle:
    """Records drawn from a density that was released privately; what that release cost comes on top.

    ``release.guarantee`` goes into every certificate sampled from it, and from there into the words of the release.
    """
    if not isinstance(release, Distribution) or not isinstance(getattr(release, "guarantee", None), Guarantee):
        raise ParameterTypeError(f"release must be a released density, such as sf.KDE gives, got {shown(release)}")
    receipt, promise = getattr(release, "receipt", None), release.guarantee  # type: ignore[attr-defined]
    paid = "charged to no account" if receipt is None else f"entry {receipt.entry} of account {receipt.account!r}"
    one = release.box.dimension == 1

    def draw(n: int, generator: Generator) -> Any:
        records = release.sample(n, seed=int(generator.integers(2**53)), of="surface")
        return records[:, 0] if one else records

    return Oracle(f"a released density that cost {promise} on top ({paid})", draw, promise)
