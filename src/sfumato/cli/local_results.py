"""What the commands of the local model say at the end: of a release, of a simulation, of a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.local_files import Reading
from sfumato.cli.local_words import protocol_data, protocol_words, rejected_lines
from sfumato.cli.options import signing_key
from sfumato.cli.output import facts, printable, show, table, working
from sfumato.cli.publishing import Outputs, write_report
from sfumato.drawing.files import draw
from sfumato.errors import ParameterError
from sfumato.faces import face_of
from sfumato.faces.promise import guarantee_words
from sfumato.local.planning import LocalPlan
from sfumato.local.protocol import Protocol


def publish_collected(
    ctx: typer.Context, reading: Reading, before: int, outputs: Outputs, checkpoint: Path | None
) -> None:
    """Make, save and describe the release."""
    collector = reading.collector
    rejected = collector.rejected + reading.pending
    if not collector.reports:
        told = ", ".join(rejected_lines(rejected))
        raise ParameterError(
            f"there is nothing to publish: no report was taken, rejected: {told}; were they encoded with this protocol?"
        )
    with working(ctx, "working out the release"):
        release = collector.release()
        release.save(outputs.release, signing_key(ctx))
    if outputs.picture is not None:
        with working(ctx, "drawing"):
            draw(release, outputs.picture)
    write_report(ctx, release, outputs)
    taken = f"{collector.reports:,}" + (f" ({collector.reports - before:,} of them new)" if before else "")
    files = [f"{path}  {what}" for path, what in outputs.listed()]
    files += [] if checkpoint is None else [f"{checkpoint}  the checkpoint, to go on from"]
    face = face_of(release)
    rows = [
        ("guarantee", [str(release.guarantee), guarantee_words(release.guarantee)]),
        *face.rows(),
        ("reports", [taken]),
        ("rejected", rejected_lines(rejected)),
        ("files", files),
    ]
    data = {
        "written": str(outputs.release),
        "plot": None if outputs.picture is None else str(outputs.picture),
        "report": None if outputs.report is None else str(outputs.report),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "reports": collector.reports,
        "new": collector.reports - before,
        "rejected": dict(rejected),
        **face.common_data(),
    }
    show(ctx, data, Text(f"Collected {printable(protocol_words(collector.protocol))}.", style="bold"), "", facts(rows))


def comparison(protocol: Protocol, people: int, found: Any, truth: Any, what: str) -> tuple[Any, dict[str, Any]]:
    """How far estimates are from the truth, beside what was to be expected."""
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


def show_plan(ctx: typer.Context, made: LocalPlan, asked: dict[str, Any]) -> None:
    """A plan, and what was asked for at other epsilons."""
    rows = [
        ("collects", [f"{made.protocol.kind}: {protocol_words(made.protocol)}"]),
        ("guarantee", [str(made.protocol.guarantee)]),
        ("people", [f"{made.people:,}"]),
        ("deviation", [f"{made.deviation:.4g} of each estimate"]),
        ("largest error", [f"{made.error:.4g} of any, with confidence {made.confidence:g}"]),
        ("one liar", [f"moves an estimate by {made.liar:.2g} at most"]),
    ]
    others = _other_epsilons(made, asked)
    told = [(f"{o.protocol.epsilon:g}", f"{o.people:,}", f"{o.deviation:.3g}", f"{o.error:.3g}") for o in others]
    head = ("epsilon", "people", "deviation", "largest error")
    data = {**protocol_data(made.protocol), **_plan_data(made), "compared": [_plan_data(other) for other in others]}
    text = Text("A plan: nobody was asked anything, nothing was spent.", style="bold")
    show(ctx, data, text, "", facts(rows), "", table(head, told, head))


def _other_epsilons(made: LocalPlan, asked: dict[str, Any]) -> list[LocalPlan]:
    found, own = [], made.protocol.epsilon
    for epsilon in sorted({own / 4, own / 2, own, 2 * own, 4 * own}):
        try:
            protocol = replace(made.protocol, epsilon=epsilon)
            found.append(sf.local.plan(protocol, confidence=made.confidence, **asked))
        except ParameterError:  # not every randomizer serves every epsilon
            continue
    return found


def _plan_data(made: LocalPlan) -> dict[str, Any]:
    return {
        "epsilon": made.protocol.epsilon,
        "people": made.people,
        "deviation": made.deviation,
        "error": made.error,
        "confidence": made.confidence,
        "liar": made.liar,
    }
