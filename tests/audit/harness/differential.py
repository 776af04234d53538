"""A differential fuzzer of everything between private records and a release.

It makes a table in some container, changes one record (or one person's) to something hostile, or adds or removes it,
and publishes the same thing of both tables. All that can be seen must be the same (``watching``), private numbers no
further apart than their certificate says, and a caller's function must see every other row as it was and where it was
(``neighbours``). Nothing is drawn at random but the tables, from a seed.

    cd tests/audit && python -m harness.differential --pairs 1000000 --seed 1
    cd tests/audit && python -m harness.differential --seed 1 --group 532      # that table and its neighbours again

With ``--door`` or ``--container`` other tables are drawn: give them again to see the same group.

Time and memory are not watched (docs/sharp-edges.md).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import sfumato as sf
from harness.doors import DOORS, Door
from harness.neighbours import Group, Neighbour, draw_group, first_table, misplaced, neighbours
from harness.watching import Outcome, Watch, differences

CHANGES = 16  # of each table


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
        return (self.group.container.name, *(c.split(":")[0].split(" are ")[0] for c in self.complaints))

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, group {self.number}: {self.group!r}"]
        lines += [f"  before  {_shown(self.before)}", f"  after   {_shown(self.after)}"]
        return "\n".join(lines + [f"  {complaint}" for complaint in self.complaints])


def _shown(records: list[Any]) -> str:
    """The records, one by one; some cannot show themselves."""
    found = []
    for record in records:
        try:
            found.append(repr(record))
        except BaseException as error:
            found.append(f"<{type(record).__name__} that raises {type(error).__name__} when shown>")
    return f"[{', '.join(found)}]"


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
    changes: int = CHANGES,
) -> Tally:
    """Compare so many pairs of neighbouring tables, or stop when enough of them can be told apart."""
    tally, watch = Tally(), Watch()
    doors = [door for door in doors if container is None or container in door.containers()]
    with tempfile.TemporaryDirectory() as folder, watch.standing_in():
        for number in itertools.count() if group is None else (group,):
            if tally.pairs >= pairs or len(tally.failures) >= most_failures:
                break
            rng = Random(f"{seed}/{number}")
            drawn = draw_group(rng, doors, folder, container)
            tally.failures += _compare_group(watch, rng, drawn, tally, (seed, number), changes)
    return tally


def _compare_group(
    watch: Watch, rng: Random, group: Group, tally: Tally, name: tuple[int, int], changes: int
) -> list[Failure]:
    """One table and its neighbours; neighbours at the same place are each other's."""
    door, container = group.door, group.container
    records, persons = first_table(rng, group)
    base = watch.observe(door, container, records, group.privacy)
    last: tuple[Neighbour, Outcome] | None = None
    alone: dict[tuple[int, ...], Outcome] = {}  # the others, without those whose records are replaced
    for change in neighbours(rng, group, records, persons, changes):
        after = watch.observe(door, container, change.records, group.privacy)
        tally.pairs += 1
        tally.containers[container.name] += 1
        (tally.released if after.released else tally.refused)[door.name] += 1
        before, complaints = records, differences(base, after, door.bounded)
        rest = base if change.how == "added" else after
        if change.how == "replaced" and base.rows is not None and isinstance(group.privacy.unit, sf.Person):
            if change.places not in alone:
                others = [record for place, record in enumerate(records) if place not in change.places]
                alone[change.places] = watch.observe(door, container, others, group.privacy)
            rest = alone[change.places]
        complaints += misplaced(group, base, after, rest, persons, change)
        if not complaints and last is not None and last[0].replaces_the_same(change):
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
