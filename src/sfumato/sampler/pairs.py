"""Pairs of neighbouring tables from an oracle, and how far apart they move a response."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import LatticeBasis, values_on
from sfumato.core.box import Box
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.oracles import Generator, Oracle
from sfumato.targets.base import Rehearsable

Floats = NDArray[np.float64]
Pair = tuple[Any, Any]
Distance = Callable[[Any, Any], float]

NORMS: dict[str, Callable[[Floats], float]] = {
    "l1": lambda difference: float(np.abs(difference).sum()),
    "l2": lambda difference: float(np.linalg.norm(difference)),
    "linf": lambda difference: float(np.abs(difference).max(initial=0.0)),
}


@dataclass(frozen=True)
class Respond:
    """What is released, as a procedure: records in, numbers (or, for a norm of the user's, any object) out."""

    target: Any
    box: Box | None
    basis: Any

    def __call__(self, records: Any) -> Any:
        """The response to these made-up records."""
        if isinstance(self.target, Rehearsable):
            return self.target.rehearse(records, self.box, self.basis)
        response = self.target(records)
        if callable(response) and self.box is not None:
            assert isinstance(self.basis, LatticeBasis)
            return values_on(response, self.basis.lattice(self.box))
        return response


def distance(norm: str | Callable[..., float]) -> Distance:
    """How far apart two responses are: by a norm with a name, a norm of their difference, or a function of both."""
    if isinstance(norm, str):
        return lambda first, second: NORMS[norm](_numbers(first) - _matching(first, second))
    if _arguments(norm) == 2:
        return lambda first, second: _one_number(norm(first, second))
    return lambda first, second: _one_number(norm(np.asarray(first) - np.asarray(second)))


def _one_number(far: Any) -> float:
    try:
        return float(far)
    except (TypeError, ValueError):
        raise ParameterTypeError(f"norm must return one number, got {type(far).__name__}") from None


def _arguments(norm: Callable[..., float]) -> int:
    """How many arguments a norm must have; one where nobody can tell."""
    try:
        parameters = inspect.signature(norm).parameters.values()
    except (TypeError, ValueError):
        return 1
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is inspect.Parameter.empty for p in parameters)


def _numbers(response: Any) -> Floats:
    if callable(response):
        raise ParameterTypeError("the target returns functions: give box= and basis=sf.Bernstein(k) to compare them on")
    try:
        return np.asarray(response, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterTypeError(
            f"the target returned {type(response).__name__}, which is not an array of numbers; give norm=, a function "
            "of two responses"
        ) from None


def _matching(first: Any, second: Any) -> Floats:
    left, right = _numbers(first), _numbers(second)
    if left.shape != right.shape:
        raise ParameterError(f"the target's responses differ in shape: {left.shape} and {right.shape}")
    return right


def draw_pair(oracle: Any, n: int, generator: Generator) -> Pair:
    """Two tables of ``n`` records that differ in the last: all of it from the generator if the oracle allows."""
    if not isinstance(oracle, Oracle):
        return replace_last(counted(oracle(n), n), counted(oracle(1), 1))
    # Independent records: the last of n + 1 is the one that replaces.
    records = counted(oracle.draw(n + 1, generator), n + 1)
    return replace_last(rows(records, 0, n), rows(records, n, n + 1))


def counted(records: Any, n: int) -> Any:
    """The oracle is public: whatever is wrong with its records is said aloud."""
    parts = records if isinstance(records, tuple) else (records,)
    for part in parts:
        try:
            found = len(part)
        except TypeError:
            raise ParameterTypeError(
                f"the oracle must return records (an array, a list or a table), got {type(part).__name__}"
            ) from None
        if found != n:
            raise ParameterError(f"the oracle was asked for {n} records and returned {found}")
    return records


def rows(records: Any, start: int, stop: int) -> Any:
    """Some of the records."""
    if isinstance(records, tuple):
        return tuple(rows(part, start, stop) for part in records)
    if isinstance(records, np.ndarray | list):
        return records[start:stop]
    try:
        return nw.from_native(records, eager_only=True)[start:stop].to_native()
    except TypeError:
        raise ParameterTypeError(
            f"the oracle must return records (an array, a list or a table), got {type(records).__name__}"
        ) from None


def replace_last(records: Any, other: Any) -> Pair:
    """The table, and the same with its last record replaced; neither shares memory with the other."""
    if isinstance(records, tuple):
        if not isinstance(other, tuple) or len(other) != len(records):
            raise ParameterTypeError("the oracle returned different kinds of records for n and for one")
        pairs = [replace_last(a, b) for a, b in zip(records, other, strict=True)]
        return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    if isinstance(records, list):
        return deepcopy(records), deepcopy([*records[:-1], *other])
    if isinstance(records, np.ndarray):
        if np.shape(other)[1:] != records.shape[1:]:
            raise ParameterError(
                f"the oracle's records differ in shape: {records.shape[1:]} among n, {np.shape(other)[1:]} alone"
            )
        return deepcopy(records), deepcopy(np.concatenate([records[:-1], other]))  # objects too
    try:
        frame, one = nw.from_native(records, eager_only=True), nw.from_native(other, eager_only=True)
    except TypeError:
        raise ParameterTypeError(
            f"the oracle must return records (an array, a list or a table), got {type(records).__name__}"
        ) from None
    if frame.columns != one.columns:
        raise ParameterError(f"the oracle's tables differ in columns: {frame.columns} and {one.columns}")
    return frame.clone().to_native(), nw.concat([frame[:-1], one]).to_native()
