"""The command that publishes a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.checks import one_of
from sfumato.cli import options
from sfumato.cli.columns import labelled_box
from sfumato.cli.output import working
from sfumato.cli.publication import Assumed, Order, Outputs, check_names, check_planned, granted, publish, show_plan
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.cli.publication import Beside

_METHODS = ("machine", "naive-bayes")
_ONLY = {
    "machine": ("loss", "kernel", "gamma", "C", "mechanism", "landmarks"),
    "naive-bayes": ("likelihood",),
}
_LOSSES = ("logistic", "hinge", "smoothed-hinge")
_FEW = 3  # columns on which a kernel of distances can bend as the data do

Label = Annotated[
    str,
    typer.Option(
        metavar="NAME=A,B[,C]",
        help="The column to predict and its classes, which are public. With --box the name will do.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME:LOW:HIGH[:KIND]|NAME=A,B",
        help="A column to predict from, and its public bounds; any number of them. With --box the name will do. "
        "Categories are for naive-bayes.",
    ),
]
Method = Annotated[
    str,
    typer.Option(
        metavar="machine|naive-bayes", help="A kernel machine, or naive Bayes: likelihoods, column by column."
    ),
]
Likelihood = Annotated[
    str | None,
    typer.Option(
        metavar="kernel|normal",
        help="Of naive-bayes: how numbers are described; kernel by default.",
        show_default=False,
    ),
]
Loss = Annotated[str, typer.Option(metavar="logistic|hinge|smoothed-hinge", help="What a wrong label costs.")]
Kernel = Annotated[
    str | None,
    typer.Option(
        metavar="rbf|matern|polynomial|linear",
        help="How records are compared. By default linear, or in few columns an rbf, by predicted error.",
    ),
]
Gamma = Annotated[
    float | None, typer.Option(metavar="G", help="Of rbf (0.5 by default) or polynomial (1), in box widths.")
]
Strength = Annotated[
    str,
    typer.Option(
        "--C", metavar="auto|NUMBER", help="How much the mean loss weighs. scikit-learn's C weighs the sum instead."
    ),
]
Mechanism = Annotated[
    str,
    typer.Option(
        metavar="auto|output|objective|descent", help="Where noise goes: auto picks the smaller predicted error."
    ),
]
Marks = Annotated[
    int | None, typer.Option("--landmarks", metavar="N", help="Public points whose kernels span the function.")
]
PublicFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Count errors on these records. They must be PUBLIC: counts are published as they are, without noise.",
    ),
]


def classify(
    ctx: typer.Context,
    data: options.Data,
    label: Label,
    column: Columns = None,
    box: options.BoxFile = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    rho: options.Rho = None,
    method: Method = "machine",
    likelihood: Likelihood = None,
    loss: Loss = "logistic",
    kernel: Kernel = None,
    gamma: Gamma = None,
    strength: Strength = "auto",
    mechanism: Mechanism = "auto",
    landmarks: Marks = None,
    neighbours: options.Neighbours = "replace",
    person: options.PersonColumn = None,
    expected_rows: options.Rows = None,
    rows: options.PlanRows = None,
    public_test: PublicFile = None,
    output: options.Output = Path("model.sfumato"),
    report: options.Report = None,
    plot: options.Plot = None,
    force: options.Force = False,
    plan: options.Plan = False,
) -> None:
    """Publish a classifier: it predicts a label of new records for ever, under differential privacy.

    Bounds and classes come from knowledge, never from the data. A record whose label is not listed counts for nothing.
    """
    from sfumato.cli.public_errors import count_errors, open_test, tested_data, tested_lines

    _check_method(ctx, method)
    privacy, naive = granted(epsilon, delta, rho, neighbours, person), method == "naive-bayes"
    domain, name, classes = labelled_box(column or [], label, box, data)
    told = {"response": name, "classes": classes, "expected_rows": expected_rows}
    with working(ctx, "choosing landmarks"):
        if naive:
            order = _bayes_order(data, domain, privacy, {**told, "likelihood": likelihood or "kernel"})
        else:
            told |= {"loss": loss, "C": strength_of(strength), "mechanism": mechanism}
            told |= {"kernel": kernel_of(kernel, gamma, domain)}
            order = _machine_order(data, domain, privacy, landmarks, told)
    test = None if public_test is None else open_test(public_test, data, order)
    check_planned(rows, plan)
    if plan:
        show_plan(ctx, order, Assumed.of(rows, expected_rows))
        return
    outputs = Outputs.checked(data, output, report, plot, force, public_test)

    def tested(release: Any) -> Beside:
        found = None if test is None else count_errors(ctx, release, test)
        return tested_lines(found), tested_data(found), {"tested": found}

    publish(ctx, order, outputs, f"reading {data.name}", beside=tested)


def _check_method(ctx: typer.Context, method: str) -> None:
    """Refuse a method that there is not, and options of the other one."""
    one_of("method", method, _METHODS)
    for other, only in _ONLY.items():
        for option in only if other != method else ():
            source = ctx.get_parameter_source("strength" if option == "C" else option)
            if source is not None and source.name == "COMMANDLINE":
                raise ParameterError(f"--{option} goes with --method {other}, not with {method}; leave it out")


def kernel_of(kernel: str | None, gamma: float | None, box: sf.Box) -> Any:
    """The kernel of ``--kernel`` and ``--gamma``; with a gamma by default an RBF for few columns, else a linear one."""
    if kernel is None and gamma is None:
        return "auto"
    named = kernel or ("rbf" if box.dimension <= _FEW else "linear")
    one_of("kernel", named, ("rbf", "matern", "polynomial", "linear"))
    if gamma is None:
        return named
    if named == "rbf":
        return sf.RBF(gamma)
    if named == "polynomial":
        return sf.Polynomial(gamma=gamma)
    why = "" if kernel else f", which is the default for more than {_FEW} columns"
    raise ParameterError(f"--gamma goes with --kernel rbf or polynomial, not with {named}{why}")


def strength_of(text: str) -> float | str:
    """The value of ``--C``."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--C must be auto or a positive number, got {text!r}") from None


def _machine_order(
    data: Path, box: sf.Box, privacy: sf.Privacy, landmarks: int | None, settings: dict[str, Any]
) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.KernelMachine``.
    """
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--label"}, privacy)
    one_of("loss", settings["loss"], _LOSSES)
    target = sf.KernelMachine(**settings)
    target.check_box(box)
    basis: Any = "auto"
    if landmarks is not None:
        if target.kernel == "linear":
            raise ParameterError("--landmarks goes with other kernels: a linear one is published by its slopes")
        basis = sf.Landmarks(landmarks)
        target.check_basis(basis, box)
    target.settled(box, None, privacy, basis)  # what cannot be combined is refused here already
    return Order(data, box, privacy, basis, target)


def _bayes_order(data: Path, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any]) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.NaiveBayes``.
    """
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--label"}, privacy)
    target = sf.NaiveBayes(**settings)
    target.check_box(box)
    return Order(data, box, privacy, "auto", target)
