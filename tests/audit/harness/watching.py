"""Looking at all that leaves when private records go in, but for the numbers that are paid for.

The mechanisms are replaced by stand-ins that keep the private numbers and publish fixed ones. So whatever else can be
seen (whether it was released or which error was raised, messages, warnings, standard output and error, what is charged,
certificates, the file that would be saved) must be the same to the last byte for neighbouring tables.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

import sfumato as sf
from harness.doors import Door
from harness.hunter import NORMS, norm_of
from harness.reading import Container
from sfumato.core.calibration import calibrate
from sfumato.core.mechanism import Private

_ADDRESS = re.compile(r"0x[0-9a-f]+")  # differs from run to run, whatever the records


@dataclass
class Outcome:
    """What became of a table: what can be seen, the private numbers, and what a caller's function saw."""

    visible: dict[str, Any] = field(default_factory=dict)
    vectors: list[tuple[Callable[[Any], float], float, Any]] = field(default_factory=list)  # norm, bound, numbers
    rows: list[str] | None = None
    pieces: int = 1

    @property
    def released(self) -> bool:
        return self.visible["ending"] == "released"


class Watch:
    """Stands where noise is drawn and choices are made, and where anything could be printed."""

    def __init__(self) -> None:
        self.outcome = Outcome()
        self._laws: dict[Any, Any] = {}

    def _publish(self, private: Private, privacy: sf.Privacy, noise: str = "auto") -> Any:
        """Keep the private numbers, and publish as many zeros."""
        certificate, values = private.certificate, private._values
        values = values.doubles() if hasattr(values, "doubles") else values  # whole numbers beyond 64 bits
        assert values is not None
        key = (certificate, len(values), privacy, noise)
        if key not in self._laws:
            self._laws[key] = calibrate(certificate, len(values), privacy, noise)
        law, guarantee = self._laws[key]
        private._values = None
        self.outcome.vectors.append((norm_of(certificate), certificate.bound, values))
        self.outcome.visible.setdefault("published", []).append(repr((certificate, law, guarantee)))
        return np.zeros(len(values)), law, guarantee

    def _pick(self, scores: Any, sensitivity: float, privacy: sf.Privacy, method: str) -> int:
        """Keep the private scores, and choose the first."""
        worst = np.where(np.isnan(scores.astype(np.float64)), -np.inf, scores.astype(np.float64))
        self.outcome.vectors.append((NORMS["linf"], sensitivity, worst))
        self.outcome.visible.setdefault("published", []).append((scores.shape, str(scores.dtype), sensitivity, method))
        return 0

    def _pick_jointly(self, ranks: Any, wanted: Sequence[int], sensitivity: int, privacy: sf.Privacy) -> list[int]:
        """Keep the private ranks, of which the sensitivity is not told here, and choose the first."""
        self.outcome.visible.setdefault("published", []).append((ranks.shape, str(ranks.dtype), sensitivity))
        return [0] * (len(wanted) - 1)  # how many records are wanted before, between and behind the values

    @contextmanager
    def _charged(self, _: Any, event: Any, told: Any = None) -> Iterator[None]:
        """Keep what would be charged."""
        self.outcome.visible.setdefault("charged", []).append(repr(event))
        yield None

    def _write(self, path: Any, payload: bytes) -> None:
        self.outcome.visible["file"] = payload

    def witness(self, saw: tuple[str, list[str], int]) -> None:
        self.outcome.visible["types that a function saw"], self.outcome.rows, self.outcome.pieces = saw

    @contextmanager
    def standing_in(self) -> Iterator[Watch]:
        """Everything that is random is fixed, and everything that is printed is kept, for as long as this lasts."""
        with ExitStack() as stack, tempfile.TemporaryFile("w+") as printed:
            for place, stands_in in self._stand_ins().items():
                stack.enter_context(mock.patch(f"sfumato.{place}", stands_in))
            stack.enter_context(_redirected(printed))
            self._printed = printed
            yield self

    def _stand_ins(self) -> dict[str, Any]:
        return {
            "pipeline.publish": self._publish,
            "noise.publish": self._publish,
            "targets.subspace.publish": self._publish,  # of what comes first; or later sums are of other directions
            "targets.machine.descent.publish": self._publish,
            "pipeline.pick": self._pick,
            "selection.pick": self._pick,
            "pipeline.pick_jointly": self._pick_jointly,
            "pipeline.charged": self._charged,
            "selection.charged": self._charged,
            "targets.machine.machine.draw_objective": lambda law: np.zeros(law.size),
            "releases.writer.write_plain": self._write,
        }

    def printed(self) -> str:
        """What was printed since it was last asked for."""
        self._printed.flush()
        if not os.fstat(self._printed.fileno()).st_size:
            return ""
        self._printed.seek(0)
        text = self._printed.read()
        self._printed.seek(0)
        self._printed.truncate()
        return _ADDRESS.sub("0x", text)

    def observe(self, door: Door, container: Container, records: Sequence[Any], privacy: sf.Privacy) -> Outcome:
        """Open a door with a table and look at all that comes out."""
        data = container.build(records)
        self.outcome = Outcome()
        seen = self.outcome.visible
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # of whatever is collected meanwhile, by whomever
            try:
                self._keep(door.opened(data, privacy, self.witness))
                self._look_at_numbers(door, len(records))
                seen["ending"] = "released"
            except BaseException as error:  # a panic of another language's is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                seen["ending"] = " <- ".join(_chain(error))
        seen["warnings"] = [_ADDRESS.sub("0x", f"{w.category.__name__}: {w.message}") for w in caught]
        seen["printed"] = self.printed()
        seen["pieces"] = self.outcome.pieces if container.whole else None
        return self.outcome

    def _keep(self, result: Any) -> None:
        seen = self.outcome.visible
        if hasattr(result, "release_"):
            known = {k: v for k, v in vars(result).items() if k != "release_" and not k.startswith("bounds")}
            seen["estimator"], result = repr(known), result.release_
        if hasattr(result, "save"):
            seen["shown"] = repr(result)
            result.save("release.sfumato")
        elif isinstance(result, list):
            seen["result"] = result
        else:
            seen["result"] = (type(result).__name__, np.shape(result), str(getattr(result, "dtype", "")))

    def _look_at_numbers(self, door: Door, count: int) -> None:
        """Where each record is a number, or a row of numbers, those of all others stay as they are."""
        if door.kind == "numbers" and self.outcome.vectors and count:
            numbers = self.outcome.vectors[0][2]
            if numbers.size % count == 0:  # of a single number there is one record only
                self.outcome.rows = [repr(row) for row in numbers.reshape(count, -1).tolist()]


