"""Files of reports and of a gateway's batches, read in pieces, and checkpoints that remember how far each was read.

docs/wire-format.md describes both kinds. What is no report is counted; nothing that a sender wrote can hide, add or
change another person's report.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.cli.options import holding
from sfumato.codec import open_plain
from sfumato.errors import FileFormatError, ParameterError
from sfumato.local.collector import Collector
from sfumato.local.frames import begin, blocks
from sfumato.local.protocol import Protocol
from sfumato.local.wire import RejectedError, unpack_batches

EVERY = 2.0  # seconds between checkpoints
_PIECE = 2**20
_DIGEST = 64  # characters of a SHA-256


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
        """Take all reports of a file; ``saved`` is called now and then, ``tick`` with how many were taken."""
        self._follow(path, self._frames, saved, tick)

    def read_gateway(
        self, path: Path, key: bytes | None, saved: Callable[[], None], tick: Callable[[int], None]
    ) -> None:
        """Take all batches of a file that a trusted gateway wrote; what follows something else is not read."""
        self._follow(path, lambda view, place: self._batches(view, place, key), saved, tick)

    def _follow(
        self,
        path: Path,
        take: Callable[[Any, int], Iterator[int]],
        saved: Callable[[], None],
        tick: Callable[[int], None],
    ) -> None:
        """Let ``take`` read a file from where it was left, and remember each place that it reaches."""
        with _mapped(path) as view:
            place, begun = self.places.start(path, view)
            saved_at, before = time.monotonic(), self.collector.reports
            try:
                for reached in take(view, place):
                    hash_on(begun, view, place, reached)
                    place = reached
                    tick(self.collector.reports - before)
                    before = self.collector.reports
                    if time.monotonic() - saved_at >= EVERY:
                        self.places.reached(path, place, begun)
                        saved()
                        saved_at = time.monotonic()
            except FileFormatError as error:
                raise FileFormatError(f"{path}: {error}") from None
            self.places.reached(path, place, begun)

    def _frames(self, view: Any, place: int) -> Iterator[int]:
        """Take framed messages, a block at a time; yields the places up to which everything is told."""
        protocol = self.collector.protocol
        start = begin(view, protocol.fingerprint)
        if not start:
            self.pending["truncated"] += len(view) > 0
            return
        for block in blocks(view, max(start, place), protocol.fingerprint, protocol.longest):
            self.collector.add_messages(block.messages)
            self.collector.rejected += Counter(damaged=block.damaged)
            self.pending += Counter(truncated=int(block.unread > 0))
            yield block.stop

    def _batches(self, view: Any, place: int, key: bytes | None) -> Iterator[int]:
        """Take batches one by one; yields the places behind them."""
        protocol, channel = self.collector.protocol, self.collector.protocol.channel
        whole = memoryview(view)
        try:
            for batch in unpack_batches(whole, protocol.fingerprint, channel.width, channel.bitwise, key, place):
                self.collector.add_one_batch(batch)
                yield batch.stop
        except RejectedError as reason:
            self.pending[str(reason)] += 1


@contextmanager
def _mapped(path: Path) -> Iterator[Any]:
    """A file as bytes that are read when they are looked at: memory does not grow with it."""
    with open_plain(path) as file:
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        # Not closed here: what was cut out of it may live as long as an error's traceback.
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


# --- checkpoints ------------------------------------------------------------------------------------------


def save_checkpoint(path: Path, reading: Reading) -> None:
    """Write the collector and the places in one file; a crash leaves the old one or the new one."""
    reading.collector.save(path, vars(reading.places))


def load_checkpoint(path: Path, protocol: Protocol) -> Reading:
    """A collector and its places as a checkpoint left them."""
    with holding("--checkpoint"):
        collector, position = Collector.resume(path, protocol)
    if not isinstance(position, dict) or set(position) != {"at", "digests"}:
        raise FileFormatError(f"{path}: not a valid checkpoint (its places are missing)")
    at, digests = position["at"], position["digests"]
    whole = isinstance(at, dict) and isinstance(digests, dict) and at.keys() == digests.keys()
    if not whole or not all(type(place) is int and 0 <= place < 2**63 for place in at.values()):
        raise FileFormatError(f"{path}: not a valid checkpoint (its places are damaged)")
    if not all(isinstance(digest, str) and len(digest) == _DIGEST for digest in digests.values()):
        raise FileFormatError(f"{path}: not a valid checkpoint (its places are damaged)")
    return Reading(collector, Places(at, digests))
