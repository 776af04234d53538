"""The command that publishes a statistic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import did_you_mean, one_of, probability
from sfumato.cli import options
from sfumato.cli.columns import bins_of, chosen_columns, numbers
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, check_planned, granted, publish, show_plan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.faces.base import Facts

_BOUNDS = "bounds"
_ONE_COLUMN = ("median", "quantiles", _BOUNDS)
_LONGEST_NAME = 40

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
Bins = Annotated[
    str | None,
    typer.Option(
        metavar="N|N,N", help="Of a histogram, along each numeric column; 10 by default, or one for each whole number."
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Of a histogram of one numeric column: where its cells meet, instead."),
]
Levels = Annotated[
    str | None, typer.Option(metavar="P,P,...", help="Levels of quantiles; .25,.5,.75 by default.", show_default=False)
]
Limits = Annotated[
    str,
    typer.Option("--interval", metavar="counts|none", help="Limits of quantiles; none: values are a few ranks nearer."),
]
Fineness = Annotated[
    float | None,
    typer.Option("--step", metavar="S", help="Of quantiles: from one value that they can have to the next."),
]
Certainty = Annotated[float, typer.Option(help="Of the limits, which hold for all values at once.")]
Rows = Annotated[
    int | None,
    typer.Option("--rows", "--expected-rows", metavar="N", help="With --plan: for how many rows; 10,000 if left out."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where the release goes; such as mean-age.sfumato if left out."
    ),
]


def statistic(
    ctx: typer.Context,
    data: options.Data,
    what: What,
    names: Names = None,
    column: options.AnyColumns = None,
    box: options.BoxFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    missing: options.Missing = "drop",
    bins: Bins = None,
    edges: Edges = None,
    probabilities: Levels = None,
    interval: Limits = "counts",
    step: Fineness = None,
    confidence: Certainty = 0.95,
    rows: Rows = None,
    output: Output = None,
    report: options.Report = None,
    plot: options.Plot = None,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish a count, a mean, a table, quantiles: one number about the records or a few, with limits.

    Bounds come from knowledge, never from the data; without any, 'bounds' finds some at a price.
    """
    _check_what(what)
    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain = _box(what, names or [], column or [], box, data)
    levels = None if probabilities is None else numbers("--probabilities", probabilities, "levels such as .25,.5,.75")
    meet = None if edges is None else numbers("--edges", edges, "numbers such as 18,65")
    shape = {"bins": bins_of(bins), "edges": meet, "probabilities": levels, "interval": interval, "missing": missing,
             "step": step}  # fmt: skip
    order = _order(data, what, domain, privacy, shape, confidence)
    check_planned(rows, plan)
    if plan:
        show_plan(ctx, order, Assumed.of(rows, None), partial(_plan_rows, order), confidence)
        return
    outputs = Outputs.checked(data, output or file_name(what, domain), report, plot, force)
    publish(ctx, order, outputs, f"reading {data.name}", confidence)


def _check_what(what: str) -> None:
    """Refuse a statistic that there is not."""
    from sfumato.targets.statistic import NUMERIC, TABLES

    one_of("WHAT", what, (*TABLES, *NUMERIC, _BOUNDS))


def _box(what: str, names: Sequence[str], columns: Sequence[str], file: Path | None, data: Path) -> sf.Box:
    """The box of the columns that a statistic is about.

    Parameters
    ----------
    names
        The columns that were asked for; by default those of ``--column``.
    columns
        Each ``NAME:LOW:HIGH`` with an optional kind, ``NAME=A,B``, or the name of a column of the box file.
    data
        Its schema says whether categories that look like numbers are numbers.
    """
    for name in names:
        if list(names).count(name) > 1:
            raise ParameterError(f"COLUMN {name} is given twice")
    if what == _BOUNDS:
        if columns or file is not None:
            raise ParameterError("bounds are what it finds: leave out --column and --box, and name the column alone")
        _check_one(what, names)
        from sfumato.bases.statistics.magnitudes import WIDEST

        return sf.Box({names[0]: (-WIDEST, WIDEST)})
    chosen, known, _ = chosen_columns(columns, file, data)
    there = {**known, **chosen}
    wanted = list(names) or (list(chosen) if columns else [])
    if not wanted:
        raise ParameterError(
            f"the {what} of which column? name it after {what}, with --column NAME:LOW:HIGH or --box TOML"
        )
    for name in wanted:
        if name not in there:
            raise ParameterError(
                f"COLUMN {name}: its bounds must be known without looking at the data: give --column {name}:LOW:HIGH, "
                f"or --column {name}=A,B for categories{did_you_mean(name, there)}"
            )
    _check_kinds(what, {name: there[name] for name in wanted})
    return sf.Box({name: there[name] for name in wanted})


