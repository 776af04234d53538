"""Writing a release to its file: whatever its kind, one document and its arrays."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.codec import encode_box, encode_guarantee, encode_law, write_plain
from sfumato.releases.file.container import Contents, packed
from sfumato.releases.file.signature import Key, Signer, sign

FORMAT_VERSION = 1


def save(release: Any, path: str | os.PathLike[str], key: Key | None = None) -> None:
    """Write a release to one file, signed if a private key is given."""
    signer = None if key is None else Signer.of(key)
    document = {
        "format": "sfumato",
        "version": FORMAT_VERSION,
        "library": __version__,
        "kind": release.kind,
        "box": encode_box(release.box),
        "guarantee": encode_guarantee(release.guarantee),
        "noise": None if release.law is None else encode_law(release.law),
        "target": [list(pair) for pair in release.target],
        "receipt": None if release.receipt is None else vars(release.receipt),
        "content": release.fields(),
    }
    arrays = {name: np.ascontiguousarray(values) for name, values in release.arrays().items()}
    contents = Contents(json.dumps(document, allow_nan=False), arrays)
    write_plain(path, packed(contents if signer is None else sign(contents, signer)))
