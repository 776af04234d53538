"""How many lattice points? From public quantities, before anybody is asked: what is shipped, on made-up densities.

Noise in a mass does not depend on the lattice, so a fine one drowns and a coarse one smears. Neither epsilon nor the
number of people says which densities will come; the choice is the one that is least far from the best for any of a few
of different width (least worst regret).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sfumato.bases.density.measure import to_simplex
from sfumato.core.box import Box
from sfumato.local.channels import item_variance, likelier
from sfumato.local.public import public_normals, public_uniform, public_words
from sfumato.releases.collected.density import Lattice

Floats = NDArray[np.float64]

_FINE = 512  # parts of a column in which a made-up density is added up
_CHECKED = 4096  # places where densities are compared
_POINTS = 2**14  # lattice points, at most
_SIDES = (2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20, 25, 32, 40, 50, 64, 80, 100)
_SEED, _TURNS = 20260101, 3  # of made-up noise, from public words
_NEARLY = 1.02  # of two lattices that are nearly as good, the one with fewer points
# Bumps in every column: how many of the people, where, and how wide, in parts of the column.
_MADE_UP = (
    ((1.0, 0.5, 0.25),),
    ((0.6, 0.35, 0.12), (0.4, 0.7, 0.12)),
    ((0.5, 0.3, 0.06), (0.5, 0.6, 0.2)),
)


@lru_cache(maxsize=64)
def best_side(epsilon: float, people: int, wrapped: tuple[bool, ...]) -> int:
    """Lattice points along each of some columns, of which those that are ``wrapped`` are circles.

    >>> best_side(1.0, 1_000_000, (False, False))
    11
    """
    sides = [side for side in _SIDES if side ** len(wrapped) <= _POINTS] or [2]
    errors = np.array([[_error(bumps, side, epsilon, people, wrapped) for side in sides] for bumps in _MADE_UP])
    regret = (errors / errors.min(axis=1, keepdims=True)).max(axis=0)
    return sides[int(np.argmax(regret <= _NEARLY * regret.min()))]


def _error(
    bumps: tuple[tuple[float, float, float], ...], side: int, epsilon: float, people: int, wrapped: tuple[bool, ...]
) -> float:
    """Half of the integrated difference of a made-up density and its release."""
    columns = len(wrapped)
    box = Box([(0.0, 1.0)] * columns)
    lattice = Lattice(box, (side,) * columns, wrapped)
    masses = np.zeros(side**columns)
    places = public_uniform(public_words(_SEED, np.arange(_CHECKED * columns, dtype=np.uint64))).reshape(-1, columns)
    truth = np.zeros(_CHECKED)
    for share, centre, width in bumps:
        own = np.array([1.0])
        for around in wrapped:
            own = np.multiply.outer(own, _shares(centre, width, side, around)).ravel()
        masses += share * own
        inside = ndtr((1 - centre) / width) - ndtr(-centre / width)
        heights = np.exp(-(((places - centre) / width) ** 2) / 2) / (width * math.sqrt(2 * math.pi) * inside)
        truth += share * heights.prod(axis=1)
    best = likelier(epsilon, [masses.size])
    deviation = math.sqrt(item_variance(best, epsilon, masses.size) / people)
    off = 0.0
    for noise in public_normals(_SEED, np.arange(_TURNS, dtype=np.uint64), masses.size):
        found = lattice.density(to_simplex(masses + deviation * noise))(places if columns > 1 else places[:, 0])
        off += float(np.abs(found - truth).mean()) / (2 * _TURNS)
    return off


def _shares(centre: float, width: float, side: int, wrapped: bool) -> Floats:
    """How a bump in one column is shared among lattice points."""
    middle = (np.arange(_FINE) + 0.5) / _FINE
    weight = np.exp(-(((middle - centre) / width) ** 2) / 2)
    steps = side if wrapped else side - 1
    low = np.minimum((middle * steps).astype(np.int64), steps - 1)
    part = middle * steps - low
    counted = np.bincount(low, weight * (1 - part), minlength=side)
    return np.asarray((counted + np.bincount((low + 1) % side, weight * part, minlength=side)) / weight.sum())
