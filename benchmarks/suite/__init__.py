"""Accuracy on families of made-up data whose parameters are drawn anew each run: nothing can be tuned on them."""

from __future__ import annotations

import numpy as np


def fresh(seed: int | None = None) -> tuple[np.random.Generator, int]:
    """A generator for one run, and the seed that would repeat it."""
    found = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    return np.random.default_rng(found), found
