"""Numbers on a page: rounded for reading, and never to the flattering side."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from sfumato.extras import need
from sfumato.plotting import number

_RAISED, _LOWERED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"), str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "\N{MINUS SIGN}0123456789")


def above(value: float, digits: int = 4) -> Any:
    """A number rounded up: what is quoted must not promise more than what holds.

    >>> above(2.718281828), above(0.70000001)
    (Markup('2.719'), Markup('0.7001'))
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return readable(float(rounded), digits)


def readable(value: float, digits: int = 3) -> Any:
    r"""A number for reading, its power of ten raised by the page rather than by characters that few fonts draw well.

    >>> readable(1.5e-9)
    Markup('1.5\xa0×\xa010<sup>−9</sup>')
    """
    mark = need("markupsafe", "plot").Markup
    return mark(_RAISED.sub(lambda found: f"<sup>{found[0].translate(_LOWERED)}</sup>", number(value, digits)))
