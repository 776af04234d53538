"""A protocol: everything that devices and collector must agree on, public, immutable, written as JSON."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.checks import one_of, positive_integer, positive_number, shown
from sfumato.codec import decode_box, encode_box, read_json, read_plain, write_plain
from sfumato.core import sampling
from sfumato.core.box import Box
from sfumato.core.privacy import Guarantee
from sfumato.errors import FileFormatError, ParameterError, ParameterTypeError, SfumatoError
from sfumato.local.channels import CHANNELS, Channel, State
from sfumato.local.frames import file_head, pack_frame
from sfumato.local.public import public_below, public_words
from sfumato.local.records import one_record, read_records, within
from sfumato.local.wire import VERSION, check_key, pack_batch, pack_report, report_size
from sfumato.values import silently

if TYPE_CHECKING:
    from sfumato.local.collector import Collector

Floats = NDArray[np.float64]
Questions = NDArray[np.int64]
Words = NDArray[np.uint64]

MOST_USERS = 2**48
_BLOCK = 2**14  # people at a time: what is computed on the way stays in the cache
_LARGEST_FILE = 2**26  # bytes: public second moments of as many columns as devices tell are half of it
_LONGEST_COMPLAINT = 500  # characters of what is wrong with a file, which may hold anything
NUMBERS = ("given", "drawn")
# With these a device that may draw its own number can draw one that counts hundreds of times as much as most.
_NOT_DRAWN = ("likelihood", "loglog")


@dataclass(frozen=True)
class Protocol(ABC):
    """What each person is asked, and how the answer is randomised on the person's own device.

    Parameters
    ----------
    seed
        Of the public randomness; drawn if left out. Give people their numbers first, then make the protocol: nobody can
        then pick a number for what it is asked.
    users
        Persons are numbered 0 to ``users - 1``.
    numbers
        ``"given"`` (default): whoever asks people numbers them, and the collector takes one report from each.
        ``"drawn"``: devices draw numbers for themselves, and nothing keeps a sender from choosing, or reporting twice.

    Formal guarantee: whatever a person holds, ``encode`` is ``epsilon``-differentially private (the randomizers of
    ``core/randomizer.py``); all that happens to reports afterwards is post-processing. One report a person: k reports
    cost k epsilon.
    """

    box: Box
    epsilon: float
    seed: int | None = None
    users: int = 2**40
    numbers: str = "given"

    kind: ClassVar[str]
    parts: ClassVar[str] = "questions"  # what people are divided into
    unwritten: ClassVar[dict[str, Any]] = {}  # parameters that older files do not have, and what they mean by that

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise ParameterTypeError(f"box must be an sf.Box with public bounds, got {shown(self.box)}")
        if self.box.max_norm is not None:
            raise ParameterError("a box with max_norm has no meaning on a device here: leave it out", parameter="box")
        object.__setattr__(self, "epsilon", positive_number("epsilon", self.epsilon))
        if positive_integer("users", self.users) > MOST_USERS:
            raise ParameterError.of("users", f"must be at most {MOST_USERS}, got users={self.users!r}")
        if self.seed is None:
            object.__setattr__(self, "seed", int(sampling.words53(1)[0]))
        elif isinstance(self.seed, bool) or not isinstance(self.seed, int) or not 0 <= self.seed < 2**63:
            raise ParameterError.of("seed", f"must be a whole number in [0, 2**63), got seed={self.seed!r}")
        one_of("numbers", self.numbers, NUMBERS)
        self.check()
        if self.numbers == "drawn" and self.channel_name in _NOT_DRAWN:
            raise ParameterError(
                f"randomizer={self.channel_name!r} needs numbers='given': a device that draws its own could pick one "
                "that counts hundreds of times as much as most; use another randomizer, or number people yourself",
                parameter="randomizer",
            )

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
    def settings(self) -> dict[str, Any]:
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

    def expected(self) -> tuple[float, float]:
        """Of an estimate, times the people, if all questions are asked alike: its variance, and the largest possible.

        The first is that of a typical one: the root of their mean square, where it depends on what people hold.
        """
        asked = 1 if self.channel.whole else self.questions
        typical, largest = (self.spread(variance) * asked for variance in self.channel.expected())
        return typical, largest

    def pull(self, reach: float) -> float:
        """How far an estimate moves, times the people, if a mean answer does by ``reach`` over the people asked."""
        return reach * (1 if self.channel.whole else self.questions)

    @property
    def estimates(self) -> int:
        """How many numbers are estimated."""
        return self.questions

    def valid(self, payload: NDArray[np.uint8], users: Words) -> NDArray[np.bool_]:
        """Which payloads devices of these persons could have sent."""
        return self.channel.valid(payload)

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
            The person's number, which decides the question. Leave it out if the protocol says ``numbers="drawn"``: the
            device then draws one and sends it along.

        Formal guarantee: ``epsilon``-differential privacy in the local model (docs/proofs/randomizers.md).
        """
        drawn = None
        if (user is None) != (self.numbers == "drawn"):
            raise ParameterError(
                "user must be the number that was given to this person; or make the protocol with numbers='drawn'"
                if user is None
                else f"user must be left out: devices of this protocol draw their numbers, got user={user!r}"
            )
        if user is None:
            user = drawn = int(sampling.uniform_below(np.array([self.users]))[0])
        users = self._users(user, 1)
        payload = self._payload(read_records(self.box, one_record(self.box, record)), users)
        return pack_report(self.fingerprint, payload.tobytes(), drawn)

    def encode_many(self, records: Any, first_user: int = 0, key: bytes | None = None) -> bytes:
        """One batch of reports of consecutive persons, for simulation and for gateways that serve many.

        A collector takes a batch from those whom it trusts only (``add_batch``). With a ``key`` of 16 bytes or more
        that both hold the batch is sealed, and nobody else can make or change one.
        """
        check_key(key)
        codes = read_records(self.box, records)
        self._users(first_user, max(1, len(codes)))
        block = max(1, _BLOCK // self.channel.told)
        parts = [
            self._payload(
                codes[start : start + block], self._users(first_user + start, len(codes[start : start + block]))
            )
            for start in range(0, len(codes), block)
        ]
        shape = (0,) if self.channel.bitwise else (0, self.channel.width)
        payload = np.concatenate(parts) if parts else np.zeros(shape, dtype=np.uint8)
        return pack_batch(self.fingerprint, first_user, payload, self.channel.bitwise, key)

    def _payload(self, codes: Floats, users: Words) -> NDArray[np.uint8]:
        with silently():  # whatever the caller has told numpy of small numbers: a record's may be an output
            return self.channel.send(self.answers(within(self.box, codes), users), users)

    def _users(self, first: int, count: int) -> Words:
        if isinstance(first, bool) or not isinstance(first, int | np.integer):
            raise ParameterTypeError.of("user", f"must be a whole number, got user={shown(first)}")
        if not 0 <= first <= self.users - count:
            raise ParameterError.of(
                "users",
                f"must lie in [0, {self.users}), as far as the public randomness reaches, got {first} to "
                f"{first + count - 1}: make the protocol with a larger users=",
            )
        return np.arange(first, first + count, dtype=np.uint64)

    # --- at the collector -----------------------------------------------------------------------------------

    def collector(self) -> Collector:
        """A new, empty collector of reports."""
        from sfumato.local.collector import Collector

        return Collector(self)

    @property
    def longest(self) -> int:
        """Bytes of the longest report, one that brings its number."""
        return report_size(self.channel.width, numbered=True)

    @property
    def file_head(self) -> bytes:
        """How a file of reports begins: write it once, then a ``frame`` for each message."""
        return file_head(self.fingerprint)

    def frame(self, message: bytes, user: int | None = None) -> bytes:
        """A message as it came in, with the number of the person who sent it, to be appended to a file of reports.

        Whatever a message says, it stays within its frame; the collector judges it later.
        """
        if user is not None:
            self._users(user, 1)
        return pack_frame(message, user, self.longest)

    @property
    def influence(self) -> float:
        """How far one liar can move an estimate, times the number of people, if questions are asked evenly."""
        return self.pull(self.channel.reach)

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
            "box": encode_box(self.box)["columns"],
            "named": self.box.named,
            "epsilon": self.epsilon,
            "randomizer": self.channel_name,
            "seed": self.seed,
            "users": self.users,
            "numbers": self.numbers,
            "parameters": self.settings(),
        }

    @cached_property
    def fingerprint(self) -> bytes:
        """Eight bytes that tell protocols apart: the beginning of a SHA-256 of the JSON, keys sorted, no spaces."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode()).digest()[:8]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the protocol to a JSON file: a crash leaves the old one or none, never half of it."""
        write_plain(path, (json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n").encode())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a protocol from a JSON file, refusing anything that is not exactly one.

    >>> load("no-such-file.json")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file.json: there is no such file
    """
    data = read_plain(path, _LARGEST_FILE, "a protocol")
    try:
        return from_json(read_json(data, _LARGEST_FILE))
    except (SfumatoError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        why = str(error) if isinstance(error, FileFormatError) else f"not a valid sfumato protocol ({error})"
        raise FileFormatError(f"{os.fspath(path)}: {why[:_LONGEST_COMPLAINT]}") from None


def from_json(data: Any) -> Any:
    """Rebuild a protocol from plain data: a closed list of kinds."""
    from sfumato.local.density import Density
    from sfumato.local.generalized import GeneralizedLinear
    from sfumato.local.linear import LinearModel
    from sfumato.local.marginals import Marginals
    from sfumato.local.risk import RiskMinimization
    from sfumato.local.smooth import SmoothQueries

    every: tuple[type[Protocol], ...] = (
        Density,
        SmoothQueries,
        Marginals,
        LinearModel,
        RiskMinimization,
        GeneralizedLinear,
    )
    kinds = {kind.kind: kind for kind in every}
    if not isinstance(data, dict) or data.get("format") != "sfumato-protocol":
        raise FileFormatError("not a sfumato protocol")
    if data.get("version") != VERSION or isinstance(data["version"], bool):
        raise FileFormatError(f"protocol version {data.get('version')!r} is unknown, this sfumato speaks {VERSION}")
    box = decode_box({"columns": data["box"], "named": data["named"], "max_norm": None})
    kind = kinds[one_of("kind", data["kind"], tuple(kinds))]
    public = {name: data[name] for name in ("seed", "users", "numbers")}
    found = kind(box, data["epsilon"], **public, **{**kind.unwritten, **data["parameters"]})
    if found.to_json() != data:
        raise ParameterError("the protocol has unexpected or inconsistent entries")
    return found
