"""What pages and cards share: names without tricks, the table of columns, the names of noises."""

from __future__ import annotations

from typing import Any

from sfumato.core.box import Categorical
from sfumato.plotting.words import Drawable, exact, plain
from sfumato.releases.function import FunctionRelease

NOISES = {"laplace": "Laplace", "gaussian": "Gaussian", "linf": "K-norm, L\N{INFINITY}", "l2": "K-norm, L2"}


def printable(value: Any) -> Any:
    """No control characters and no tricks with the direction of text, whatever a column is called."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(plain(line, len(line)) for line in value.split("\n"))


def column_rows(release: Drawable) -> list[dict[str, Any]]:
    """The columns of the box, and how often the function was differentiated along each."""
    box, rows = release.box, []
    times = release.expansion.derivatives if isinstance(release, FunctionRelease) else (0,) * box.dimension
    for i, (name, column) in enumerate(zip(box.names, box.columns, strict=True)):
        values = (
            ", ".join(str(c) for c in column.categories)
            if isinstance(column, Categorical)
            else f"{exact(column.low)} to {exact(column.high)}"
        )
        rows.append({"name": name, "kind": column.kind, "values": values, "times": times[i]})
    return rows
