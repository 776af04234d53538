"""Commands on the ledger: create an account, show what was spent, say what is left."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.checks import as_written
from sfumato.cli.options import PersonColumn, examples, ledger_words, open_ledger, person_unit, settings
from sfumato.cli.output import facts, show, table
from sfumato.cli.reader import load

if TYPE_CHECKING:
    from sfumato.accounting.balance import Balance
    from sfumato.accounting.ledger import Entry
    from sfumato.faces.promise import Sampled

app = typer.Typer(no_args_is_help=True, help="Keep account of what each data set has spent.")

OneLedger = Annotated[
    str | None,
    typer.Argument(metavar="[LEDGER]", help="The file or address; --ledger if left out.", show_default=False),
]
OutFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the lines go.")]


@app.command(
    epilog=examples(
        "sfumato ledger create budget.db clinic-2026 --epsilon 3 --delta 1e-6",
        "sfumato ledger create budget.db visits --rho 0.5 --person patient:5",
    )
)
def create(
    ctx: typer.Context,
    ledger: Annotated[
        str, typer.Argument(metavar="LEDGER", help="The file or address, made if needed.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the account: one a data set.", show_default=False)],
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="May be spent in total.")] = None,
    delta: Annotated[float, typer.Option(metavar="D", help="May be spent along with epsilon.")] = 0.0,
    rho: Annotated[float | None, typer.Option(metavar="R", help="Instead of epsilon: for zCDP.")] = None,
    neighbours: Annotated[
        str, typer.Option(metavar="replace|add-remove", help="What may happen to one unit of the data.")
    ] = "replace",
    person: PersonColumn = None,
    gamma: Annotated[
        float | None,
        typer.Option(metavar="G", help="What gammas of sampled sensitivities may add up to; 0 takes none of them."),
    ] = None,
    accountant: Annotated[
        str | None,
        typer.Option(
            metavar="basic|zcdp|gaussian|best|tight", help="How spending is added up; best suits many releases."
        ),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(
            metavar="E[:D][xN]", help="For tight and best: N releases of epsilon E, x* for all that fit; repeatable."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Bind the account to this file; no other gets the same.")
    ] = None,
) -> None:
    """Create an account with a limit; 'ledger raise' raises it, and is recorded."""
    limit = sf.Privacy(epsilon, delta, rho, neighbours, person_unit(person), gamma)
    book = sf.Ledger(ledger)
    new = name not in {account.name for account in book.accounts()}
    planned = None if plan is None else [_planned(text, limit) for text in plan]
    balance = book.account(name, limit=limit, accountant=accountant, plan=planned, data=data).remaining()
    done = "created" if new else "was there already, with this limit"
    words = f"account {name!r} in {ledger_words(ledger)}: {done}"
    show(ctx, {"ledger": ledger_words(ledger), "created": new, **_balance_data(balance)}, words, _balances([balance]))


@app.command("show", epilog=examples("sfumato ledger show budget.db", "sfumato ledger show budget.db --account clinic"))
def show_ledger(ctx: typer.Context, ledger: OneLedger = None) -> None:
    """List the accounts of a ledger; with --account, the history of one."""
    path = ledger or settings(ctx).ledger
    book, name = open_ledger(path), settings(ctx).account
    if name is None:
        balances = _all_balances(book.accounts())
        parts = _balances(balances) if balances else "no accounts yet; make one with 'sfumato ledger create'"
        show(
            ctx,
            {"ledger": ledger_words(path or ""), "accounts": [_balance_data(balance) for balance in balances]},
            parts,
        )
        return
    account = book.account(name)
    entries, balances = account.history(), _all_balances([account])
    proved, random = ([entry for entry in entries if entry.random == which] for which in (False, True))
    data = {
        "ledger": ledger_words(path or ""),
        "accounts": [_balance_data(balance) for balance in balances],
        "history": [_entry_data(entry) for entry in entries],
    }
    parts = ["", _history(proved)] if proved else [] if random else ["", "nothing was spent yet"]
    show(ctx, data, _balances(balances), *parts, *(_random_history(random) if random else []))


@app.command(epilog=examples("sfumato ledger remaining budget.db --account clinic"))
def remaining(ctx: typer.Context, ledger: OneLedger = None) -> None:
    """Say what an account, or every account, has left."""
    path = ledger or settings(ctx).ledger
    book, name = open_ledger(path), settings(ctx).account
    balances = _all_balances(book.accounts() if name is None else [book.account(name)])
    lines = [str(balance) for balance in balances] or ["no accounts yet"]
    show(
        ctx, {"ledger": ledger_words(path or ""), "accounts": [_balance_data(balance) for balance in balances]}, *lines
    )


@app.command(epilog=examples("sfumato ledger adopt restored.db"))
def adopt(
    ctx: typer.Context,
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="The copy.", show_default=False)],
) -> None:
    """Take a copy as a ledger of its own: one that was restored, or moved without its -count.

    What was charged after the copy was made is not in it. The ledger that it was copied from must not be used again.
    """
    balances = _all_balances(sf.Ledger.adopt(ledger).accounts())
    words = f"{ledger_words(ledger)}: adopted; count as spent whatever was released after the copy was made"
    data = {"ledger": ledger_words(ledger), "accounts": [_balance_data(balance) for balance in balances]}
    show(ctx, data, words, *([_balances(balances)] if balances else []))


@app.command(
    "raise", epilog=examples("sfumato ledger raise budget.db --account clinic --epsilon 4 --why 'agreed by the board'")
)
def raise_limit(
    ctx: typer.Context,
    why: Annotated[str, typer.Option(metavar="TEXT", help="The reason, which is kept for ever.", show_default=False)],
    ledger: OneLedger = None,
    epsilon: Annotated[float | None, typer.Option(metavar="E", help="May be spent in total from now on.")] = None,
    delta: Annotated[float | None, typer.Option(metavar="D", help="Likewise; as before if left out.")] = None,
    rho: Annotated[float | None, typer.Option(metavar="R", help="Instead of epsilon: for zCDP.")] = None,
) -> None:
    """Raise the limit of --account: an act that is recorded for ever, with its reason."""
    path, name = ledger or settings(ctx).ledger, settings(ctx).account
    if name is None:
        raise sf.errors.ParameterError("which account? give --account NAME")
    account = open_ledger(path).account(name)
    given = {"epsilon": epsilon, "delta": delta, "rho": rho}
    changed = {key: value for key, value in given.items() if value is not None}
    account.raise_limit(sf.Privacy(**{**vars(account.limit), **changed}), why)
    balance = account.remaining()
    data = {"ledger": ledger_words(path or ""), **_balance_data(balance)}
    show(ctx, data, f"account {name!r}: limit raised, and the reason recorded", _balances([balance]))


@app.command(
    epilog=examples(
        "sfumato ledger verify budget.db",
        "sfumato ledger verify budget.db --release ages.sfumato --release map.sfumato",
    )
)
def verify(
    ctx: typer.Context,
    ledger: OneLedger = None,
    release: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A release that must be in it; repeatable.")
    ] = None,
) -> None:
    """Check every fact of a ledger: seals, chain, sums; with --release, that its entry is there and is its own."""
    path, files = ledger or settings(ctx).ledger, release or []
    found = open_ledger(path).verify([load(ctx, file) for file in files])
    words = f"{ledger_words(path or '')}: every seal and link holds, and no sum is below its events'"
    rows = [
        ("facts", [f"{found.count}: {found.accounts} accounts, {found.entries} entries, {found.published} published"]),
        ("head", [found.head]),
        *([("releases", [f"{len(files)}, each the one that was published under its entry"])] if files else []),
    ]
    show(ctx, {"ledger": ledger_words(path or ""), **vars(found), "releases": len(files)}, words, facts(rows))


@app.command(epilog=examples("sfumato ledger export budget.db -o budget.jsonl"))
def export(ctx: typer.Context, output: OutFile, ledger: OneLedger = None) -> None:
    """Write all facts of a ledger as lines of JSON that keep the chain."""
    path = ledger or settings(ctx).ledger
    open_ledger(path).export(output)
    show(ctx, {"ledger": ledger_words(path or ""), "output": str(output)}, f"{output}: all facts of the ledger")


@app.command("import", epilog=examples("sfumato ledger import budget.jsonl postgresql+psycopg://curator@host/ledger"))
def import_lines(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was exported.", show_default=False)],
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="A new file or address.", show_default=False)],
) -> None:
    """Make a ledger of what another has exported; the other must not be used again."""
    balances = _all_balances(sf.Ledger.from_export(file, ledger).accounts())
    words = f"{ledger_words(ledger)}: imported; do not use the ledger that it comes from any more"
    data = {"ledger": ledger_words(ledger), "accounts": [_balance_data(balance) for balance in balances]}
    show(ctx, data, words, *([_balances(balances)] if balances else []))


def _planned(text: str, limit: sf.Privacy) -> tuple[sf.Privacy, int | None]:
    """A part of a plan: ``0.1x64``, ``0.5:1e-8x10``, ``0.1x*``."""
    grant, _, count = text.partition("x")
    epsilon, _, delta = grant.partition(":")
    try:
        made = sf.Privacy(float(epsilon), float(delta or 0.0), None, limit.neighbours, limit.unit)
        return made, None if count == "*" else int(count or 1)
    except ValueError:
        raise sf.errors.ParameterError(f"--plan must be like 0.1x64, 0.5:1e-8x10 or 0.1x*, got {text!r}") from None


def _all_balances(accounts: list[sf.Account]) -> list[Balance]:
    """What each account has left; its book of random differential privacy only where something is in it."""
    found = []
    for account in accounts:
        found.append(account.remaining())
        random = account.remaining(random=True)
        if random.entries > found[-1].entries:
            found.append(replace(random, account=f"{account.name} (with random)"))
    return found


def _balances(balances: list[Balance]) -> Any:
    from sfumato.accounting.balance import limit_words

    rows = [(b.account, b.words(), b.spent, limit_words(b.limit), b.accountant, b.entries) for b in balances]
    return table(("account", "left", "spent", "limit", "accountant", "entries"), rows, ("entries",))


def _history(entries: list[Entry]) -> Any:
    from sfumato.accounting.balance import event_words

    head = ["entry", "when (UTC)", "status", "mechanism", "promised", "what"]
    rows: list[list[object]] = []
    for entry in entries:
        event = entry.event
        rows.append([entry.number, _when(entry), entry.status, event.mechanism, event_words(event), event.what])
    return table(head, rows, ("entry",))


def _random_history(entries: list[Entry]) -> list[Any]:
    """Entries under random differential privacy by themselves: what they promise is not the same."""
    from sfumato.accounting.balance import event_words

    gammas = sum((1 - as_written(entry.event.confidence) for entry in entries), Fraction(0))
    rows = []
    for entry in entries:
        event, told = entry.event, _sampled(entry)
        lines = [
            f"{_when(entry)}, {entry.status}: {event.what}",
            f"{event_words(event)} (random) by {event.mechanism}, gamma {told.gamma}",
            f"rule {told.how}",
            f"oracle: {told.oracle or 'not told'}",
        ]
        rows.append((f"entry {entry.number}", lines))
    title = "Random differential privacy, not differential privacy: a book of its own"
    spent = f"  their gammas add up to {float(gammas):.6g}"
    return ["", Text(title, style="bold yellow"), facts(rows), spent]


def _when(entry: Entry) -> str:
    return entry.created.replace("T", " ").removesuffix("+00:00")


def _sampled(entry: Entry) -> Sampled:
    """How the sensitivity behind an entry was sampled, from the noise law that it keeps."""
    from sfumato.faces.promise import sampled

    certificate = json.loads(entry.event.details).get("certificate", {})
    found = sampled(entry.event.confidence, certificate.get("assumptions", ()))
    assert found is not None  # such a book takes no other entries
    return found


def _balance_data(balance: Balance) -> dict[str, Any]:
    from sfumato.codec import encode_unit

    limit = balance.limit
    return {
        "account": balance.account,
        "left": {"words": balance.words(), "epsilon": balance.epsilon, "delta": balance.delta, "rho": balance.rho},
        "spent": balance.spent,
        "limit": {**vars(limit), "unit": encode_unit(limit.unit)},
        "accountant": balance.accountant,
        "entries": balance.entries,
    }


def _told(entry: Entry) -> Sampled | None:
    return _sampled(entry) if entry.random else None


def _entry_data(entry: Entry) -> dict[str, Any]:
    from sfumato.codec import encode_unit

    event = entry.event
    return {
        "entry": entry.number,
        "created": entry.created,
        "status": entry.status,
        "random": entry.random,
        "sampled": {**vars(told), "gamma": float(told.gamma)} if (told := _told(entry)) else None,
        "mechanism": event.mechanism,
        "epsilon": event.epsilon,
        "delta": event.delta,
        "rho": event.rho,
        "mu": event.mu,
        "neighbours": event.neighbours,
        "unit": encode_unit(event.unit),
        "what": event.what,
    }
