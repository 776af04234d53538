"""What the commands of the local model share: options, the protocol that they describe, and words about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sfumato as sf
from sfumato.cli.options import declared_box, holding
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.protocol import Protocol

_LARGEST_KEY = 2**12
# Which options belong to which kind.
KINDS: dict[str, tuple[str, ...]] = {
    "density": ("lattice", "people"),
    "smooth-queries": ("degree", "interactions"),
    "marginals": ("ways", "one_way", "people"),
    "linear-model": ("response", "scales", "public"),
    "generalized-linear": ("response", "scales", "loss", "degree", "copies", "delta", "steps"),
    "risk": ("loss", "parameters", "lattice", "degree", "response", "ridge", "range"),
}
_OPTIONS = {"scales": "scale", "parameters": "parameter"}  # those that are called otherwise, as each gives one

File = Annotated[
    Path, typer.Argument(metavar="PROTOCOL", help="A protocol, such as protocol.json.", show_default=False)
]
Kind = Annotated[
    str | None,
    typer.Option(
        metavar="density|smooth-queries|marginals|linear-model|risk|generalized-linear", help="What is collected."
    ),
]
Lattice = Annotated[
    str | None,
    typer.Option(
        metavar="auto|N|N,N",
        help="Density, risk: lattice points along each column or parameter; of a density as many as suit.",
    ),
]
Degree = Annotated[
    str | None,
    typer.Option(
        metavar="N|N,N",
        help="Smooth queries: frequencies along each column; 6. Risk, generalized-linear: of the polynomial.",
    ),
]
Interactions = Annotated[
    str | None, typer.Option(metavar="full|cross|K", help="Smooth queries: how many columns may interact.")
]
Ways = Annotated[int | None, typer.Option(metavar="K", help="Marginals: the most columns in a table; 2 if left out.")]
Response = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Linear model, risk: the column to predict, a range or two categories."),
]
Scale = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME:CENTRE:UNIT", help="Linear model: a public scale, for each column that needs one."),
]
Public = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", help="Linear model: public records; people then tell of the response alone."),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Risk: logistic, squared, huber, smoothed-hinge, own. Generalized-linear: hinge, logistic, absolute.",
    ),
]
Copies = Annotated[
    str | None, typer.Option(metavar="privunit|gaussian", help="Generalized-linear: what people send; privunit.")
]
Steps = Annotated[int | None, typer.Option(metavar="N", help="Generalized-linear: parts of the people; 64.")]
Delta = Annotated[float | None, typer.Option(metavar="D", help="Generalized-linear, gaussian copies: needs one.")]
Parameter = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME:LOW:HIGH", help="Risk: one of up to three parameters, called like its column."),
]
Ridge = Annotated[float | None, typer.Option(metavar="R", help="Risk: what is added to the loss; nothing.")]
Range = Annotated[
    str | None, typer.Option(metavar="LOW:HIGH", help="Risk: what the loss is clipped to; all that a named one can be.")
]
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
    from sfumato.local import density, generalized, linear, marginals, risk, smooth

    if kind not in KINDS:
        raise ParameterError(f"what is collected? give --kind, one of {', '.join(KINDS)}, got {kind!r}")
    if box is None:
        raise ParameterError("which columns? give --box TOML, a file as 'sfumato box' drafts it")
    if epsilon is None:
        raise ParameterError("how much privacy may a report cost? give --epsilon E")
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        owners = [other for other, names in KINDS.items() if name in names] or [kind]
        if kind not in owners:
            which = " or ".join(owners)
            option = _OPTIONS.get(name, name.replace("_", "-"))
            raise ParameterError(f"--{option} is for --kind {which}; leave it out for {kind}")
    made: dict[str, tuple[Any, Sequence[str]]] = {
        "density": (density.Density, density.RANDOMIZERS),
        "smooth-queries": (smooth.SmoothQueries, smooth.RANDOMIZERS),
        "marginals": (marginals.Marginals, marginals.RANDOMIZERS),
        "linear-model": (linear.LinearModel, ()),
        "generalized-linear": (generalized.GeneralizedLinear, ()),
        "risk": (risk.RiskMinimization, risk.RANDOMIZERS),
    }
    cls, randomizers = made[kind]
    if "randomizer" in settings and settings["randomizer"] not in randomizers:
        allowed = ", ".join(randomizers)
        if not randomizers:
            raise ParameterError(f"--randomizer: there is only one for {kind}; leave it out")
        raise ParameterError(f"--randomizer for {kind} is one of {allowed}, got {settings['randomizer']!r}")
    if kind == "linear-model":
        return _linear_model(declared_box(box), epsilon, settings)
    if kind == "generalized-linear" and "response" not in settings:
        raise ParameterError("which column is predicted? give --response NAME")
    for name in ("loss", "parameters", "lattice", "degree") if kind == "risk" else ():
        if name not in settings:
            raise ParameterError(f"--kind risk needs --{_OPTIONS.get(name, name)}")
    protocol: Protocol = cls(declared_box(box), epsilon, **settings)
    return protocol


def _linear_model(box: sf.Box, epsilon: float, settings: dict[str, Any]) -> Protocol:
    """A linear model; its second moments are those of public records, if any are given."""
    from dataclasses import replace

    import numpy as np

    from sfumato.local.linear import LinearModel

    if "response" not in settings:
        raise ParameterError("which column is predicted? give --response NAME")
    public = settings.pop("public", None)
    if public is None:
        return LinearModel(box, epsilon, **settings)
    from sfumato.cli.local.people import all_people, read_people

    # The response is not looked at, and need not be there: only how the other columns go with each other.
    columns = [name for name in box.names if name != settings["response"]]
    kinds = dict(zip(box.names, box.columns, strict=True))
    size = 1 + sum(1 + isinstance(kinds[name], sf.Periodic) for name in columns)
    made = LinearModel(box, epsilon, second_moments=np.eye(size) / size, **settings)
    pieces = list(read_people(public, sf.Box({name: kinds[name] for name in columns})))
    if not pieces:
        raise ParameterError(f"{public}: there is no record in it")
    return replace(made, second_moments=made.public_moments(all_people(pieces)))


def scales_of(given: Sequence[str] | None) -> dict[str, tuple[Any, float]] | None:
    """``age:38:14`` or ``visit:2024-03-01:30``: a public centre and unit of a column."""
    from sfumato.dates import is_date

    found: dict[str, tuple[Any, float]] = {}
    for text in given or ():
        name, *pair = text.rsplit(":", 2)
        try:
            centre, unit = pair
            found[name] = (centre if is_date(centre) else float(centre), float(unit))
        except ValueError:
            raise ParameterError(f"--scale needs NAME:CENTRE:UNIT, such as age:38:14, got {text!r}") from None
    return found or None


def parameters_of(given: Sequence[str] | None) -> sf.Box | None:
    """``age:-2:2``: the range of a parameter."""
    found = {}
    for text in given or ():
        name, *numbers = text.rsplit(":", 2)
        try:
            low, high = map(float, numbers)
        except ValueError:
            raise ParameterError(f"--parameter needs NAME:LOW:HIGH, such as age:-2:2, got {text!r}") from None
        found[name] = (low, high)
    with holding("--parameter"):
        return sf.Box(found) if found else None


def range_of(text: str | None) -> tuple[float, float] | None:
    """``0:4``: what a loss is clipped to."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise ParameterError(f"--range needs LOW:HIGH, such as 0:4, got {text!r}") from None
    return low, high


