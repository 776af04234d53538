"""The demo command: from a simulated clinic to a curve, a map and a classifier, paid for by an account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

import sfumato as sf
from sfumato import demo as clinic
from sfumato.cli.delivery import Delivery
from sfumato.cli.options import ledger_words, paying_account, settings
from sfumato.cli.output import facts, late, printable, show, table
from sfumato.cli.publication import check_writable
from sfumato.errors import BudgetExceededError, ParameterError

ACCOUNT = "clinic-demo"
_EPSILON, _DELTA = 4.0, 1e-6
_STEPS = 1 + 3 * len(clinic.STUDIES)


class Made(NamedTuple):
    """One published study and the files about it."""

    study: clinic.Study
    release: Path
    picture: Path
    report: Path


def demo(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path("demo"),
    epsilon: Annotated[float, typer.Option(metavar="E", help="Granted to each of the three releases.")] = 1.0,
) -> None:
    """Publish a curve, a map and a classifier of a simulated clinic: data, ledger, releases, pictures, reports."""
    from sfumato import pages

    privacy = sf.Privacy(epsilon=epsilon)  # refuses a bad epsilon before anything is written
    pages.check_installed()  # before anything is spent
    _check_folder(folder)
    with _progress(settings(ctx).json) as step:
        step("simulating the clinic")
        for name, text in _inputs().items():
            (folder / name).write_text(text, "utf-8")
        account, note = _account(ctx, folder, privacy)
        made = [_publish(ctx, study, folder, privacy, account, step) for study in clinic.STUDIES]
    _summary(ctx, folder, made, account, note)


def _check_folder(folder: Path) -> None:
    """Make the folder; refuse one in which the files cannot be written, before anything is spent."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{folder}: cannot be made ({error.strerror}); choose another name"
        raise ParameterError(why, parameter="folder") from None
    made = [path for study in clinic.STUDIES for path in _files(study, folder)]
    for path in (*(folder / name for name in _inputs()), *made):
        check_writable(path, True, "folder")


def _files(study: clinic.Study, folder: Path) -> list[Path]:
    return [folder / f"{study.name}{end}" for end in (".sfumato", ".png", ".html")]


def _inputs() -> dict[str, str]:
    return {
        "cohort.csv": clinic.cohort_csv(),
        "columns.toml": clinic.BOX,
        "homes.toml": clinic.HOMES,
        "points.csv": clinic.POINTS,
        "new.csv": clinic.NEW,
    }


def _account(ctx: typer.Context, folder: Path, privacy: sf.Privacy) -> tuple[sf.Account, str | None]:
    """The account that pays, with room for all studies, and what had to be done for that."""
    given, limit = settings(ctx), sf.Privacy(epsilon=_EPSILON, delta=_DELTA)
    if given.account is not None:
        account = paying_account(ctx)
        assert account is not None
    else:
        account = sf.Ledger(given.ledger or folder / "budget.db").account(ACCOUNT, limit=limit)
    needed = len(clinic.STUDIES) * (privacy.epsilon or 0.0)
    if account.would_cost(sf.Privacy(epsilon=needed)).fits:
        return account, None
    from sfumato.accounting.sqlite import FileStore

    left = account.remaining()
    if given.ledger is None and needed <= _EPSILON:
        FileStore(account.path).erase()  # right for people who do not exist, and for nobody else
        return sf.Ledger(account.path).account(ACCOUNT, limit=limit), (
            f"The account {ACCOUNT!r} had {left.words()} left, too little for this run. Its people are simulated, so "
            "the demo has emptied its ledger and started again; a limit on real data is final."
        )
    raise BudgetExceededError(
        f"account {account.name!r} has {left.words()} left, the demo publishes {len(clinic.STUDIES)} functions at "
        f"epsilon {privacy.epsilon:g} each; choose a smaller --epsilon; nothing was released"
    )


def _publish(
    ctx: typer.Context, study: clinic.Study, folder: Path, privacy: sf.Privacy, account: sf.Account, step: Any
) -> Made:
    """Publish one study, then draw and describe the release."""
    from sfumato.boxfile import read_box
    from sfumato.drawing.files import draw

    step(f"publishing {study.name}")
    whole = read_box(folder / study.box)
    columns = dict(zip(whole.names, whole.columns, strict=True))
    box = sf.Box({name: columns[name] for name in study.columns})
    asked, made = (study.target, folder / "cohort.csv", box, privacy), Made(study, *_files(study, folder))
    delivery = Delivery.of(ctx, lambda: sf.release(*asked, ledger=account), made.release)
    release = delivery.release
    step(f"drawing {study.name}")
    with delivery.step("the picture", "plot"):
        draw(release, made.picture)
    step(f"describing {study.name}")
    with delivery.step("the report", "report"):
        release.report(made.report)
    delivery.finish()
    return made


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    """A bar on stderr that goes away when the work is done; nothing where there is no terminal."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    if quiet or not console.is_terminal:  # a bar that is merely disabled still prints an empty line in old versions
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    progress = Progress(*columns, console=console, transient=True)
    with late(progress):
        task = progress.add_task("", total=_STEPS)
        started = False

        def step(words: str) -> None:
            nonlocal started
            progress.update(task, description=words, advance=1 if started else 0)
            started = True

        yield step


def _summary(ctx: typer.Context, folder: Path, made: list[Made], account: sf.Account, note: str | None) -> None:
    import shlex

    balance = account.remaining()
    ledger = ledger_words(account.path) if "://" in account.path else _short(account.path)
    files = [(str(m.report), f"open this: {m.study.words}") for m in made]
    files += [(str(m.picture), "the same as a picture") for m in made]
    files += [(str(m.release), "the release itself, for anybody") for m in made]
    files += [(str(folder / "cohort.csv"), f"{clinic.PATIENTS:,} simulated patients: what would be private")]
    files += [(str(folder / "columns.toml"), "their public box"), (str(folder / "homes.toml"), "that of the map")]
    files += [(ledger, "the ledger: what was spent")]
    data = {
        "folder": str(folder),
        "files": [{"path": path, "what": what} for path, what in files],
        "account": balance.account,
        "ledger": ledger,
        "left": balance.words(),
        "note": note,
    }
    next_steps = [
        ("inspect", str(made[0].release)),
        ("evaluate", str(made[0].release), str(folder / "points.csv")),
        ("ledger", "show", ledger, "--account", balance.account),
    ]
    parts: list[Any] = [Text(printable(note), style="yellow"), ""] if note else []
    parts += [Text(f"Published {len(made)} functions of simulated patients.", style="bold"), ""]
    parts += [table(("file", "what it is"), files), ""]
    parts += [facts([("account", [str(balance)]), ("next", [shlex.join(("sfumato", *step)) for step in next_steps])])]
    show(ctx, data, *parts)


def _short(path: str) -> str:
    """A path relative to here where that is shorter."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path
