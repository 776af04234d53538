"""``sf.summarize``: one private summary, from which every smooth question can be answered."""

from __future__ import annotations

from typing import Any

from sfumato.accounting.charge import Payer
from sfumato.core.box import Box
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine
from sfumato.pipeline import release
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.targets.moments import CosineMoments


def summarize(
    data: Any,
    box: Box,
    privacy: Privacy,
    *,
    degree: Any = "auto",
    smoothness: int | None = None,
    interactions: str | int = "auto",
    noise: str = "auto",
    expected_rows: int | None = None,
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
) -> SummaryRelease:
    """Publish a summary of private records: moments that answer every smooth question, for ever.

    Parameters
    ----------
    data, box, privacy, engine, ledger
        As for ``sf.release``; columns may be numeric or categorical.
    degree, smoothness, interactions, noise, expected_rows
        As for ``sf.CosineMoments``: how many frequencies each column has (a number, one per column, or ``"auto"``) or
        how smooth questions will be; how many columns may interact; which noise.

    Formal guarantee: the summary, and every answer computed from it, satisfies ``summary.guarantee``.

    >>> import numpy as np, sfumato as sf
    >>> rows = np.linspace(20.0, 60.0, 10_000)
    >>> summary = sf.summarize(rows, sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0), degree=8)
    >>> abs(summary.mean("age").value - 40) < 1
    True
    """
    target = CosineMoments(degree, smoothness, interactions, noise, expected_rows)
    found: SummaryRelease = release(target, data, box, privacy, engine=engine, ledger=ledger)
    return found
