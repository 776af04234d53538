"""A protocol: everything that devices and collector must agree on, public, immutable, written as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import one_of, positive_integer, positive_number
from sfumato.core import sampling
from sfumato.core.box import Box, Categorical, Column, Integer, Interval, Periodic
from sfumato.core.privacy import Guarantee
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError, SfumatoError
from sfumato.local.channels import CHANNELS, Channel, State
from sfumato.local.public import public_below, public_words
from sfumato.local.records import one_record, read_records, within
from sfumato.local.wire import VERSION, pack_batch, pack_report

if TYPE_CHECKING:
    from sfumato.local.collector import Collector

Floats = NDArray[np.float64]
Questions = NDArray[np.int64]
Words = NDArray[np.uint64]

MOST_USERS = 2**48
_BLOCK = 2**14  # people at a time: what is computed on the way stays in the cache
_LARGEST_FILE = 2**20


@dataclass(frozen=True)
class Protocol(ABC):
    """What each person is asked, and how the answer is randomised on the person's own device.

    Formal guarantee: whatever a person holds, ``encode`` is ``epsilon``-differentially private (the randomizers of
    ``core/randomizer.py``); all that happens to reports afterwards is post-processing. One report a person: k reports
    cost k epsilon.
    """

    box: Box
    epsilon: float
    seed: int | None = None
    users: int = 2**40

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise ParameterTypeError(f"box must be an sf.Box with public bounds, got {self.box!r}")
        if self.box.max_norm is not None:
            raise ParameterError("a box with max_norm has no meaning on a device here: leave it out")
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))
        if positive_integer("users", self.users) > MOST_USERS:
            raise ParameterError(f"users must be at most {MOST_USERS}, got users={self.users!r}")
        if self.seed is None:
            object.__setattr__(self, "seed", int(sampling.words53(1)[0]))
        elif isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**63:
            raise ParameterError(f"seed must be a whole number in [0, 2**63), got seed={self.seed!r}")
        self.check()

    # --- what a kind of protocol says -----------------------------------------------------------------------

    @abstractmethod
    def check(self) -> None:
        """Refuse parameters that make no protocol."""

    @property
    @abstractmethod
    def questions(self) -> int:
        """How many different questions there are."""

    @property
    @abstractmethod
    def channel_name(self) -> str:
        """Which channel answers travel through."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters of this kind as plain data, named as its arguments."""

    @abstractmethod
    def answers(self, columns: Floats, users: Words) -> NDArray[Any]:
        """Private: each person's answer in [0, 1] to the question asked, or all answers if the channel takes all.

        ``columns`` are ``(d, m)``, within the box; a category is its position.
        """

    @abstractmethod
    def release(self, state: State, reports: int) -> Any:
        """The release that follows from what a collector kept."""

    def spread(self, variance: float) -> float:
        """The variance of an estimate, if that of each mean answer is this, and all questions are asked alike."""
        return variance

    def asked(self, users: Words) -> Questions:
        """Which question each person is asked: public."""
        assert self.seed is not None
        return public_below(public_words(self.seed, users), self.questions)

    # --- on the device --------------------------------------------------------------------------------------

    @cached_property
    def channel(self) -> Channel:
        """The randomizer, and what the collector adds up."""
        assert self.seed is not None
        return CHANNELS[self.channel_name](self.epsilon, self.questions, self.seed)

    def encode(self, record: Any, user: int | None = None) -> bytes:
        """One person's report, randomised: the only thing that leaves the device.

        Parameters
        ----------
        record
            A sequence of values in the order of the box, a mapping from names, or a number if there is one column.
            Values outside are clipped; the middle of the box (or the first category) stands in for what is missing.
        user
            The person's number, which decides the question; without one the device draws a number and sends it along.

        Formal guarantee: ``epsilon``-differential privacy in the local model (docs/proofs/randomizers.md).
        """
        slot = None
        if user is None:
            user = slot = int(sampling.uniform_below(np.array([self.users]))[0])
        users = self._users(user, 1)
        payload = self._payload(read_records(self.box, one_record(record)), users)
        return pack_report(self.fingerprint, payload.tobytes(), slot)

    def encode_many(self, records: Any, first_user: int = 0) -> bytes:
        """One batch of reports of consecutive persons, for simulation and for devices that serve many."""
        codes = read_records(self.box, records)
        self._users(first_user, max(1, len(codes)))
        block = max(1, _BLOCK // self.questions) if self.channel.whole else _BLOCK
        parts = [
            self._payload(
                codes[start : start + block], self._users(first_user + start, len(codes[start : start + block]))
            )
            for start in range(0, len(codes), block)
        ]
        shape = (0,) if self.channel.bitwise else (0, self.channel.width)
        payload = np.concatenate(parts) if parts else np.zeros(shape, dtype=np.uint8)
        return pack_batch(self.fingerprint, first_user, payload, self.channel.bitwise)

    def _payload(self, codes: Floats, users: Words) -> NDArray[np.uint8]:
        return self.channel.send(self.answers(within(self.box, codes), users), users)

    def _users(self, first: int, count: int) -> Words:
        if isinstance(first, bool) or not isinstance(first, int | np.integer):
            raise ParameterTypeError(f"user must be a whole number, got user={first!r}")
        if not 0 <= first <= self.users - count:
            raise ParameterError(
                f"users must lie in [0, {self.users}), as far as the public randomness reaches, got {first} to "
                f"{first + count - 1}: make the protocol with a larger users="
            )
        return np.arange(first, first + count, dtype=np.uint64)

    # --- at the collector -----------------------------------------------------------------------------------

    def collector(self) -> Collector:
        """A new, empty collector of reports."""
        from sfumato.local.collector import Collector

        return Collector(self)

    @property
    def guarantee(self) -> Guarantee:
        """What every report, and so every release, promises."""
        return Guarantee(self.epsilon, 0.0, None, None, "replace", "row", model="local")

    # --- as a file ------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain data from which ``sf.local.load`` rebuilds the protocol."""
        return {
            "format": "sfumato-protocol",
            "version": VERSION,
            "kind": self.kind,
            "box": [_column_json(name, kind) for name, kind in zip(self.box.names, self.box.columns, strict=True)],
            "named": self.box.named,
            "epsilon": self.epsilon,
            "randomizer": self.channel_name,
            "seed": self.seed,
            "users": self.users,
            "parameters": self.parameters(),
        }

    @cached_property
    def fingerprint(self) -> bytes:
        """Eight bytes that tell protocols apart: the beginning of a SHA-256 of the JSON, keys sorted, no spaces."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode()).digest()[:8]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the protocol to a JSON file: a crash leaves the old one or none, never half of it."""
        target = Path(path)
        if not target.parent.is_dir():
            raise MissingFileError(f"{target}: there is no such folder")
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n", "utf-8")
        os.replace(unfinished, target)


def _column_json(name: str, kind: Column) -> dict[str, Any]:
    if isinstance(kind, Categorical):
        return {"name": name, "kind": kind.kind, "categories": list(kind.categories)}
    return {"name": name, "kind": kind.kind, "low": kind.low, "high": kind.high}


_COLUMNS = {"interval": Interval, "integer": Integer, "periodic": Periodic}


def _column(data: Mapping[str, Any]) -> Column:
    if data["kind"] == "categorical":
        return Categorical(tuple(data["categories"]))
    return _COLUMNS[one_of("kind", data["kind"], tuple(_COLUMNS))](data["low"], data["high"])


def load(path: str | os.PathLike[str]) -> Any:
    """Read a protocol from a JSON file, refusing anything that is not exactly one.

    >>> load("no-such-file.json")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file.json: there is no such file
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError(f"path must be a file's path, got path={path!r}")
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > _LARGEST_FILE:
            raise FileFormatError("too large for a protocol")
        data = json.loads(Path(path).read_text("utf-8"))
        return from_json(data)
    except FileNotFoundError:
        raise MissingFileError(f"{name}: there is no such file") from None
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from None
    except (SfumatoError, OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{name}: not a valid sfumato protocol ({error})") from None


def from_json(data: Any) -> Any:
    """Rebuild a protocol from plain data: a closed list of kinds."""
    from sfumato.local.density import Density
    from sfumato.local.marginals import Marginals
    from sfumato.local.smooth import SmoothQueries

    kinds: dict[str, type[Protocol]] = {kind.kind: kind for kind in (Density, SmoothQueries, Marginals)}
    if not isinstance(data, dict) or data.get("format") != "sfumato-protocol":
        raise FileFormatError("not a sfumato protocol")
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        raise FileFormatError(f"protocol version {data.get('version')!r} is unknown, this sfumato speaks {VERSION}")
    columns = {column["name"]: _column(column) for column in data["box"]}
    box = Box(columns if data["named"] else list(columns.values()))
    kind = kinds[one_of("kind", data["kind"], tuple(kinds))]
    found = kind(box, data["epsilon"], seed=data["seed"], users=data["users"], **data["parameters"])
    if found.to_json() != data:
        raise ParameterError("the protocol has unexpected or inconsistent entries")
    return found
