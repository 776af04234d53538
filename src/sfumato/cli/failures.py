"""Errors as a command line gives them: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Container

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli.output import printable
from sfumato.errors import (
    BudgetExceededError,
    FileFormatError,
    LedgerError,
    ParameterError,
    SchemaError,
    SfumatoError,
)

INTERRUPTED = 130
USAGE = 2
_OTHER = 1
# The first that fits counts: an exceeded budget is a ledger error too.
_CODES: tuple[tuple[type[SfumatoError], int], ...] = (
    (BudgetExceededError, 5),
    (LedgerError, 4),
    (FileFormatError, 3),
    (ParameterError, USAGE),
    (SchemaError, USAGE),
)


# What the library calls otherwise than the command line does: an option that holds several parameters, or renames one.
_OPTIONS = {
    "candidates": "--tune-bandwidth",
    "share": "--tune-share",
    "points": "--basis",
    "width": "--basis",
    "degree": "--basis",
    "order": "--basis",
    "count": "--landmarks",
    "user": "--first-user",
    "users": "--first-user",
    "path": "--multiline",
    "max_rows": "--person",
    "shape": "--bins",
}


def named(error: ParameterError, options: Container[str]) -> ParameterError:
    """The error with the option in the place of its parameter, if the command has one for it.

    >>> str(named(ParameterError("post must be ...", parameter="post"), ["--post"]))
    '--post must be ...'
    >>> str(named(ParameterError("share must be ...", parameter="share"), ["--tune-share"]))
    '--tune-share: share must be ...'
    """
    name, said = error.parameter or "", str(error)
    own = f"--{name.replace('_', '-')}"
    option = own if own in options else _OPTIONS.get(name)
    if option is None or option not in options:
        return error
    begins = option == own and said.startswith((f"{name} ", f"{name}="))
    return type(error)(f"{option}{said[len(name) :]}" if begins else f"{option}: {said}", parameter=name)


def exit_code(error: Exception) -> int:
    """The exit code of an error.

    >>> exit_code(FileFormatError("not a release"))
    3
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), _OTHER)


def words(error: Exception) -> str:
    """An error in one line; of the system's errors, the file and the reason."""
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}"
    return str(error)


def report_failure(message: str, as_json: bool) -> None:
    """Print an error to stderr.

    Parameters
    ----------
    as_json
        As ``{"error": "..."}`` instead of ``error: ...``.
    """
    _report("error", "bold red", message, as_json)


def report_warning(message: str, as_json: bool) -> None:
    """Print a warning to stderr, in the same way; the command goes on."""
    _report("warning", "bold yellow", message, as_json)


def _report(kind: str, style: str, message: str, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({kind: message}), err=True)
        return
    line = Text.assemble((f"{kind}:", style), " ", printable(" ".join(message.split())))
    Console(stderr=True, highlight=False).print(line, soft_wrap=True)
