"""A regression curve that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import sfumato as sf
from sfumato.checks import one_of, positive_integer
from sfumato.cli.publishing import Order, check_names, show_plan
from sfumato.errors import ParameterError

_WATSON, _CHAO = METHODS = ("nadaraya-watson", "priestley-chao")
_INSTEAD = f"use --method {_WATSON}"


def curve_order(
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
    one_of("method", method, METHODS)
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


def plan_curve(ctx: typer.Context, order: Order, expected_rows: int | None) -> None:
    """Say what to expect."""
    if isinstance(order.target, sf.NadarayaWatson):
        show_plan(ctx, order)
        return
    if expected_rows is None:
        raise ParameterError(
            f"--plan with --method {_CHAO} needs --expected-rows N: its noise depends on the number of rows"
        )
    show_plan(ctx, order, expected_rows)
