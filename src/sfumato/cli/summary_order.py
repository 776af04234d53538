"""A summary that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

import sfumato as sf
from sfumato.checks import positive_integer
from sfumato.cli.columns import column_with_kind, numbers
from sfumato.cli.publishing import Order, check_names, show_plan
from sfumato.errors import ParameterError
from sfumato.faces.base import Facts

_ROWS = 10_000  # that a plan is made for where none are expected


def summary_box(columns: Sequence[str], file: Path | None, data: Path) -> sf.Box:
    """The box of ``--column`` and ``--box``: all columns of the file by default.

    Parameters
    ----------
    columns
        Each ``NAME:LOW:HIGH`` with an optional kind, ``NAME=A,B``, or the name of a column of the box file.
    data
        Its schema says whether categories that look like numbers are numbers.
    """
    from sfumato.boxfile import read_box

    whole = None if file is None else read_box(file)
    known = {} if whole is None else dict(zip(whole.names, whole.columns, strict=True))
    chosen: dict[str, Any] = {}
    for text in columns:
        name, kind = column_with_kind(text, known, file, data)
        if name in chosen:
            raise ParameterError(f"--column {name} is given twice")
        chosen[name] = kind
    if not (chosen or known):
        raise ParameterError(
            "a summary of which columns? give --column NAME:LOW:HIGH with public bounds, or --box TOML"
        )
    return sf.Box(chosen or known, max_norm=None if whole is None else whole.max_norm)


def summary_order(data: Path, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any], rows: int | None) -> Order:
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
    sf.plan(target, box, privacy, rows or _ROWS)  # whether there is room for so many moments
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


def plan_summary(ctx: typer.Context, order: Order, expected_rows: int | None) -> None:
    """Say what to expect, of as many rows as are expected."""
    rows = expected_rows or _ROWS

    def described(plan: sf.Plan) -> Facts:
        bumps = "unknown" if plan.approximation_error is None else f"{plan.approximation_error:.2g}"
        assert plan.law is not None
        return [
            ("basis", [f"{plan.basis}, {plan.law.size:,} noisy moments"]),
            ("guarantee", [str(plan.guarantee)]),
            ("noise", [plan.noise]),
            ("each moment", [f"off by at most {plan.noise_error:.3g} (confidence {plan.confidence:g})"]),
            ("typically", [f"about {plan.mean_noise_error:.3g}"]),
            ("wide bumps", [f"lose at most {bumps} beside that (deviation: a quarter of each column)"]),
            ("for", [f"{rows:,} rows"]),
        ]

    show_plan(ctx, order, rows, described)
