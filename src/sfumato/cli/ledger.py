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
from sfumato.cli.options import PersonColumn, examples, open_ledger, person_unit, settings
from sfumato.cli.output import facts, show, table

if TYPE_CHECKING:
    from sfumato.accounting.balance import Balance
    from sfumato.accounting.ledger import Entry
    from sfumato.faces.promise import Sampled

app = typer.Typer(no_args_is_help=True, help="Keep account of what each data set has spent.")

OneLedger = Annotated[
    Path | None, typer.Argument(metavar="[LEDGER]", help="The file; --ledger if left out.", show_default=False)
]


@app.command(
    epilog=examples(
        "sfumato ledger create budget.db clinic-2026 --epsilon 3 --delta 1e-6",
        "sfumato ledger create budget.db visits --rho 0.5 --person patient:5",
    )
)
def create(
    ctx: typer.Context,
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file, made if needed.", show_default=False)],
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
        typer.Option(metavar="basic|zcdp|gaussian|best", help="How spending is added up; best suits many releases."),
    ] = None,
) -> None:
    """Create an account with a limit that can never be raised."""
    limit = sf.Privacy(epsilon, delta, rho, neighbours, person_unit(person), gamma)
    book = sf.Ledger(ledger)
    new = name not in {account.name for account in book.accounts()}
    balance = book.account(name, limit=limit, accountant=accountant).remaining()
    done = "created" if new else "was there already, with this limit"
    words = f"account {name!r} in {ledger}: {done}"
    show(ctx, {"ledger": str(ledger), "created": new, **_balance_data(balance)}, words, _balances([balance]))


@app.command("show", epilog=examples("sfumato ledger show budget.db", "sfumato ledger show budget.db --account clinic"))
def show_ledger(ctx: typer.Context, ledger: OneLedger = None) -> None:
    """List the accounts of a ledger; with --account, the history of one."""
    path = ledger or settings(ctx).ledger
    book, name = open_ledger(path), settings(ctx).account
    if name is None:
        balances = _all_balances(book.accounts())
        parts = _balances(balances) if balances else "no accounts yet; make one with 'sfumato ledger create'"
        show(ctx, {"ledger": str(path), "accounts": [_balance_data(balance) for balance in balances]}, parts)
        return
    account = book.account(name)
    entries, balances = account.history(), _all_balances([account])
    proved, random = ([entry for entry in entries if entry.random == which] for which in (False, True))
    data = {
        "ledger": str(path),
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
    show(ctx, {"ledger": str(path), "accounts": [_balance_data(balance) for balance in balances]}, *lines)


@app.command(epilog=examples("sfumato ledger adopt restored.db"))
def adopt(
    ctx: typer.Context,
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="The copy.", show_default=False)],
) -> None:
    """Take a copy as a ledger of its own: one that was restored, or moved without its -count.

    What was charged after the copy was made is not in it. The ledger that it was copied from must not be used again.
    """
    balances = _all_balances(sf.Ledger.adopt(ledger).accounts())
    words = f"{ledger}: adopted; count as spent whatever was released after the copy was made"
    data = {"ledger": str(ledger), "accounts": [_balance_data(balance) for balance in balances]}
    show(ctx, data, words, *([_balances(balances)] if balances else []))


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
