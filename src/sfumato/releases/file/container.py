"""The container of a release: one JSON document and arrays of doubles in a safetensors file, read once and whole.

Nothing is computed from a file here, and nothing larger than the file is ever held.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as unpack
from safetensors.numpy import save as pack

from sfumato.bases.base import LARGEST_LATTICE
from sfumato.codec import open_plain, read_json
from sfumato.errors import FileFormatError, ParameterError

Arrays = dict[str, NDArray[np.float64]]

FORMAT_VERSION = 1
LARGEST_HEADER = 2**20
LARGEST_ARRAYS = 8 * LARGEST_LATTICE
LARGEST_FILE = LARGEST_ARRAYS + LARGEST_HEADER + 8
MOST_PARTS = 2000  # of a release that is several, each of two arrays: the header tells where each of them is
# Characters of what a caller names: escaped, they take twice as many bytes; the rest is for the parts of a release.
_DESCRIBED = LARGEST_HEADER // 4 - 2**14
_SPARSE = 2**26  # bytes from which holes are looked for
_DOCUMENT, _SIGNATURE = "sfumato", "signature"  # the only entries of the metadata


@dataclass(frozen=True)
class Contents:
    """What a file holds: the document, the arrays, and the text of a signature where there is one."""

    text: str
    arrays: Arrays
    signature: str | None = None


def check_room(*described: Any) -> None:
    """Refuse, before anything is paid for, names and categories that the header of a release has no room for.

    Parameters
    ----------
    described
        What goes into the document, as plain data, as often as it does: the box, the target, the protected unit.
    """
    length = len(json.dumps(described))
    if length > _DESCRIBED:
        raise ParameterError(
            f"the names, categories and settings of a release have room for {_DESCRIBED} characters in its file, these "
            f"take {length}: shorten names, or publish fewer columns or categories at once"
        )


def packed(contents: Contents) -> bytes:
    """The bytes of a file."""
    metadata = {_DOCUMENT: contents.text}
    if contents.signature is not None:
        metadata[_SIGNATURE] = contents.signature
    return pack(contents.arrays, metadata=metadata)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a plain file of a sensible size and a sensible header."""
    # An array may have long stretches of noughts, which some file systems do not write down: holes alone say nothing.
    with open_plain(path, solid=False) as file:
        name, seen = os.fspath(path), os.fstat(file.fileno())
        if seen.st_size > LARGEST_FILE:
            raise FileFormatError(f"{name}: too large for a release ({seen.st_size} bytes)")
        # But noise does not compress, so a large file that takes little of the disk is mostly holes.
        if seen.st_size > _SPARSE and 2 * 512 * getattr(seen, "st_blocks", seen.st_size) < seen.st_size:
            raise FileFormatError(f"{name}: {seen.st_size} bytes that are mostly holes: not a release")
        start = file.read(8)
        header = int.from_bytes(start, "little")
        if len(start) < 8 or header > seen.st_size - 8:
            raise FileFormatError(f"{name}: truncated, or not a sfumato release")
        if header > LARGEST_HEADER:
            raise FileFormatError(f"{name}: its header is too large for a release ({header} bytes)")
        return start + file.read(seen.st_size - 8)  # never more than was seen, whoever writes meanwhile


def unpacked(payload: bytes) -> Contents:
    """What the bytes of a file hold, refusing anything that could be read in two ways."""
    header = int.from_bytes(payload[:8], "little")
    described = read_json(payload[8 : 8 + header], LARGEST_HEADER)
    metadata = described.get("__metadata__") if isinstance(described, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_DOCUMENT), str):
        raise FileFormatError("not a sfumato release")
    if set(metadata) - {_DOCUMENT, _SIGNATURE}:
        raise FileFormatError(f"unexpected metadata: {sorted(set(metadata) - {_DOCUMENT, _SIGNATURE})}")
    for name, about in described.items():
        if name != "__metadata__" and (not isinstance(about, Mapping) or about.get("dtype") != "F64"):
            raise FileFormatError(f"array {name!r} must hold finite 64-bit numbers")
    try:
        arrays = unpack(payload)
    except (SafetensorError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise FileFormatError(f"damaged, or not a sfumato file ({error})") from None
    for name, values in arrays.items():
        if values.dtype != np.float64 or not np.isfinite(values).all():
            raise FileFormatError(f"array {name!r} must hold finite 64-bit numbers")
    return Contents(metadata[_DOCUMENT], arrays, metadata.get(_SIGNATURE))
