"""The command that predicts with a published learner or curve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Force, settings
from sfumato.errors import ParameterError

Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A release of a learner or a curve, such as model.sfumato.", show_default=False
    ),
]
New = Annotated[Path, typer.Argument(metavar="NEW", help="New records: a CSV or Parquet file.", show_default=False)]
Predictions = Annotated[
    Path, typer.Option("--output", "-o", metavar="CSV", help="The new records with their predictions; - for stdout.")
]
Probability = Annotated[
    bool,
    typer.Option("--probability", help="Also the chance of each class (logistic loss; naive-bayes says it anyway)."),
]
Certain = Annotated[
    bool, typer.Option("--certain", help="Also whether no noise could have changed the label (of all rows at once).")
]

Confidence = Annotated[
    float, typer.Option(help="Of --certain and of a curve's limits, which hold for all rows at once.")
]


def predict(
    ctx: typer.Context,
    model: Model,
    new: New,
    output: Predictions = Path("predictions.csv"),
    probability: Probability = False,
    certain: Certain = False,
    confidence: Confidence = 0.95,
    force: Force = False,
) -> None:
    """Predict the label, or the number, of new records with a published learner or curve. Nothing is spent.

    The new records are no private data of the release, but may be sensitive themselves: the output holds them too.
    """
    from sfumato.cli.predicting import Asked, predict_file

    if settings(ctx).json and str(output) == "-":
        raise ParameterError("--json and -o - both want stdout; give -o a file")
    predict_file(ctx, Asked.checked(ctx, model, new, output, probability, certain, confidence, force))
