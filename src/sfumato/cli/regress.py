"""The command that publishes a regression curve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import one_of, positive_integer
from sfumato.cli import options
from sfumato.cli.columns import bandwidth_of, regression_box
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, check_planned, granted, publish, show_plan
from sfumato.errors import ParameterError

_WATSON, _CHAO = "nadaraya-watson", "priestley-chao"
_INSTEAD = f"use --method {_WATSON}"

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
Gap = Annotated[
    float | None,
    typer.Option(metavar="C", help="Of priestley-chao: gaps are clipped at C times the mean one; 4 by default."),
]


def regress(
    ctx: typer.Context,
    data: options.Data,
    response: Response,
    column: Columns = None,
    box: options.BoxFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    method: Method = "nadaraya-watson",
    bandwidth: options.Bandwidth = "auto",
    gap: Gap = None,
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    expected_rows: options.Rows = None,
    rows: options.PlanRows = None,
    output: options.Output = Path("curve.sfumato"),
    report: options.Report = None,
    plot: options.Plot = None,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish a regression curve: how the mean of a response changes with one to three columns.

    Bounds and the range come from knowledge, never from the data. A record without a response counts for nothing.
    """
    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain, name, bounds = regression_box(column or [], response, box)
    told = {"bandwidth": bandwidth_of(bandwidth), "response": name, "range": bounds}
    order = _order(data, domain, privacy, method, told, gap, expected_rows)
    check_planned(rows, plan)
    if plan:
        show_plan(ctx, order, Assumed.of(rows, expected_rows))
        return
    outputs = Outputs.checked(data, output, report, plot, force)
    publish(ctx, order, outputs, f"reading {data.name}")


def _order(
    data: Path,
    box: sf.Box,
    privacy: sf.Privacy,
    method: str,
    settings: dict[str, Any],
    gap: float | None,
    expected_rows: int | None,
) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Bandwidth, response and range.
    gap
        Of Priestley-Chao; None where it was not given.
    """
    one_of("method", method, (_WATSON, _CHAO))
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--response"}, privacy)
    if expected_rows is not None:
        positive_integer("expected_rows", expected_rows)
    if method == _CHAO:
        target = _priestley_chao(box, settings, gap)
        order = Order(data, box, privacy, "auto", target)
        if not order.public_rows:
            raise ParameterError(
                f"--method {_CHAO} needs a public number of rows: leave out --person and --neighbours add-remove, or "
                f"{_INSTEAD}"
            )
        return order
    if gap is not None:
        raise ParameterError(f"--gap goes with --method {_CHAO}, not with {_WATSON}; leave it out")
    smoother = sf.NadarayaWatson(**settings, expected_rows=expected_rows)
    smoother.check_box(box)
    return Order(data, box, privacy, "auto", smoother)


def _priestley_chao(box: sf.Box, settings: dict[str, Any], gap: float | None) -> sf.PriestleyChao:
    if box.dimension > 1 or box.columns[0].kind == "periodic":
        what = "a periodic column" if box.dimension == 1 else f"{box.dimension} ({', '.join(box.names)})"
        raise ParameterError(f"--method {_CHAO} is on one column that is not periodic, got {what}; {_INSTEAD}")
    if isinstance(settings["bandwidth"], str | tuple):
        raise ParameterError(
            f"--method {_CHAO} needs one bandwidth, there is no automatic one: give --bandwidth H, in the units of "
            f"{box.names[0]}"
        )
    target = sf.PriestleyChao(**(settings if gap is None else {**settings, "gap": gap}))
    target.check_box(box)
    return target
