"""``sf.private_pca``: the mean of numeric columns and the directions along which they spread most, paid for."""

from __future__ import annotations

from typing import Any

from sfumato.accounting.charge import Payer
from sfumato.core.box import Box
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine
from sfumato.pipeline import release
from sfumato.releases.components import ComponentsRelease
from sfumato.targets.subspace import PrincipalComponents


def private_pca(
    data: Any,
    box: Box,
    privacy: Privacy,
    rank: int,
    *,
    iterations: int = 3,
    noise: str = "auto",
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
) -> ComponentsRelease:
    """Principal components of numeric columns: their mean, and an ellipsoid about it.

    Parameters
    ----------
    data, box, privacy, engine, ledger
        As for ``sf.release``: this is a release, and is paid for like one. Columns are scaled to [-1, 1].
    rank
        How many components.
    iterations
        Of ``noise="products"``: how many noisy products there are, each for an equal part of the grant.
    noise
        ``"covariance"``: noise in all second moments, once; ``"products"``: subspace iteration with noise in each
        product; ``"auto"``: by public numbers, that of far less noise. It is pure where the grant is, else Gaussian.

    Formal guarantee: ``privacy``, for the mean and everything else (docs/proofs/subspace.md).

    >>> import numpy as np, sfumato as sf
    >>> x = np.linspace(-1, 1, 20_000)
    >>> found = private_pca({"a": x, "b": x / 2}, sf.Box({"a": (-1, 1), "b": (-1, 1)}), sf.Privacy(epsilon=1.0), 1)
    >>> found.components.round(1).tolist(), found.values.round(1).tolist()
    ([[0.9, 0.4]], [0.4])
    """
    target = PrincipalComponents(rank, iterations, noise)
    found: ComponentsRelease = release(target, data, box, privacy, engine=engine, ledger=ledger)
    return found
