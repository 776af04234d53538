"""Options that commands share: the ledger and the account that pay, the box, and how to print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.errors import LedgerError, MissingFileError, ParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Settings:
    """The global options."""

    ledger: str | None = None
    account: str | None = None
    json: bool = False
    multiline: bool = False
    key: Path | None = None
    trust: tuple[Path, ...] = ()
    engine: str = "memory"
    scheduler: str | None = None
    master: str | None = None


def settings(ctx: typer.Context) -> Settings:
    """The global options that were given."""
    return ctx.obj if isinstance(ctx.obj, Settings) else Settings()


def signing_key(ctx: typer.Context) -> Any:
    """The key of ``--key``, read and found to be one: before anything is paid for. None if there is none."""
    given = settings(ctx).key
    if given is None:
        return None
    from sfumato.releases.file.signature import Signer

    try:
        return Signer.of(given)
    except MissingFileError as error:
        raise MissingFileError(f"--key: {error}") from None


# For commands that read private data: their bounds come from a file, never from the data. A command takes
# ``box: BoxFile`` and calls ``declared_box(box)``.
box_option = typer.Option("--box", metavar="TOML", help="The public box: a file as 'sfumato box' drafts it.")
BoxFile = Annotated[Path | None, box_option]

# What every command that publishes takes.
Data = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file.", show_default=False)]
Epsilon = Annotated[float | None, typer.Option(metavar="E", help="Spend this epsilon.")]
Delta = Annotated[float, typer.Option(metavar="D", help="Spend this along with epsilon.")]
Rho = Annotated[float | None, typer.Option(metavar="R", help="Instead of epsilon: for zCDP.")]
Neighbours = Annotated[str, typer.Option(metavar="replace|add-remove", help="What may happen to one unit of the data.")]
Bandwidth = Annotated[
    str, typer.Option(metavar="auto|H|H,H", help="Deviation of the kernel, in the columns' units; one or one each.")
]
Missing = Annotated[
    str, typer.Option(metavar="drop|none", help="Leave out records with missing values, or state that there are none.")
]
AnyColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME:LOW:HIGH[:KIND]|NAME=A,B",
        help="A column and its public bounds, or its categories. With --box the name will do.",
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--expected-rows", metavar="N", help="A public guess, where the number of rows is private."),
]
PlanRows = Annotated[
    int | None,
    typer.Option("--rows", metavar="N", help="With --plan: for how many rows; else as many as expected, or 10,000."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the release goes.")]
Plot = Annotated[Path | None, typer.Option(metavar="PICTURE", help="Also draw it: a .png, .svg or .pdf.")]
Report = Annotated[Path | None, typer.Option(metavar="HTML", help="Also write one page about it.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
Plan = Annotated[bool, typer.Option("--plan", help="Say what to expect; read no record and spend nothing.")]
PersonColumn = Annotated[
    str | None,
    typer.Option("--person", metavar="COLUMN:MAXROWS", help="Protect persons, told apart by a column, not rows."),
]

# What commands that read a release take.
Confidence = Annotated[float, typer.Option(help="Of the band, which holds at all points at once.")]
ReleaseFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A release, such as age.sfumato.", show_default=False)
]
Group = Annotated[str | None, typer.Option("--group", metavar="NAME", help="One group of a release that has groups.")]
Map = Annotated[
    bool, typer.Option("--map", help="Draw two columns to scale, as longitude and latitude are without being asked.")
]


def output_path(file: Path, given: Path | None, suffix: str) -> Path:
    """Where to write: as given, or next to the release under its name; never over the release itself.

    Parameters
    ----------
    file
        The release.
    given
        The value of ``--output``; None for the default.
    suffix
        Of the default.
    """
    path = file.with_suffix(suffix) if given is None else given
    if path.resolve() == file.resolve():
        raise ParameterError(f"{path}: this is the release itself; choose another name with -o")
    if not path.parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {str(path.parent)!r}")
    return path


def open_ledger(path: str | None) -> sf.Ledger:
    """Open a ledger that exists: reading must not leave an empty one behind.

    Parameters
    ----------
    path
        The file, or a server's address; None if the caller gave none.
    """
    if path is None:
        raise ParameterError("which ledger? give its file, or --ledger PATH")
    if not _store(path).exists():
        raise LedgerError(f"{ledger_words(path)}: there is no such ledger; make one with 'sfumato ledger create'")
    return sf.Ledger(path)


def ledger_words(path: str) -> str:
    """A ledger as it may be printed: as it was given, and without a password."""
    return str(_store(path).words) if "://" in path else path


def _store(path: str) -> Any:
    from sfumato.extras import need

    need("sqlalchemy", "ledger")
    from sfumato.accounting.address import store_of

    return store_of(path)


def paying_account(ctx: typer.Context) -> sf.Account | None:
    """The account of ``--ledger`` and ``--account`` that pays for a release; None if neither was given."""
    given = settings(ctx)
    if given.ledger is None and given.account is None:
        return None
    if given.account is None:
        there = ", ".join(repr(account.name) for account in open_ledger(given.ledger).accounts())
        raise ParameterError(
            f"which account pays? give --account NAME; {ledger_words(given.ledger or '')} has {there or 'none yet'}"
        )
    return open_ledger(given.ledger).account(given.account)


def far_engine(ctx: typer.Context) -> Any:
    """The engine of ``--engine``, with ``--scheduler`` or ``--master``; None for the one that works in memory."""
    given = settings(ctx)
    if given.engine not in ("memory", "dask", "spark"):
        raise ParameterError(f"--engine must be memory, dask or spark, got {given.engine!r}")
    for option, place, engine in (("--scheduler", given.scheduler, "dask"), ("--master", given.master, "spark")):
        if place is not None and given.engine != engine:
            raise ParameterError(f"{option} goes with --engine {engine}, got --engine {given.engine}")
    if given.engine == "dask":
        from sfumato.engines.dask import Dask, client_at

        return Dask(None if given.scheduler is None else client_at(given.scheduler))
    if given.engine == "spark":
        from sfumato.engines.spark import Spark, session_at

        return Spark(session_at(given.master))
    return None


def declared_file(ctx: typer.Context, path: Path) -> Path | sf.Csv:
    """A file of records, together with what ``--multiline`` declares of it."""
    if not settings(ctx).multiline:
        return path
    return sf.Csv(str(path), multiline=True)


def declared_box(path: Path) -> sf.Box:
    """The box in the file of ``--box``; what is wrong with it names the option and the file."""
    from sfumato.boxfile import read_box

    with holding("--box"):
        return read_box(path)


def person_unit(text: str | None) -> str | sf.Person:
    """The protected unit that ``--person`` names: a row where it was not given."""
    if text is None:
        return "row"
    column, colon, rows = text.rpartition(":")
    if not colon or not column or not rows.isdecimal():
        raise ParameterError(f"--person must be COLUMN:MAXROWS, such as patient:5, got {text!r}")
    return sf.Person(column, max_rows=int(rows))


@contextmanager
def holding(option: str) -> Iterator[None]:
    """Name an option that holds a file, or text of its own, in whatever is wrong with that."""
    try:
        yield
    except (ParameterError, SchemaError) as error:
        raise type(error)(f"{option}: {error}") from None


def examples(*lines: str) -> str:
    """The examples at the end of a help text, one a line."""
    # From version 0.28 on typer keeps single line breaks; before, it made one of two.
    major, minor, *_ = typer.__version__.split(".")
    gap = "\n" if (int(major), int(minor)) >= (0, 28) else "\n\n"
    return gap.join(["Examples:", *(f"  {line}" for line in lines)])


_WITH_VALUE = ("--ledger", "--account", "--key", "--trust", "--engine", "--scheduler", "--master")
_FLAGS = ("--json", "--multiline")


def globals_first(args: Sequence[str]) -> list[str]:
    """Move the global options to the front, so that they may stand anywhere on the line.

    >>> globals_first(["ledger", "show", "--account", "clinic"])
    ['--account', 'clinic', 'ledger', 'show']
    """
    moved: list[str] = []
    kept: list[str] = []
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg == "--":
            kept += [arg, *rest]
            break
        if arg in _WITH_VALUE:
            if not rest:
                raise ParameterError(f"{arg} needs a value")
            moved += [arg, rest.pop(0)]
        elif arg in _FLAGS or arg.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            moved.append(arg)
        else:
            kept.append(arg)
    return moved + kept