def _check_one(what: str, names: Sequence[str]) -> None:
    from sfumato.faces.words import listed

    if len(names) != 1:
        raise ParameterError(f"{what} needs one COLUMN, got {listed(names) if names else 'none'}")


def _check_kinds(what: str, columns: dict[str, Any]) -> None:
    """Refuse numbers where categories are needed, and the other way round."""
    from sfumato.targets.statistic import NUMERIC

    if what in _ONE_COLUMN:
        _check_one(what, list(columns))
    for name, kind in columns.items():
        categories = kind.kind == "categorical"
        if what in NUMERIC and categories:
            raise ParameterError(f"--column {name}: a {what} needs numbers with bounds, these are categories")
        if what == "proportions" and not categories:
            raise ParameterError(
                f"--column {name}: proportions are of categories; list them, such as --column {name}=A,B, or ask for a "
                "histogram"
            )
        if what in NUMERIC and kind.kind == "periodic":
            instead = "a histogram, or the density of 'sfumato density', has what there is to say of it"
            raise ParameterError(f"--column {name}: a circle has no {what}; {instead}")


def _order(
    data: Path, what: str, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any], confidence: float
) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.Statistic``.
    confidence
        Of its limits.
    """
    from sfumato.targets.bounds import Bounds

    check_names(data, dict.fromkeys(box.names, "COLUMN" if what == _BOUNDS else "--column"), privacy)
    probability("confidence", confidence)
    if what == _BOUNDS:
        _check_bare(settings)
        return Order(data, box, privacy, "auto", Bounds())
    target = sf.Statistic(what, list(box.names), **settings)
    target.check_box(box)
    return Order(data, box, privacy, "auto", target)


def _check_bare(settings: dict[str, Any]) -> None:
    for name, value in {
        **settings,
        "missing": settings["missing"] != "drop",
        "interval": settings["interval"] != "counts",
    }.items():
        if value:
            raise ParameterError(f"--{name.replace('_', '-')} is for other statistics than bounds; leave it out")


def file_name(what: str, box: sf.Box) -> Path:
    """Where a release goes by default: what it is of, in characters that every system takes.

    >>> str(file_name("mean", sf.Box({"blood pressure": (0, 300)})))
    'mean-blood-pressure.sfumato'
    """
    kept = "".join(c if c.isalnum() or c in "-_" else "-" for c in "-".join((what, *box.names)))
    return Path(f"{kept[:_LONGEST_NAME]}.sfumato")


def _plan_rows(order: Order, plan: sf.Plan) -> Facts:
    """What to expect of a statistic."""
    from sfumato.targets.bounds import Bounds

    error, mean = f"{plan.noise_error:.3g}", f"{plan.mean_noise_error:.3g}"
    if plan.ranks:
        error, mean = (
            f"{100 * share:.3g} % of the records, in rank" for share in (plan.noise_error, plan.mean_noise_error)
        )
    elif isinstance(order.target, Bounds):
        return [
            ("what", [f"bounds of {order.box.names[0]}"]),
            ("guarantee", [str(plan.guarantee)]),
            ("noise", [plan.noise]),
            ("may go unseen", [f"values of a size that fewer than {error} records have"]),
        ]
    what = order.target.describe()[0][1]
    return [
        ("what", [what]),
        ("guarantee", [str(plan.guarantee)]),
        ("noise", [plan.noise]),
        ("off by at most", [f"{error} (confidence {plan.confidence:g})"]),
        ("typically", [f"{'less than' if plan.ranks else 'about'} {mean}"]),
    ]
