"""Evidence: every fact of a ledger checked, written out as lines of JSON, and taken over by another ledger.

The lines keep the chain: the heads of an exported, an imported and the original ledger are the same, so that receipts
in releases fit all three. They hold facts and nothing else: sums are added up anew, and neither seals nor names of
ledgers stand there. So whoever changes anything has to change the chain's head, and then has no head that a receipt, a
counter or an earlier export knows. There is no secret in it: without such a witness a whole chain can be made up.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sfumato.accounting.balance import (
    AccountState,
    Sums,
    limit_from_json,
    replayed,
    sums_from_json,
    sums_to_json,
)
from sfumato.accounting.compose import Amount
from sfumato.accounting.events import event_from_json
from sfumato.accounting.schema import BOOK_SIZE, BOOKS, FACTS, VERSION, chain
from sfumato.accounting.seal import FACTS_OF, DamageError, append, heads, sealed, state, verify
from sfumato.accounting.store import Store
from sfumato.accounting.tight import TIGHT
from sfumato.accounting.upgrade import check_numbers
from sfumato.codec import write_plain
from sfumato.errors import LedgerError, MissingFileError, SfumatoError

_FORMAT = "sfumato-ledger"
_COLUMNS = {
    table.name: {name: str if isinstance(table.c[name].type, sa.Text) else int for name in FACTS_OF[table.name]}
    for table in FACTS
}
Fact = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Verified:
    """A ledger of which every fact was checked."""

    count: int
    head: str
    accounts: int
    entries: int
    published: int


def verified(store: Store, releases: Iterable[Any] = ()) -> Verified:
    """Check every seal and link of a ledger, sums against events, and releases against their entries."""
    with store.reading() as connection:
        links = verify(connection)
        facts = _facts(connection)
        now = state(connection)
    try:
        _check(facts)
        _check_sums(facts)
        for release, digest in releases:
            _check_release(facts, links, release, digest)
    except DamageError as error:
        raise LedgerError(f"{store.words} does not hold: {error}") from None
    sizes = {name: sum(table == name for table, _ in facts) for name in _COLUMNS}
    return Verified(now.count, now.head, sizes["accounts"], sizes["entries"], sizes["publications"])


def _facts(connection: sa.Connection) -> list[Fact]:
    """All facts, in the order of the chain."""
    found = [
        (table.name, dict(row)) for table in FACTS for row in connection.execute(sa.select(table)).mappings().all()
    ]
    return sorted(found, key=lambda fact: fact[1]["count"])


def _check(facts: list[Fact]) -> None:
    """Refuse entries that do not belong to accounts, and publications and acts of nothing."""
    of = {name: [row for table, row in facts if table == name] for name in _COLUMNS}
    keys = [[row["id"] for row in rows] for rows in of.values()] + [[row["name"] for row in of["accounts"]]]
    if any(len(set(some)) != len(some) for some in keys):
        raise DamageError("something is in it twice")
    try:
        check_numbers(of["accounts"], of["entries"])
        for row in of["accounts"]:
            _zero(row, of["acts"])
        for row in of["entries"]:
            event_from_json(row["event_json"])
    except SfumatoError as error:
        raise DamageError(str(error)) from None
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise DamageError("an entry or an account cannot be read") from None
    known = {row["id"]: row["count"] for row in of["entries"]}
    for row in of["publications"]:
        if known.get(row["id"], row["count"]) >= row["count"]:
            raise DamageError("something was published before it was charged")
    numbers = {row["id"] for row in of["accounts"]} | {0}
    if any(row["account"] not in numbers or row["id"] // BOOK_SIZE != row["account"] for row in of["acts"]):
        raise DamageError("there are acts on no account")


def _zero(account: dict[str, Any], its_acts: list[dict[str, Any]]) -> AccountState:
    """An account before anything was spent, under the limit that it was raised to last."""
    raised = [row for row in its_acts if row["account"] == account["id"] and row["kind"] == "limit"]
    newest = max(raised, key=lambda row: row["id"], default=None)
    text = account["limit_json"] if newest is None else json.loads(newest["body"])["limit"]
    return AccountState(account["name"], account["id"], limit_from_json(text), account["accountant"], {}, 0).zero()


def _sums(facts: list[Fact]) -> dict[int, Sums]:
    """What the book of each entry adds up to with it, worked out from the events of all entries."""
    its_acts = [row for table, row in facts if table == "acts"]
    rows: dict[int, list[dict[str, Any]]] = {}
    for table, row in facts:
        if table == "entries":
            rows.setdefault(row["id"] // BOOK_SIZE // len(BOOKS), []).append(row)
    found: dict[int, Sums] = {}
    for table, account in facts:
        if table == "accounts":
            mine = rows.get(account["id"], [])
            states = replayed(_zero(account, its_acts), mine)
            found.update((row["id"], state.sums) for row, state in zip(mine, states, strict=True))
    return found


def _check_sums(facts: list[Fact]) -> None:
    """Refuse sums that charges rest on, those of the newest entries, if they are not what events add up to."""
    again, newest = _sums(facts), {}
    for table, row in facts:
        if table == "entries":
            newest[row["id"] // BOOK_SIZE] = row
    for row in newest.values():
        for name, total in sums_from_json(row["sums_json"]).items():
            mine = again[row["id"]].get(name)
            if total is not None and (mine is None or not _same(name, mine, total)):
                number = row["id"] // BOOK_SIZE // len(BOOKS)
                account = next(r["name"] for kind, r in facts if kind == "accounts" and r["id"] == number)
                raise DamageError(
                    f"the sums of account {account!r} are not what its entries add up to; if an older sfumato has "
                    "written them, account.recount() adds them up anew"
                )


def _same(name: str, mine: Amount, total: Amount) -> bool:
    """Whether sums are equal; where logarithms are in them, another processor may have rounded up a little further."""
    room = 0 if name in ("basic", TIGHT) else 10**8
    return all(a <= b <= a + (a // room if room else 0) for a, b in zip(mine, total, strict=True))


def _check_release(facts: list[Fact], links: list[str], release: Any, digest: str) -> None:
    """Refuse a release whose entry is not here, or under which another release was published."""
    receipt = release.receipt
    if receipt is None or not receipt.hash:
        raise DamageError("the release has no receipt with a hash: charged to no account, or by an older sfumato")
    if receipt.hash not in links[1:]:
        raise DamageError(
            f"entry {receipt.entry} of account {receipt.account!r}, which the release was charged to, is not in it: it "
            "is another ledger, or has lost or changed what was charged by then"
        )
    table, entry = facts[links.index(receipt.hash) - 1]
    owner = next((r["id"] for name, r in facts if name == "accounts" and r["name"] == receipt.account), None)
    if table != "entries" or entry["id"] % BOOK_SIZE != receipt.entry or entry["id"] // BOOK_SIZE // 2 != owner:
        raise DamageError(f"the receipt of the release speaks of another entry than {receipt.entry}")
    recorded = next((r["release"] for name, r in facts if name == "publications" and r["id"] == entry["id"]), "")
    if recorded != digest:
        what = "another release was published" if recorded else "no release is recorded"
        raise DamageError(f"{what} under entry {receipt.entry} of account {receipt.account!r}")


# --- lines of JSON ----------------------------------------------------------------------------------------


def exported(store: Store) -> bytes:
    """All facts of a ledger as lines of JSON, after one with the chain's head; the last one hashes all others."""
    with store.reading() as connection:
        verify(connection)
        now, facts = state(connection), _facts(connection)
    lines = [_line({_FORMAT: VERSION, "count": now.count, "head": now.head})]
    lines += [_line({"table": table, **{name: row[name] for name in _COLUMNS[table]}}) for table, row in facts]
    body = b"".join(lines)
    return body + _line({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()})


