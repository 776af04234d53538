"""A protocol that was asked for, checked as far as public parameters go; and people who were made up for it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

import sfumato as sf
from sfumato.boxfile import read_box
from sfumato.cli.progress import counting
from sfumato.core.box import Categorical, Column
from sfumato.engines.cells import positions
from sfumato.engines.files import is_text
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError
from sfumato.local.density import RANDOMIZERS as DENSITY
from sfumato.local.marginals import RANDOMIZERS as MARGINALS
from sfumato.local.protocol import Protocol
from sfumato.local.smooth import RANDOMIZERS as SMOOTH

AT_ONCE = 2**18  # people in a batch
# Which options belong to which kind, and its randomizers.
KINDS: dict[str, tuple[str, ...]] = {
    "density": ("lattice",),
    "smooth-queries": ("degree", "interactions"),
    "marginals": ("ways", "one_way", "people"),
}
RANDOMIZERS = {"density": DENSITY, "smooth-queries": SMOOTH, "marginals": MARGINALS}
_CLASSES: dict[str, Any] = {
    "density": sf.local.Density,
    "smooth-queries": sf.local.SmoothQueries,
    "marginals": sf.local.Marginals,
}


def protocol_of(kind: str | None, box: Path | None, epsilon: float | None, given: Mapping[str, Any]) -> Protocol:
    """The protocol that the options describe; None stands for what was not given."""
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
    if "randomizer" in settings and settings["randomizer"] not in RANDOMIZERS[kind]:
        allowed = ", ".join(RANDOMIZERS[kind])
        raise ParameterError(f"--randomizer for {kind} is one of {allowed}, got {settings['randomizer']!r}")
    made: Protocol = _CLASSES[kind](read_box(box), epsilon, **settings)
    return made


def whole_numbers(option: str, text: str | None) -> Any:
    """``11`` or ``11,21``: a number, or one for each column."""
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ParameterError(f"{option} needs a whole number, or one for each column such as 11,21, got {text!r}")
    found = [int(part) for part in parts]
    return found[0] if len(found) == 1 else tuple(found)


def interactions_of(text: str | None) -> Any:
    """``full``, ``cross`` or a number of columns."""
    return int(text) if text is not None and text.isdecimal() else text


# --- people -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class People:
    """Records of people, column by column, as a protocol's own reader takes them."""

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[self.columns.index(name)]

    def __len__(self) -> int:
        return len(self.values[0])

    def some(self, places: Any) -> People:
        """Those at some places."""
        return People(self.columns, tuple(np.asarray(values)[places] for values in self.values))

    def repeated(self, people: int) -> People:
        """So many people like these, over and over."""
        return self.some(np.arange(people) % len(self))


def read_people(path: Path, box: sf.Box) -> Iterator[People]:
    """The people in a table, one a row, ``AT_ONCE`` in a piece but for the last; what a record holds never raises.

    A file is read in pieces of so many bytes, and where one ends depends on what people hold: no batch ends there.
    """
    named = sf.Box(dict(zip(box.names, box.columns, strict=True)))
    waiting, count = list[People](), 0
    for columns in open_table(str(path), named, "row").batches(named, AT_ONCE):
        waiting.append(People(box.names, tuple(map(_held, box.columns, columns))))
        count += len(waiting[-1])
        if count >= AT_ONCE:
            whole = all_people(waiting)
            yield whole.some(slice(AT_ONCE))
            waiting, count = [whole.some(slice(AT_ONCE, None))], count - AT_ONCE
    if count:
        yield all_people(waiting)


def _held(kind: Column, values: Any) -> Any:
    """One column as an array: of text its declared categories, None for any other; numbers as they are."""
    if not isinstance(kind, Categorical) or not is_text(kind):
        return np.asarray(values)
    # Never as an array of Arrow's making: it raises, and prints, a cell that is no UTF-8.
    return np.array([*kind.categories, None], dtype=object)[positions(values, kind)]


def all_people(pieces: Sequence[People]) -> People:
    """Pieces in one."""
    columns = zip(*(piece.values for piece in pieces), strict=True)
    return People(pieces[0].columns, tuple(np.concatenate(parts) for parts in columns))


def encode_file(
    ctx: typer.Context, protocol: Protocol, data: Path, output: Path, first_user: int, key: bytes | None
) -> tuple[int, int]:
    """Encode a table of people into batches; says how many people, and how many bytes, there are."""
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


_STEPS = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0])


def made_up(box: sf.Box, people: int) -> People:
    """People who do not exist, the same each time: a bump in each number, the first categories more often."""
    turns = np.arange(people)
    spread = [np.mod(turns * _STEPS[j % len(_STEPS)] * (1 + j // len(_STEPS)), 1.0) for j in range(box.dimension + 1)]
    columns = [_made_column(kind, spread[j], spread[j + 1]) for j, kind in enumerate(box.columns)]
    return People(box.names, tuple(columns))


def _made_column(kind: Column, one: Any, other: Any) -> Any:
    if isinstance(kind, Categorical):
        shares = np.arange(len(kind.categories), 0, -1.0)
        place = np.searchsorted(np.cumsum(shares / shares.sum()), one)
        return np.array(kind.categories)[np.minimum(place, len(shares) - 1)]
    return kind.low + (kind.high - kind.low) * (one + other) / 2
