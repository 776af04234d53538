"""The command that randomises records, as a gateway does for many people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sfumato.cli.local.protocols import BatchKey, File, load_protocol, read_batch_key
from sfumato.cli.options import Force
from sfumato.cli.output import facts, show
from sfumato.cli.publication import check_writable
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol

FirstUser = Annotated[int, typer.Option("--first-user", metavar="N", help="The number of the first person.")]


def encode(
    ctx: typer.Context,
    protocol: File,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV or Parquet file, one person a row.")],
    first_user: FirstUser = 0,
    batch_key: BatchKey = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the batches go.")] = Path(
        "reports.batch"
    ),
    force: Force = False,
) -> None:
    """Randomise records, each row one person, into a gateway's batches of reports.

    For tests and for gateways that serve many people: with real people encoding happens on the device that holds the
    record, and only reports leave it. Whoever runs this command sees the records. Each report of a person costs
    epsilon: encode a person once.
    """
    from sfumato.faces.words import counted

    spoken = load_protocol(protocol)
    check_writable(output, force)
    if output.resolve() in (data.resolve(), protocol.resolve()):
        raise ParameterError(f"{output} is what is read; choose another name", parameter="output")
    sealed = read_batch_key(batch_key)
    people, size = _encode_file(ctx, spoken, data, output, first_user, sealed)
    told = {"written": str(output), "people": people, "first_user": first_user, "next_user": first_user + people}
    rows = [
        ("reports", [f"{counted(people, 'person')}, numbers {first_user:,} to {first_user + people - 1:,}"]),
        ("next", [f"--first-user {first_user + people} for further people"]),
        ("guarantee", [str(spoken.guarantee), "whoever ran this command saw the records; a report hides its own"]),
        ("file", [f"{output}  {counted(size, 'byte')}, for a collector that trusts you: collect --gateway"]),
    ]
    show(ctx, {**told, "bytes": size}, Text(f"Encoded {counted(people, 'person')}.", style="bold"), "", facts(rows))


def _encode_file(
    ctx: typer.Context, protocol: Protocol, data: Path, output: Path, first_user: int, key: bytes | None
) -> tuple[int, int]:
    """Encode a table of people into batches; says how many people, and how many bytes, there are."""
    import tempfile

    from sfumato.cli.local.people import read_people
    from sfumato.cli.progress import counting

    people = 0
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".sfumato-") as folder:
        whole = Path(folder) / "batches"
        with counting(ctx, f"encoding {data.name}", None) as done, whole.open("wb") as file:
            for piece in read_people(data, protocol.box):
                file.write(protocol.encode_many(piece, first_user + people, key))
                people += len(piece)
                done(len(piece))
        size = whole.stat().st_size
        whole.replace(output)
    return people, size
