"""Checkpoints of a collector: one safetensors file, bounded, and good for the protocol that wrote it only."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from sfumato.codec import LARGEST_COUNT, exact_keys, read_json, read_plain, write_plain
from sfumato.errors import FileFormatError, ParameterError, SfumatoError
from sfumato.local.collector import SEEN, Collector
from sfumato.local.wire import REASONS

_LARGEST_HEADER = 2**27  # bytes: a protocol with public second moments of a thousand columns is a sixth of it
_LARGEST_RECORD = 2**31  # bytes of the record of who has reported: 16 thousand million people, numbered consecutively
_NAME = "sfumato-collector"
_ENTRIES = {"protocol", "reports", "rejected", "position"}


def save(collector: Collector, path: str | os.PathLike[str], position: Any) -> None:
    """Write a checkpoint, for its owner alone: a crash leaves the old one or the new one."""
    about = {
        "protocol": collector.protocol.to_json(),
        "reports": collector.reports,
        "rejected": dict(collector.rejected),
        "position": position,
    }
    arrays: dict[str, NDArray[Any]] = {f"state.{name}": values for name, values in collector._state.items()}
    keys = sorted(collector._seen)
    arrays["seen.blocks"] = np.array(keys, dtype=np.int64)
    rows = [collector._seen[key] for key in keys]
    arrays["seen.bits"] = np.stack(rows) if rows else np.zeros((0, SEEN // 8), np.uint8)
    _position(position)
    text = json.dumps(about, allow_nan=False)
    if len(text) > _LARGEST_HEADER // 4:  # escapes can make the header longer than the text
        raise ParameterError(f"position and protocol have {len(text)} characters, too many for a checkpoint")
    write_plain(path, pack(arrays, metadata={_NAME: text}), private=True)


def load(empty: Collector, path: str | os.PathLike[str]) -> tuple[Collector, Any]:
    """Fill an empty collector from a checkpoint of its protocol; also says how far the input was read."""
    state = sum(8 * values.size for values in empty._state.values())
    data = read_plain(path, _LARGEST_HEADER + state + _LARGEST_RECORD, "a checkpoint of this protocol")
    name = os.fspath(path)
    try:
        about, arrays = _opened(data)
        if about["protocol"] == empty.protocol.to_json():
            return _filled(empty, about, arrays), _position(about["position"])
    except (SafetensorError, SfumatoError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(f"{name}: not a valid checkpoint ({error})") from None
    raise ParameterError(f"{name}: is of another protocol, or another epsilon; choose another name for the checkpoint")


def _opened(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What is written about the collector, and its arrays."""
    header = int.from_bytes(data[:8], "little")
    if len(data) < 8 or header > min(len(data) - 8, _LARGEST_HEADER):
        raise FileFormatError("truncated, or no checkpoint")
    described = read_json(data[8 : 8 + header], _LARGEST_HEADER)
    about = read_json(described["__metadata__"][_NAME], _LARGEST_HEADER)
    exact_keys(about, _ENTRIES, "it")
    return about, unpack(data)


def _filled(collector: Collector, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Collector:
    collector.reports, collector.rejected = _count(about["reports"]), _counts(about["rejected"])
    for key, values in collector._state.items():
        stored = arrays.pop(f"state.{key}")
        if stored.shape != values.shape or stored.dtype != np.int64:
            raise ParameterError("the tallies do not fit the protocol")
        collector._state[key] = stored.copy()
    collector._seen = _who(arrays.pop("seen.blocks"), arrays.pop("seen.bits"), collector)
    if arrays or not _consistent(collector):
        raise ParameterError("the tallies, the number of reports and who has reported do not agree")
    return collector


def _consistent(collector: Collector) -> bool:
    """Whether tallies are those of so many reports, and so many persons are noted."""
    state, reports = collector._state, collector.reports
    cells = state["bits"] if "bits" in state else state["asked"]
    if cells.min() < 0 or cells.max() > reports or sum(cells.ravel().tolist()) != reports:
        return False
    if "sums" in state and not collector.protocol.channel.possible(state):
        return False
    noted = sum(int(np.bitwise_count(bits).sum()) for bits in collector._seen.values())
    return noted == reports if collector.protocol.numbers == "given" else noted <= reports


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST_COUNT:
        raise ParameterError(f"counts are whole numbers, 0 or more, got {value!r}")
    return value


def _position(value: Any) -> Any:
    return value if isinstance(value, dict) else _count(value)


def _counts(values: Any) -> Counter[str]:
    if not isinstance(values, dict) or not set(values) <= REASONS:
        raise ParameterError("rejected reports are counted by reason")
    return Counter({reason: _count(value) for reason, value in values.items()})


def _who(blocks: NDArray[Any], bits: NDArray[Any], collector: Collector) -> dict[int, NDArray[np.uint8]]:
    """Who has reported, from a checkpoint's blocks, refusing what none could have written."""
    fits = blocks.dtype == np.int64 and blocks.ndim == 1 and bits.dtype == np.uint8
    if not fits or bits.shape != (len(blocks), SEEN // 8) or (np.diff(blocks) <= 0).any():
        raise ParameterError("the record of who has reported is damaged")
    if len(blocks):
        own = np.flatnonzero(np.unpackbits(bits[-1], bitorder="little"))
        last = int(blocks[-1]) * SEEN + int(own.max(initial=0))
        if blocks[0] < 0 or last >= collector.protocol.users:
            raise ParameterError("persons beyond the protocol's have reported")
    return {int(key): row.copy() for key, row in zip(blocks, bits, strict=True)}
