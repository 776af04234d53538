"""A differential fuzzer of everything between private records and a release, but for the numbers that are paid for.

It makes a table in some container, changes one record (or one person's) to something hostile, or adds or removes it,
and publishes the same thing of both tables. The mechanisms are replaced by stand-ins that keep the private numbers and
publish fixed ones, so *all that can be seen* must be the same to the last byte: whether it was released or which
error was raised, messages, warnings, standard output and error, events, certificates, and the file that would be
saved. The private numbers must be no further apart than their certificate says, and a caller's function must see every
other row as it was and where it was. Nothing is drawn at random but the tables, from a seed.

    cd tests/audit && python -m harness.differential --pairs 1000000 --seed 1
    cd tests/audit && python -m harness.differential --seed 1 --group 532      # that group of tables again

Time and memory are not watched (docs/sharp-edges.md).
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest import mock

import numpy as np

import sfumato as sf
from harness.doors import DOORS, Door
from harness.reading import ARRAYS, ROWS, TABLES, WHO, Container, Frame, numbers, usual
from sfumato.core.calibration import calibrate
from sfumato.core.mechanism import Private
from sfumato.releases import io

CHANGES = 16  # of each table
MOST_ROWS = 8
MAX_ROWS = 2  # of a person
_ADDRESS = re.compile(r"0x[0-9a-f]+")  # differs from run to run, whatever the records


# --- watching ---------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What became of a table: what can be seen, the private numbers, and what a caller's function saw."""

    visible: dict[str, Any] = field(default_factory=dict)
    vectors: list[tuple[str, float, Any]] = field(default_factory=list)  # norm, bound, numbers
    rows: list[str] | None = None

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
        self.outcome.vectors.append((certificate.norm, certificate.bound, values))
        self.outcome.visible.setdefault("published", []).append(repr((certificate, law, guarantee)))
        return np.zeros(len(values)), law, guarantee

    def _pick(self, scores: Any, sensitivity: float, privacy: sf.Privacy, method: str) -> int:
        """Keep the private scores, and choose the first."""
        worst = np.where(np.isnan(scores.astype(np.float64)), -np.inf, scores.astype(np.float64))
        self.outcome.vectors.append(("linf", sensitivity, worst))
        self.outcome.visible.setdefault("published", []).append((scores.shape, str(scores.dtype), sensitivity, method))
        return 0

    def _write(self, path: Any, payload: bytes) -> None:
        self.outcome.visible["file"] = payload

    def witness(self, saw: tuple[str, list[str]]) -> None:
        self.outcome.visible["types that a function saw"], self.outcome.rows = saw

    @contextmanager
    def standing_in(self) -> Iterator[Watch]:
        """Everything that is random is fixed, and everything that is printed is kept, for as long as this lasts."""
        with ExitStack() as stack, tempfile.TemporaryFile("w+") as printed:
            for place in ("pipeline.publish", "noise.publish"):
                stack.enter_context(mock.patch(f"sfumato.{place}", self._publish))
            for place in ("pipeline.pick", "choosing.pick"):
                stack.enter_context(mock.patch(f"sfumato.{place}", self._pick))
            stack.enter_context(
                mock.patch("sfumato.targets.machine.draw_objective", lambda law: np.zeros(law.size, dtype=np.float64))
            )
            stack.enter_context(mock.patch.object(io, "write_atomically", self._write))
            stack.enter_context(_redirected(printed))
            self._printed = printed
            yield self

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
            try:
                self._keep(door.opened(data, privacy, self.witness))
                seen["ending"] = "released"
            except BaseException as error:  # a panic of another language's is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                seen["ending"] = " <- ".join(_chain(error))
        seen["warnings"] = [_ADDRESS.sub("0x", f"{w.category.__name__}: {w.message}") for w in caught]
        seen["printed"] = self.printed()
        return self.outcome

    def _keep(self, result: Any) -> None:
        seen = self.outcome.visible
        if hasattr(result, "release_"):
            known = {k: v for k, v in vars(result).items() if k != "release_" and not k.startswith("bounds")}
            seen["estimator"], result = repr(known), result.release_
        if hasattr(result, "save"):
            result.save("release.sfumato")
        else:
            seen["result"] = (type(result).__name__, np.shape(result), str(getattr(result, "dtype", "")))


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


