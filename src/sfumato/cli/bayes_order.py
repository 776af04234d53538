"""A naive Bayes classifier that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import sfumato as sf
from sfumato.checks import one_of
from sfumato.cli.options import blaming
from sfumato.cli.publishing import Order, check_names
from sfumato.errors import ParameterError

METHODS = ("machine", "naive-bayes")
_ONLY = {
    "machine": ("loss", "kernel", "gamma", "C", "mechanism", "landmarks"),
    "naive-bayes": ("likelihood",),
}


def check_method(ctx: typer.Context, method: str) -> None:
    """Refuse a method that there is not, and options of the other one."""
    with blaming("--method"):
        one_of("method", method, METHODS)
    for other, options in _ONLY.items():
        for option in options if other != method else ():
            source = ctx.get_parameter_source("strength" if option == "C" else option)
            if source is not None and source.name == "COMMANDLINE":
                raise ParameterError(f"--{option} goes with --method {other}, not with {method}; leave it out")


def bayes_order(data: Path, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any]) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.NaiveBayes``.
    """
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--label"}, privacy)
    with blaming("--likelihood", "--expected-rows"):
        target = sf.NaiveBayes(**settings)
    with blaming("--column"):
        target.check_box(box)
    return Order(data, box, privacy, "auto", target)
