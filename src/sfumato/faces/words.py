"""Words and numbers for reading: rounded, printable, and never to the flattering side."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

MISSING = {
    "drop": "records with a missing value count for nothing",
    "none": "stated publicly that nothing is missing",
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER, _LOWERED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"), str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "\N{MINUS SIGN}0123456789")


def plain(name: str, longest: int = 60) -> str:
    r"""A name as one printable line: no control characters, no tricks with the direction of text.

    >>> plain("age\nof\tpatient")
    'age of patient'
    """
    kept = "".join(c if c.isprintable() or c in "\u200c\u200d" else " " if c.isspace() else "\ufffd" for c in name)
    return kept if len(kept) <= longest else kept[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def distinct(names: Sequence[str], longest: int) -> list[str]:
    """Names in at most so many characters that stay different: what would come out alike is cut in its middle.

    >>> distinct(["Married, spouse here", "Married, spouse away", "Single"], 12)
    ['Marri…e here', 'Marri…e away', 'Single']
    """
    short = [plain(name, longest) for name in names]
    head = (longest - 1) // 2
    whole = [plain(name, len(name)) for name in names]
    cut = [f"{name[:head]}…{name[head + 1 - longest :]}" for name in whole]
    return [cut[i] if short.count(name) > 1 else name for i, name in enumerate(short)]


def exact(number: float | str | None) -> str:
    """Every digit that matters: a rounded epsilon would promise too much. A date, which is text, as it is."""
    if isinstance(number, str):
        return number
    return repr(number).removesuffix(".0")


def number(value: float, digits: int = 3) -> str:
    r"""A rounded number for reading.

    >>> number(0.0000195), number(-12.3456), number(2000000.0)
    ('1.95\xa0×\xa010⁻⁵', '−12.3', '2\xa0×\xa010⁶')
    """
    text, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or -4 < int(exponent) < 6:
        text = f"{float(f'{value:.{digits}g}'):,.10g}"
    else:
        text = f"{float(text):.10g}\N{NO-BREAK SPACE}{power(int(exponent))}"
    return text.replace("-", "\N{MINUS SIGN}")


def with_minus(text: str) -> str:
    """Digits with minus signs for hyphens; those between the digits of a date stay.

    >>> with_minus("-1e-05"), with_minus("2024-03-01")
    ('−1e−05', '2024-03-01')
    """
    return re.sub(r"(?<![0-9])-", "\N{MINUS SIGN}", text)


def power(exponent: int) -> str:
    """A power of ten as a factor."""
    return f"\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10{str(exponent).translate(_RAISED)}"


def wrap(words: str, width: int) -> str:
    """Words in lines of at most this many characters."""
    return "\n".join(textwrap.wrap(words, width))


def brief(text: str) -> str:
    """Code for reading: long decimals are cut.

    >>> brief("SplitLattice(points=(21,), width=(1.9211169303659432,))")
    'SplitLattice(points=(21,), width=(1.921,))'
    """
    return re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):.4g}", text)


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> listed(["age", "bmi", "hour"])
    'age, bmi and hour'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def number_words(value: float | str) -> str:
    """A rounded number for reading; a date, which is text, as it is."""
    return value if isinstance(value, str) else f"{value:.4g}"


class Raised(str):
    """A number for reading; on a page its power of ten is raised by markup, as few fonts draw raised digits well."""

    __slots__ = ()

    def __html__(self) -> str:
        return _POWER.sub(lambda found: f"<sup>{found[0].translate(_LOWERED)}</sup>", str(self))


def readable(value: float | str, digits: int = 3) -> Raised:
    r"""A number for reading, on paper or on a page; a date, which is text, as it is.

    >>> readable(1.5e-9).__html__()
    '1.5\xa0×\xa010<sup>−9</sup>'
    """
    return Raised(value if isinstance(value, str) else number(value, digits))


def above(value: float, digits: int = 4) -> Raised:
    """A number rounded up: what is quoted must not promise more than what holds.

    >>> above(2.718281828), above(0.70000001)
    ('2.719', '0.7001')
    """
    return readable(float(rounded_up(value, digits)), digits)


def rounded_up(value: float, digits: int = 4) -> Decimal:
    """The next larger number of so many digits."""
    return Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))


def rounded(value: float | str, error: float) -> str:
    """A number with as many digits as its error leaves any meaning to; a date, which is text, as it is.

    >>> rounded(46.26194, 1.08), rounded(1234.5, 300.0), rounded(0.5, 0.0)
    ('46.26', '1234', '0.5')
    """
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "unknown"
    if not (1e-9 < error < math.inf and abs(value) < 1e9):
        return f"{value:.6g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(error)))}f}"
