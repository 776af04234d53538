"""A density that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import sfumato as sf
from sfumato.cli.publishing import Order, check_names, show_plan
from sfumato.errors import ParameterError


def density_order(data: Path, box: sf.Box, privacy: sf.Privacy, basis: Any, settings: dict[str, Any]) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent."""
    options = {
        name: "--by" if column.kind == "categorical" else "--column"
        for name, column in zip(box.names, box.columns, strict=True)
    }
    check_names(data, options, privacy)
    target = sf.KDE(**settings)
    target.check_box(box)
    order = Order(data, box, privacy, basis, target)
    if isinstance(target.bandwidth, sf.Tuned) and not (order.public_rows and target.by is None):
        raise ParameterError(
            "--tune-bandwidth needs a public number of rows and no groups: leave out --by, --person and "
            "--neighbours add-remove, or give one --bandwidth"
        )
    if isinstance(basis, sf.Bernstein) and not (order.public_rows and target.by is None):
        raise ParameterError(
            "--basis bernstein needs a public number of rows and no groups: leave out --by, --person and "
            "--neighbours add-remove, or use --basis auto"
        )
    if basis != "auto":
        _check_basis(basis, target.domain(box))
    return order


def _check_basis(basis: Any, domain: sf.Box) -> None:
    """Refuse a lattice that does not fit the columns."""
    basis.size(domain)
    width = getattr(basis, "width", 0.0)
    if isinstance(width, tuple) and len(width) != domain.dimension:
        raise ParameterError(
            f"the width needs one number, or one per column ({domain.dimension}), got {len(width)}", parameter="basis"
        )


def plan_density(ctx: typer.Context, order: Order) -> None:
    """Say what to expect."""
    if isinstance(order.target.bandwidth, sf.Tuned):
        raise ParameterError("--plan needs one bandwidth: what --tune-bandwidth selects is only known once it is paid")
    show_plan(ctx, order)
