"""Text that came from somebody else's file, made harmless where it is shown: on a terminal, in a spreadsheet."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def printable(text: object) -> str:
    r"""Text as one line without control characters: names in a file must not be able to steer a terminal.

    >>> printable("age\x1b[2J\nreceipt")
    'age\ufffd[2J receipt'
    """
    kept = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    return "".join(kept)


def cell(value: Any) -> Any:
    """What a CSV file may hold: text that a spreadsheet would run gets an apostrophe, numbers stay numbers.

    >>> cell("=1+1"), cell("-3.5"), cell(-3.5), cell("no")
    ("'=1+1", '-3.5', -3.5, 'no')
    """
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if value.startswith(_FORMULA) and not _is_number(value) else shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
