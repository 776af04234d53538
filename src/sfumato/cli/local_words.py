"""Collected releases in words and in plain data, and how far they are from records that are no secret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.local_order import People
from sfumato.core.box import Categorical
from sfumato.faces.words import counted
from sfumato.local.density import Density
from sfumato.local.marginals import Marginals
from sfumato.local.protocol import Protocol
from sfumato.local.records import read_records, within
from sfumato.local.smooth import SmoothQueries
from sfumato.releases.collected.marginals import MarginalsRelease

Floats = NDArray[np.float64]
Facts = list[tuple[str, list[str]]]

_MOST_TABLES = 5_000
_BLOCK = 2**20  # cosines at a time


def protocol_rows(protocol: Protocol) -> Facts:
    """What a protocol is, in words."""
    channel = protocol.channel
    size = "1 bit" if channel.bitwise else counted(channel.width, "byte")
    return [
        ("collects", [f"{protocol.kind}: {protocol_words(protocol)}"]),
        ("guarantee", [str(protocol.guarantee), "one report a person: k reports of one person cost k epsilon"]),
        ("randomizer", [f"{protocol.parameters()['randomizer']}, {size} of information a report"]),
        ("questions", [f"{protocol.questions:,}, each person answers {'all' if channel.whole else 'one'}"]),
        ("people", [f"numbers 0 to {protocol.users - 1:,}, {protocol.numbers}"]),
        ("fingerprint", [protocol.fingerprint.hex()]),
    ]


def protocol_words(protocol: Protocol) -> str:
    """What a protocol collects, in a few words."""
    names = ", ".join(protocol.box.names) if protocol.box.dimension < 9 else f"{protocol.box.dimension} columns"
    if isinstance(protocol, Density):
        return f"{' x '.join(map(str, protocol.shape))} lattice points of {names}"
    if isinstance(protocol, SmoothQueries):
        return f"{counted(protocol.questions, 'cosine moment')} of {names}"
    assert isinstance(protocol, Marginals)
    return f"tables of up to {counted(protocol.ways, 'column')} of {names}"


def protocol_data(protocol: Protocol) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "protocol": protocol.to_json(),
        "fingerprint": protocol.fingerprint.hex(),
        "questions": protocol.questions,
        "guarantee": str(protocol.guarantee),
    }


def rejected_lines(rejected: Mapping[str, int]) -> list[str]:
    """How many reports were rejected, by reason."""
    total = sum(rejected.values())
    if not total:
        return ["none"]
    by_reason = sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0]))
    return [f"{total:,}", *(f"{reason}: {count:,}" for reason, count in by_reason)]


# --- beside the truth -------------------------------------------------------------------------------------


def compared(protocol: Protocol, release: Any, people: People) -> tuple[Floats, Floats, str]:
    """What was estimated and what is true of these people, number by number, and what the numbers are."""
    columns = within(protocol.box, read_records(protocol.box, people))
    if isinstance(protocol, Density):
        return release.masses, _masses(protocol, columns), "lattice masses"
    if isinstance(protocol, SmoothQueries):
        return release.moments[1:], _moments(protocol, columns), "cosine moments"
    assert isinstance(protocol, Marginals)
    found, truth = _cells(protocol, release, columns.astype(np.int64))
    return found, truth, f"cells of tables of {counted(protocol.ways, 'column')}"


def _masses(protocol: Density, columns: Floats) -> Floats:
    """The share of people at each lattice point, each shared among the points around."""
    shape = protocol.shape
    lows, parts = [], []
    for values, kind, size in zip(columns, protocol.box.intervals(), shape, strict=True):
        scaled = (values - kind.low) / (kind.high - kind.low) * (size - 1)
        low = np.minimum(scaled.astype(np.int64), size - 2)
        lows.append(low)
        parts.append(np.clip(scaled - low, 0.0, 1.0))
    total = np.zeros(math.prod(shape))
    for corner in product((0, 1), repeat=len(shape)):
        place = np.ravel_multi_index([low + up for low, up in zip(lows, corner, strict=True)], shape)
        weight = np.prod([part if up else 1 - part for part, up in zip(parts, corner, strict=True)], axis=0)
        total += np.bincount(place, weight, minlength=total.size)
    return np.asarray(total / columns.shape[1])


def _moments(protocol: SmoothQueries, columns: Floats) -> Floats:
    """The mean of every product of cosines but the first, which is one."""
    angles = np.empty_like(columns)
    for row, kind, values in zip(angles, protocol.box.columns, columns, strict=True):
        if isinstance(kind, Categorical):
            row[:] = values * (math.pi / (len(kind.categories) - 1))
        else:
            row[:] = np.arccos(np.clip(2 * (values - kind.low) / (kind.high - kind.low) - 1, -1.0, 1.0))
    frequencies = protocol.indices.frequencies[1:]
    block = max(1, _BLOCK // len(frequencies))
    sums = np.zeros(len(frequencies))
    for start in range(0, columns.shape[1], block):
        products = np.ones((min(block, columns.shape[1] - start), len(frequencies)))
        for row, own in zip(angles, frequencies.T, strict=True):
            products *= np.cos(np.outer(row[start : start + block], own))
        sums += products.sum(axis=0)
    return np.asarray(sums / columns.shape[1])


def _cells(protocol: Marginals, release: MarginalsRelease, codes: NDArray[np.int64]) -> tuple[Floats, Floats]:
    found, truth = [], []
    names, sizes = protocol.box.names, [len(kind.categories) for kind in protocol.box.columns]  # type: ignore[union-attr]
    for chosen in islice(combinations(range(len(names)), protocol.ways), _MOST_TABLES):
        shape = [sizes[j] for j in chosen]
        place = np.ravel_multi_index([codes[j] for j in chosen], shape)
        truth.append(np.bincount(place, minlength=math.prod(shape)) / codes.shape[1])
        found.append(release.table([names[j] for j in chosen]).ravel())
    return np.concatenate(found), np.concatenate(truth)
