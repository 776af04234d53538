"""The command that publishes a synthetic table, and writes its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import positive_integer
from sfumato.cli import options
from sfumato.cli.columns import chosen_columns
from sfumato.cli.output import working
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, granted, publish, show_plan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.cli.publication import Beside
    from sfumato.faces.base import Facts

Label = Annotated[str | None, typer.Option(metavar="NAME", help="A column of categories whose classes are told apart.")]
Shares = Annotated[
    str, typer.Option(metavar="auto|means=P,norm=P,...", help="Which part of the grant buys which moments.")
]
Method = Annotated[
    str,
    typer.Option(
        metavar="auto|strata|rule|lp",
        help="How rows are made: strata, labels by a private linear rule, a linear program.",
    ),
]
MadeRows = Annotated[
    int | None, typer.Option("--rows", metavar="N", help="How many rows the table has; else as many as the data.")
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Which rows; else any.")]
ExpectedRows = Annotated[
    int | None,
    typer.Option("--expected-rows", metavar="N",
                 help="With --plan: for how many records, else 10,000; a public guess, where their number is private."),
]  # fmt: skip
Rows = Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Also write the rows: a .parquet or a .csv.")]


def synthesize(
    ctx: typer.Context,
    data: options.Data,
    column: options.AnyColumns = None,
    box: options.BoxFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    label: Label = None,
    shares: Shares = "auto",
    method: Method = "auto",
    rows: MadeRows = None,
    seed: Seed = None,
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    expected_rows: ExpectedRows = None,
    output: options.Output = Path("table.sfumato"),
    made: Rows = None,
    report: options.Report = None,
    plot: options.Plot = None,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish a private synthetic table, whose rows any tool can use.

    Bounds come from knowledge, never from the data. Columns are independent within a class of --label unless pairs of
    them are bought: what is published says so.
    """
    privacy = granted(epsilon, delta, rho, neighbours, person)
    chosen, _, norm = chosen_columns(column or [], box, data)
    if not chosen:
        raise ParameterError("a table of which columns? give --column NAME:LOW:HIGH with public bounds, or --box TOML")
    domain = sf.Box(chosen, max_norm=norm)
    target = sf.TableMoments(label, read_shares(shares), rows, seed, method, expected_rows=expected_rows)
    with working(ctx, "looking whether there is room for so many moments"):
        order = _order(data, domain, privacy, target)
    if plan:
        show_plan(ctx, order, Assumed.of(None, expected_rows, "--expected-rows"), _described)
        return
    if made is not None and made.suffix not in (".parquet", ".csv"):
        raise ParameterError(f"--data must end in .parquet or .csv, got {made}")
    outputs = Outputs.checked(data, output, report, plot, force, rows=made)

    def write(release: Any) -> Beside:
        if made is None:
            return [], {"data": None}, {}
        (release.to_csv if made.suffix == ".csv" else release.to_parquet)(made)
        return [("data", [f"{made}  {release.rows:,} rows"])], {"data": str(made)}, {}

    publish(ctx, order, outputs, f"reading {data.name}", beside=write, last="writing the rows")


def read_shares(text: str) -> Any:
    """``auto``, or words with their parts: ``means=0.7,norm=0.3``."""
    if text == "auto":
        return text
    found = {}
    for part in text.split(","):
        word, equals, number = part.partition("=")
        try:
            found[word.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise ParameterError(f"--shares must be auto or such as means=0.7,norm=0.3, got {text!r}")
    return found


def _order(data: Path, box: sf.Box, privacy: sf.Privacy, target: sf.TableMoments) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent."""
    check_names(data, dict.fromkeys(box.names, "--column"), privacy)
    if target.expected_rows is not None:
        positive_integer("expected_rows", target.expected_rows)
    sf.plan(target, box, privacy, Assumed.of(None, target.expected_rows).rows)  # whether there is room
    return Order(data, box, privacy, "auto", target)


def _described(plan: sf.Plan) -> Facts:
    """What to expect of a table."""
    return [
        ("guarantee", [str(plan.guarantee)]),
        ("noise", [plan.noise]),
        ("a class mean", [f"off by about {plan.mean_noise_error:.2g} half-widths of its column, for equal classes"]),
    ]