# --- comparing --------------------------------------------------------------------------------------------------

_NORMS = {
    "linf": lambda v: float(np.abs(v).max(initial=0)),
    "l1": lambda v: float(np.abs(v).sum()),
    "l2": lambda v: float(np.linalg.norm(v)),
}


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
        distance = _NORMS[norm](apart)
        if not distance <= bound * (1 + 1e-12):
            found.append(f"private numbers are {distance:g} apart in {norm}, certified {bound:g}")
    return found


def _apart(one: str, other: str) -> tuple[str, str]:
    """Two texts where they begin to differ."""
    common = len(os.path.commonprefix([one, other]))
    start = max(0, common - 60) if common > 100 else 0
    return tuple(text[start : start + 240] + " ..." * (len(text) > start + 240) for text in (one, other))


# --- tables and their neighbours --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """A door, a container and a grant; neighbours of one table are compared with it."""

    door: Door
    container: Container
    privacy: sf.Privacy

    def __repr__(self) -> str:
        return f"{self.door.name} of {self.container!r} under {self.privacy!r}"


@dataclass(frozen=True)
class Neighbour:
    """A table, the rows in which it differs from another, and those rows there; None where one has fewer rows."""

    records: list[Any]
    places: tuple[int, ...]
    how: str  # "replaced", "added", "removed"


def draw_group(rng: Random, doors: Sequence[Door], folder: str, only: str | None = None) -> Group:
    """A door that is tried as often as its weight says, and a container that fits it."""
    door = rng.choices(doors, [d.weight for d in doors])[0]
    relation, unit = rng.choice(door.relations), "row"
    makers: dict[str, Any] = {}
    if door.kind == "numbers":
        makers = {"numbers": numbers}
    elif door.kind == "command":
        makers = {"csv": TABLES["csv"], "parquet": TABLES["parquet"]}
    elif door.kind == "estimator":
        makers = {"arrow": TABLES["arrow"], "pandas": TABLES["pandas"], "polars": TABLES["polars"], **ARRAYS, **ROWS}
        if not door.numeric:
            makers.pop("array")
    else:
        makers = dict(TABLES) | (ARRAYS if door.numeric and "k" not in door.columns else {})
        if door.name == "private bounds" or "declared" in door.name or door.name == "black box":
            makers = dict(TABLES)
    if only is not None:
        makers = {name: maker for name, maker in makers.items() if name == only} or makers
    rare = {"polars lazy": 0.05, "csv without a header": 0.05, "objects": 0.4 if door.kind == "estimator" else 0.05, "csv": 2.5}
    name = rng.choices(list(makers), [rare.get(name, 1.0) for name in makers])[0]
    columns = door.reads
    if name == "csv without a header":  # an empty file is something else
        relation = "replace"
    if name in TABLES:
        if door.persons and rng.random() < 0.3:
            unit, columns = sf.Person(WHO, MAX_ROWS), (*columns, WHO)
        if door.kind != "estimator" and rng.random() < 0.5:
            columns = (*columns, "note")
            columns = tuple(rng.sample(columns, len(columns)))
        container = makers[name](rng, columns, folder)
    elif name == "numbers":
        container = numbers(rng, columns, folder)
    else:
        container = makers[name](rng, columns, folder, door.response)
    return Group(door, container, sf.Privacy(**rng.choice(door.grants), neighbours=relation, unit=unit))


def first_table(rng: Random, group: Group) -> tuple[list[Any], list[int]]:
    """Records, mostly usual ones, and whose they are."""
    least = 1 if group.privacy.neighbours == "replace" else 0
    count = rng.randint(least, MOST_ROWS)
    by_person = isinstance(group.privacy.unit, sf.Person)
    persons = [rng.randrange(max(1, count - 1)) if by_person else i for i in range(count)]
    records = [_usual(rng, group.container, person) for person in persons]
    if not by_person:  # a hostile name could be that of a person who is there already
        records = [group.container.hostile(rng, r) if rng.random() < 0.15 else r for r in records]
    return records, persons


