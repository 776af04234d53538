"""The command that tries a protocol on records that are no secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.local.protocols import File, load_protocol, rejected_lines
from sfumato.cli.output import facts, show, working
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol


def simulate(
    ctx: typer.Context,
    protocol: File,
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="Records that are no secret.", show_default=False)
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(metavar="N", help="So many people: made up, or those of DATA over and over."),
    ] = None,
) -> None:
    """Encode and collect records that are no secret, and say how far the release is from the truth.

    The comparison shows the records: never give private data. Nothing is written.
    """
    from sfumato.cli.local.people import AT_ONCE, all_people, compared, made_up, read_people
    from sfumato.cli.progress import counting
    from sfumato.faces.words import counted

    spoken = load_protocol(protocol)
    if data is None and people is None:
        raise ParameterError("who reports? give DATA that are no secret, --people N, or both")
    if people is not None and not 1 <= people <= min(spoken.users, 10**8):
        raise ParameterError(f"--people must lie in [1, {min(spoken.users, 10**8):,}], got {people!r}")
    with working(ctx, "making people up" if data is None else f"reading {data.name}"):
        if data is None:
            assert people is not None
            crowd = made_up(spoken.box, people)
        else:
            pieces = list(read_people(data, spoken.box))
            if not pieces:
                raise ParameterError(f"{data}: there is no record in it")
            crowd = all_people(pieces) if people is None else all_people(pieces).repeated(people)
    collector, size = spoken.collector(), 0
    with counting(ctx, "encoding and collecting", len(crowd)) as done:
        for start in range(0, len(crowd), AT_ONCE):
            part = replace(crowd, values=tuple(values[start : start + AT_ONCE] for values in crowd.values))
            batch = spoken.encode_many(part, start)
            size += len(batch)
            collector.add_batch(batch)
            done(len(part))
    with working(ctx, "comparing with the truth"):
        found, truth, what = compared(spoken, collector.release(), crowd)
    rows, told = _comparison(spoken, len(crowd), found, truth, what)
    rows += [
        ("sent", [f"{8 * size / len(crowd):.3g} bit a person, {counted(size, 'byte')} in all"]),
        ("rejected", rejected_lines(collector.rejected)),
    ]
    head = f"A simulation with {counted(len(crowd), 'person')}: nothing was written."
    show(ctx, {"people": len(crowd), "bytes": size, **told}, Text(head, style="bold"), "", facts(rows))


def _comparison(protocol: Protocol, people: int, found: Any, truth: Any, what: str) -> tuple[Any, dict[str, Any]]:
    """How far estimates are from the truth, beside what was to be expected."""
    import numpy as np

    error, expected = np.abs(found - truth), sf.local.plan(protocol, people=people)
    rows = [
        ("guarantee", [str(protocol.guarantee)]),
        ("compared", [f"{len(error):,} {what}"]),
        ("mean error", [f"{error.mean():.3g}"]),
        ("root mean square", [f"{np.sqrt(np.mean(error**2)):.3g}, planned {expected.deviation:.3g}"]),
        ("largest error", [f"{error.max():.3g}, planned at most {expected.error:.3g} with confidence 0.95"]),
    ]
    data = {
        "compared": what,
        "numbers": len(error),
        "mean_error": float(error.mean()),
        "rms_error": float(np.sqrt(np.mean(error**2))),
        "largest_error": float(error.max()),
        "planned_deviation": expected.deviation,
        "planned_largest": expected.error,
    }
    return rows, data
