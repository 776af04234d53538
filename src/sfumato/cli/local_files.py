"""Files of reports, read in pieces, and checkpoints that remember how far each of them was read.

A file holds batches, and single reports that carry their number, one after the other (docs/wire-format.md). What is
neither is counted, and reading goes on where the next report of this protocol begins.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import FileFormatError, MissingFileError, ParameterError, SfumatoError
from sfumato.local.collector import Collector
from sfumato.local.protocol import Protocol
from sfumato.local.wire import RejectedError, pack_batch, pack_report, unpack_batches, unpack_report
from sfumato.releases.io import write_atomically

EVERY = 2.0  # seconds between checkpoints
_ABOUT, _STATE = "positions.json", "collector"
_PIECE = 2**20


@dataclass
class Places:
    """How far each file was read: everything before a place is counted, nothing behind it.

    Parameters
    ----------
    at, digests
        By the file's full name: the place, and the SHA-256 of everything before it.
    """

    at: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def start(self, path: Path, view: Any) -> tuple[int, Any]:
        """Where to go on in a file, and the hash so far; refuses a file whose beginning is not what was read."""
        name, begun = str(path.resolve()), hashlib.sha256()
        place = self.at.get(name, 0)
        hash_on(begun, view, 0, place)
        if place and (place > len(view) or begun.hexdigest() != self.digests[name]):
            raise ParameterError(
                f"{path}: does not begin with what the checkpoint has read of it; files may only grow at their end: "
                "give the old one, or begin anew without this checkpoint"
            )
        return place, begun

    def reached(self, path: Path, place: int, begun: Any) -> None:
        """Remember how far a file was read, and what stood there."""
        name = str(path.resolve())
        self.at[name], self.digests[name] = place, begun.hexdigest()


def hash_on(begun: Any, view: Any, start: int, stop: int) -> None:
    """Hash a stretch of a file, a piece at a time."""
    for place in range(start, min(stop, len(view)), _PIECE):
        begun.update(view[place : min(place + _PIECE, stop)])


# --- reading ----------------------------------------------------------------------------------------------


@dataclass
class Reading:
    """A collector at work on files.

    Parameters
    ----------
    pending
        What stands at the end of files and is no report. It is told, but not kept in the checkpoint: a file that is
        still being written may make sense later.
    """

    collector: Collector
    places: Places
    pending: Counter[str] = field(default_factory=Counter)

    def read(self, path: Path, saved: Callable[[], None], tick: Callable[[int], None]) -> None:
        """Take all reports of a file; ``saved`` is called now and then, ``tick`` with how many were met."""
        with _mapped(path) as view:
            place, begun = self.places.start(path, view)
            saved_at = time.monotonic()
            while place < len(view):
                first = place
                before = self.collector.reports
                place, unknown = self._step(view, place)
                if unknown is not None:
                    after = self._next(view, place + 1)
                    if after is None:
                        self.pending[unknown] += 1
                        break
                    self.collector.rejected[unknown] += 1
                    place = after
                hash_on(begun, view, first, place)
                tick(self.collector.reports - before)
                if time.monotonic() - saved_at >= EVERY:
                    self.places.reached(path, place, begun)
                    saved()
                    saved_at = time.monotonic()
            self.places.reached(path, place, begun)

    def _step(self, view: mmap.mmap, place: int) -> tuple[int, str | None]:
        """Take what stands at a place: where it ends, or the same place and why it is no report."""
        protocol = self.collector.protocol
        channel = protocol.channel
        try:
            if view[place : place + 4] == self._batch_head[:4]:
                rest = memoryview(view)[place:]
                batch = next(unpack_batches(rest, protocol.fingerprint, channel.width, channel.bitwise))
                size = len(self._batch_head) + len(batch.payload)
                self.collector.add_many(rest[:size])  # type: ignore[arg-type]
                return place + size, None
            report = view[place : place + self._report_size]
            unpack_report(report, protocol.fingerprint, channel.width)
            self.collector.add(report)
            return place + len(report), None
        except RejectedError as reason:
            return place, str(reason)

    def _next(self, view: mmap.mmap, start: int) -> int | None:
        """Where the next report of this protocol begins."""
        batch, report = view.find(self._batch_head[:-16], start), view.find(self._report_head, start)
        while report >= 4 and view[report - 4 : report] == self._batch_head[:4]:  # the rest of a batch's head
            report = view.find(self._report_head, report + 1)
        return min((place for place in (batch, report) if place >= 0), default=None)

    @cached_property
    def _batch_head(self) -> bytes:
        """How a batch begins: sixteen bytes at its end are its first person and its count."""
        channel = self.collector.protocol.channel
        empty = np.zeros((0,) if channel.bitwise else (0, channel.width), dtype=np.uint8)
        return pack_batch(self.collector.protocol.fingerprint, 0, empty, channel.bitwise)

    @cached_property
    def _report_head(self) -> bytes:
        """How a report that carries its number begins: version, flags, fingerprint."""
        return pack_report(self.collector.protocol.fingerprint, b"", 0)[:-8]

    @cached_property
    def _report_size(self) -> int:
        return len(self._report_head) + 8 + self.collector.protocol.channel.width


@contextmanager
def _mapped(path: Path) -> Iterator[Any]:
    """A file as bytes that are read when they are looked at: memory does not grow with it."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            yield b""
            return
        # Not closed here: what was cut out of it may live as long as an error's traceback.
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


# --- checkpoints ------------------------------------------------------------------------------------------


def save_checkpoint(path: Path, reading: Reading) -> None:
    """Write the collector and the places in one file; a crash leaves the old one or the new one."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".sfumato-") as folder:
        state = Path(folder) / _STATE
        reading.collector.save(state)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as container:
            container.writestr(_ABOUT, json.dumps(vars(reading.places)))
            container.write(state, _STATE)
    write_atomically(path, packed.getvalue())


def load_checkpoint(path: Path, protocol: Protocol) -> Reading:
    """A collector and its places as a checkpoint left them."""
    if not path.is_file():
        raise MissingFileError(f"{path}: there is no such file")
    try:
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as container:
            about = json.loads(container.read(_ABOUT))
            (Path(folder) / _STATE).write_bytes(container.read(_STATE))
            collector, _ = Collector.resume(Path(folder) / _STATE)
        places = Places(
            {str(name): int(place) for name, place in about["at"].items()},
            {str(name): str(digest) for name, digest in about["digests"].items()},
        )
        if places.at.keys() != places.digests.keys():
            raise ParameterError("its places are incomplete")
    except (SfumatoError, zipfile.BadZipFile, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        words = str(error).partition(f"{_STATE}: ")[2] or str(error)
        raise FileFormatError(f"{path}: not a valid checkpoint ({words})") from None
    if collector.protocol.fingerprint != protocol.fingerprint:
        raise ParameterError(f"{path}: is of another protocol; choose another name for the checkpoint")
    return Reading(collector, places)
