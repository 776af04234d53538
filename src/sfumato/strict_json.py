"""JSON that says one thing: what a person reads in the text is what a program reads from it.

The standard library takes the last of two equal keys, reads ``1e999`` as infinity and ``NaN`` as a number. A file that
shows one epsilon and loads another is not a file; neither is one that is nested or long beyond use. Devices import
this, so it needs the standard library only.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from sfumato.errors import FileFormatError

LARGEST = 2**22  # bytes or characters of a document
DEEPEST = 32  # arrays and objects inside one another
_LONGEST_NUMBER = 100  # digits of a whole number, its sign included
_LONGEST_SHOWN = 40
# A string (closed or not, so that a scan never turns back) or a bracket.
_STRINGS_AND_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def loads(text: str | bytes, largest: int = LARGEST) -> Any:
    """The value of a JSON document, refusing one that could be read in two ways or takes long to read.

    Refused are equal keys in one object, NaN and infinities (also as ``1e999``), whole numbers of more than 100
    digits, nesting deeper than 32, more than ``largest`` bytes, and bytes that are not UTF-8.

    >>> loads('{"epsilon": 1, "lattice": [12]}')
    {'epsilon': 1, 'lattice': [12]}
    >>> loads('{"epsilon": 1, "epsilon": 50}')
    Traceback (most recent call last):
    ...
    sfumato.errors.FileFormatError: the key 'epsilon' stands twice in one object
    """
    if len(text) > largest:
        raise FileFormatError(f"{len(text)} bytes of JSON; at most {largest} are read")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        _check_depth(decoded)
        return json.loads(
            decoded,
            object_pairs_hook=_once,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except UnicodeDecodeError:
        raise FileFormatError("not UTF-8 text") from None
    except json.JSONDecodeError as error:  # its message tells a place, never the text
        raise FileFormatError(f"not JSON ({error})") from None


def _check_depth(text: str) -> None:
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > DEEPEST:
            raise FileFormatError(f"JSON that is nested deeper than {DEEPEST}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FileFormatError(f"the key {key[:_LONGEST_SHOWN]!a} stands twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise FileFormatError(f"{name} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise FileFormatError(f"{text[:_LONGEST_SHOWN]} is too large for a number")
    return value


def _short(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise FileFormatError(f"a whole number of {len(text)} digits; at most {_LONGEST_NUMBER} are read")
    return int(text)
