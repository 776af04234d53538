"""The command that publishes a statistic."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    Data,
    Delta,
    Epsilon,
    Force,
    Neighbours,
    PersonColumn,
    Plan,
    Plot,
    Report,
    Rho,
    box_option,
)

What = Annotated[
    str,
    typer.Argument(
        metavar="WHAT",
        help="count, sum, mean, variance, covariance, proportions, histogram, median, quantiles or bounds.",
        show_default=False,
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[COLUMN]...", help="Of which columns; those of --column if left out.", show_default=False),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME:LOW:HIGH[:KIND]|NAME=A,B",
        help="A column and its public bounds, or its categories. With --box the name will do.",
    ),
]
Missing = Annotated[
    str, typer.Option(metavar="drop|none", help="Leave out records with missing values, or state that there are none.")
]
Bins = Annotated[
    str | None, typer.Option(metavar="N|N,N", help="Of a histogram, along each numeric column; 10 by default.")
]
Levels = Annotated[
    str | None, typer.Option(metavar="P,P,...", help="Levels of quantiles; .25,.5,.75 by default.", show_default=False)
]
Share = Annotated[
    float, typer.Option("--interval-share", metavar="S", help="How much of the budget pays for limits of quantiles.")
]
Certainty = Annotated[float, typer.Option(help="Of the limits, which hold for all values at once.")]
Rows = Annotated[int, typer.Option("--expected-rows", metavar="N", help="With --plan: predict for this many rows.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where the release goes; such as mean-age.sfumato if left out."
    ),
]


def statistic(
    ctx: typer.Context,
    data: Data,
    what: What,
    names: Names = None,
    column: Columns = None,
    box: Annotated[Path | None, box_option] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    neighbours: Neighbours = "replace",
    person: PersonColumn = None,
    missing: Missing = "drop",
    bins: Bins = None,
    probabilities: Levels = None,
    interval_share: Share = 0.0,
    confidence: Certainty = 0.95,
    expected_rows: Rows = 10_000,
    output: Output = None,
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
    plan: Plan = False,
) -> None:
    """Publish a count, a mean, a table, quantiles: one number about the records or a few, with limits.

    Bounds come from knowledge, never from the data; without any, 'bounds' finds some at a price.
    """
    from sfumato.cli.columns import bins_of, numbers
    from sfumato.cli.publishing import Outputs, granted, publish, show_plan, summarise, write_report
    from sfumato.cli.statistic_order import checked_what, file_name, plan_rows, statistic_box, statistic_order

    checked_what(what)
    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain = statistic_box(what, names or [], column or [], box, data)
    levels = None if probabilities is None else numbers("--probabilities", probabilities, "levels such as .25,.5,.75")
    shape = {"bins": bins_of(bins), "probabilities": levels, "interval_share": interval_share, "missing": missing}
    order = statistic_order(data, what, domain, privacy, shape, confidence, expected_rows)
    if plan:
        show_plan(ctx, order, expected_rows, partial(plan_rows, order, expected_rows), confidence)
        return
    outputs = Outputs.checked(data, output or file_name(what, domain), report, plot, force)
    published = publish(ctx, order, outputs, f"reading {data.name}", "drawing noise", confidence)
    write_report(ctx, published[0], outputs, confidence=confidence)
    summarise(ctx, order, published, outputs, confidence=confidence)
