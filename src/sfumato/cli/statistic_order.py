"""A statistic that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.bases.statistics.magnitudes import WIDEST
from sfumato.checks import one_of, positive_integer, probability
from sfumato.cli.columns import column_with_kind, known_columns
from sfumato.cli.publishing import Order, check_names
from sfumato.errors import ParameterError
from sfumato.faces.base import Facts
from sfumato.faces.words import listed
from sfumato.targets.bounds import Bounds
from sfumato.targets.statistic import NUMERIC, TABLES

_BOUNDS = "bounds"
_ONE_COLUMN = ("median", "quantiles", _BOUNDS)
_LONGEST_NAME = 40


def checked_what(what: str) -> None:
    """Refuse a statistic that there is not."""
    one_of("WHAT", what, (*TABLES, *NUMERIC, _BOUNDS))


def statistic_box(what: str, names: Sequence[str], columns: Sequence[str], file: Path | None, data: Path) -> sf.Box:
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
        return sf.Box({names[0]: (-WIDEST, WIDEST)})
    known, given = known_columns(file), {}
    for text in columns:
        name, kind = column_with_kind(text, known, file, data)
        if name in given:
            raise ParameterError(f"--column {name} is given twice")
        given[name] = kind
    wanted = list(names) or list(given)
    there = {**known, **given}
    if not wanted:
        raise ParameterError(
            f"the {what} of which column? name it after {what}, with --column NAME:LOW:HIGH or --box TOML"
        )
    for name in wanted:
        if name not in there:
            raise ParameterError(
                f"COLUMN {name}: its bounds must be known without looking at the data: give --column {name}:LOW:HIGH, "
                f"or --column {name}=A,B for categories"
            )
    _check_kinds(what, {name: there[name] for name in wanted})
    return sf.Box({name: there[name] for name in wanted})


def _check_one(what: str, names: Sequence[str]) -> None:
    if len(names) != 1:
        raise ParameterError(f"{what} needs one COLUMN, got {listed(names) if names else 'none'}")


def _check_kinds(what: str, columns: dict[str, Any]) -> None:
    """Refuse numbers where categories are needed, and the other way round."""
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
        if what in _ONE_COLUMN and kind.kind == "periodic":
            raise ParameterError(f"--column {name}: a circle has no {what}")


def statistic_order(
    data: Path, what: str, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any], confidence: float, rows: int
) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.Statistic``.
    confidence, rows
        Of its limits, and what a plan is made for.
    """
    check_names(data, dict.fromkeys(box.names, "COLUMN" if what == _BOUNDS else "--column"), privacy)
    probability("confidence", confidence)
    positive_integer("expected_rows", rows)
    if what == _BOUNDS:
        _check_bare(settings)
        return Order(data, box, privacy, "auto", Bounds())
    target = sf.Statistic(what, list(box.names), **settings)
    target.check_box(box)
    order = Order(data, box, privacy, "auto", target)
    if settings["interval_share"] and not (order.public_rows and settings["missing"] == "none"):
        raise ParameterError(
            "--interval-share needs a public number of values: add --missing none if nothing is missing, and leave out "
            "--person and --neighbours add-remove"
        )
    return order


def _check_bare(settings: dict[str, Any]) -> None:
    for name, value in {**settings, "missing": settings["missing"] != "drop"}.items():
        if value:
            raise ParameterError(f"--{name.replace('_', '-')} is for other statistics than bounds; leave it out")


def file_name(what: str, box: sf.Box) -> Path:
    """Where a release goes by default: what it is of, in characters that every system takes.

    >>> str(file_name("mean", sf.Box({"blood pressure": (0, 300)})))
    'mean-blood-pressure.sfumato'
    """
    kept = "".join(c if c.isalnum() or c in "-_" else "-" for c in "-".join((what, *box.names)))
    return Path(f"{kept[:_LONGEST_NAME]}.sfumato")


def plan_rows(order: Order, rows: int, plan: sf.Plan) -> Facts:
    """What to expect of a statistic."""
    error, mean = f"{plan.noise_error:.3g}", f"{plan.mean_noise_error:.3g}"
    if plan.law is None:
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
        ("noise", [plan.noise.partition(" (")[0]]),
        ("off by at most", [f"{error} (confidence {plan.confidence:g})"]),
        ("typically", [f"{'less than' if plan.law is None else 'about'} {mean}"]),
        ("for", [f"{rows:,} rows"]),
    ]
