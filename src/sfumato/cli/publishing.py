"""What ``sfumato density`` does once its options are read: check, publish, write, say what happened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli import words
from sfumato.cli.density_words import density_data, density_rows
from sfumato.cli.options import blaming, paying_account, person_unit
from sfumato.cli.output import facts, printable, screen, show, working
from sfumato.cli.pictures import check_format, draw
from sfumato.cli.progress import reading
from sfumato.cli.sparks import spark_lines
from sfumato.errors import ParameterError, SchemaError
from sfumato.extras import need


def granted(epsilon: float | None, delta: float, rho: float | None, neighbours: str, person: str | None) -> sf.Privacy:
    """The privacy that the options grant."""
    if epsilon is None and rho is None:
        raise ParameterError("how much privacy may it cost? give --epsilon E (with an optional --delta D), or --rho R")
    if epsilon is not None and rho is not None:
        raise ParameterError("give either --epsilon or --rho, not both")
    unit = person_unit(person)
    with blaming("--epsilon", "--delta", "--rho", "--neighbours"):
        return sf.Privacy(epsilon, delta, rho, neighbours, unit)


@dataclass(frozen=True)
class Order:
    """A density that was asked for, checked as far as public parameters go."""

    data: Path
    box: sf.Box
    privacy: sf.Privacy
    basis: Any
    target: sf.KDE

    @classmethod
    def of(cls, data: Path, box: sf.Box, privacy: sf.Privacy, basis: Any, settings: dict[str, Any]) -> Order:
        """Refuse what cannot work, naming the option, before anything is read or spent."""
        _check_names(data, box, privacy)
        rest = {name: value for name, value in settings.items() if name != "bandwidth"}
        for name in rest:
            with blaming(f"--{name.replace('_', '-')}"):
                sf.KDE(**{name: rest[name]})
        with blaming("--bandwidth"):
            target = sf.KDE(**settings)
            target.check_box(box)
        public = privacy.neighbours == "replace" and privacy.unit == "row"
        if isinstance(target.bandwidth, sf.Tuned) and not (public and target.by is None):
            raise ParameterError(
                "--tune-bandwidth needs a public number of rows and no groups: leave out --by, --person and "
                "--neighbours add-remove, or give one --bandwidth"
            )
        if isinstance(basis, sf.Bernstein) and not (public and target.by is None):
            raise ParameterError(
                "--basis bernstein needs a public number of rows and no groups: leave out --by, --person and "
                "--neighbours add-remove, or use --basis auto"
            )
        if basis != "auto":
            with blaming("--basis"):
                _check_basis(basis, target.domain(box))
        return cls(data, box, privacy, basis, target)


def _check_names(data: Path, box: sf.Box, privacy: sf.Privacy) -> None:
    """Refuse columns that the table does not have; what is wrong with the file itself is said when it is opened."""
    from sfumato.boxfile import column_types

    try:
        there = [name for name, _ in column_types(data)]
    except SchemaError:
        return
    unit = privacy.unit
    wanted = {
        name: "--by" if column.kind == "categorical" else "--column"
        for name, column in zip(box.names, box.columns, strict=True)
    }
    wanted |= {str(unit.column): "--person"} if isinstance(unit, sf.Person) else {}
    for name, option in wanted.items():
        if name not in there:
            raise SchemaError(f"{option} {name}: {data.name} has no such column, it has {', '.join(there)}")


def _check_basis(basis: Any, domain: sf.Box) -> None:
    """Refuse a lattice that does not fit the columns."""
    basis.size(domain)
    width = getattr(basis, "width", 0.0)
    if isinstance(width, tuple) and len(width) != domain.dimension:
        raise ParameterError(f"the width needs one number, or one per column ({domain.dimension}), got {len(width)}")


@dataclass(frozen=True)
class Outputs:
    """Where everything goes."""

    release: Path
    report: Path | None
    picture: Path | None

    @classmethod
    def checked(cls, data: Path, release: Path, report: Path | None, picture: Path | None, force: bool) -> Outputs:
        """Refuse names that cannot be written, before anything is spent: a release that is lost is lost budget."""
        given = {"--output": release, "--report": report, "--plot": picture}
        seen = {data.resolve(): "the data"}
        for option, path in given.items():
            if path is None:
                continue
            with blaming(option):
                _check_writable(path, force)
                if path.resolve() in seen:
                    raise ParameterError(f"{path} is {seen[path.resolve()]}; choose another name")
                if option == "--plot":
                    check_format(path)
            seen[path.resolve()] = f"the file of {option}"
        if report is not None:
            need("jinja2", "plot")
        if report is not None or picture is not None:
            need("matplotlib", "plot")
        return cls(release, report, picture)


def _check_writable(path: Path, force: bool) -> None:
    if not path.parent.is_dir():
        raise ParameterError(f"{path}: there is no folder {str(path.parent)!r}")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise ParameterError(f"{path}: cannot be written; choose another name")
    if path.exists() and not force:
        raise ParameterError(f"{path}: is there already; choose another name, or replace it with --force")


def plan_density(ctx: typer.Context, order: Order) -> None:
    """Say what to expect."""
    if isinstance(order.target.bandwidth, sf.Tuned):
        raise ParameterError("--plan needs one bandwidth: what --tune-bandwidth selects is only known once it is paid")
    account = paying_account(ctx)
    with working(ctx, "predicting errors"):
        plan = sf.plan(order.target, order.box, order.privacy, basis=order.basis)
    quote = None if account is None else account.would_cost(plan)
    rows = [tuple(part.strip() for part in (line[:22], line[22:])) for line in str(plan).splitlines()]
    told = [(name, [text]) for name, text in rows]
    if quote is not None:
        left = "it does not fit" if quote.after is None else f"would leave {quote.after}"
        told.append(("account", [str(quote.before), left]))
    data = {
        "basis": plan.basis.to_json(),
        "coefficients": plan.law.size,
        "noise_error": plan.noise_error,
        "mean_noise_error": plan.mean_noise_error,
        "approximation_error": plan.approximation_error,
        "fits": None if quote is None else quote.fits,
    }
    show(ctx, data, Text("A plan: no record was read, nothing was spent.", style="bold"), "", facts(told))


def publish_density(ctx: typer.Context, order: Order, outputs: Outputs) -> None:
    """Publish, write the files, and say what happened."""
    account = paying_account(ctx)
    privacy = order.privacy
    public = privacy.neighbours == "replace" and privacy.unit == "row"
    with reading(ctx, f"reading {order.data.name}", "choosing a basis, drawing noise", public) as engine:
        settings = {"basis": order.basis, "engine": engine, "ledger": account}
        release = sf.release(order.target, order.data, order.box, privacy, **settings)
    release.save(outputs.release)  # before anything else can fail
    if outputs.picture is not None:
        with working(ctx, "drawing"):
            draw(release, outputs.picture)
    if outputs.report is not None:
        from sfumato.report import write

        with working(ctx, "writing the report"):
            write(release, outputs.report)
    left = None if account is None else account.remaining()
    _summary(ctx, release, outputs, left)


def _summary(ctx: typer.Context, release: Any, outputs: Outputs, left: Any) -> None:
    files = [
        (str(path), what)
        for path, what in (
            (outputs.release, "the release, for anybody"),
            (outputs.picture, "a picture"),
            (outputs.report, "a page to read"),
        )
        if path is not None
    ]
    data = {
        "written": str(outputs.release),
        "plot": None if outputs.picture is None else str(outputs.picture),
        "report": None if outputs.report is None else str(outputs.report),
        "left": None if left is None else left.words(),
        **words.release_data(release),
        **density_data(release),
    }
    rows: list[tuple[str, list[str]]] = [
        ("guarantee", [str(release.guarantee).partition(";")[0], words.guarantee_words(release.guarantee)]),
        *density_rows(release),
        ("account", ["none paid: nothing keeps count of what was spent" if left is None else str(left)]),
        ("files", [f"{path}  {what}" for path, what in files]),
    ]
    parts: list[Any] = [Text(f"Published {printable(words.title(release))}.", style="bold"), ""]
    sparks = spark_lines(release, screen())
    if sparks:
        parts += [Text("\n".join(f"  {printable(line)}" for line in sparks), style="cyan"), ""]
    show(ctx, data, *parts, facts(rows))
