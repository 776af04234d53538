"""What a question can do between the points at which it is looked at: its tree, evaluated in interval arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sfumato.bases.moments import enclosures as enc
from sfumato.bases.moments.quadrature import category_values
from sfumato.core.box import Box, Categorical
from sfumato.expressions.tree import FUNCTIONS, Among, Between, Bump, Node, largest, product, smallest
from sfumato.releases.summary.edges import turns

Floats = NDArray[np.float64]

_ORDER = 8  # derivatives that are looked at
_FINE = (1024, 128, 64, 48)  # cells along a column whose derivatives are wanted, for one to four columns,
_COARSE = (1, 32, 8, 4)  # and along each of the others;
_MOST = 2**16  # in all, where there are many categories,
_FEWEST = 16  # but at least so many

_RULES: dict[Any, Callable[..., enc.Jet]] = {
    np.add: enc.add,
    np.subtract: enc.subtract,
    np.multiply: enc.multiply,
    np.divide: enc.divide,
    np.power: enc.power,
    np.negative: enc.negative,
    np.exp: enc.exp,
    np.log: enc.log,
    np.sqrt: enc.sqrt,
    np.abs: enc.absolute,
    np.sin: enc.sine,
    np.cos: enc.cosine_of,
    np.tan: enc.tan,
    np.tanh: enc.tanh,
    expit: enc.expit,
    smallest: enc.smallest,
    largest: enc.largest,
    product: lambda *jets: reduce(enc.multiply, jets),
}
assert {*FUNCTIONS.values()} <= {*_RULES}


def limits(node: Node, columns: Sequence[str], box: Box, counts: Sequence[int]) -> tuple[Floats, Floats]:
    """The limits of a question on every cell of a grid of ``counts`` even angles along its columns."""
    angles = _cells(columns, box, counts)
    size = len(next(iter(angles.values()))[0])
    with np.errstate(all="ignore"):
        whole = _evaluate(node, {name: _interval(box, name, *ends) for name, ends in angles.items()})
        return enc.limits(whole, 0, size)


def unseen(node: Node, columns: Sequence[str], box: Box, counts: Sequence[int]) -> float:
    """A bound on what interpolation at ``counts`` even angles along each column cannot see (categories: all of it)."""
    numeric = [j for j, name in enumerate(columns) if not isinstance(_kind(box, name), Categorical)]
    categories = math.prod(len(k.categories) for k in (_kind(box, n) for n in columns) if isinstance(k, Categorical))
    bounds = []
    for j in numeric:
        few = _COARSE[len(numeric) - 1]
        many = max(_FEWEST, min(_FINE[len(numeric) - 1], _MOST // (categories * few ** (len(numeric) - 1))))
        angles = _cells(columns, box, [many if k == j else few for k in range(len(columns))])
        given = {
            name: _moving(box, name, *ends) if k == j else _interval(box, name, *ends)
            for k, (name, ends) in enumerate(angles.items())
        }
        size = len(angles[columns[j]][0])
        with np.errstate(all="ignore"):
            jet = _evaluate(node, given)
            sizes = [np.maximum(*map(np.abs, enc.limits(jet, r, size))).max() for r in range(_ORDER + 1)]
        bounds.append(np.array(sizes))
    return enc.unseen(bounds, [counts[j] for j in numeric])


def landmarks(node: Node) -> dict[str, list[float]]:
    """The places of bumps and edges of single columns."""
    found: dict[str, list[float]] = {}
    for part in node.walk():
        name = part.parts[0].column if len(part.parts) == 1 else None
        if name is not None and isinstance(part.does, Bump):
            found.setdefault(name, []).append(part.does.centre)
        if name is not None and isinstance(part.does, Between):
            around = part.does.around
            found.setdefault(name, []).extend(end for end, _ in part.does.edges)
            if part.does.low is not None and part.does.high is not None:
                found[name].append(part.does.low / 2 + part.does.high / 2)
            if around is not None:
                found[name] += [place - around for place in found[name]]
    return found


def _kind(box: Box, name: str) -> Any:
    return box.columns[box.names.index(name)]


def _cells(columns: Sequence[str], box: Box, counts: Sequence[int]) -> dict[str, tuple[Floats, Floats]]:
    """All combinations of cells, the last column fastest: limits of angles, or twice the code of a category."""
    lines = []
    for name, count in zip(columns, counts, strict=True):
        kind = _kind(box, name)
        if isinstance(kind, Categorical):
            lines.append((category_values(kind), category_values(kind)))
        else:
            edges = np.linspace(0.0, math.pi, count + 1)
            lines.append((edges[:-1], edges[1:]))
    where = np.indices([len(low) for low, _ in lines]).reshape(len(lines), -1)
    return {name: (low[at], high[at]) for name, (low, high), at in zip(columns, lines, where, strict=True)}


def _interval(box: Box, name: str, low: Floats, high: Floats) -> enc.Jet:
    """A column on cells, in its units."""
    return _moving(box, name, low, high, 0)


def _moving(box: Box, name: str, low: Floats, high: Floats, order: int = _ORDER) -> enc.Jet:
    """A column as a function of its own angle."""
    kind = _kind(box, name)
    if isinstance(kind, Categorical):
        return enc.constant(low, high)
    middle, half = kind.low / 2 + kind.high / 2, kind.high / 2 - kind.low / 2
    return enc.add(_constant(middle), enc.multiply(_constant(half), enc.cosine(low, high, order)))


def _constant(value: float) -> enc.Jet:
    return enc.constant(np.full(1, float(value)), np.full(1, float(value)))


def _evaluate(node: Node, columns: Mapping[str, enc.Jet]) -> enc.Jet:
    found: enc.Jet = node.fold(columns, _constant, _called)[-1]
    return found


def _step(x: enc.Jet, end: float, slope: float) -> enc.Jet:
    """A soft edge from minus a half to a half, ``slope`` times one deviation wide, or falling if that is negative."""
    scaled = enc.multiply(_constant(slope / math.sqrt(2)), enc.subtract(x, _constant(end)))
    return enc.multiply(_constant(0.5), enc.erf(scaled))


def _called(does: Any, given: Sequence[enc.Jet]) -> enc.Jet:
    if isinstance(does, Bump):
        scaled = enc.multiply(_constant(1 / does.width), enc.subtract(given[0], _constant(does.centre)))
        return enc.exp(enc.multiply(_constant(-0.5), enc.square(scaled)))
    if isinstance(does, Between) and does.around is not None:
        assert does.low is not None and does.high is not None
        pairs = turns(does.low, does.high, does.softness, does.around)
        softness = min(does.softness, does.around)
        steps = [
            _step(given[0], end, sign / softness) for pair in pairs for end, sign in zip(pair, (1, -1), strict=True)
        ]
        return reduce(enc.add, steps)
    if isinstance(does, Between):
        found = _constant(1.0)
        for end, sign in does.edges:
            edge = _step(given[0], end, sign / does.softness)
            found = enc.multiply(found, enc.add(_constant(0.5), edge))
        return found
    if isinstance(does, Among):  # categories are points
        values = does(given[0][0][0])
        return enc.constant(values, values)
    return _RULES[does](*given)
