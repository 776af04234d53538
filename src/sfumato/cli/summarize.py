"""The command that publishes a summary for smooth questions."""

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
        metavar="NAME:LOW:HIGH[:KIND]|NAME=A,B",
        help="A column and its public bounds, or its categories. With --box the name will do.",
    ),
]
Degree = Annotated[
    str,
    typer.Option(metavar="auto|T|T,T", help="Frequencies along each column: more for narrower questions, and noisier."),
]
Smoothness = Annotated[
    int | None,
    typer.Option(metavar="K", help="Instead of --degree: questions will have K derivatives."),
]
Interactions = Annotated[
    str,
    typer.Option(metavar="auto|full|cross|K", help="How many columns a question may be about; 2 or 1 for dozens."),
]
Noise = Annotated[str, typer.Option(metavar="auto|linf|laplace|gaussian", help="Which noise; auto takes the smallest.")]


def summarize(
    ctx: typer.Context,
    data: Data,
    column: Columns = None,
    box: Annotated[Path | None, box_option] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    degree: Degree = "auto",
    smoothness: Smoothness = None,
    interactions: Interactions = "auto",
    noise: Noise = "auto",
    neighbours: Neighbours = "replace",
    person: PersonColumn = None,
    expected_rows: Rows = None,
    output: Output = Path("summary.sfumato"),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
    plan: Plan = False,
) -> None:
    """Publish one summary that answers every smooth question about the columns, as often as you like.

    Bounds come from knowledge, never from the data. Ask it with 'sfumato answer', which costs nothing more.
    """
    from sfumato.cli.publishing import Outputs, granted, publish, summarise, write_report
    from sfumato.cli.summary_order import plan_summary, summary_box, summary_order
    from sfumato.faces.summary import SummaryFace

    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain = summary_box(column or [], box, data)
    shape = {"degree": degree, "smoothness": smoothness, "interactions": interactions, "noise": noise}
    order = summary_order(data, domain, privacy, shape, expected_rows)
    if plan:
        plan_summary(ctx, order, expected_rows)
        return
    outputs = Outputs.checked(data, output, report, plot, force)
    published = publish(ctx, order, outputs, f"reading {data.name}", "choosing a degree, drawing noise")
    write_report(ctx, published[0], outputs)
    summarise(ctx, order, published, outputs, ([SummaryFace(published[0]).ask_row(outputs.release)], {}))
