"""Reading a question: precedence climbing over its words. The grammar is in the package's own docstring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.bases.moments.quadrature import category_values
from sfumato.core.box import Box, Categorical, Interval, Periodic
from sfumato.dates import as_days, is_date
from sfumato.errors import ParameterError
from sfumato.expressions.tokens import Token, complaint, nearest, tokens
from sfumato.expressions.tree import (
    FUNCTIONS,
    OF_SEVERAL,
    SOFT,
    Among,
    Between,
    Bump,
    Condition,
    Function,
    Node,
    product,
)
from sfumato.releases.summary.edges import ends_of, soft_ends
from sfumato.releases.summary.questions import SOFTNESS

STATISTICS = {"mean": 1, "variance": 1, "sd": 1, "covariance": 2, "correlation": 2, "share": 1}
_BINARY: dict[str, tuple[int, Function]] = {
    "+": (1, np.add),
    "-": (1, np.subtract),
    "*": (2, np.multiply),
    "/": (2, np.divide),
    "**": (4, np.power),
}
_NEGATED = 3  # a minus sign binds tighter than a product and less than a power
_DEEPEST = 50  # brackets, calls, signs and powers within each other
_MOST = 400  # parts of a question
_STEEPEST = 64  # the size of a constant power
_ELSEWHERE = {
    "average": "mean",
    "avg": "mean",
    "var": "variance",
    "std": "sd",
    "cov": "covariance",
    "corr": "correlation",
    "ln": "log",
    "pow": "**",
    "expit": "sigmoid",
}
_WORDS = ("and", "in", "or", "not")


class Parser:
    """Reads one question about the columns of a box.

    Parameters
    ----------
    text
        The question.
    box
        Its columns.
    shape
        How many frequencies a summary has along each: how sharp the edges of ``between`` are.
    """

    def __init__(self, text: str, box: Box, shape: Sequence[int]) -> None:
        self._text, self._box, self._shape = text, box, shape
        self._rest = tokens(text)[::-1]
        self._last = self._rest[-1]
        self._depth = self._count = 0

    def question(self) -> tuple[str, tuple[Node, ...]]:
        """The statistic, and what it is of."""
        first, hint = self._next, ""
        name = first.text if first.kind == "name" and self._called() else ""
        if name in STATISTICS:
            self._take()
            found, many, hint = self._arguments(), STATISTICS[name], f": {name}(...) is a whole question by itself"
            if len(found) != many:
                joined = "; join conditions with 'and'" if name == "share" else ""
                raise self._wrong(first, f"{name} takes {_counted(many)}, got {len(found)}{joined}")
        else:
            name, found = "mean", [self._condition()]
        if self._next.kind != "end":
            raise self._wrong(self._next, f"expected the end of the question, got {self._next.words()}{hint}")
        if name == "share" and not found[0].soft:
            raise self._at(found[0], f"share needs conditions, and this is a number: {_CONDITIONS}")
        return name, tuple(found)

    # --- words ------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self._rest[-1]

    def _take(self) -> Token:
        self._last = self._rest.pop()
        return self._last

    def _is(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _is_word(self, *words: str) -> bool:
        return self._next.kind == "name" and self._next.text in words

    def _called(self) -> bool:
        """Whether a bracket follows the next word."""
        return len(self._rest) > 1 and self._rest[-2].kind == "sign" and self._rest[-2].text == "("

    def _expect(self, sign: str, what: str) -> Token:
        if not self._is(sign):
            raise self._wrong(self._next, f"expected {sign!r} {what}, got {self._next.words()}")
        return self._take()

    def _wrong(self, token: Token, reason: str) -> ParameterError:
        return complaint(self._text, token.start, token.end, reason)

    def _at(self, node: Node, reason: str) -> ParameterError:
        return complaint(self._text, node.start, node.end, reason)

    # --- from the loosest to the tightest -----------------------------------------------------------------------

    def _condition(self) -> Node:
        parts = [self._comparison()]
        while self._is_word("and"):
            word = self._take()
            parts.append(self._comparison())
            for part in parts[-2:]:
                if not part.soft:
                    raise self._at(part, f"'and' joins conditions, and this is a number: {_CONDITIONS}")
            self._room(word)
        if self._is_word("or", "not"):
            raise self._wrong(self._next, f"there is no {self._next.text!r} in this grammar, only 'and' and '!='")
        if len(parts) == 1:
            return parts[0]
        simple = tuple(c for part in parts for c in part.conditions) if all(p.conditions for p in parts) else ()
        return Node(parts[0].start, parts[-1].end, product, tuple(parts), simple, True)

    def _comparison(self) -> Node:
        left = self._sum(1)
        if not self._is("==", "!=") and not self._is_word("in"):
            return left
        sign = self._take()
        kind = None if left.column is None else self._box.columns[self._box.names.index(left.column)]
        if left.column is None or not isinstance(kind, Categorical):
            raise self._at(
                left,
                f"only a column of categories can be compared with {sign.text!r}: for numbers use "
                "between(x, low, high) or bump(x, centre, width)",
            )
        if sign.text == "in":
            self._expect("(", "and the categories")
            wanted = [self._literal(kind, left.column)]
            while self._is(","):
                self._take()
                wanted.append(self._literal(kind, left.column))
            self._expect(")", "after the categories")
        else:
            wanted = [self._literal(kind, left.column)]
        if sign.text == "!=":
            wanted = [category for category in kind.categories if category not in wanted]
        codes = dict(zip(kind.categories, category_values(kind).tolist(), strict=True))
        does = Among(tuple(codes[category] for category in wanted))
        self._room(sign)
        return Node(left.start, self._last.end, does, (left,), (Condition(left.column, list(wanted)),), True)

    def _literal(self, kind: Categorical, name: str) -> Any:
        """One of the categories of a column."""
        minus = -1.0 if self._is("-") and self._take() else 1.0
        token, text = self._next, isinstance(kind.categories[0], str)
        if token.kind != ("text" if text else "number") or (text and minus < 0):
            quotes = "a text in quotes" if text else "a number"
            raise self._wrong(
                token, f"expected {quotes}, one of the categories {_listed(kind)} of {name}, got {token.words()}"
            )
        self._take()
        value: Any = token.text if text else minus * float(token.text)
        if value not in kind.categories:
            hint = nearest(token.text, kind.categories) if text else ""  # type: ignore[arg-type]
            raise self._wrong(token, f"{token.text!r} is no category of {name}{hint or f'; there are {_listed(kind)}'}")
        return kind.categories[kind.categories.index(value)]

    def _sum(self, least: int) -> Node:
        """Operators that bind at least so tightly, and what is between them."""
        left = self._sign()
        while self._next.kind == "sign" and _BINARY.get(self._next.text, (0,))[0] >= least:
            sign = self._take()
            level, function = _BINARY[sign.text]
            if sign.text == "**":  # to the right first
                self._deeper(sign)
                right = self._sum(level)
                self._depth -= 1
                self._check_power(right)
            else:
                right = self._sum(level + 1)
            self._room(sign)
            left = Node(left.start, right.end, function, (left, right))
        return left

    def _check_power(self, power: Node) -> None:
        if all(part.column is None for part in power.walk()) and not abs(self._number(power)) <= _STEEPEST:
            raise self._at(power, f"a power must be between -{_STEEPEST} and {_STEEPEST}")

    def _sign(self) -> Node:
        if not self._is("-"):
            return self._primary()
        sign = self._take()
        self._deeper(sign)
        inside = self._sum(_NEGATED)
        self._depth -= 1
        return Node(sign.start, inside.end, np.negative, (inside,))

    def _primary(self) -> Node:
        token = self._next
        self._room(token)
        if token.kind == "number":
            self._take()
            return Node(token.start, token.end, float(token.text))
        if token.kind == "column" or (token.kind == "name" and token.text not in _WORDS and not self._called()):
            return self._column(self._take())
        if token.kind == "name" and token.text not in _WORDS:
            return self._call(self._take())
        if self._is("("):
            self._take()
            self._deeper(token)
            inside = self._condition()
            self._depth -= 1
            self._expect(")", "to close a bracket")
            return Node(token.start, self._last.end, inside.does, inside.parts, inside.conditions, inside.soft)
        if token.kind == "text" and is_date(token.text):
            self._take()
            return Node(token.start, token.end, as_days(token.text))  # which is what a column of dates counts in
        if token.kind == "text":
            raise self._wrong(token, f'a text stands after == or !=, such as sex == "f", got {token.words()}')
        raise self._wrong(token, f"expected a number, a column, a function or '(', got {token.words()}")

    def _column(self, token: Token) -> Node:
        name = token.text
        if name not in self._box.names:
            if token.kind == "name" and (name in FUNCTIONS or name in STATISTICS or name in ("bump", "between")):
                raise self._wrong(token, f"{name} needs its arguments: {name}(...)")
            near = nearest(name, self._box.names)
            raise self._wrong(token, f"unknown column {name!r}{near or f'; there are {_some(self._box.names)}'}")
        kind = self._box.columns[self._box.names.index(name)]
        text = isinstance(kind, Categorical) and isinstance(kind.categories[0], str)
        if text and not self._is("==", "!=") and not self._is_word("in"):
            assert isinstance(kind, Categorical)
            raise self._wrong(
                token, f'{name} holds categories, not numbers: compare it, such as {name} == "{kind.categories[0]}"'
            )
        return Node(token.start, token.end, name)

    # --- calls --------------------------------------------------------------------------------------------------

    def _call(self, token: Token) -> Node:
        name = token.text
        known = (*FUNCTIONS, "bump", "between")
        if name not in known:
            raise self._wrong(token, _unknown_function(name, known, self._box.names))
        found = self._arguments()
        start, end = token.start, self._last.end
        least, most = {"bump": (3, 3), "between": (3, 4)}.get(name, (2, 20) if name in OF_SEVERAL else (1, 1))
        if not least <= len(found) <= most:
            raise self._wrong(token, f"{name} takes {_counted(least, most)}, got {len(found)}")
        if name == "bump":
            centre, width = (self._number(part) for part in found[1:])
            if width <= 0:
                raise self._at(found[2], "the width of a bump must be positive")
            return Node(start, end, Bump(centre, width), tuple(found[:1]), soft=True)
        if name == "between":
            return self._between(start, end, found)
        return Node(start, end, FUNCTIONS[name], tuple(found), soft=name in SOFT)

    def _between(self, start: int, end: int, found: list[Node]) -> Node:
        inside = found[0]
        low, high = (self._number(part) for part in found[1:3])
        kind = None if inside.column is None else self._box.columns[self._box.names.index(inside.column)]
        if low == high or (low > high and not isinstance(kind, Periodic)):  # a circle's goes through its bounds
            raise self._at(found[2], f"a range must end above its beginning, got {low:g} to {high:g}")
        softness = self._number(found[3]) if len(found) > 3 else None
        if softness is not None and softness <= 0:
            raise self._at(found[3], "the softness of an edge must be positive")
        if not isinstance(kind, Interval):
            if softness is None:
                raise self._at(
                    inside, "between of anything but a numeric column needs a softness: between(x, 0, 1, 0.1)"
                )
            return Node(start, end, Between(low, high, softness), (inside,), soft=True)
        assert inside.column is not None
        if softness is None:
            half = kind.high / 2 - kind.low / 2
            softness = half * min(1.0, SOFTNESS / self._shape[self._box.names.index(inside.column)])
        first, last, around = soft_ends(kind, ends_of(kind, inside.column, low, high))
        condition = Condition(inside.column, (first, last), softness)
        return Node(start, end, Between(first, last, softness, around), (inside,), (condition,), True)

    def _arguments(self) -> list[Node]:
        """What stands in the brackets of a call."""
        self._deeper(self._take())
        found = [self._condition()]
        while self._is(","):
            self._take()
            found.append(self._condition())
        self._expect(")", "or ',' after an argument")
        self._depth -= 1
        return found

    def _number(self, node: Node) -> float:
        """The value of a part without columns."""
        for part in node.walk():
            if part.column is not None:
                raise self._at(part, "this must be a number, without columns")
        with np.errstate(all="ignore"):
            value = float(node.value({}))
        if not math.isfinite(value):
            raise self._at(node, "this is no finite number")
        return value

    # --- limits -------------------------------------------------------------------------------------------------

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(token, f"brackets, calls, signs and powers may be {_DEEPEST} deep, this is deeper")

    def _room(self, token: Token) -> None:
        self._count += 1
        if self._count > _MOST:
            raise self._wrong(token, f"a question may have {_MOST} parts, this has more: ask several questions")


_CONDITIONS = 'use comparisons such as sex == "f", between(...), bump(...) or sigmoid(...)'


def _unknown_function(name: str, known: Sequence[str], columns: Sequence[str]) -> str:
    if name in STATISTICS:
        return f"{name}(...) is a whole question and stands at its beginning: ask for each by itself"
    if name in columns:
        return f"{name} is a column and cannot be called; write {name} * (...) for a product"
    if name in _ELSEWHERE:
        return f"unknown function {name!r}; it is called {_ELSEWHERE[name]!r} here"
    return f"unknown function {name!r}{nearest(name, (*known, *STATISTICS)) or f'; there are {_some(known, 20)}'}"


def _counted(least: int, most: int | None = None) -> str:
    many = str(least) if most in (None, least) else f"{least} to {most}"
    return f"{many} argument{'' if many == '1' else 's'}"


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _listed(kind: Categorical) -> str:
    return _some([repr(category) if isinstance(category, str) else f"{category:g}" for category in kind.categories])
