"""The options that say what is published: columns with public bounds, groups, labels, responses, bandwidths, bases."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.checks import did_you_mean
from sfumato.cli.options import declared_box, holding
from sfumato.errors import ParameterError

_KINDS = ("interval", "integer", "periodic", "date")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9.]+)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?"
_DATES = re.compile(rf"(?P<name>.+):(?P<low>{_DAY}):(?P<high>{_DAY})(?::date)?")  # times hold colons themselves
_COLUMN = "NAME:LOW:HIGH, such as age:0:110, hour:0:24:periodic or visit:2024-01-01:2025-01-01"
_BASES = {"binning": (1, 1), "split": (2, 2), "bernstein": (1, 2)}  # how many numbers each takes
_MOST = 3  # columns of a density or a curve
_TUNING = 0.1  # the share of the budget that pays for a selection, where none is given


def public_box(columns: Sequence[str], by: str | None, file: Path | None, data: Path) -> tuple[sf.Box, str | None]:
    """The box of ``--column``, ``--by`` and ``--box``, and the name of the column that tells groups apart.

    Parameters
    ----------
    columns
        Each ``NAME:LOW:HIGH`` with an optional kind, or the name of a column of the box file.
    by
        ``NAME=A,B`` or the name of a categorical column of the box file.
    data
        Its schema says whether categories that look like numbers are numbers.
    """
    chosen, known, norm = chosen_columns(columns, file)
    _check_columns(chosen)
    if by is None:
        return sf.Box(chosen, max_norm=norm), None
    name, groups = _listed("--by", by, known, data)
    return sf.Box({**chosen, name: groups}), name


def labelled_box(columns: Sequence[str], label: str, file: Path | None, data: Path) -> tuple[sf.Box, str, Any]:
    """The box of ``--column`` and ``--box``, and the column of ``--label`` with its classes.

    Parameters are those of ``public_box``; a label that the box file also has as a column is left out of the box.
    """
    chosen, known, norm = chosen_columns(columns, file, data)
    name, classes = _listed("--label", label, known, data)
    if not columns:
        chosen.pop(name, None)
    if not chosen:
        raise ParameterError("a label told from which columns? give --column NAME:LOW:HIGH, or --box TOML")
    if name in chosen:
        raise ParameterError(f"--column {name} is the label itself; leave it out of the columns")
    return sf.Box(chosen, max_norm=norm), name, classes.categories


def regression_box(
    columns: Sequence[str], responses: Sequence[str], file: Path | None
) -> tuple[sf.Box, str, tuple[float, float]]:
    """The box of ``--column`` and ``--box``, and the column of ``--response`` with its public range.

    Parameters
    ----------
    responses
        ``NAME:LOW:HIGH``, or the name of a numeric column of the box file; there must be one.
    """
    if len(responses) != 1:
        told = ", ".join(responses)
        raise ParameterError(
            f"--response is given {len(responses)} times ({told}); publish one curve for each response"
        )
    chosen, known, norm = chosen_columns(columns, file)
    name, bounds = _response(responses[0], known, file)
    if not columns:
        chosen.pop(name, None)
    if not chosen:
        raise ParameterError(f"{name} regressed on which columns? give --column NAME:LOW:HIGH, or --box TOML")
    if name in chosen:
        raise ParameterError(f"--column {name} is the response itself; leave it out of the columns")
    _check_few(chosen, "a regression is on")
    for other, column in chosen.items():
        if column.kind == "categorical":
            raise ParameterError(f"--column {other}: a regression needs numbers, these are categories; leave it out")
    return sf.Box(chosen, max_norm=norm), name, bounds


def _response(text: str, known: Mapping[str, Any], file: Path | None) -> tuple[str, tuple[float, float]]:
    if text in known:
        name, column = text, known[text]
        if column.kind in ("categorical", "periodic"):
            raise ParameterError(
                f"--response {name}: {column.kind} columns have no mean; give its range, such as --response {name}:0:1"
            )
    else:
        name, column = _bounded(text, file, known, "--response", "NAME:LOW:HIGH, such as bp:60:220", ())
    return name, (column.low, column.high)


def column_with_kind(text: str, known: Mapping[str, Any], file: Path | None, data: Path) -> tuple[str, Any]:
    """One ``NAME:LOW:HIGH[:KIND]`` or ``NAME=A,B``, or the name of a column of the box file.

    A name that holds an equals sign before its bounds is a matter for a box file.
    """
    if text in known:
        return text, known[text]
    before, equals, _ = text.partition("=")
    return _listed("--column", text, known, data) if equals and ":" not in before else _column(text, file, known)


def chosen_columns(
    columns: Sequence[str], file: Path | None, data: Path | None = None
) -> tuple[dict[str, Any], Mapping[str, Any], float | None]:
    """The columns that were asked for (all of the box file by default), the file's own, and its norm.

    Without ``data``, whose schema tells numbers from texts, columns are numbers.
    """
    whole = None if file is None else declared_box(file)
    known: Mapping[str, Any] = {} if whole is None else dict(zip(whole.names, whole.columns, strict=True))
    chosen: dict[str, Any] = {}
    for text in columns:
        if data is not None:
            name, column = column_with_kind(text, known, file, data)
        else:
            name, column = (text, known[text]) if text in known else _column(text, file, known)
        if name in chosen:
            raise ParameterError(f"--column {name} is given twice")
        chosen[name] = column
    if not columns:
        chosen = {name: kind for name, kind in known.items() if data is not None or kind.kind != "categorical"}
    return chosen, known, None if whole is None else whole.max_norm


def _column(text: str, file: Path | None, known: Mapping[str, Any]) -> tuple[str, Any]:
    """One ``NAME:LOW:HIGH[:KIND]``."""
    return _bounded(text, file, known, "--column", _COLUMN, _KINDS)


def _bounded(
    text: str, file: Path | None, known: Mapping[str, Any], option: str, shape: str, kinds: Sequence[str]
) -> tuple[str, Any]:
    """A name with its bounds, and its kind if there are several; a name may hold colons itself."""
    dates = _DATES.fullmatch(text) if "date" in kinds else None
    if dates is not None:
        with holding(f"{option} {text}"):
            return dates["name"], sf.Box({"date": (dates["low"], dates["high"])}).columns[0]
    parts = text.split(":")
    whole = len(parts) > 1 and tuple(parts[-2:]) == ("periodic", "whole") and "periodic" in kinds and bool(parts.pop())
    kind = parts.pop() if parts[-1] in kinds else "interval"
    wanted = f"{option} must be {shape}, got {text!r}"
    if len(parts) < 3 or not ":".join(parts[:-2]):
        hint = "" if file is None else f" (or the name of a column of {file}{did_you_mean(text, known)})"
        kind_words = f", and the kind is one of {', '.join(kinds)}" if kinds else ""
        raise ParameterError(
            f"{wanted}{hint}; the bounds are public knowledge and never taken from the data{kind_words}"
        )
    try:
        low, high = float(parts[-2]), float(parts[-1])
    except ValueError:
        meant = ":".join(parts[-2:]) if parts[-2] in kinds else parts[-1]
        near = did_you_mean(meant, (*kinds, "periodic:whole")) if kinds else ""
        raise ParameterError(wanted + near) from None
    made: dict[str, Any] = {"integer": sf.Integer, "periodic": sf.Periodic, "date": sf.Date}
    with holding(f"{option} {text}"):
        name = ":".join(parts[:-2])
        if whole:
            return name, sf.Periodic(low, high, whole=True)
        return name, made[kind](low, high) if kind in made else sf.Box({name: (low, high)}).columns[0]


def _check_columns(chosen: Mapping[str, Any]) -> None:
    if not chosen:
        raise ParameterError(
            "the density of which columns? give --column NAME:LOW:HIGH with public bounds, or --box TOML"
        )
    _check_few(chosen, "a density has")
    for name, column in chosen.items():
        if column.kind == "categorical":
            raise ParameterError(
                f"--column {name}: a density needs numbers; for one density per category use --by {name}"
            )


def _check_few(chosen: Mapping[str, Any], what: str) -> None:
    if len(chosen) > _MOST:
        raise ParameterError(
            f"{what} one to {_MOST} columns, got {len(chosen)} ({', '.join(chosen)}); pick some with --column"
        )


def _listed(option: str, given: str, known: Mapping[str, Any], data: Path) -> tuple[str, Any]:
    """A column and its declared categories: ``NAME=A,B``, or a categorical column of the box file."""
    name, equals, listed = given.partition("=")
    if not equals:
        if name not in known or known[name].kind != "categorical":
            raise ParameterError(
                f"{option} must list the categories, such as {option} {name}=A,B, or name a categorical column of "
                f"--box, got {given!r}{did_you_mean(name, known)}"
            )
        return name, known[name]
    texts = [part.strip() for part in listed.split(",")]
    with holding(f"{option} {given}"):
        if not name or not all(texts):
            raise ParameterError("it must be NAME=CATEGORY,CATEGORY,... with the categories that were declared")
        return name, sf.Categorical(_as_in(data, name, texts))


def _as_in(data: Path, name: str, texts: list[str]) -> Any:
    """Categories as numbers where the column holds numbers; a CSV file does not say, then whole numbers are."""
    from sfumato.boxfile import column_types

    if not all(text.removeprefix("-").isdecimal() and str(int(text)) == text for text in texts):
        return tuple(texts)
    kind = dict(column_types(data)).get(name, "unknown")
    return tuple(texts) if kind == "text" else tuple(int(text) for text in texts)


def numbers(option: str, text: str, example: str) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = (math.nan,)
    if not all(map(math.isfinite, found)):
        raise ParameterError(f"{option} must be {example}, got {text!r}")
    return found


def bins_of(text: str | None) -> Any:
    """The value of ``--bins``."""
    if text is None:
        return None
    found = numbers("--bins", text, "whole numbers such as 20, or one per numeric column such as 20,5")
    return _whole(found)


def bandwidth_of(bandwidth: str, tune: str | None = None, share: float | None = None) -> Any:
    """The value of ``--bandwidth``, or of ``--tune-bandwidth`` and ``--tune-share``, a tenth where it is not given."""
    if tune is None:
        if share is not None:
            raise ParameterError("--tune-share pays for --tune-bandwidth H,H,...: give both, or leave it out")
        if bandwidth == "auto":
            return "auto"
        found = numbers("--bandwidth", bandwidth, "auto, one number such as 2.5, or one per column such as 2.5,1")
        return found[0] if len(found) == 1 else found
    if bandwidth != "auto":
        raise ParameterError("give either --bandwidth or --tune-bandwidth, not both")
    wanted = "candidates such as 2,4,8, or with one number per column such as '2,1;4,2'"
    if ";" in tune:
        candidates: list[Any] = [numbers("--tune-bandwidth", part, wanted) for part in tune.split(";")]
    else:
        candidates = list(numbers("--tune-bandwidth", tune, wanted))
    return sf.Tuned(tuple(candidates), _TUNING if share is None else share)


def basis_of(text: str) -> Any:
    """The value of ``--basis``: auto, binning:POINTS, split:POINTS:WIDTH or bernstein:DEGREE:ORDER."""
    if text == "auto":
        return "auto"
    kind, *rest = text.split(":")
    wanted = "auto, binning:POINTS, split:POINTS:WIDTH or bernstein:DEGREE:ORDER, such as split:15:2.5"
    many = _BASES.get(kind, (0, -1))
    if not many[0] <= len(rest) <= many[1]:
        near = did_you_mean(kind, ("auto", *_BASES))
        raise ParameterError(f"--basis must be {wanted}, got {text!r}{near}")
    first, *more = (numbers("--basis", part, wanted) for part in rest)
    with holding(f"--basis {text}"):
        if kind == "binning":
            return sf.Binning(_whole(first))
        if kind == "split":
            return sf.SplitLattice(_whole(first), more[0] if len(more[0]) > 1 else more[0][0])
        return sf.Bernstein(_whole(first), *(_whole(order) for order in more))


def _whole(found: Sequence[float]) -> Any:
    """One whole number or several."""
    if any(value != int(value) for value in found):
        raise ParameterError(
            f"points, bins, degrees and orders must be whole numbers, got {found[0]:g}", parameter="bins"
        )
    whole = tuple(int(value) for value in found)
    return whole[0] if len(whole) == 1 else whole