@contextmanager
def _redirected(file: Any) -> Iterator[None]:
    """Standard output and error of this process, whoever writes to them, go into a file."""
    kept = [os.dup(1), os.dup(2)]
    streams = sys.stdout, sys.stderr
    for stream in streams:
        stream.flush()
    try:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        yield
    finally:
        sys.stdout, sys.stderr = streams
        for handle, number in zip(kept, (1, 2), strict=True):
            os.dup2(handle, number)
            os.close(handle)


def _chain(error: BaseException | None) -> Iterator[str]:
    """All messages that a traceback would show."""
    while error is not None:
        yield _ADDRESS.sub("0x", f"{type(error).__name__}: {error}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def differences(first: Outcome, second: Outcome, bounded: bool = True) -> list[str]:
    """What tells two neighbouring tables apart beyond what was paid for."""
    found = []
    for what in sorted(first.visible.keys() | second.visible.keys()):
        one, other = first.visible.get(what), second.visible.get(what)
        if one != other:
            found.append(f"{what}: {' against '.join(_apart(repr(one), repr(other)))}")
    for (norm, bound, one), (_, _, other) in zip(first.vectors, second.vectors, strict=False):
        if not bounded or one.shape != other.shape:
            continue
        with np.errstate(all="ignore"):
            apart = np.where(one == other, 0, one - other)  # infinities, too
        distance = norm(apart)
        if not distance <= bound * (1 + 1e-12):
            found.append(f"private numbers are {distance:g} apart, certified {bound:g}")
    return found


def _apart(one: str, other: str) -> tuple[str, str]:
    """Two texts where they begin to differ."""
    common = next((i for i, pair in enumerate(zip(one, other, strict=False)) if len({*pair}) == 2), 0)
    start = max(0, common - 60) if common > 100 else 0
    return tuple(text[start : start + 240] + " ..." * (len(text) > start + 240) for text in (one, other))
