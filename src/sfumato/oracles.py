"""Oracles: where the sensitivity sampler gets its made-up records from. All of them are public.

An oracle is anything to call with a number that returns that many records. These are ready to use; they can be seeded,
so that a sampled certificate can be checked by anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from sfumato.checks import positive_integer, shown
from sfumato.core.box import Box, Categorical, Column, Integer
from sfumato.core.privacy import Guarantee
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.density.distribution import Distribution

Generator = np.random.Generator
Draw = Callable[[int, Generator], Any]


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
            return pa.table(dict(zip(box.names, columns, strict=True)))
        return columns[0] if box.dimension == 1 else np.stack(columns, axis=1)

    return Oracle(f"uniform on {box!r}", draw)


def _uniform_column(column: Column, n: int, generator: Generator) -> Any:
    if isinstance(column, Categorical):
        return [column.categories[i] for i in generator.integers(len(column.categories), size=n)]
    if isinstance(column, Integer):
        low, high = int(np.ceil(column.low)), int(np.floor(column.high))
        return generator.integers(low, high, size=n, endpoint=True).astype(np.float64)
    return generator.uniform(column.low, column.high, size=n)


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
        records = release.sample(n, seed=int(generator.integers(2**53)))
        return records[:, 0] if one else records

    return Oracle(f"a released density that cost {promise} on top ({paid})", draw, promise)
