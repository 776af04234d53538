"""The command that asks a summary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(metavar="FILE", help="A summary, such as summary.sfumato.", show_default=False)]
Questions = Annotated[
    list[str],
    typer.Argument(
        metavar="QUESTION",
        help='Such as "mean(age)" or "share(between(age, 30, 50))"; one that begins with a minus goes after --.',
        show_default=False,
    ),
]
Confidence = Annotated[float, typer.Option(help="Of each error, by itself.")]
Damping = Annotated[
    str,
    typer.Option(
        metavar="none|balanced", help="Balanced trades a little approximation for less noise, up to 4 columns."
    ),
]


def answer(
    ctx: typer.Context, file: File, questions: Questions, confidence: Confidence = 0.95, damping: Damping = "none"
) -> None:
    """Answer smooth questions from a summary: no record is read, nothing is spent.

    Ask for mean, variance, sd, covariance, correlation or share of an expression:
    + - * / ** exp log sqrt abs sin cos tan tanh sigmoid min max,
    bump(x, centre, width), between(x, low, high[, softness]),
    and for categories sex == "F", sex != "F", sex in ("F", "M"); 'and' joins them.
    A column whose name is no single word goes in backquotes.
    """
    from sfumato.cli.answer_words import answered, show_answers
    from sfumato.cli.output import working

    with working(ctx, "answering"):
        found = answered(ctx, file, questions, confidence, damping)
    show_answers(ctx, file, found)
