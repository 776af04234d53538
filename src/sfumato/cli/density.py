"""The command that publishes a density."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    Data,
    Delta,
    Epsilon,
    Force,
    Neighbours,
    Output,
    PersonColumn,
    Plan,
    Plot,
    Report,
    Rho,
    Rows,
    box_option,
)

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
Bandwidth = Annotated[
    str, typer.Option(metavar="auto|H|H,H", help="Deviation of the kernel, in the columns' units; one or one each.")
]
Tune = Annotated[
    str | None,
    typer.Option("--tune-bandwidth", metavar="H,H,...", help="Select one of these by the data, and pay for it."),
]
Share = Annotated[
    float, typer.Option("--tune-share", metavar="S", help="How much of the budget pays for the selection.")
]
Basis = Annotated[
    str, typer.Option(metavar="auto|binning:N|split:N:W|bernstein:N:H", help="What the density is written in.")
]
Post = Annotated[str, typer.Option(metavar="simplex|none", help="Make it a probability density, or leave it unbiased.")]
Missing = Annotated[
    str, typer.Option(metavar="drop|none", help="Leave out records with missing values, or state that there are none.")
]


def density(
    ctx: typer.Context,
    data: Data,
    column: Columns = None,
    box: Annotated[Path | None, box_option] = None,
    by: By = None,
    bandwidth: Bandwidth = "auto",
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    neighbours: Neighbours = "replace",
    person: PersonColumn = None,
    post: Post = "simplex",
    missing: Missing = "drop",
    basis: Basis = "auto",
    tune_bandwidth: Tune = None,
    tune_share: Share = 0.1,
    expected_rows: Rows = None,
    output: Output = Path("density.sfumato"),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
    plan: Plan = False,
) -> None:
    """Publish the density of one to three columns: where the records are, under differential privacy.

    Bounds come from knowledge, never from the data. With --ledger and --account the release is paid for.
    """
    from sfumato.cli.columns import bandwidth_of, basis_of, public_box
    from sfumato.cli.density_order import density_order, plan_density
    from sfumato.cli.publishing import Outputs, granted, publish, summarise, write_report

    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain, group = public_box(column or [], by, box, data)
    width = bandwidth_of(bandwidth, tune_bandwidth, tune_share)
    shape = {"post": post, "missing": missing, "expected_rows": expected_rows}
    order = density_order(data, domain, privacy, basis_of(basis), {"bandwidth": width, "by": group, **shape})
    if plan:
        plan_density(ctx, order)
        return
    outputs = Outputs.checked(data, output, report, plot, force)
    published = publish(ctx, order, outputs, f"reading {data.name}", "choosing a basis, drawing noise")
    write_report(ctx, published[0], outputs)
    summarise(ctx, order, published, outputs)
