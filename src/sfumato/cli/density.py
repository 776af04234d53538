"""The command that publishes a density."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import did_you_mean
from sfumato.cli import options
from sfumato.cli.columns import bandwidth_of, basis_of, public_box
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, check_planned, granted, publish, show_plan
from sfumato.errors import ParameterError

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME:LOW:HIGH[:KIND]",
        help="A column and its public bounds; up to three. KIND is integer or periodic. With --box the name will do.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(metavar="NAME=A,B", help="One density for each of these categories, for the price of one."),
]
Tune = Annotated[
    str | None,
    typer.Option("--tune-bandwidth", metavar="H,H,...", help="Select one of these by the data, and pay for it."),
]
Share = Annotated[
    float | None,
    typer.Option(
        "--tune-share", metavar="S", help="How much of the budget pays for the selection; 0.1.", show_default=False
    ),
]
Basis = Annotated[
    str, typer.Option(metavar="auto|binning:N|split:N:W|bernstein:N:H", help="What the density is written in.")
]
Post = Annotated[str, typer.Option(metavar="simplex|none", help="Make it a probability density, or leave it unbiased.")]


def density(
    ctx: typer.Context,
    data: options.Data,
    column: Columns = None,
    box: options.BoxFile = None,
    by: By = None,
    bandwidth: options.Bandwidth = "auto",
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    post: Post = "simplex",
    missing: options.Missing = "drop",
    basis: Basis = "auto",
    tune_bandwidth: Tune = None,
    tune_share: Share = None,
    expected_rows: options.Rows = None,
    rows: options.PlanRows = None,
    output: options.Output = Path("density.sfumato"),
    report: options.Report = None,
    plot: options.Plot = None,
    group: options.Group = None,
    to_scale: options.Map = False,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish the density of one to three columns: where the records are, under differential privacy.

    Bounds come from knowledge, never from the data. With --ledger and --account the release is paid for.
    """
    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain, split = public_box(column or [], by, box, data)
    width = bandwidth_of(bandwidth, tune_bandwidth, tune_share)
    shape = {"post": post, "missing": missing, "expected_rows": expected_rows}
    order = _order(data, domain, privacy, basis_of(basis), {"bandwidth": width, "by": split, **shape})
    look = _look(domain, split, group, to_scale)
    check_planned(rows, plan)
    if plan:
        if isinstance(width, sf.Tuned):
            raise ParameterError(
                "--plan needs one bandwidth: what --tune-bandwidth selects is only known once it is paid"
            )
        show_plan(ctx, order, Assumed.of(rows, expected_rows))
        return
    outputs = Outputs.checked(data, output, report, plot, force)
    publish(ctx, order, outputs, f"reading {data.name}", look=look)


def _look(domain: sf.Box, split: str | None, group: str | None, to_scale: bool) -> dict[str, Any]:
    """What picture and page are to show, refusing what there will not be before anything is read or spent."""
    from sfumato.faces.scales import layout_of

    columns = dict(zip(domain.names, domain.columns, strict=True))
    told = columns.pop(split, None) if split is not None else None
    layout_of(sf.Box(columns), to_scale)
    if group is not None and told is None:
        raise ParameterError.of("group", f"{group}: there are no groups without --by; leave it out")
    groups = [str(category) for category in told.categories] if isinstance(told, sf.Categorical) else []
    if group is not None and group not in groups:
        near = did_you_mean(group, groups)
        raise ParameterError.of("group", f"must be one of {', '.join(groups)}, got {group!r}{near}")
    return {"map": to_scale, "group": group}


def _order(data: Path, box: sf.Box, privacy: sf.Privacy, basis: Any, settings: dict[str, Any]) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent."""
    asked = {
        name: "--by" if column.kind == "categorical" else "--column"
        for name, column in zip(box.names, box.columns, strict=True)
    }
    check_names(data, asked, privacy)
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
