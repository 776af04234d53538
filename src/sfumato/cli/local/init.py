"""The command that makes a protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sfumato.cli.local.protocols import (
    Copies,
    Degree,
    Delta,
    Interactions,
    Kind,
    Lattice,
    Loss,
    Parameter,
    Public,
    Randomizer,
    Range,
    Response,
    Ridge,
    Scale,
    Steps,
    Ways,
    parameters_of,
    protocol_data,
    protocol_of,
    protocol_words,
    range_of,
    scales_of,
    shape_of,
)
from sfumato.cli.options import BoxFile, Epsilon, Force
from sfumato.cli.output import facts, show
from sfumato.cli.publication import check_writable

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol

Guess = Annotated[
    int | None,
    typer.Option(metavar="N", help="Density, marginals: a public guess of how many people will report."),
]
Users = Annotated[int | None, typer.Option(metavar="N", help="How many numbers of people there are; 2**40.")]
ProtocolFile = Annotated[Path, typer.Option("--output", "-o", metavar="JSON", help="Where the protocol goes.")]
Numbers = Annotated[
    str | None, typer.Option(metavar="given|drawn", help="Whether you number people, or devices draw numbers; given.")
]


def init(
    ctx: typer.Context,
    kind: Kind = None,
    box: BoxFile = None,
    epsilon: Epsilon = None,
    lattice: Lattice = None,
    degree: Degree = None,
    interactions: Interactions = None,
    ways: Ways = None,
    response: Response = None,
    scale: Scale = None,
    public: Public = None,
    loss: Loss = None,
    parameter: Parameter = None,
    copies: Copies = None,
    delta: Delta = None,
    steps: Steps = None,
    ridge: Ridge = None,
    range: Range = None,
    people: Guess = None,
    randomizer: Randomizer = None,
    users: Users = None,
    numbers: Numbers = None,
    output: ProtocolFile = Path("protocol.json"),
    force: Force = False,
) -> None:
    """Make a protocol: what devices and collector agree on before anybody reports. It holds nothing private."""
    shape = shape_of(lattice, degree, interactions, ways, randomizer)
    linear = {"response": response, "scales": scales_of(scale), "public": public}
    risk = {"loss": loss, "parameters": parameters_of(parameter), "ridge": ridge, "range": range_of(range)}
    walked = {"copies": copies, "delta": delta, "steps": steps}
    given = {**shape, **linear, **risk, **walked, "people": people, "users": users, "numbers": numbers}
    protocol = protocol_of(kind, box, epsilon, given)
    check_writable(output, force)
    protocol.save(output)
    rows = [*_rows(protocol), ("file", [f"{output}  for every device, and for the collector"])]
    data = {"written": str(output), **protocol_data(protocol)}
    show(ctx, data, Text(f"Made a protocol: {protocol.kind}.", style="bold"), "", facts(rows))


def _rows(protocol: Protocol) -> list[tuple[str, list[str]]]:
    """What a protocol is, in words."""
    from sfumato.faces.words import counted

    channel = protocol.channel
    size = "1 bit" if channel.bitwise else counted(channel.width, "byte")
    return [
        ("collects", [f"{protocol.kind}: {protocol_words(protocol)}"]),
        ("guarantee", [str(protocol.guarantee), "one report a person: k reports of one person cost k epsilon"]),
        (
            "randomizer",
            [f"{protocol.settings().get('randomizer', protocol.channel_name)}, {size} of information a report"],
        ),
        (protocol.parts, [f"{protocol.questions:,}, each person {_role(protocol)}"]),
        ("people", [f"numbers 0 to {protocol.users - 1:,}, {protocol.numbers}"]),
        ("fingerprint", [protocol.fingerprint.hex()]),
    ]


def _role(protocol: Protocol) -> str:
    if protocol.parts == "steps":
        return "is in one"
    return f"answers {'all' if protocol.channel.whole else 'one'}"
