"""The collector: adds up reports in whole numbers, in constant memory, mergeable in any order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import shown
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.frames import begin, blocks
from sfumato.local.protocol import Protocol
from sfumato.local.wire import Batch, RejectedError, check_key, unpack_batches, unpack_report

Words = NDArray[np.uint64]

_BLOCK = 2**14  # reports at a time
SEEN = 2**10  # people in a block of the record of who has reported


class Collector:
    """Counts what devices report, and knows nothing else.

    Reports that are not of this protocol are rejected and counted in ``rejected``; so is a second report of a person
    whose number is given. ``a + b`` merges: the result is the same in any order and grouping.

    >>> from sfumato.core.box import Box
    >>> from sfumato.local.density import Density
    >>> protocol = Density(Box([(0, 1)]), epsilon=1.0, lattice=3, seed=1)
    >>> collector = protocol.collector()
    >>> collector.add(protocol.encode([0.5], user=7), user=7), collector.add(b"nonsense", user=8)
    (True, False)
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.reports = 0
        self.rejected: Counter[str] = Counter()
        self._state = protocol.channel.empty()
        self._seen: dict[int, NDArray[np.uint8]] = {}

    def add(self, report: bytes, user: int | None = None) -> bool:
        """Add one report; says whether it was taken. ``user`` is the number that was given to its person."""
        return self.add_messages([(report, None if user is None else self._number(user))]) == 1

    def add_many(self, reports: Iterable[bytes], first_user: int = 0) -> int:
        """Add reports of consecutive persons; says how many were taken. ``first_user`` is the first one's number."""
        if isinstance(reports, bytes | bytearray | memoryview):
            raise ParameterTypeError(
                "reports must be a list of single reports; bytes of many are a gateway's batch: add_batch, if you "
                "trust whoever sent it"
            )
        numbered, taken = zip(reports, count(self._number(first_user)), strict=False), 0
        while block := list(islice(numbered, _BLOCK)):
            taken += self.add_messages(block)
        return taken

    def add_messages(self, messages: Iterable[tuple[bytes, int | None]]) -> int:
        """Add messages as they came, each with the number given to its person; says how many reports were taken."""
        payloads, numbers = [], []
        for message, user in messages:
            try:
                payload, number = self._opened(message, user)
            except RejectedError as reason:
                self.rejected[str(reason)] += 1
                continue
            payloads.append(payload)
            numbers.append(number)
        users = np.array(numbers, dtype=np.uint64)
        order = np.argsort(users, kind="stable")
        values = np.frombuffer(b"".join(payloads), dtype=np.uint8).reshape(-1, self.protocol.channel.width)[order]
        values = values[:, 0] if self.protocol.channel.bitwise else values
        return self._take(values, users[order], once=self.protocol.numbers == "given")

    def _opened(self, message: object, user: int | None) -> tuple[bytes, int]:
        """The payload and the number of a person's report."""
        protocol = self.protocol
        payload, drawn = unpack_report(message, protocol.fingerprint, protocol.channel.width)
        if drawn is not None and protocol.numbers == "given":
            raise RejectedError("own number")
        if drawn is not None and user is not None:
            raise RejectedError("two numbers")
        number = user if protocol.numbers == "given" else drawn
        if number is None:
            raise RejectedError("no number")
        if number >= protocol.users:
            raise RejectedError("unknown person")
        return payload, number

    def add_frames(self, data: bytes) -> int:
        """Add a file of reports (``protocol.file_head``, then frames); says how many reports were taken."""
        place, taken = begin(data, self.protocol.fingerprint), 0
        for block in blocks(data, place, self.protocol.fingerprint, self.protocol.longest) if place else ():
            taken += self.add_messages(block.messages)
            self.rejected += Counter(damaged=block.damaged, truncated=int(block.unread > 0))
        return taken

    def add_batch(self, data: bytes, first_user: int | None = None, key: bytes | None = None) -> int:
        """Add the batches of a gateway that you trust; says how many reports were taken.

        A gateway speaks for all the persons whom it names, and can say anything about them. Never give what came from
        a single device.

        Parameters
        ----------
        first_user
            The number of the first person; by default the number that each batch carries.
        key
            The key with which the gateway sealed its batches: only those are taken.
        """
        check_key(key)
        expected = None if first_user is None else self._number(first_user)
        channel, taken = self.protocol.channel, 0
        try:
            for batch in unpack_batches(data, self.protocol.fingerprint, channel.width, channel.bitwise, key):
                if expected is not None and batch.first != expected:
                    self.rejected["another first person"] += batch.count
                else:
                    taken += self.add_one_batch(batch)
                expected = None if expected is None else expected + batch.count
        except RejectedError as reason:
            self.rejected[str(reason)] += 1
        return taken

    def add_one_batch(self, batch: Batch) -> int:
        """Add a batch that was opened; says how many reports were taken."""
        if batch.first + batch.count > self.protocol.users:
            self.rejected["unknown person"] += batch.count
            return 0
        starts = range(0, batch.count, _BLOCK)
        return sum(self._block(batch.first, at, min(_BLOCK, batch.count - at), batch.payload) for at in starts)

    def _block(self, first: int, start: int, count: int, payload: memoryview) -> int:
        """A block of reports; ``_BLOCK`` is a multiple of eight, so bits start at a byte."""
        channel = self.protocol.channel
        if channel.bitwise:
            packed = np.frombuffer(payload, dtype=np.uint8)[start // 8 : (start + count + 7) // 8]
            values = np.unpackbits(packed, count=count, bitorder="little")
        else:
            whole = np.frombuffer(payload, dtype=np.uint8).reshape(-1, channel.width)
            values = whole[start : start + count]
        return self._take(values, np.arange(first + start, first + start + count, dtype=np.uint64))

    def _take(self, values: NDArray[np.uint8], users: Words, once: bool = True) -> int:
        """Take what devices can have sent, persons in increasing order, ``once`` from each; says how many reports."""
        channel = self.protocol.channel
        values, users = self._without("malformed", self.protocol.valid(values, users), values, users)
        if once:
            fresh = np.ones(len(users), dtype=np.bool_)
            fresh[1:] = users[1:] != users[:-1]
            fresh[fresh] = self._first_time(users[fresh])
            values, users = self._without("second report", fresh, values, users)
        asked = np.zeros(0, dtype=np.int64) if channel.whole else self.protocol.asked(users)
        channel.add(self._state, values, asked, users)
        self.reports += len(users)
        return len(users)

    def _without(
        self, reason: str, good: NDArray[np.bool_], values: NDArray[np.uint8], users: Words
    ) -> tuple[NDArray[np.uint8], Words]:
        if good.all():
            return values, users
        self.rejected[reason] += int(np.count_nonzero(~good))
        return values[good], users[good]

    def _number(self, user: Any) -> int:
        if isinstance(user, bool) or not isinstance(user, int | np.integer) or user < 0:
            raise ParameterTypeError(f"user must be a whole number, 0 or more, got user={shown(user)}")
        return int(user)

    def _first_time(self, users: Words) -> NDArray[np.bool_]:
        """Which of these persons, in increasing order, report for the first time; from now on they have."""
        fresh = np.ones(len(users), dtype=np.bool_)
        if len(users) and self._whole_blocks(users):
            return fresh
        block = (users // np.uint64(SEEN)).astype(np.int64)
        edges = np.flatnonzero(np.diff(block, prepend=-1, append=-1))
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            seen = self._seen.setdefault(int(block[start]), np.zeros(SEEN // 8, dtype=np.uint8))
            bits = np.unpackbits(seen, bitorder="little")
            place = (users[start:stop] % np.uint64(SEEN)).astype(np.int64)
            fresh[start:stop] = bits[place] == 0
            bits[place] = 1
            seen[:] = np.packbits(bits, bitorder="little")
        return fresh

    def _whole_blocks(self, users: Words) -> bool:
        """Whether these are all persons of a few blocks, of whom nobody has reported: the quick way to note them."""
        if len(users) % SEEN or int(users[0]) % SEEN or int(users[-1]) - int(users[0]) != len(users) - 1:
            return False
        keys = range(int(users[0]) // SEEN, int(users[-1]) // SEEN + 1)
        if any(key in self._seen for key in keys):
            return False
        for key in keys:
            self._seen[key] = np.full(SEEN // 8, 255, dtype=np.uint8)
        return True

    def __add__(self, other: object) -> Collector:
        if not isinstance(other, Collector):
            return NotImplemented
        if other.protocol != self.protocol:
            raise ParameterError("two collectors of different protocols cannot be merged")
        shared = self._seen.keys() & other._seen.keys()
        if any((self._seen[key] & other._seen[key]).any() for key in shared):
            raise ParameterError("a person has reported to both collectors: collect all reports of a person in one")
        merged = Collector(self.protocol)
        merged.reports = self.reports + other.reports
        merged.rejected = self.rejected + other.rejected
        merged._state = {name: values + other._state[name] for name, values in self._state.items()}
        for source in (self._seen, other._seen):
            for key, bits in source.items():
                merged._seen[key] = merged._seen[key] | bits if key in merged._seen else bits.copy()
        return merged

    def estimate(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean answer to each question, unbiased, and a bound on the variance of each."""
        self._some()
        return self.protocol.channel.estimate(self._state)

    def release(self) -> Any:
        """The release that follows from the reports so far; more may come, and be released again, at no cost."""
        self._some()
        return self.protocol.release(self._state, self.reports)

    def _some(self) -> None:
        if self.reports == 0:
            rejected = f" ({sum(self.rejected.values())} were rejected: {dict(self.rejected)})" if self.rejected else ""
            raise ParameterError(f"there are no reports yet{rejected}: add some with collector.add or add_many")

    def __repr__(self) -> str:
        return f"<Collector of {self.reports} reports, {sum(self.rejected.values())} rejected; {self.protocol.kind}>"

    # --- surviving a crash ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], position: Any = 0) -> None:
        """Write a checkpoint, for its owner alone: a crash leaves the old one or the new one.

        ``position`` is yours: how far the input was read, a whole number or a dict of plain data (as JSON has them).
        """
        from sfumato.local.checkpoints import save

        save(self, path, position)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], protocol: Protocol) -> tuple[Collector, Any]:
        """A collector of this protocol as a checkpoint left it, and how far the input was read."""
        from sfumato.local.checkpoints import load

        return load(cls(protocol), path)
