"""The collector: adds up reports in whole numbers, in constant memory, mergeable in any order."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError, SfumatoError
from sfumato.local.protocol import Protocol
from sfumato.local.wire import RejectedError, unpack_batches, unpack_report

Words = NDArray[np.uint64]

_BLOCK = 2**14  # reports at a time
_SEEN = 2**10  # people in a block of the record of who has reported


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
        """Add one report; says whether it was taken. ``user`` is the number that it was encoded with."""
        channel = self.protocol.channel
        try:
            payload, slot = unpack_report(report, self.protocol.fingerprint, channel.width)
            if (user is None) == (slot is None):
                raise RejectedError("no number" if user is None else "two numbers")
            number = slot if user is None else self._number(user)
            assert number is not None
            if number >= self.protocol.users:
                raise RejectedError("unknown person")
            values = np.frombuffer(payload, dtype=np.uint8)[None, :]
            values = values[:, 0] if channel.bitwise else values
            if not channel.valid(values).all():
                raise RejectedError("malformed")
            users = np.array([number], dtype=np.uint64)
            if user is not None and not self._first_time(users)[0]:
                raise RejectedError("second report")
        except RejectedError as reason:
            self.rejected[str(reason)] += 1
            return False
        self._tally(values, users)
        return True

    def add_many(self, reports: bytes | Iterable[bytes], first_user: int | None = None) -> int:
        """Add batches (or a list of reports of consecutive persons); says how many reports were taken.

        ``first_user`` is the number of the first person; by default the number that each batch carries.
        """
        if first_user is not None:
            first_user = self._number(first_user)
        if not isinstance(reports, bytes | bytearray | memoryview):
            start = 0 if first_user is None else first_user
            return sum(self.add(report, user=start + i) for i, report in enumerate(reports))
        channel, taken = self.protocol.channel, 0
        try:
            for batch in unpack_batches(reports, self.protocol.fingerprint, channel.width, channel.bitwise):
                if first_user is not None and batch.first != first_user:
                    self.rejected["another first person"] += batch.count
                    first_user += batch.count
                    continue
                if batch.first + batch.count > self.protocol.users:
                    self.rejected["unknown person"] += batch.count
                    continue
                for start in range(0, batch.count, _BLOCK):
                    taken += self._block(batch.first, start, min(_BLOCK, batch.count - start), batch.payload)
                first_user = None if first_user is None else first_user + batch.count
        except RejectedError as reason:
            self.rejected[str(reason)] += 1
        return taken

    def _block(self, first: int, start: int, count: int, payload: memoryview) -> int:
        """A block of reports; ``_BLOCK`` is a multiple of eight, so bits start at a byte."""
        channel = self.protocol.channel
        if channel.bitwise:
            packed = np.frombuffer(payload, dtype=np.uint8)[start // 8 : (start + count + 7) // 8]
            values = np.unpackbits(packed, count=count, bitorder="little")
        else:
            whole = np.frombuffer(payload, dtype=np.uint8).reshape(-1, channel.width)
            values = whole[start : start + count]
        users = np.arange(first + start, first + start + count, dtype=np.uint64)
        if not channel.bitwise and not (valid := channel.valid(values)).all():
            self.rejected["malformed"] += int(np.count_nonzero(~valid))
            values, users = values[valid], users[valid]
        fresh = self._first_time(users)
        if not fresh.all():
            self.rejected["second report"] += int(np.count_nonzero(~fresh))
            values, users = values[fresh], users[fresh]
        self._tally(values, users)
        return len(users)

    def _tally(self, values: NDArray[np.uint8], users: Words) -> None:
        asked = np.zeros(0, dtype=np.int64) if self.protocol.channel.whole else self.protocol.asked(users)
        self.protocol.channel.add(self._state, values, asked, users)
        self.reports += len(users)

    def _number(self, user: Any) -> int:
        if isinstance(user, bool) or not isinstance(user, int | np.integer) or user < 0:
            raise ParameterTypeError(f"user must be a whole number, 0 or more, got user={user!r}")
        return int(user)

    def _first_time(self, users: Words) -> NDArray[np.bool_]:
        """Which of these persons, in increasing order, report for the first time; from now on they have."""
        fresh = np.ones(len(users), dtype=np.bool_)
        if len(users) and self._whole_blocks(users):
            return fresh
        block = (users // np.uint64(_SEEN)).astype(np.int64)
        edges = np.flatnonzero(np.diff(block, prepend=-1, append=-1))
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            seen = self._seen.setdefault(int(block[start]), np.zeros(_SEEN // 8, dtype=np.uint8))
            bits = np.unpackbits(seen, bitorder="little")
            place = (users[start:stop] % np.uint64(_SEEN)).astype(np.int64)
            fresh[start:stop] = bits[place] == 0
            bits[place] = 1
            seen[:] = np.packbits(bits, bitorder="little")
        return fresh

    def _whole_blocks(self, users: Words) -> bool:
        """Whether these are all persons of a few blocks, of whom nobody has reported: the quick way to note them."""
        if len(users) % _SEEN or int(users[0]) % _SEEN or int(users[-1]) - int(users[0]) != len(users) - 1:
            return False
        keys = range(int(users[0]) // _SEEN, int(users[-1]) // _SEEN + 1)
        if any(key in self._seen for key in keys):
            return False
        for key in keys:
            self._seen[key] = np.full(_SEEN // 8, 255, dtype=np.uint8)
        return True

    def __add__(self, other: object) -> Collector:
        if not isinstance(other, Collector):
            return NotImplemented
        if other.protocol.fingerprint != self.protocol.fingerprint:
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

    def _consistent(self) -> bool:
        """Whether tallies count as many reports as there are, and no more persons than that are noted."""
        state = self._state
        tallied = int(state["asked"].sum()) if "asked" in state else int(state["bits"].sum())
        counts = state["asked"] if "asked" in state else state["bits"]
        noted = sum(int(np.bitwise_count(bits).sum()) for bits in self._seen.values())
        return bool((counts >= 0).all()) and tallied == self.reports and noted <= self.reports

    def save(self, path: str | os.PathLike[str], position: int = 0) -> None:
        """Write a checkpoint: a crash leaves the old one or the new one. ``position``: how far the input was read."""
        from safetensors.numpy import save as pack

        from sfumato.releases.io import write_atomically

        about = {"protocol": self.protocol.to_json(), "reports": self.reports, "rejected": dict(self.rejected),
                 "position": position}  # fmt: skip
        arrays: dict[str, NDArray[Any]] = {f"state.{name}": values for name, values in self._state.items()}
        keys = sorted(self._seen)
        arrays["seen.blocks"] = np.array(keys, dtype=np.int64)
        arrays["seen.bits"] = (
            np.stack([self._seen[key] for key in keys]) if keys else np.zeros((0, _SEEN // 8), np.uint8)
        )
        write_atomically(path, pack(arrays, metadata={"sfumato-collector": json.dumps(about)}))

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> tuple[Collector, int]:
        """A collector as a checkpoint left it, and how far the input was read."""
        from safetensors import SafetensorError, safe_open

        from sfumato.local.protocol import from_json

        name = os.fspath(path)
        if not os.path.exists(name):
            raise MissingFileError(f"{name}: there is no such file")
        try:
            with safe_open(name, framework="numpy") as container:
                about = json.loads((container.metadata() or {})["sfumato-collector"])
                arrays = {key: container.get_tensor(key) for key in container.keys()}  # noqa: SIM118
            found = cls(from_json(about["protocol"]))
            found.reports, found.rejected = _count(about["reports"]), _counts(about["rejected"])
            for key, values in found._state.items():
                stored = arrays.pop(f"state.{key}")
                if stored.shape != values.shape or stored.dtype != np.int64:
                    raise ParameterError("the tallies do not fit the protocol")
                found._state[key] = stored.copy()
            blocks, bits = arrays.pop("seen.blocks"), arrays.pop("seen.bits")
            found._seen = _who(blocks, bits, found)
            if arrays or not found._consistent():
                raise ParameterError("the tallies, the number of reports and who has reported do not agree")
            return found, _count(about["position"])
        except (SafetensorError, SfumatoError, LookupError, ValueError, TypeError, OSError, RecursionError) as error:
            raise FileFormatError(f"{name}: not a valid checkpoint ({error})") from None


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ParameterError(f"counts are whole numbers, 0 or more, got {value!r}")
    return value


def _counts(values: Any) -> Counter[str]:
    if not isinstance(values, dict):
        raise ParameterError("rejected reports are counted by reason")
    return Counter({str(reason): _count(value) for reason, value in values.items()})


def _who(blocks: NDArray[Any], bits: NDArray[Any], collector: Collector) -> dict[int, NDArray[np.uint8]]:
    """Who has reported, from a checkpoint's blocks, refusing what none could have written."""
    fits = blocks.dtype == np.int64 and blocks.ndim == 1 and bits.dtype == np.uint8
    if not fits or bits.shape != (len(blocks), _SEEN // 8) or (np.diff(blocks) <= 0).any():
        raise ParameterError("the record of who has reported is damaged")
    if len(blocks) and not 0 <= int(blocks[0]) <= int(blocks[-1]) <= (collector.protocol.users - 1) // _SEEN:
        raise ParameterError("persons beyond the protocol's have reported")
    return {int(key): row.copy() for key, row in zip(blocks, bits, strict=True)}