def _usual(rng: Random, container: Container, person: int) -> Any:
    return container.record({name: usual(rng, name, person) for name in container.columns})


def neighbours(rng: Random, group: Group, records: list[Any], persons: list[int], count: int) -> Iterator[Neighbour]:
    """Tables that differ in one record, or in one person's: some at the same place, one after the other."""
    place = 0
    for turn in range(count):
        if turn % 4 == 0:
            place = rng.randrange(len(records) + 1)
        yield _neighbour(rng, group, records, persons, place)


def _neighbour(rng: Random, group: Group, records: list[Any], persons: list[int], place: int) -> Neighbour:
    adding = group.privacy.neighbours == "add-remove"
    if adding and (place == len(records) or rng.random() < 0.6):
        return _added(rng, group, records, place)
    place = min(place, len(records) - 1)
    places = tuple(i for i, person in enumerate(persons) if person == persons[place])
    if adding:
        return Neighbour([r for i, r in enumerate(records) if i not in places], places, "removed")
    changed = [group.container.hostile(rng, records[i]) if rng.random() < 0.8 else records[i] for i in places]
    if isinstance(group.privacy.unit, sf.Person):
        changed = group.container.owned(rng, changed)
    elif changed[0] is records[place]:
        changed = [group.container.hostile(rng, records[place])]
    table = list(records)
    for i, record in zip(places, changed, strict=True):
        table[i] = record
    return Neighbour(table, places, "replaced")


def _added(rng: Random, group: Group, records: list[Any], place: int) -> Neighbour:
    """One record more, or the records of one person more, the first of them at the place."""
    by_person = isinstance(group.privacy.unit, sf.Person)
    fresh = [_usual(rng, group.container, 20) for _ in range(rng.randint(1, 3) if by_person else 1)]
    fresh = [group.container.hostile(rng, r) if rng.random() < 0.8 else r for r in fresh]
    if by_person and rng.random() < 0.8:
        fresh = group.container.owned(rng, fresh)
    table, places = list(records), []
    for record in fresh:
        place = place if not places else rng.randint(places[-1] + 1, len(table))
        table.insert(place, record)
        places.append(place)
    return Neighbour(table, tuple(places), "added")


def misplaced(group: Group, base: Outcome, after: Outcome, persons: list[int], change: Neighbour) -> list[str]:
    """Whether a caller's function saw another row changed or moved."""
    if base.rows is None or after.rows is None:
        return []
    kept = _kept(persons) if isinstance(group.privacy.unit, sf.Person) else list(range(len(persons)))
    if not base.rows:  # identifiers that cannot be compared: all rows are nobody's
        return []
    if len(base.rows) != len(kept):
        return [f"a function saw {len(base.rows)} rows of {len(kept)}"]
    gone = set() if change.how == "added" else set(change.places)
    others = [row for row, place in zip(base.rows, kept, strict=True) if place not in gone]
    if isinstance(group.privacy.unit, sf.Person):
        rest = iter(after.rows)
        return [] if all(row in rest for row in others) else ["a function saw another person's rows changed or moved"]
    there = set(change.places) if change.how != "removed" else set()
    found = [row for place, row in enumerate(after.rows) if place not in there]
    return [] if found == others else ["a function saw another row changed or moved"]


def _kept(persons: list[int]) -> list[int]:
    """The places of each person's first rows."""
    count: Counter[int] = Counter()
    kept = []
    for place, person in enumerate(persons):
        count[person] += 1
        if count[person] <= MAX_ROWS:
            kept.append(place)
    return kept


