"""What the methods of ``sfumato classify`` have in common: which there are, and what goes with which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from sfumato.checks import one_of
from sfumato.errors import ParameterError
from sfumato.faces.views import MOST_GROUPS

METHODS = ("machine", "naive-bayes")
_ONLY = {
    "machine": ("loss", "kernel", "gamma", "C", "mechanism", "landmarks"),
    "naive-bayes": ("likelihood",),
}


def check_method(ctx: typer.Context, method: str) -> None:
    """Refuse a method that there is not, and options of the other one."""
    one_of("method", method, METHODS)
    for other, options in _ONLY.items():
        for option in options if other != method else ():
            source = ctx.get_parameter_source("strength" if option == "C" else option)
            if source is not None and source.name == "COMMANDLINE":
                raise ParameterError(f"--{option} goes with --method {other}, not with {method}; leave it out")


def check_classes(path: Path | None, classes: Sequence[object]) -> None:
    """Refuse a picture of more classes than one can tell apart, before anything is spent."""
    if path is not None and len(classes) > MOST_GROUPS:
        raise ParameterError(f"--plot: a picture tells {MOST_GROUPS} classes apart, got {len(classes)}; leave it out")
