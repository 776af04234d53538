"""``sf.synthesize``: one private table that any tool can use."""

from __future__ import annotations

from typing import Any

from sfumato.accounting.charge import Payer
from sfumato.core.box import Box
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import Engine
from sfumato.pipeline import release
from sfumato.releases.synthetic.table import TableRelease
from sfumato.targets.tables import TableMoments


def synthesize(
    data: Any,
    box: Box,
    privacy: Privacy,
    *,
    label: str | None = None,
    rows: int | None = None,
    shares: Any = "auto",
    method: str = "auto",
    seed: int | None = None,
    expected_rows: int | None = None,
    engine: Engine | str | None = "auto",
    ledger: Payer | None = None,
) -> TableRelease:
    """Publish a table of made-up records that stands for private ones.

    Parameters
    ----------
    data, box, privacy, engine, ledger
        As for ``sf.release``; columns may be numeric or categorical.
    label
        A categorical column of the box: its classes are told apart. Columns are independent within a class, but for
        pairs that were bought.
    rows, seed
        How many rows ``.data`` has, by default as many as there are records, and which; by default any.
    shares, method, expected_rows
        As for ``sf.TableMoments``: which parts of the grant buy which moments, and where labels come from (``"auto"``:
        a public rule).

    Formal guarantee: the table, and all that is ever computed from it, satisfies ``table.guarantee``.

    >>> import numpy as np, sfumato as sf
    >>> box = sf.Box({"age": (0, 110), "ill": sf.Categorical(["no", "yes"])})
    >>> records = {"age": np.linspace(20.0, 60.0, 10_000), "ill": ["no", "yes"] * 5000}
    >>> table = sf.synthesize(records, box, sf.Privacy(epsilon=1.0), label="ill", rows=1000)
    >>> table.data.num_rows, table.data.column_names
    (1000, ['age', 'ill'])
    """
    target = TableMoments(label, shares, rows, seed, method, expected_rows)
    found: TableRelease = release(target, data, box, privacy, engine=engine, ledger=ledger)
    return found