# --- fuzzing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """Two neighbouring tables that can be told apart."""

    seed: int
    number: int
    group: Group
    before: list[Any]
    after: list[Any]
    complaints: list[str]

    @property
    def signature(self) -> tuple[str, ...]:
        """Failures of one kind, roughly."""
        kind = type(self.group.container).__name__ if not isinstance(self.group.container, Frame) else ""
        return (self.group.container.name, kind, *(c.split(":")[0].split(" are ")[0] for c in self.complaints))

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, group {self.number}: {self.group!r}"]
        lines += [f"  before  {self.before!r}", f"  after   {self.after!r}"]
        return "\n".join(lines + [f"  {complaint}" for complaint in self.complaints])


@dataclass
class Tally:
    """What was tried."""

    pairs: int = 0
    released: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    containers: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def fuzz(
    pairs: int,
    seed: int = 0,
    doors: Sequence[Door] = DOORS,
    most_failures: int = 1,
    group: int | None = None,
    container: str | None = None,
) -> Tally:
    """Compare so many pairs of neighbouring tables, or stop when enough of them can be told apart."""
    tally, watch = Tally(), Watch()
    with tempfile.TemporaryDirectory() as folder, watch.standing_in():
        for number in itertools.count() if group is None else (group,):
            if tally.pairs >= pairs or len(tally.failures) >= most_failures:
                break
            rng = Random(f"{seed}/{number}")
            drawn = draw_group(rng, doors, folder, container)
            tally.failures += _compare_group(watch, rng, drawn, tally, (seed, number))
    return tally


def _compare_group(watch: Watch, rng: Random, group: Group, tally: Tally, name: tuple[int, int]) -> list[Failure]:
    """One table and its neighbours; neighbours at the same place are each other's."""
    door, container = group.door, group.container
    records, persons = first_table(rng, group)
    base = watch.observe(door, container, records, group.privacy)
    last: tuple[Neighbour, Outcome] | None = None
    for change in neighbours(rng, group, records, persons, CHANGES):
        after = watch.observe(door, container, change.records, group.privacy)
        tally.pairs += 1
        tally.containers[container.name] += 1
        (tally.released if after.released else tally.refused)[door.name] += 1
        before, complaints = records, differences(base, after, door.bounded)
        complaints += misplaced(group, base, after, persons, change)
        if not complaints and last is not None and change.how == last[0].how == "replaced":
            if change.places == last[0].places:
                before, complaints = last[0].records, differences(last[1], after, door.bounded)
        if complaints:
            return [_smaller(watch, Failure(*name, group, before, change.records, complaints))]
        last = change, after
    return []


def _smaller(watch: Watch, failure: Failure) -> Failure:
    """The same failure with fewer of the records that both tables share, where that still fails."""
    if isinstance(failure.group.privacy.unit, sf.Person) or len(failure.before) != len(failure.after):
        return failure
    before, after = list(failure.before), list(failure.after)
    for place in reversed(range(len(before))):
        if before[place] is not after[place] or len(before) == 1:
            continue
        fewer = before[:place] + before[place + 1 :], after[:place] + after[place + 1 :]
        outcomes = [watch.observe(failure.group.door, failure.group.container, t, failure.group.privacy) for t in fewer]
        complaints = differences(*outcomes, failure.group.door.bounded)
        if complaints:
            (before, after), failure = fewer, replace(failure, before=fewer[0], after=fewer[1], complaints=complaints)
    return failure


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--group", type=int, help="only this group of tables")
    parser.add_argument("--door", help="only doors whose name holds this")
    parser.add_argument("--container", help="only this container")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    asked = parser.parse_args()
    doors = [door for door in DOORS if asked.door is None or asked.door in door.name]
    start = time.perf_counter()
    tally = fuzz(asked.pairs, asked.seed, doors, asked.failures, asked.group, asked.container)
    kinds = Counter(failure.signature for failure in tally.failures)
    shown: set[tuple[str, ...]] = set()
    for failure in tally.failures:
        if failure.signature not in shown:
            print(f"{failure}\n  ({kinds[failure.signature]} of this kind)\n")
            shown.add(failure.signature)
    print(f"{tally.pairs} pairs in {time.perf_counter() - start:.0f} s, {len(tally.failures)} groups with a failure")
    print(f"containers: {dict(tally.containers)}")
    print(f"refused: {dict(tally.refused)}")
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
