"""What commands that publish do once their options are read: check, publish, write, say what happened."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.options import declared_file, paying_account, person_unit, signing_key
from sfumato.cli.output import facts, printable, screen, show, working
from sfumato.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.faces.base import Facts

# Every command imports this module: what draws, reads or describes is imported where it is needed, and named tuples
# are made in a fraction of the time that dataclasses take.


def granted(epsilon: float | None, delta: float, rho: float | None, neighbours: str, person: str | None) -> sf.Privacy:
    """The privacy that the options grant."""
    if epsilon is None and rho is None:
        raise ParameterError("how much privacy may it cost? give --epsilon E (with an optional --delta D), or --rho R")
    if epsilon is not None and rho is not None:
        raise ParameterError("give either --epsilon or --rho, not both")
    return sf.Privacy(epsilon, delta, rho, neighbours, person_unit(person))


class Order(NamedTuple):
    """A release that was asked for, checked as far as public parameters go."""

    data: Path
    box: sf.Box
    privacy: sf.Privacy
    basis: Any
    target: Any

    @property
    def public_rows(self) -> bool:
        """Whether the number of rows is public."""
        return self.privacy.neighbours == "replace" and self.privacy.unit == "row"


def check_names(data: Path, options: Mapping[str, str], privacy: sf.Privacy) -> None:
    """Refuse columns that the table does not have; what is wrong with the file itself is said when it is opened.

    Parameters
    ----------
    options
        The columns, and the option that named each.
    """
    from sfumato.boxfile import column_types

    try:
        there = [name for name, _ in column_types(data)]
    except SchemaError:
        return
    unit = privacy.unit
    person = {str(unit.column): "--person"} if isinstance(unit, sf.Person) else {}
    wanted = {**options, **person}
    if not set(wanted) & set(there):
        return  # the first line may be a record: whoever opens it knows what to say
    for name, option in wanted.items():
        if name not in there:
            raise SchemaError(f"{option} {name}: {data.name} has no such column, it has {', '.join(there)}")


class Outputs(NamedTuple):
    """Where everything goes."""

    release: Path
    report: Path | None
    picture: Path | None

    @classmethod
    def checked(
        cls, data: Path, release: Path, report: Path | None, picture: Path | None, force: bool, test: Path | None = None
    ) -> Outputs:
        """Refuse names that cannot be written, before anything is spent: a release that is lost is lost budget."""
        from sfumato import drawing, pages
        from sfumato.drawing.files import check_format

        given = {"output": release, "report": report, "plot": picture}
        seen = {data.resolve(): "the data"} | ({} if test is None else {test.resolve(): "the file of --public-test"})
        for name, path in given.items():
            if path is None:
                continue
            check_writable(path, force, name)
            if path.resolve() in seen:
                raise ParameterError(f"{path} is {seen[path.resolve()]}; choose another name", parameter=name)
            if name == "plot":
                check_format(path)
            seen[path.resolve()] = f"the file of --{name}"
        if report is not None:
            pages.check_installed()
        if picture is not None:
            drawing.check_installed()
        return cls(release, report, picture)

    def check_apart(self, account: sf.Account) -> None:
        """Refuse to write over the ledger that pays."""
        ledger = os.path.realpath(account.path)
        taken = {f"{ledger}{part}" for part in ("", "-count", "-wal", "-shm", "-journal")}
        for path in filter(None, (self.release, self.report, self.picture)):
            if os.path.realpath(path) in taken:
                raise ParameterError(f"{path} belongs to the ledger; choose another name")

    def lines(self) -> list[str]:
        """The files and what they are."""
        told = [
            (self.release, "the release, for anybody"),
            (self.picture, "a picture"),
            (self.report, "a page to read"),
        ]
        return [f"{path}  {what}" for path, what in told if path is not None]

    def data(self) -> dict[str, str | None]:
        """The same as plain data."""
        paths = {"written": self.release, "plot": self.picture, "report": self.report}
        return {name: None if path is None else str(path) for name, path in paths.items()}


def check_writable(path: Path, force: bool, parameter: str = "output") -> None:
    """Refuse a path that is there already, or cannot be written: found out by writing, before anything is spent.

    Parameters
    ----------
    parameter
        Which one holds the path.
    """
    why = _unwritable(path, force)
    if why is not None:
        raise ParameterError(f"{path}: {why}", parameter=parameter)


def _unwritable(path: Path, force: bool) -> str | None:
    try:
        if not path.parent.is_dir():
            return f"there is no folder {str(path.parent)!r}"
        there = path.exists()
        if there and not path.is_file():
            return "cannot be written, it is not a file; choose another name"
        if there and not force:
            return "is there already; choose another name, or replace it with --force"
        _try_to_write(path, there)
    except OSError as error:
        return f"cannot be written ({error.strerror}); choose another name"
    return None


def _try_to_write(path: Path, there: bool) -> None:
    """Make the file and remove it again; where there is one, make another beside it."""
    if there:
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        import tempfile

        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".sfumato-"):
            return
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    path.unlink()


def plan_rows(plan: sf.Plan) -> Facts:
    """A plan as it describes itself."""
    rows = [tuple(part.strip() for part in (line[:22], line[22:])) for line in str(plan).splitlines()]
    return [(name, [text]) for name, text in rows]


def show_plan(
    ctx: typer.Context,
    order: Order,
    rows: int | None = None,
    described: Callable[[sf.Plan], Facts] = plan_rows,
    confidence: float = 0.95,
) -> None:
    """Say what to expect.

    Parameters
    ----------
    rows
        For how many records, where that matters.
    described
        Puts a plan into words.
    confidence
        Of the largest error.
    """
    account = paying_account(ctx)
    with working(ctx, "predicting errors"):
        plan = sf.plan(order.target, order.box, order.privacy, rows, basis=order.basis, confidence=confidence)
    quote = None if account is None else account.would_cost(plan)
    told = described(plan)
    if quote is not None:
        left = "it does not fit" if quote.after is None else f"would leave {quote.after}"
        told.append(("account", [str(quote.before), left]))
    data = {
        "basis": plan.basis.to_json(),
        "coefficients": None if plan.law is None else plan.law.size,
        "noise_error": plan.noise_error,
        "mean_noise_error": plan.mean_noise_error,
        "approximation_error": plan.approximation_error,
        "rows": rows,
        "fits": None if quote is None else quote.fits,
    }
    show(ctx, data, Text("A plan: no record was read, nothing was spent.", style="bold"), "", facts(told))


Beside = tuple["Facts", Mapping[str, Any], Mapping[str, Any]]


def publish(
    ctx: typer.Context,
    order: Order,
    outputs: Outputs,
    words: tuple[str, str],
    confidence: float = 0.95,
    beside: Callable[[Any], Beside] = lambda _: ([], {}, {}),
) -> None:
    """Publish, save, draw, write the page, and say what happened.

    Parameters
    ----------
    words
        What is happening while the records are read, and afterwards.
    confidence
        Of the band or the limits.
    beside
        What there is to say beyond the release itself: in words, as plain data, and to its page.
    """
    from sfumato.cli.progress import reading

    account, key, data = paying_account(ctx), signing_key(ctx), declared_file(ctx, order.data)
    if account is not None:
        outputs.check_apart(account)
    with reading(ctx, *words, order.public_rows) as engine:
        settings = {"basis": order.basis, "engine": engine, "ledger": account}
        release = sf.release(order.target, data, order.box, order.privacy, **settings)
    release.save(outputs.release, key)  # before anything else can fail
    draw_picture(ctx, release, outputs, confidence)
    left = None if account is None else account.remaining()
    rows, told, to_page = beside(release)
    write_report(ctx, release, outputs, confidence=confidence, **to_page)
    _summarise(ctx, order, (release, left), outputs, (rows, told), confidence)


def draw_picture(ctx: typer.Context, release: Any, outputs: Outputs, confidence: float = 0.95) -> None:
    """Draw the release, if a picture was asked for."""
    if outputs.picture is not None:
        from sfumato.drawing.files import draw

        with working(ctx, "drawing"):
            draw(release, outputs.picture, confidence)


def write_report(ctx: typer.Context, release: Any, outputs: Outputs, **more: Any) -> None:
    """Write the page, if one was asked for."""
    if outputs.report is not None:
        from sfumato.pages import write

        with working(ctx, "writing the report"):
            write(release, outputs.report, **more)


def _summarise(
    ctx: typer.Context,
    order: Order,
    published: tuple[Any, Any],
    outputs: Outputs,
    more: tuple[Facts, Mapping[str, Any]],
    confidence: float,
) -> None:
    """Say what happened: the guarantee, what was published, what is left, where the files are."""
    from sfumato.cli.sparks import sketched
    from sfumato.faces import face_of
    from sfumato.faces.promise import guarantee_words

    release, left = published
    face = face_of(release, confidence)
    data = {
        **outputs.data(),
        "left": None if left is None else left.words(),
        **face.common_data(),
        **face.data(),
        **more[1],
    }
    rows: Facts = [
        ("guarantee", [str(release.guarantee).partition(";")[0], guarantee_words(release.guarantee)]),
        *face.rows(order),
        *more[0],
        ("account", ["none paid: nothing keeps count of what was spent" if left is None else str(left)]),
        ("files", outputs.lines()),
    ]
    drawn = sketched(face.sketch(order), screen())
    parts: list[Any] = [Text(f"Published {printable(face.title)}.", style="bold"), ""]
    show(ctx, data, *parts, *([] if drawn is None else [drawn, ""]), facts(rows))
