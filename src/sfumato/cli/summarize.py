"""The command that publishes a summary for smooth questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import positive_integer
from sfumato.cli import options
from sfumato.cli.columns import chosen_columns, numbers
from sfumato.cli.output import working
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, check_planned, granted, publish, show_plan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.cli.publication import Beside
    from sfumato.faces.base import Facts

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
    data: options.Data,
    column: options.AnyColumns = None,
    box: options.BoxFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    degree: Degree = "auto",
    smoothness: Smoothness = None,
    interactions: Interactions = "auto",
    noise: Noise = "auto",
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    expected_rows: options.Rows = None,
    rows: options.PlanRows = None,
    output: options.Output = Path("summary.sfumato"),
    report: options.Report = None,
    plot: options.Plot = None,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish one summary that answers every smooth question about the columns, as often as you like.

    Bounds come from knowledge, never from the data. Ask it with 'sfumato answer', which costs nothing more.
    """
    privacy = granted(epsilon, delta, rho, neighbours, person)
    domain = _box(column or [], box, data)
    shape = {"degree": degree, "smoothness": smoothness, "interactions": interactions, "noise": noise}
    with working(ctx, "looking whether there is room for so many moments"):
        order = _order(data, domain, privacy, shape, expected_rows)
    check_planned(rows, plan)
    if plan:
        show_plan(ctx, order, Assumed.of(rows, expected_rows), _described)
        return
    outputs = Outputs.checked(data, output, report, plot, force)

    def ask(release: Any) -> Beside:
        from sfumato.faces.summary import SummaryFace

        return [SummaryFace(release).ask_row(outputs.release)], {}, {}

    publish(ctx, order, outputs, f"reading {data.name}", beside=ask)


def _box(columns: Sequence[str], file: Path | None, data: Path) -> sf.Box:
    """The box of ``--column`` and ``--box``: all columns of the file by default.

    Parameters
    ----------
    columns
        Each ``NAME:LOW:HIGH`` with an optional kind, ``NAME=A,B``, or the name of a column of the box file.
    data
        Its schema says whether categories that look like numbers are numbers.
    """
    chosen, _, norm = chosen_columns(columns, file, data)
    if not chosen:
        raise ParameterError(
            "a summary of which columns? give --column NAME:LOW:HIGH with public bounds, or --box TOML"
        )
    return sf.Box(chosen, max_norm=norm)


def _order(data: Path, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any], rows: int | None) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Degree, smoothness, interactions and noise, as they were given.
    rows
        How many are expected; None where that was not said.
    """
    check_names(data, dict.fromkeys(box.names, "--column"), privacy)
    if rows is not None:
        positive_integer("expected_rows", rows)
    degree, interactions = _degree(settings["degree"]), _interactions(settings["interactions"])
    if settings["smoothness"] is not None and degree != "auto":
        raise ParameterError("give either --degree or --smoothness, not both")
    _check_noise(settings["noise"], privacy)
    target = sf.CosineMoments(degree, settings["smoothness"], interactions, settings["noise"], rows)
    sf.plan(target, box, privacy, Assumed.of(None, rows).rows)  # whether there is room for so many moments
    return Order(data, box, privacy, "auto", target)


def _degree(text: str) -> Any:
    if text == "auto":
        return text
    wanted = "auto, a whole number such as 8, or one per column such as 8,4"
    found = numbers("--degree", text, wanted)
    if any(value != int(value) for value in found):
        raise ParameterError(f"--degree must be {wanted}, got {text!r}")
    whole = tuple(int(value) for value in found)
    return whole[0] if len(whole) == 1 else whole


def _interactions(text: str) -> str | int:
    if text not in ("auto", "full", "cross") and not text.isdecimal():
        raise ParameterError(f"--interactions must be auto, full, cross or a number of columns, got {text!r}")
    return int(text) if text.isdecimal() else text


def _check_noise(noise: str, privacy: sf.Privacy) -> None:
    """Refuse noise that the grant does not go with."""
    if noise == "gaussian" and privacy.rho is None and not privacy.delta:
        raise ParameterError("--noise gaussian needs --delta D beside --epsilon, or --rho R")
    if noise in ("laplace", "linf") and privacy.rho is not None:
        raise ParameterError(f"--noise {noise} needs --epsilon; with --rho leave --noise out, or use gaussian")


def _described(plan: sf.Plan) -> Facts:
    """What to expect of a summary."""
    bumps = "unknown" if plan.approximation_error is None else f"{plan.approximation_error:.2g}"
    assert plan.law is not None
    return [
        ("basis", [f"{plan.basis}, {plan.law.size:,} noisy moments"]),
        ("guarantee", [str(plan.guarantee)]),
        ("noise", [plan.noise]),
        ("each moment", [f"off by at most {plan.noise_error:.3g} (confidence {plan.confidence:g})"]),
        ("typically", [f"about {plan.mean_noise_error:.3g}"]),
        ("wide bumps", [f"lose at most {bumps} beside that (deviation: a quarter of each column)"]),
    ]
