"""What the commands of the local model share: options, the protocol that they describe, and words about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.cli.options import holding
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol

_LARGEST_KEY = 2**12
# Which options belong to which kind.
KINDS: dict[str, tuple[str, ...]] = {
    "density": ("lattice",),
    "smooth-queries": ("degree", "interactions"),
    "marginals": ("ways", "one_way", "people"),
}

File = Annotated[
    Path, typer.Argument(metavar="PROTOCOL", help="A protocol, such as protocol.json.", show_default=False)
]
Kind = Annotated[str | None, typer.Option(metavar="density|smooth-queries|marginals", help="What is collected.")]
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
Randomizer = Annotated[
    str | None, typer.Option(metavar="NAME", help="hadamard, bit, ...: see docs/wire-format.md; the best if left out.")
]
BatchKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The key that seals a gateway's batches: 16 random bytes or more, kept secret."),
]


def load_protocol(path: Path) -> Protocol:
    """A protocol as a file holds it."""
    found: Protocol = sf.local.load(path)
    return found


def protocol_of(kind: str | None, box: Path | None, epsilon: float | None, given: Mapping[str, Any]) -> Protocol:
    """The protocol that the options describe; None stands for what was not given."""
    from sfumato.boxfile import read_box
    from sfumato.local import density, marginals, smooth

    if kind not in KINDS:
        raise ParameterError(f"what is collected? give --kind, one of {', '.join(KINDS)}, got {kind!r}")
    if box is None:
        raise ParameterError("which columns? give --box TOML, a file as 'sfumato box' drafts it")
    if epsilon is None:
        raise ParameterError("how much privacy may a report cost? give --epsilon E")
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        owner = next((other for other, names in KINDS.items() if name in names), kind)
        if owner != kind:
            raise ParameterError(f"--{name.replace('_', '-')} is for --kind {owner}; leave it out for {kind}")
    made: dict[str, tuple[Any, Sequence[str]]] = {
        "density": (density.Density, density.RANDOMIZERS),
        "smooth-queries": (smooth.SmoothQueries, smooth.RANDOMIZERS),
        "marginals": (marginals.Marginals, marginals.RANDOMIZERS),
    }
    cls, randomizers = made[kind]
    if "randomizer" in settings and settings["randomizer"] not in randomizers:
        allowed = ", ".join(randomizers)
        raise ParameterError(f"--randomizer for {kind} is one of {allowed}, got {settings['randomizer']!r}")
    protocol: Protocol = cls(read_box(box), epsilon, **settings)
    return protocol


def shape_of(
    lattice: str | None, degree: str | None, interactions: str | None, ways: int | None, randomizer: str | None
) -> dict[str, Any]:
    """What the options say of a protocol's shape, as ``protocol_of`` takes it."""
    return {
        "lattice": whole_numbers("--lattice", lattice),
        "degree": whole_numbers("--degree", degree),
        "interactions": int(interactions) if interactions is not None and interactions.isdecimal() else interactions,
        "ways": ways,
        "randomizer": randomizer,
    }


def whole_numbers(option: str, text: str | None) -> Any:
    """``11`` or ``11,21``: a number, or one for each column."""
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ParameterError(f"{option} needs a whole number, or one for each column such as 11,21, got {text!r}")
    found = [int(part) for part in parts]
    return found[0] if len(found) == 1 else tuple(found)


def protocol_words(protocol: Protocol) -> str:
    """What a protocol collects, in a few words."""
    from sfumato.faces.words import counted
    from sfumato.local.density import Density
    from sfumato.local.marginals import Marginals
    from sfumato.local.smooth import SmoothQueries

    names = ", ".join(protocol.box.names) if protocol.box.dimension < 9 else f"{protocol.box.dimension} columns"
    if isinstance(protocol, Density):
        return f"{' x '.join(map(str, protocol.shape))} lattice points of {names}"
    if isinstance(protocol, SmoothQueries):
        return f"{counted(protocol.questions, 'cosine moment')} of {names}"
    assert isinstance(protocol, Marginals)
    return f"tables of up to {counted(protocol.ways, 'column')} of {names}"


def protocol_data(protocol: Protocol) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "protocol": protocol.to_json(),
        "fingerprint": protocol.fingerprint.hex(),
        "questions": protocol.questions,
        "guarantee": str(protocol.guarantee),
    }


def rejected_lines(rejected: Mapping[str, int]) -> list[str]:
    """How many reports were rejected, by reason."""
    total = sum(rejected.values())
    if not total:
        return ["none"]
    by_reason = sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0]))
    return [f"{total:,}", *(f"{reason}: {count:,}" for reason, count in by_reason)]


def read_batch_key(path: Path | None) -> bytes | None:
    """The bytes of a file as a key that seals batches."""
    from sfumato.codec import read_plain
    from sfumato.local.wire import check_key

    with holding("--batch-key"):
        key = None if path is None else read_plain(path, _LARGEST_KEY, "a key")
        check_key(key)
    return key