def shape_of(
    lattice: str | None, degree: str | None, interactions: str | None, ways: int | None, randomizer: str | None
) -> dict[str, Any]:
    """What the options say of a protocol's shape, as ``protocol_of`` takes it."""
    return {
        "lattice": None if lattice == "auto" else whole_numbers("--lattice", lattice),
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
    from sfumato.local.generalized import GeneralizedLinear
    from sfumato.local.linear import LinearModel
    from sfumato.local.marginals import Marginals
    from sfumato.local.risk import RiskMinimization
    from sfumato.local.smooth import SmoothQueries

    names = ", ".join(protocol.box.names) if protocol.box.dimension < 9 else f"{protocol.box.dimension} columns"
    if isinstance(protocol, Density):
        return f"{' x '.join(map(str, protocol.shape))} lattice points of {names}"
    if isinstance(protocol, LinearModel):
        own = "" if protocol.second_moments is None else ", with public second moments"
        few = ", ".join(protocol.columns) if len(protocol.columns) < 9 else f"{len(protocol.columns)} columns"
        return f"{protocol.response} from {few}{own}"
    if isinstance(protocol, GeneralizedLinear):
        few = ", ".join(protocol.columns) if len(protocol.columns) < 9 else f"{len(protocol.columns)} columns"
        made = f"{protocol.degree + 1} {protocol.copies} copies, {protocol.steps} steps"
        return f"{protocol.response} from {few} by the {protocol.loss} loss, {made}"
    if isinstance(protocol, RiskMinimization):
        along = f"{' x '.join(map(str, protocol.shape))} values of {', '.join(protocol.parameters.names)}"
        about = "" if protocol.response is None else f" about {protocol.response}"
        return f"{protocol.loss} loss{about} at {along}"
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
