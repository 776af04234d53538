"""Edits of an exported ledger: of bytes, of lines, of what lines say, with more and more of the hashes made to fit.

Some of them rewrite everything, down to the head of the chain. No export shows that by itself, as there is no secret in
it; such edits are told apart, and found only by whoever has kept a head: a release, a counter, an earlier export.
"""

from __future__ import annotations

import hashlib
import json
import random

from sfumato.accounting.evidence import read_export
from sfumato.accounting.seal import DamageError, heads, sealed


def line(data) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def edited(payload: bytes, rng: random.Random) -> bytes:
    """An edit of an export, never the export itself."""
    kind = rng.choice((_bytes, _lines, _said))
    while (found := kind(payload, rng)) == payload:
        pass
    return found


def _bytes(payload: bytes, rng: random.Random) -> bytes:
    text = bytearray(payload)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(text))
        how = rng.randrange(3)
        if how == 0:
            text[place] ^= 1 << rng.randrange(8)
        elif how == 1:
            del text[place : place + rng.choice((1, 1, 3, 40))]
        else:
            text[place:place] = rng.randbytes(rng.choice((1, 2))) if rng.random() < 0.5 else b"\n"
        if not text:
            return b""
    return bytes(text)


def _lines(payload: bytes, rng: random.Random) -> bytes:
    """Lines lost, doubled, exchanged or cut off; then, perhaps, the last line and the count made to fit."""
    lines = payload.splitlines(keepends=True)
    a, b = rng.randrange(1, len(lines) - 1), rng.randrange(1, len(lines) - 1)
    how = rng.randrange(4)
    if how == 0:
        del lines[a]
    elif how == 1:
        lines.insert(b, lines[a])
    elif how == 2:
        lines[a], lines[b] = lines[b], lines[a]
    else:
        del lines[a:-1]
    return _fitted(lines, rng.randrange(4))


def _said(payload: bytes, rng: random.Random) -> bytes:
    """Another word, number or text in a line, canonical again; then, perhaps, hashes made to fit."""
    lines = payload.splitlines(keepends=True)
    place = rng.randrange(len(lines) - 1)
    data = json.loads(lines[place])
    key = rng.choice(sorted(data))
    old = data[key]
    if isinstance(old, int):
        data[key] = old + rng.choice((-1, 1, 7, 2**40))
    else:
        digits = [k for k, letter in enumerate(old) if letter.isdigit()] or [0]
        k = rng.choice(digits)
        data[key] = old[:k] + rng.choice("0123456789") + old[k + 1 :]
    lines[place] = line(data)
    return _fitted(lines, rng.randrange(4))


def _fitted(lines: list[bytes], far: int) -> bytes:
    """Make more and more fit: 1 the hash of all lines, 2 also numbers, 3 also the chain and its head."""
    first, facts = json.loads(lines[0]), lines[1:-1]
    if far >= 2:
        rows = [json.loads(one) for one in facts]
        for number, row in enumerate(rows, 1):
            if row.get("table") in ("accounts", "entries", "publications", "acts"):
                row["count"] = number
        first["count"] = len(rows)
        if far >= 3:
            first["head"] = heads(sealed(row["table"], row)[0] for row in rows if row.get("table") in _TABLES)[-1]
        facts = [line(row) for row in rows]
    body = b"".join([line(first), *facts])
    last = line({"lines": 1 + len(facts), "sha256": hashlib.sha256(body).hexdigest()}) if far else lines[-1]
    return body + last


_TABLES = ("accounts", "entries", "publications", "acts")


def found_by(edit: bytes, witness: str) -> str | None:
    """What finds an edit: the lines themselves, or a head that somebody else has kept; None if nothing does."""
    try:
        _, facts = read_export(edit)
    except DamageError:
        return "lines"
    return None if witness in heads(sealed(table, row)[0] for table, row in facts) else "witness"
