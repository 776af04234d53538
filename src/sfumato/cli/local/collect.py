"""The command that adds up reports and publishes what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from sfumato.cli.delivery import Delivery
from sfumato.cli.local.protocols import (
    BatchKey,
    File,
    load_protocol,
    protocol_words,
    read_batch_key,
    rejected_lines,
)
from sfumato.cli.options import Force, Output, Plot, Report, signing_key
from sfumato.cli.output import facts, printable, show, working
from sfumato.cli.publication import Outputs, check_writable, illustrate
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.cli.local.reports import Reading


def collect(
    ctx: typer.Context,
    protocol: File,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[REPORTS...]", help="Files of single reports, as a server frames them."),
    ] = None,
    gateway: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A file of batches, from a gateway that you trust. May be repeated."),
    ] = None,
    batch_key: BatchKey = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Go on from here if it is there, and save here: nothing counts twice."),
    ] = None,
    output: Output = Path("release.sfumato"),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Add up reports and publish what follows from them.

    Whatever is no report of this protocol is counted and left out. Batches speak for many people at once: they are
    read with --gateway only. With --checkpoint a run that was interrupted goes on where it stopped, and later files, or
    files that have grown, add to what was collected; releases cost nothing.
    """
    from sfumato.cli.local.reports import Places, Reading, load_checkpoint, save_checkpoint
    from sfumato.cli.progress import counting

    spoken = load_protocol(protocol)
    outputs = Outputs.checked(protocol, output, report, plot, force)
    single, trusted = reports or [], gateway or []
    _check_inputs([*single, *trusted], output, checkpoint)
    sealed, key = read_batch_key(batch_key), signing_key(ctx)
    reading = Reading(spoken.collector(), Places())
    if checkpoint is not None:
        check_writable(checkpoint, True, "checkpoint")
        if checkpoint.exists():
            reading = load_checkpoint(checkpoint, spoken)
    before = reading.collector.reports

    def save() -> None:
        if checkpoint is not None:
            save_checkpoint(checkpoint, reading)

    with counting(ctx, "collecting", None) as done:
        for path in single:
            reading.read(path, save, done)
            save()
        for path in trusted:
            reading.read_gateway(path, sealed, save, done)
            save()
    _publish(ctx, reading, before, outputs, checkpoint, key)


def _check_inputs(files: list[Path], output: Path, checkpoint: Path | None) -> None:
    """Refuse files that are no plain files, or that are named twice, before any is read."""
    from sfumato.codec import open_plain

    if not files:
        raise ParameterError("which reports? give REPORTS, files of single reports, or --gateway FILE")
    seen = set()
    for path in files:
        open_plain(path).close()
        if path.resolve() in seen:
            raise ParameterError(f"{path}: is given twice; its reports would count twice")
        if path.resolve() in (output.resolve(), None if checkpoint is None else checkpoint.resolve()):
            raise ParameterError(f"{path}: is a file of reports; choose another name for --output or --checkpoint")
        seen.add(path.resolve())


def _publish(
    ctx: typer.Context, reading: Reading, before: int, outputs: Outputs, checkpoint: Path | None, key: Any
) -> None:
    """Make, save and describe the release."""
    from sfumato.faces import face_of
    from sfumato.faces.promise import guarantee_words

    collector = reading.collector
    rejected = collector.rejected + reading.pending
    if not collector.reports:
        told = ", ".join(rejected_lines(rejected))
        raise ParameterError(
            f"there is nothing to publish: no report was taken, rejected: {told}; were they encoded with this protocol?"
        )
    with working(ctx, "working out the release"):
        delivery = Delivery.of(ctx, collector.release, outputs.release, key)
    release, outputs = delivery.release, illustrate(delivery, outputs)
    taken = f"{collector.reports:,}" + (f" ({collector.reports - before:,} of them new)" if before else "")
    files = outputs.lines()
    files += [] if checkpoint is None else [f"{checkpoint}  the checkpoint, to go on from"]
    with working(ctx, "describing the release"):
        face = face_of(release)
        rows = [
            ("guarantee", [str(release.guarantee), guarantee_words(release.guarantee)]),
            *face.rows(),
            ("reports", [taken]),
            ("rejected", rejected_lines(rejected)),
            ("files", files),
        ]
    data = {
        **outputs.data(),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "reports": collector.reports,
        "new": collector.reports - before,
        "rejected": dict(rejected),
        **face.common_data(),
    }
    show(ctx, data, Text(f"Collected {printable(protocol_words(collector.protocol))}.", style="bold"), "", facts(rows))
    delivery.finish()
