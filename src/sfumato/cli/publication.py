"""What commands that publish do once their options are read: check, publish, write, say what happened."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.text import Text

import sfumato as sf
from sfumato.checks import did_you_mean, positive_integer
from sfumato.cli.delivery import Delivery
from sfumato.cli.failures import report_warning
from sfumato.cli.options import declared_file, holding, paying_account, person_unit, settings, signing_key
from sfumato.cli.output import facts, printable, screen, show, working
from sfumato.errors import NothingThereWarning, ParameterError, SchemaError

if TYPE_CHECKING:
    from sfumato.faces.base import Facts

_ROWS = 10_000  # that a plan is made for where nobody says how many

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
            near = did_you_mean(name, there)
            raise SchemaError(f"{option} {name}: {data.name} has no such column, it has {', '.join(there)}{near}")


class Outputs(NamedTuple):
    """Where everything goes."""

    release: Path
    report: Path | None
    picture: Path | None
    rows: Path | None = None

    @classmethod
    def checked(
        cls,
        data: Path,
        release: Path,
        report: Path | None,
        picture: Path | None,
        force: bool,
        test: Path | None = None,
        rows: Path | None = None,
    ) -> Outputs:
        """Refuse names that cannot be written, before anything is spent: a release that is lost is lost budget.

        Parameters
        ----------
        test
            A file that is read.
        rows
            Where made-up rows go.
        """
        from sfumato import drawing, pages
        from sfumato.drawing.files import check_format

        given = {"output": release, "report": report, "plot": picture, "data": rows}
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
        return cls(release, report, picture, rows)

    def check_apart(self, account: sf.Account) -> None:
        """Refuse to write over the ledger that pays."""
        if "://" in account.path:
            return
        ledger = os.path.realpath(account.path)
        taken = {f"{ledger}{part}" for part in ("", "-count", "-wal", "-shm", "-journal")}
        for path in filter(None, (self.release, self.report, self.picture, self.rows)):
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


class Assumed(NamedTuple):
    """How many rows a plan is for, and who said so: no record is read to find out."""

    rows: int
    said: bool
    option: str = "--rows"

    @classmethod
    def of(cls, rows: int | None, expected: int | None, option: str = "--rows") -> Assumed:
        """Those of ``--rows``, or of ``--expected-rows``, or a round number; ``option`` says it otherwise."""
        for name, number in (("rows", rows), ("expected_rows", expected)):
            if number is not None:
                return cls(positive_integer(name, number), True)
        return cls(_ROWS, False, option)

    def __str__(self) -> str:
        return f"{self.rows:,} rows{'' if self.said else f', which is assumed: say how many with {self.option} N'}"


def check_planned(rows: int | None, plan: bool) -> None:
    """Refuse a number of rows where there is no plan to make of it."""
    if rows is not None and not plan:
        raise ParameterError("--rows goes with --plan: what is published has the rows that it has; leave it out")


def show_plan(
    ctx: typer.Context,
    order: Order,
    assumed: Assumed,
    described: Callable[[sf.Plan], Facts] = plan_rows,
    confidence: float = 0.95,
) -> None:
    """Say what to expect.

    Parameters
    ----------
    assumed
        For how many records.
    described
        Puts a plan into words.
    confidence
        Of the largest error.
    """
    account = paying_account(ctx)
    with working(ctx, "predicting errors"):
        plan = sf.plan(order.target, order.box, order.privacy, assumed.rows, basis=order.basis, confidence=confidence)
    quote = None if account is None else account.would_cost(plan)
    told = [*described(plan), ("for", [str(assumed)])]
    if quote is not None:
        left = "it does not fit" if quote.after is None else f"would leave {quote.after}"
        told.append(("account", [str(quote.before), left]))
    data = {
        "basis": plan.basis.to_json(),
        "coefficients": None if plan.law is None else plan.law.size,
        "noise_error": plan.noise_error,
        "mean_noise_error": plan.mean_noise_error,
        "approximation_error": plan.approximation_error,
        "ranks": plan.ranks,
        "rows": assumed.rows,
        "fits": None if quote is None else quote.fits,
    }
    show(ctx, data, Text("A plan: no record was read, nothing was spent.", style="bold"), "", facts(told))


Beside = tuple["Facts", Mapping[str, Any], Mapping[str, Any]]
_NOTHING: Beside = ([], {}, {})


def publish(
    ctx: typer.Context,
    order: Order,
    outputs: Outputs,
    reading_words: str,
    confidence: float = 0.95,
    beside: Callable[[Any], Beside] = lambda _: _NOTHING,
    look: Mapping[str, Any] | None = None,
    last: str = "the public test",
) -> None:
    """Publish, save, draw, write the page, and say what happened: all that can be refused is refused before.

    Parameters
    ----------
    reading_words
        What is happening while the records are read.
    confidence
        Of the band or the limits.
    beside
        What there is to say beyond the release itself: in words, as plain data, and to its page.
    look
        What picture and page show: ``map`` and ``group``.
    last
        What ``beside`` does, should it fail.
    """
    from sfumato.cli.progress import reading

    account, key, data = paying_account(ctx), signing_key(ctx), declared_file(ctx, order.data)
    if account is not None:
        outputs.check_apart(account)
    if outputs.picture is not None:
        with holding("--plot"):
            order.target.check_drawable(order.box, order.basis)
    with reading(ctx, reading_words, order.public_rows) as engine:
        how = {"basis": order.basis, "engine": engine, "ledger": account, "rehearse": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingThereWarning)  # it is told below, when all is safe
            asked = (order.target, data, order.box, order.privacy)
            delivery = Delivery.of(ctx, lambda: sf.release(*asked, **how), outputs.release, key)
    release = delivery.release
    left, found = None, _NOTHING
    if account is not None:
        with delivery.step("reading the account"):
            left = account.remaining()
    with delivery.step(last):
        found = beside(release)
    drawn = {"confidence": confidence, **(look or {})}
    outputs = illustrate(delivery, outputs, drawn, **found[2])
    with delivery.step("describing it"):
        _summarise(ctx, order, (release, left), outputs, found, confidence)
    delivery.finish()


def illustrate(delivery: Delivery, outputs: Outputs, look: Mapping[str, Any] | None = None, **to_page: Any) -> Outputs:
    """Draw and describe a release that is written, as far as that was asked for; returns what there is now.

    Parameters
    ----------
    look
        What picture and page show: ``confidence``, ``map`` and ``group``.
    to_page
        What there is to say beyond the release itself.
    """
    picture = report = None
    release = delivery.release
    if outputs.picture is not None:
        from sfumato.drawing.files import draw

        with delivery.step("the picture", "plot"), working(delivery.ctx, "drawing"):
            draw(release, outputs.picture, **(look or {}))
            picture = outputs.picture
    if outputs.report is not None:
        from sfumato.pages import write

        with delivery.step("the report", "report"), working(delivery.ctx, "writing the report"):
            write(release, outputs.report, **(look or {}), **to_page)
            report = outputs.report
    return Outputs(delivery.place or outputs.release, report, picture)


def _summarise(
    ctx: typer.Context,
    order: Order,
    published: tuple[Any, Any],
    outputs: Outputs,
    more: Beside,
    confidence: float,
) -> None:
    """Say what happened: the guarantee, what was published, what is left, where the files are."""
    from sfumato.cli.sparks import sketched
    from sfumato.faces import face_of
    from sfumato.faces.promise import guarantee_words

    release, left = published
    with working(ctx, "describing the release"):
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
        drawn, missed = sketched(face.sketch(order), screen()), face.nothing_there()
    for words in missed:
        report_warning(words, settings(ctx).json)
    parts: list[Any] = [Text(f"Published {printable(face.title)}.", style="bold"), ""]
    show(ctx, data, *parts, *([] if drawn is None else [drawn, ""]), facts(rows))
