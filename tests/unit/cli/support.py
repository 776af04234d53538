"""Small releases for the tests of the command line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sfumato as sf


def published(box, basis, privacy=None, ledger=None):
    """A release of the sum of the columns."""
    target = sf.BlackBox(lambda data: lambda points: points.sum(axis=1), sensitivity=1e-3)
    granted = privacy or sf.Privacy(epsilon=1.0)
    return sf.release(target, np.zeros((100, 1)), box, granted, basis=basis, ledger=ledger)


def renamed(release, box):
    """The same release on a box with other names."""
    return replace(release, expansion=replace(release.expansion, box=box))
