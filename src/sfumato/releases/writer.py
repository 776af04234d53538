"""Writing a release to its file: whatever its kind, one document and its arrays, read back before it counts."""

from __future__ import annotations

import hashlib
import json
import os
from itertools import count
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.codec import encode_box, encode_guarantee, encode_law, write_plain
from sfumato.errors import FileFormatError, UnreadableReleaseError
from sfumato.releases.file.container import FORMAT_VERSION, Contents, packed
from sfumato.releases.file.signature import Key, Signer, sign
from sfumato.releases.io import restored


def save(release: Any, path: str | os.PathLike[str], key: Key | None = None) -> None:
    """Write a release to one file, signed if a private key is given; whatever was paid for is written.

    What cannot be read back is a defect of ours: it goes beside its place, where nobody takes it for a release.
    """
    payload = _payload(release, None if key is None else Signer.of(key))
    try:
        restored(payload, os.fspath(path))
    except (FileFormatError, MemoryError) as error:
        beside = _free(f"{os.fspath(path)}.unread")
        write_plain(beside, payload)
        why = str(error) or "there is not enough memory"
        raise UnreadableReleaseError(
            f"{why}: sfumato cannot read back what it wrote. Nothing is lost: the release is in {beside}; keep that "
            "file, and tell the authors of sfumato"
        ) from None
    write_plain(path, payload)


def check_readable(release: Any) -> None:
    """Write a release in memory and read it back, which fails where ``save`` would."""
    restored(_payload(release, None), "the release")


def _payload(release: Any, signer: Signer | None) -> bytes:
    document = {"format": "sfumato", "version": FORMAT_VERSION, "library": __version__, **_document(release)}
    contents = Contents(json.dumps(document), _arrays(release))
    return packed(contents if signer is None else sign(contents, signer))


def digest(release: Any) -> str:
    """A hash of all that a release says, its receipt included: the same before it is saved and after it is loaded."""
    found = hashlib.sha256(json.dumps(_document(release)).encode())
    for name, values in sorted(_arrays(release).items()):
        found.update(json.dumps([name, values.dtype.str, values.shape]).encode())
        found.update(values.data if values.size else b"")
    return found.hexdigest()


def _document(release: Any) -> dict[str, Any]:
    return {
        "kind": release.kind,
        "box": encode_box(release.box),
        "guarantee": encode_guarantee(release.guarantee),
        "noise": None if release.law is None else encode_law(release.law),
        "target": [list(pair) for pair in release.target],
        "receipt": None if release.receipt is None else vars(release.receipt),
        "content": release.fields(),
    }


def _arrays(release: Any) -> dict[str, Any]:
    return {name: np.ascontiguousarray(values) for name, values in release.arrays().items()}


def _free(name: str) -> str:
    """The name, or one like it that is not taken: another release may wait there."""
    return next(one for number in count(1) if not os.path.lexists(one := name if number == 1 else f"{name}{number}"))
