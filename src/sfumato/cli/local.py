"""Commands of the local model: make a protocol, encode records, collect reports, simulate, plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sfumato.cli.options import Epsilon, Force, Plot, Report, box_option, examples
from sfumato.cli.output import facts, show
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol

app = typer.Typer(
    no_args_is_help=True, help="The local model: people's own devices randomise, nobody is trusted with records."
)

File = Annotated[
    Path, typer.Argument(metavar="PROTOCOL", help="A protocol, such as protocol.json.", show_default=False)
]
Kind = Annotated[str | None, typer.Option(metavar="density|smooth-queries|marginals", help="What is collected.")]
BoxPath = Annotated[Path | None, box_option]
Lattice = Annotated[
    str | None, typer.Option(metavar="N|N,N", help="Density: lattice points along each column; 11 if left out.")
]
Degree = Annotated[
    str | None, typer.Option(metavar="N|N,N", help="Smooth queries: frequencies along each column; 6 if left out.")
]
Interactions = Annotated[
    str | None, typer.Option(metavar="full|cross|K", help="Smooth queries: how many columns may interact.")
]
Ways = Annotated[int | None, typer.Option(metavar="K", help="Marginals: the most columns in a table; 2 if left out.")]
Guess = Annotated[
    int | None, typer.Option(metavar="N", help="Marginals: a public guess of how many people will report.")
]
Randomizer = Annotated[
    str | None, typer.Option(metavar="NAME", help="hadamard, bit, ...: see docs/wire-format.md; the best if left out.")
]
Users = Annotated[int | None, typer.Option(metavar="N", help="How many numbers of people there are; 2**40.")]
ProtocolFile = Annotated[Path, typer.Option("--output", "-o", metavar="JSON", help="Where the protocol goes.")]
BatchKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The key that seals a gateway's batches: 16 random bytes or more, kept secret."),
]
Numbers = Annotated[
    str | None, typer.Option(metavar="given|drawn", help="Whether you number people, or devices draw numbers; given.")
]
FirstUser = Annotated[int, typer.Option("--first-user", metavar="N", help="The number of the first person.")]


@app.command(
    epilog=examples(
        "sfumato local init --kind density --box columns.toml --epsilon 1 --lattice 11 -o protocol.json",
        "sfumato local init --kind smooth-queries --box columns.toml --epsilon 1 --degree 6 --interactions 2",
        "sfumato local init --kind marginals --box columns.toml --epsilon 1 --ways 2 --people 50000",
    )
)
def init(
    ctx: typer.Context,
    kind: Kind = None,
    box: BoxPath = None,
    epsilon: Epsilon = None,
    lattice: Lattice = None,
    degree: Degree = None,
    interactions: Interactions = None,
    ways: Ways = None,
    people: Guess = None,
    randomizer: Randomizer = None,
    users: Users = None,
    numbers: Numbers = None,
    output: ProtocolFile = Path("protocol.json"),
    force: Force = False,
) -> None:
    """Make a protocol: what devices and collector agree on before anybody reports. It holds nothing private."""
    from sfumato.cli.local_order import interactions_of, protocol_of, whole_numbers
    from sfumato.cli.local_words import protocol_data, protocol_rows
    from sfumato.cli.publishing import check_writable

    given = {
        "lattice": whole_numbers("--lattice", lattice),
        "degree": whole_numbers("--degree", degree),
        "interactions": interactions_of(interactions),
        "ways": ways,
        "people": people,
        "randomizer": randomizer,
        "users": users,
        "numbers": numbers,
    }
    protocol = protocol_of(kind, box, epsilon, given)
    check_writable(output, force)
    protocol.save(output)
    rows = [*protocol_rows(protocol), ("file", [f"{output}  for every device, and for the collector"])]
    data = {"written": str(output), **protocol_data(protocol)}
    show(ctx, data, Text(f"Made a protocol: {protocol.kind}.", style="bold"), "", facts(rows))


@app.command(
    epilog=examples(
        "sfumato local encode protocol.json people.csv -o reports.batch",
        "sfumato local encode protocol.json more.parquet --first-user 10000 --batch-key gateway.key -o more.batch",
    )
)
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
    from sfumato.cli.local_files import read_batch_key
    from sfumato.cli.local_order import encode_file
    from sfumato.cli.publishing import check_writable
    from sfumato.faces.words import counted

    spoken = _load(protocol)
    check_writable(output, force)
    if output.resolve() in (data.resolve(), protocol.resolve()):
        raise ParameterError(f"{output} is what is read; choose another name", parameter="output")
    sealed = read_batch_key(batch_key)
    people, size = encode_file(ctx, spoken, data, output, first_user, sealed)
    told = {"written": str(output), "people": people, "first_user": first_user, "next_user": first_user + people}
    rows = [
        ("reports", [f"{counted(people, 'person')}, numbers {first_user:,} to {first_user + people - 1:,}"]),
        ("next", [f"--first-user {first_user + people} for further people"]),
        ("guarantee", [str(spoken.guarantee), "whoever ran this command saw the records; a report hides its own"]),
        ("file", [f"{output}  {counted(size, 'byte')}, for a collector that trusts you: collect --gateway"]),
    ]
    show(ctx, {**told, "bytes": size}, Text(f"Encoded {counted(people, 'person')}.", style="bold"), "", facts(rows))


@app.command(
    epilog=examples(
        "sfumato local collect protocol.json reports.bin -o release.sfumato --report release.html",
        "sfumato local collect protocol.json monday.bin tuesday.bin --checkpoint state.ckpt -o release.sfumato",
        "sfumato local collect protocol.json --gateway hospital.batch --batch-key gateway.key -o release.sfumato",
    )
)
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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the release goes.")] = Path(
        "release.sfumato"
    ),
    report: Report = None,
    plot: Plot = None,
    force: Force = False,
) -> None:
    """Add up reports and publish what follows from them.

    Whatever is no report of this protocol is counted and left out. Batches speak for many people at once: they are
    read with --gateway only. With --checkpoint a run that was interrupted goes on where it stopped, and later files, or
    files that have grown, add to what was collected; releases cost nothing.
    """
    from sfumato.cli.local_files import Places, Reading, load_checkpoint, read_batch_key, save_checkpoint
    from sfumato.cli.local_results import publish_collected
    from sfumato.cli.progress import counting
    from sfumato.cli.publishing import Outputs, check_writable

    spoken = _load(protocol)
    outputs = Outputs.checked(protocol, output, report, plot, force)
    single, trusted = reports or [], gateway or []
    _check_inputs([*single, *trusted], output, checkpoint)
    sealed = read_batch_key(batch_key)
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
    publish_collected(ctx, reading, before, outputs, checkpoint)


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


@app.command(
    epilog=examples(
        "sfumato local simulate protocol.json open.csv",
        "sfumato local simulate protocol.json --people 1000000",
        "sfumato local simulate protocol.json open.csv --people 100000 --json",
    )
)
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
    from sfumato.cli.local_order import AT_ONCE, all_people, made_up, read_people
    from sfumato.cli.local_results import comparison
    from sfumato.cli.local_words import compared, rejected_lines
    from sfumato.cli.progress import counting
    from sfumato.faces.words import counted

    spoken = _load(protocol)
    if data is None and people is None:
        raise ParameterError("who reports? give DATA that are no secret, --people N, or both")
    if people is not None and not 1 <= people <= min(spoken.users, 10**8):
        raise ParameterError(f"--people must lie in [1, {min(spoken.users, 10**8):,}], got {people!r}")
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
    found, truth, what = compared(spoken, collector.release(), crowd)
    rows, told = comparison(spoken, len(crowd), found, truth, what)
    rows += [
        ("sent", [f"{8 * size / len(crowd):.3g} bit a person, {counted(size, 'byte')} in all"]),
        ("rejected", rejected_lines(collector.rejected)),
    ]
    head = f"A simulation with {counted(len(crowd), 'person')}: nothing was written."
    show(ctx, {"people": len(crowd), "bytes": size, **told}, Text(head, style="bold"), "", facts(rows))


@app.command(
    epilog=examples(
        "sfumato local plan --kind density --box columns.toml --lattice 11 --epsilon 1 --people 1000000",
        "sfumato local plan --kind marginals --box columns.toml --epsilon 1 --error .01",
        "sfumato local plan --protocol protocol.json --error .01 --json",
    )
)
def plan(
    ctx: typer.Context,
    kind: Kind = None,
    box: BoxPath = None,
    epsilon: Epsilon = None,
    protocol: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Instead of --kind, --box and --epsilon: a protocol.")
    ] = None,
    people: Annotated[int | None, typer.Option(metavar="N", help="How many report: what error does that give?")] = None,
    error: Annotated[float | None, typer.Option(metavar="E", help="The largest error: how many people for it?")] = None,
    lattice: Lattice = None,
    degree: Degree = None,
    interactions: Interactions = None,
    ways: Ways = None,
    randomizer: Randomizer = None,
    confidence: Annotated[float, typer.Option(help="That no estimate is further off.")] = 0.95,
) -> None:
    """Say how far off estimates will be, or how many people it takes. Nobody is asked anything."""
    import sfumato as sf
    from sfumato.cli.local_order import interactions_of, protocol_of, whole_numbers
    from sfumato.cli.local_results import show_plan

    if (people is None) == (error is None):
        raise ParameterError("give --people N (how many report), or --error E (how far off it may be), one of them")
    given = {
        "lattice": whole_numbers("--lattice", lattice),
        "degree": whole_numbers("--degree", degree),
        "interactions": interactions_of(interactions),
        "ways": ways,
        "people": people if kind == "marginals" else None,
        "randomizer": randomizer,
    }
    if protocol is not None:
        if kind is not None or box is not None or epsilon is not None or any(v is not None for v in given.values()):
            raise ParameterError("give --protocol, or --kind with --box and --epsilon, not both")
        spoken = _load(protocol)
    else:
        spoken = protocol_of(kind, box, epsilon, given)
    made = sf.local.plan(spoken, people=people, error=error, confidence=confidence)
    show_plan(ctx, made, {"people": people} if error is None else {"error": error})


def _load(path: Path) -> Protocol:
    import sfumato as sf

    found: Protocol = sf.local.load(path)
    return found
