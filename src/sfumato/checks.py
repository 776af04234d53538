"""Checks of public parameters: each says the name, the value got and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from numbers import Integral, Number, Real

from sfumato.errors import ParameterError, ParameterTypeError


def finite_number(name: str, value: object) -> float:
    """Return ``value`` as a float, refusing what is not one finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterTypeError.of(name, f"must be a number, got {name}={shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError.of(name, f"must be finite, got {name}=a number beyond 64-bit floats") from None
    if not math.isfinite(number):
        raise ParameterError.of(name, f"must be finite, got {name}={shown(value)}")
    if number != value:  # rounding a privacy parameter could be unsafe in either direction
        raise ParameterError.of(name, f"must be exactly a 64-bit float, got {name}={shown(value)}; round it yourself")
    return number


def as_written(number: float) -> Fraction:
    """The decimal number that a double prints as: 0.1 means one tenth, so that ten of them make one."""
    return Fraction(repr(float(number)))


def share_of(amount: float, share: Fraction) -> float:
    """A share of an amount as a number that, read as written, is not larger: parts never exceed the whole."""
    exact = as_written(amount) * share
    value = float(exact)
    while as_written(value) > exact:
        value = math.nextafter(value, 0.0)
    return value


def positive_number(name: str, value: object) -> float:
    """Return ``value`` as a float, refusing what is not positive and finite."""
    number = finite_number(name, value)
    if number <= 0:
        raise ParameterError.of(name, f"must be positive, got {name}={shown(value)}")
    return number


def positive_integer(name: str, value: object) -> int:
    """Return ``value`` as an int, refusing what is not a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterTypeError.of(name, f"must be a whole number, got {name}={shown(value)}")
    if value < 1:
        raise ParameterError.of(name, f"must be at least 1, got {name}={shown(value)}")
    return int(value)


def shown(value: object) -> str:
    """A value as an error shows it: data in the wrong place are private, and only their type is named."""
    plain = value is None or isinstance(value, Number | date) or (isinstance(value, str) and len(value) < 100)
    plain = plain or type(value).__module__.startswith("sfumato.")  # a public object of ours
    return repr(value) if plain else type(value).__name__


def true_or_false(name: str, value: object) -> bool:
    """Return ``value``, refusing what is not True or False."""
    if not isinstance(value, bool):
        raise ParameterTypeError.of(name, f"must be True or False, got {name}={shown(value)}")
    return value


def whole_number(name: str, value: object, low: int, high: int) -> int:
    """Return ``value``, refusing what is not an int within these limits: for numbers that a file brings along."""
    if type(value) is not int or not low <= value <= high:
        raise ParameterError.of(name, f"must be a whole number from {low} to {high}, got {name}={shown(value)}")
    return value


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """The end of a refusal: which known name is near the one that was given; nothing where none is.

    Near misses are looked for among public names only: of columns, declared categories, options, accounts.

    >>> did_you_mean("Agee", ["age", "bmi"]), did_you_mean("height", ["age", "bmi"])
    ("; did you mean 'age'?", '')
    """
    near = _nearest(name, known)
    return "" if near is None else f"; did you mean {near!r}?"


def near_miss(name: object, there: Iterable[object]) -> str:
    """The end of a refusal of a table that lacks a column: which of its own is near, whichever is misspelt.

    >>> near_miss("age", ["agee", "bmi"]), near_miss("height", ["agee", "bmi"])
    ("; 'agee' is near: is one of the two misspelt?", '')
    """
    near = _nearest(name, there)
    return "" if near is None else f"; {near!r} is near: is one of the two misspelt?"


def _nearest(name: object, known: Iterable[object]) -> str | None:
    import unicodedata
    from difflib import get_close_matches  # only for those who are refused

    folded = {str(word).casefold(): str(word) for word in known}
    found = get_close_matches(unicodedata.normalize("NFKC", str(name)).casefold(), folded, 1)
    return folded[found[0]] if found else None


def category_list(categories: object) -> tuple[str, ...] | tuple[int | float, ...]:
    """Return categories as a tuple, refusing what is not two or more different texts, or numbers."""
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise ParameterTypeError(f"categories must be a list, got categories={shown(categories)}")
    found = tuple(categories)
    text = [isinstance(c, str) for c in found]
    if not all(text) and (any(text) or not all(_is_number(c) for c in found)):
        raise ParameterTypeError(
            f"categories must be all text or all numbers below 1e99, got categories={shown(found)}"
        )
    if len(found) < 2 or len(set(found)) < len(found):
        raise ParameterError(f"categories must be two or more different values, got {found!r}")
    if any(letter == "\0" or "\ud800" <= letter <= "\udfff" for c in found for letter in str(c)):
        raise ParameterError(
            f"categories must be text that can be stored, without NUL or lone surrogates, got {found!r}"
        )
    return found


def _is_number(c: object) -> bool:
    return isinstance(c, int | float) and abs(c) < 1e99  # a hundred digits are what a file's reader takes


def named_items(name: str, given: object) -> list[tuple[str, object]]:
    """Names with what they stand for: of a mapping, or of a list, whose entries are called ``x0, x1, ...``."""
    array = hasattr(type(given), "__array_finalize__")  # of numpy's: a series would be data in the wrong place
    if isinstance(given, Mapping):
        items = list(given.items())
    elif array or (isinstance(given, Sequence) and not isinstance(given, str)):
        items = [(f"x{place}", one) for place, one in enumerate(given)]  # type: ignore[arg-type, var-annotated]
    else:
        raise ParameterTypeError(f"{name} must be a mapping or a list of bounds, got {shown(given)}")
    if not items or not all(isinstance(key, str) and key for key, _ in items):
        raise ParameterError(f"a box needs at least one column, each with a name, got {given!r}")
    return items


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Return ``value``, refusing what is not one of the ``allowed`` words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        near = did_you_mean(value, allowed) if isinstance(value, str) else ""
        raise ParameterError.of(name, f"must be one of {words}, got {name}={shown(value)}{near}")
    return value


def probability(name: str, value: object) -> float:
    """Return ``value`` as a float, refusing what does not lie strictly between 0 and 1."""
    number = finite_number(name, value)
    if not 0 < number < 1:
        raise ParameterError.of(name, f"must lie strictly between 0 and 1, got {name}={shown(value)}")
    return number
