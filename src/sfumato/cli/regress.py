"""The command that publishes a regression curve."""

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

Response = Annotated[
    list[str],
    typer.Option(
        metavar="NAME:LOW:HIGH",
        help="The column whose mean is published, and its public range. With --box the name will do.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME:LOW:HIGH[:KIND]",
        help="A column that the mean depends on, and its public bounds; up to three. KIND is integer or periodic.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="nadaraya-watson|priestley-chao", help="How records are averaged; the second is for comparisons."
    ),
]
Bandwidth = Annotated[
    str, typer.Option(metavar="auto|H|H,H", help="Deviation of the kernel, in the columns' units; one or one each.")
]
Gap = Annotated[
    float | None,
    typer.Option(metavar="C", help="Of priestley-chao: gaps are clipped at C times the mean one; 4 by default."),
]


def regress(
    ctx: typer.Context,
    data: Data,
    response: Response,
    column: Columns = None,
    box: Annotated[Path | None, box_option] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    method: Method = "nadaraya-watson",
    bandwidth: Bandwidth = "auto",
    gap: Gap = None,
    neighbours: Neighbours = "replace",
    person: PersonColumn = None,
    expected_rows: Rows = None,
    output: Output = Path("curve.sfumato"),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
    plan: Plan = False,
) -> None:
    """Publish a regression curve: how the mean of a response changes with one to three columns.

    Bounds and the range come from knowledge, never from the data. A record without a response counts for nothing.
    """
    from sfumato.cli.columns import bandwidth_of, regression_box
    from sfumato.cli.curve_order import curve_order, plan_curve
    from sfumato.cli.publishing import Outputs, granted, publish, summarise, write_report

    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain, name, bounds = regression_box(column or [], response, box)
    told = {"bandwidth": bandwidth_of(bandwidth, None, 0.0), "response": name, "range": bounds}
    order = curve_order(data, domain, privacy, method, told, gap, expected_rows)
    if plan:
        plan_curve(ctx, order, expected_rows)
        return
    outputs = Outputs.checked(data, output, report, plot, force)
    published = publish(ctx, order, outputs, f"reading {data.name}", "choosing a basis, drawing noise")
    write_report(ctx, published[0], outputs)
    summarise(ctx, order, published, outputs)