def write_export(store: Store, path: str | os.PathLike[str]) -> None:
    """Write the lines to a file of its owner's."""
    write_plain(path, exported(store), private=True)


def read_export(payload: bytes) -> tuple[str, list[Fact]]:
    """The head and the facts in the lines of an export; refuses whatever was not written, byte by byte."""
    lines = payload.splitlines(keepends=True)
    if len(lines) < 2:
        raise DamageError("it has no lines of a ledger")
    first, *middle, last = (_parsed(line) for line in lines)
    if set(first) != {_FORMAT, "count", "head"} or first[_FORMAT] != VERSION:
        raise DamageError(f"its first line is not that of a ledger of version {VERSION}")
    body = payload[: len(payload) - len(lines[-1])]
    if last != {"lines": len(lines) - 1, "sha256": hashlib.sha256(body).hexdigest()}:
        raise DamageError("its lines are not those that were written")
    facts = [_fact(line, number) for number, line in enumerate(middle, 1)]
    head = heads(sealed(table, row)[0] for table, row in facts)[-1]
    if type(first["count"]) is not int or (first["count"], first["head"]) != (len(facts), head):
        raise DamageError("its facts are not those that its head stands for")
    _check(facts)
    return head, facts


def imported(path: str | os.PathLike[str], store: Store) -> None:
    """Take the facts of an export over into a ledger that has none."""
    try:
        payload = Path(path).read_bytes()
    except OSError as error:
        raise MissingFileError(f"{os.fspath(path)} cannot be read ({error.strerror})") from None
    try:
        expected, facts = read_export(payload)
        sums = _sums(facts)
    except DamageError as error:
        raise LedgerError(f"{os.fspath(path)} is not an export of a ledger as it was written: {error}") from None
    with store.writing() as connection:
        if connection.execute(sa.select(chain.c.count)).scalar_one():
            raise LedgerError(f"{store.words} is not empty; import into a new ledger")
        for table, row in facts:
            cached = {"sums_json": sums_to_json(sums[row["id"]]), "status": "reserved"} if table == "entries" else {}
            head = append(connection, table, {key: row[key] for key in row if key != "count"} | cached)
        if facts and head != expected:
            raise DamageError("what was imported is not what was exported")


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """What a line says, if it says it in the one way in which it is written."""
    try:
        data = json.loads(line)
        same = isinstance(data, dict) and _line(data) == line
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise DamageError("a line is not as it was written")
    return dict(data)


def _fact(data: dict[str, Any], number: int) -> Fact:
    table = data.pop("table", None)
    columns = _COLUMNS.get(table) if isinstance(table, str) else None
    if columns is None or {key: type(value) for key, value in data.items()} != columns or data["count"] != number:
        raise DamageError(f"line {number + 1} is no fact, or not in its place")
    assert isinstance(table, str)
    return table, data
