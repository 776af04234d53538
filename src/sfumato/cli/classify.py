"""The command that publishes a classifier."""

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
        help="How records are compared. By default rbf for up to three columns, and linear for more.",
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
    str, typer.Option(metavar="auto|output|objective", help="Where noise goes: auto picks the smaller predicted error.")
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
    data: Data,
    label: Label,
    column: Columns = None,
    box: Annotated[Path | None, box_option] = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    method: Method = "machine",
    likelihood: Likelihood = None,
    loss: Loss = "logistic",
    kernel: Kernel = None,
    gamma: Gamma = None,
    strength: Strength = "auto",
    mechanism: Mechanism = "auto",
    landmarks: Marks = None,
    neighbours: Neighbours = "replace",
    person: PersonColumn = None,
    expected_rows: Rows = None,
    public_test: PublicFile = None,
    output: Output = Path("model.sfumato"),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
    plan: Plan = False,
) -> None:
    """Publish a classifier: it predicts a label of new records for ever, under differential privacy.

    Bounds and classes come from knowledge, never from the data. A record whose label is not listed counts for nothing.
    """
    from sfumato.cli.bayes_order import bayes_order
    from sfumato.cli.columns import labelled_box
    from sfumato.cli.machine_order import kernel_of, machine_order, strength_of
    from sfumato.cli.methods import check_classes, check_method
    from sfumato.cli.public_errors import count_errors, open_test, tested_data, tested_lines
    from sfumato.cli.publishing import Outputs, granted, publish, show_plan, summarise, write_report

    check_method(ctx, method)
    privacy, naive = granted(epsilon, delta, rho, neighbours, person), method == "naive-bayes"
    domain, name, classes = labelled_box(column or [], label, box, data, naive)
    told = {"response": name, "classes": classes, "expected_rows": expected_rows}
    if naive:
        order = bayes_order(data, domain, privacy, {**told, "likelihood": likelihood or "kernel"})
    else:
        told |= {"loss": loss, "C": strength_of(strength), "mechanism": mechanism}
        order = machine_order(data, domain, privacy, landmarks, {**told, "kernel": kernel_of(kernel, gamma, domain)})
    test = None if public_test is None else open_test(public_test, data, order)
    check_classes(plot, classes)
    if plan:
        show_plan(ctx, order)
        return
    outputs = Outputs.checked(data, output, report, plot, force, public_test)
    published = publish(ctx, order, outputs, f"training on {data.name}", "drawing noise")
    tested = None if test is None else count_errors(ctx, published[0], test)
    write_report(ctx, published[0], outputs, tested=tested)
    summarise(ctx, order, published, outputs, (tested_lines(tested), tested_data(tested)))
