"""The words of a question, and how to complain about one: with a caret under it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.checks import did_you_mean, shown
from sfumato.errors import ParameterError, ParameterTypeError

LONGEST = 2_000  # characters of a question
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SIGNS = ("**", "==", "!=", "+", "-", "*", "/", "(", ")", ",")
_AROUND = 48  # characters that a complaint shows on either side

_SHARP = "this edge is sharp, and answers need smooth ones: use between(x, low, high) or sigmoid((x - edge) / s)"
_HINTS = {
    "<": _SHARP,
    ">": _SHARP,
    "^": "a power is written x**2",
    "=": 'a comparison is written sex == "f"',
    "&": "conditions are joined with 'and'",
    "|": "there is no 'or': the share of either is share(a) + share(b) - share(a and b), three questions",
    "!": 'a comparison is written sex != "f"',
    "%": "there is no remainder in this grammar",
    ".": "there are no attributes in this grammar; a column whose name has a dot goes in backquotes, such as `a.b`",
    "[": "brackets are round in this grammar",
    "]": "brackets are round in this grammar",
}


@dataclass(frozen=True)
class Token:
    """A word of a question: a number, a name, a column in backquotes, a text in quotes, a sign, or the end."""

    kind: str
    text: str  # of a column or a text, without its quotes
    start: int
    end: int

    def words(self) -> str:
        """The word, for a complaint."""
        return "the end" if self.kind == "end" else repr(self.text)


def tokens(text: str) -> list[Token]:
    """Take a question apart, from left to right."""
    if not isinstance(text, str):
        raise ParameterTypeError(f"a question must be text, such as 'mean(age)', got {shown(text)}")
    if len(text) > LONGEST:
        raise ParameterError(f"a question must have at most {LONGEST:,} characters, got {len(text):,}")
    found, place = [], 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found.append(_token(text, place))
        place = found[-1].end
    return [*found, Token("end", "", len(text), len(text))]


def _token(text: str, start: int) -> Token:
    first = text[start]
    if first in "\"'`":
        end = text.find(first, start + 1)
        if end < 0:
            what = "the name of a column" if first == "`" else "a text"
            raise complaint(text, start, start + 1, f"{what} begins here and does not end: {first} is missing")
        return Token("column" if first == "`" else "text", text[start + 1 : end], start, end + 1)
    number = _NUMBER.match(text, start)
    if number:
        return _number(text, start, number.end())
    if first.isidentifier():
        end = start + 1
        while end < len(text) and ("x" + text[end]).isidentifier():
            end += 1
        return Token("name", text[start:end], start, end)
    for sign in _SIGNS:
        if text.startswith(sign, start):
            return Token("sign", sign, start, start + len(sign))
    hint = _HINTS.get(first)
    raise complaint(text, start, start + 1, f"unexpected {character(first)}" + ("" if hint is None else f": {hint}"))


def _number(text: str, start: int, end: int) -> Token:
    rest = text[end : end + 1]
    if rest == "." or rest.isidentifier():
        hint = "a number has one decimal point" if rest == "." else f"write {text[start:end]} * {rest}..."
        raise complaint(text, end, end + 1, f"unexpected {character(rest)} right after a number: {hint}")
    if not math.isfinite(float(text[start:end])):
        raise complaint(text, start, end, "this number is too large: the largest are near 1.8e308")
    return Token("number", text[start:end], start, end)


def character(char: str) -> str:
    """A character in words; those that cannot be seen, or look like another, with their number."""
    if char.isascii() and char.isprintable():
        return repr(char)
    seen = f"{char!r} " if char.isprintable() else ""
    return f"character {seen}(U+{ord(char):04X})"


def complaint(text: str, start: int, end: int, reason: str) -> ParameterError:
    """An error of three lines: what is wrong, the question, and a caret under the place."""
    end = min(max(end, start + 1), start + _AROUND)
    left, right = max(0, start - _AROUND), min(len(text), end + _AROUND)
    shown = "".join(_visible(c) for c in text[left:right])
    before, after = "..." * (left > 0), "..." * (right < len(text))
    gap = " " * (len(before) + _width(text[left:start]))
    carets = "^" * max(1, _width(text[start:end]))
    return ParameterError(f"character {start + 1}: {reason}\n  {before}{shown}{after}\n  {gap}{carets}")


def _visible(char: str) -> str:
    return char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion for a word that is not known; nothing if no known word is near."""
    near, other = did_you_mean(name, known), [c for c in name if not c.isascii()]
    return f"{near} {character(other[0])} is another letter" if near.isascii() and near and other else near
