"""Tables in some container, and neighbours of them: one record, or one person's, made hostile, added or removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import sfumato as sf
from harness.doors import Door
from harness.reading import WHO, Container, Wanted, usual
from harness.watching import Outcome

MOST_ROWS = 8
MAX_ROWS = 2  # of a person


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
    """A table, and how it differs from another: ``places`` are those of the longer table if one is longer."""

    records: list[Any]
    places: tuple[int, ...]
    how: str  # "replaced", "added", "removed"

    def replaces_the_same(self, other: Neighbour) -> bool:
        """Whether both replaced the same records, and so are each other's neighbours."""
        return self.how == other.how == "replaced" and self.places == other.places


_OFTEN = {"csv": 2.5, "csv of many lines": 0.3, "csv without a header": 0.05}
_OFTEN |= {"polars lazy": 0.3, "column": 0.3, "objects": 0.3, "sparse": 0.5, "stream": 0.3, "frames of numbers": 0.6}


def draw_group(rng: Random, doors: Sequence[Door], folder: str, only: str | None = None) -> Group:
    """A door that is tried as often as its weight says, and a container that fits it."""
    door = rng.choices(doors, [d.weight for d in doors])[0]
    makers = door.containers()
    name = rng.choices([*makers], [_OFTEN.get(name, 1.0) for name in makers])[0] if only is None else only
    persons = door.persons and name not in ("objects", "sparse", "csv without a header") and rng.random() < 0.3
    persons = persons and not (name == "array" and door.response is not None)  # a pair has nobody's names
    container = makers[name](rng, Wanted(door.reads, door.response, persons, folder, door.kind == "reports"))
    # an empty file is not one without a header
    relation = "replace" if name == "csv without a header" else rng.choice(door.relations)
    unit = sf.Person(0 if name == "array" else WHO, MAX_ROWS) if persons else "row"
    return Group(door, container, sf.Privacy(**rng.choice(door.grants), neighbours=relation, unit=unit))


def first_table(rng: Random, group: Group) -> tuple[list[Any], list[int]]:
    """Records, mostly usual ones, and whose they are."""
    least = 1 if group.privacy.neighbours == "replace" else 0
    count = rng.randint(least, MOST_ROWS)
    by_person = isinstance(group.privacy.unit, sf.Person)
    persons = [rng.randrange(max(1, count - 1)) if by_person else i for i in range(count)]
    records = [_usual(rng, group.container, person) for person in persons]
    if not by_person:  # a hostile name could be that of a person who is there already
        odd = 0.4 if group.door.kind in ("numbers", "reports") else 0.15  # gaps, and numbers that are no doubles
        records = [group.container.hostile(rng, r) if rng.random() < odd else r for r in records]
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


def misplaced(
    group: Group, base: Outcome, after: Outcome, rest: Outcome, persons: list[int], change: Neighbour
) -> list[str]:
    """Whether a caller's function saw another row changed or moved; ``rest`` is of the table of all others alone."""
    if base.rows is None or after.rows is None:
        return []
    if not base.rows and not group.container.comparable:  # all rows are nobody's
        return []
    by_person = isinstance(group.privacy.unit, sf.Person)
    many = sum(min(count, MAX_ROWS) for count in Counter(persons).values()) if by_person else len(persons)
    if len(base.rows) != many:
        return [f"a function saw {len(base.rows)} rows of {many}"]
    if by_person:
        return _disturbed(rest.rows or [], base.rows) + _disturbed(rest.rows or [], after.rows)
    gone = set() if change.how == "added" else set(change.places)
    there = set(change.places) if change.how != "removed" else set()
    others = [row for place, row in enumerate(base.rows) if place not in gone]
    found = [row for place, row in enumerate(after.rows) if place not in there]
    return [] if found == others else ["a function saw another row changed or moved"]


def _disturbed(others: list[str], rows: list[str]) -> list[str]:
    """Whether a person who comes changes or moves the rows of others, or brings too many."""
    if len(rows) > len(others) + MAX_ROWS:
        return [f"a function saw {len(rows) - len(others)} rows of one person"]
    left = iter(rows)
    return [] if all(row in left for row in others) else ["a function saw another person's rows changed or moved"]
