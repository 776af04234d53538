"""A function of the caller's, or a whole order, run on made-up records before anything is paid for.

On real records whatever it does must stay hidden: an error, or that there was none, would be an output. So a function
that always fails publishes its fallback with noise, and the budget is gone. Made-up records are nobody's: all that goes
wrong with them may be said. What is ours is run for another reason: after the charge a defect would cost the release.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import Basis
from sfumato.core.box import Box, Categorical, Integer, Interval
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Privacy
from sfumato.engines.engine import whole_of
from sfumato.engines.memory import MemoryEngine
from sfumato.errors import InterruptedReleaseError, NothingThereWarning, RehearsalError
from sfumato.faces import face_of
from sfumato.oracles import like, stream, uniform
from sfumato.releases.writer import check_readable
from sfumato.steps import watched
from sfumato.targets.base import Rehearsable, Target
from sfumato.values import silently

_ROWS = 100  # enough to fit most things to, and few enough to take no time
_MOST_NUMBERS, _MOST_COLUMNS = 4000, 12  # of a release that is made once for nothing
_SEED = 20_170_206  # public, so that a refusal can be repeated
_STILL = 1e-6  # of a sensitivity: what changes less than that is the same, but for rounding
_NOTHING_SPENT = "nothing was spent"
_MEND = (
    "Mend the function (target.rehearse(data, box, basis) shows what it does with records that you make up), declare "
    "what its columns hold, or leave the rehearsal out with rehearse=False"
)


def rehearse(
    target: Target, records: Any, box: Box, basis: Basis, sensitivity: float, rows: int | None, depth: int
) -> None:
    """Run the function of a target that has one on two made-up tables, refusing what fails and warning of what is odd.

    Parameters
    ----------
    records
        Only their schema is looked at: the container, the names and types of its columns.
    sensitivity
        How far one record moves what is released: a function that two tables do not move at all is odd.
    rows
        The public number of records, if there is one: made-up tables are not longer.
    depth
        How far up the caller is, for a warning.
    """
    if target.yours is None or not isinstance(target, Rehearsable):
        return
    schema = whole_of(records, f"{target.yours}, which is yours,").schema
    count = _ROWS if rows is None else min(rows, _ROWS)
    oracle = like(schema.empty, schema.declared)
    found = [_run(target, oracle.draw(count, stream(_SEED, table)), box, basis) for table in (0, 1)]
    finite = [np.isfinite(values) for values in found]
    if not finite[0].any() or not finite[1].any():
        raise RehearsalError(
            f"{target.yours} returned no finite number on {count} made-up records: its fallback would have been "
            f"published; {_NOTHING_SPENT}. {_MEND}"
        )
    missing = max(int(np.count_nonzero(~each)) for each in finite)
    if missing:
        _warn(
            f"{missing} of {found[0].size} numbers that {target.yours} returned on made-up records are not finite; the "
            "fallback stands in for such",
            depth,
        )
    elif np.abs(found[0] - found[1]).max() <= _STILL * sensitivity:
        same = "returned the same on two different made-up tables: does it depend on the records?"
        _warn(f"{target.yours} {same}", depth)


def rehearse_order(
    target: Target, box: Box, privacy: Privacy, rows: int | None, size: int, order: Callable[..., Any]
) -> None:
    """Run an order once on made-up records, and refuse it if what follows the charge fails: that is a defect of ours.

    The sums, the noise, the release, its bytes, read back, and what it says of itself; no ledger and no record of the
    caller's. Left out where a function of theirs would be run, where public sizes are large, and where a table cannot
    be made up: what precedes the charge may fail, and costs nothing.

    Parameters
    ----------
    size
        The length of what is perturbed.
    order
        Runs it, given a source, what was gathered from it, no ledger, and what is to be done with the release.
    """
    if target.yours is not None or size > _MOST_NUMBERS or box.dimension > _MOST_COLUMNS:
        return
    made: list[bool] = []

    def told(release: Any) -> Any:
        """What is done with a release that is paid for."""
        check_readable(release)
        face = face_of(release)
        face.rows(), face.common_data(), face.data(), face.nothing_there()
        return release

    try:
        with silently(), watched(lambda _: None):
            table = _made_up(target, box, privacy, min(_ROWS, rows or _ROWS))
            engine = MemoryEngine()
            records = engine.open(table, box, privacy.unit, target.columns)
            gathered = target.gather(records, box, engine)
            made.append(True)
            order((records, engine), gathered, None, told)
    except InterruptedReleaseError:
        raise KeyboardInterrupt from None  # nothing of it is worth finishing
    except Exception as error:
        if made:
            raise RehearsalError(
                f"sfumato failed on made-up records where a release would have been paid for ({type(error).__name__}: "
                f"{error}); {_NOTHING_SPENT}. Tell the authors of sfumato; rehearse=False leaves the rehearsal out"
            ) from error


def _made_up(target: Target, box: Box, privacy: Privacy, rows: int) -> Any:
    """A table of made-up records: the columns of the box, the response, and persons of a row each."""
    response = getattr(target, "response", None)
    columns: dict[str, Any] = dict(zip(box.names, box.columns, strict=True))
    classes, bounds = getattr(target, "classes", None), getattr(target, "range", None)
    if isinstance(response, str) and (classes is not None or bounds is not None):
        columns[response] = Interval(*bounds) if bounds is not None else Categorical(tuple(classes or ()))
    if isinstance(privacy.unit, Person):
        columns[str(privacy.unit.column)] = Integer(0, rows)
    return uniform(Box(columns), table=True).draw(rows, stream(_SEED, 2))


def _run(target: Rehearsable, table: Any, box: Box, basis: Basis) -> NDArray[np.float64]:
    try:
        with silently():
            return target.rehearse(table, box, basis)
    except (Exception, SystemExit) as error:
        kind, said = type(error).__name__, str(error)
        what = f"{kind}: {said}" if said else kind
        raise RehearsalError(
            f"{target.yours} failed on made-up records ({_held(table)}): {what}; {_NOTHING_SPENT}. {_MEND}"  # type: ignore[attr-defined]
        ) from error


def _held(table: Any) -> str:
    """What the function was called with, in words."""
    if isinstance(table, tuple):
        return f"a pair of arrays of shapes {table[0].shape} and {table[1].shape}"
    if isinstance(table, np.ndarray):
        return f"an array of shape {table.shape}"
    if isinstance(table, Mapping):
        return f"a dict of the columns {list(table)}"
    return f"a {type(table).__module__.partition('.')[0]} {type(table).__name__} of shape {table.shape}"


def _warn(words: str, depth: int) -> None:
    warnings.warn(words, NothingThereWarning, stacklevel=depth + 2)
