"""One file for every release: a safetensors container whose metadata is one JSON document.

Arrays and text, nothing else: no pickle, no code, a closed list of kinds. docs/file-format.md describes it.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack

from sfumato._version import __version__
from sfumato.bases.base import LARGEST_LATTICE
from sfumato.core.calibration import NoiseLaw, calibrate
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError, SfumatoError
from sfumato.releases.base import Release
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.codec import (
    check_scale,
    decode_box,
    decode_guarantee,
    decode_law,
    decode_receipt,
    encode_box,
    encode_guarantee,
    encode_law,
)
from sfumato.releases.collected import CollectedDensity
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density import DensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.local_law import LocalLaw
from sfumato.releases.machine import MachineRelease
from sfumato.releases.marginals import MarginalsRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

FORMAT_VERSION = 1
_EVERY: tuple[type[Release], ...] = (
    FunctionRelease,
    DensityRelease,
    GroupedDensityRelease,
    MachineRelease,
    ValueRelease,
    CurveRelease,
    NaiveBayesRelease,
    SummaryRelease,
    CollectedDensity,
    MarginalsRelease,
)
_COLLECTED = (CollectedDensity.kind, MarginalsRelease.kind, SummaryRelease.kind)
_KINDS: dict[str, type[Release]] = {kind.kind: kind for kind in _EVERY}
_KEYS = {"format", "version", "library", "kind", "box", "guarantee", "noise", "target", "receipt", "content"}
_LARGEST_HEADER = 2**20
_LARGEST_FILE = 8 * LARGEST_LATTICE + _LARGEST_HEADER + 8


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release to one file."""
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
    text = json.dumps(document, allow_nan=False)
    if len(text) > _LARGEST_HEADER // 4:  # escapes can make the header longer than the text
        raise ParameterError(f"the description of the release has {len(text)} characters; shorten names and categories")
    write_atomically(path, pack(arrays, metadata={"sfumato": text}))


def write_atomically(path: str | os.PathLike[str], payload: bytes) -> None:
    """Write a whole file: a crash leaves the old one or none, never half of it."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError(f"path must be a file's path, got path={path!r}")
    target = Path(path)
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: there is no such folder")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".sfumato-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a release from a file, refusing anything that is not exactly one.

    >>> load("no-such-file.sfumato")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file.sfumato: there is no such file
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError(f"path must be a file's path, got path={path!r}")
    name = os.fspath(path)
    try:
        document, arrays = _read(name)
        _check_envelope(document)
        common: dict[str, Any] = {
            "guarantee": decode_guarantee(document["guarantee"]),
            "law": None if document["noise"] is None else decode_law(document["noise"]),
            "target": tuple((str(key), str(value)) for key, value in document["target"]),
            "receipt": decode_receipt(document["receipt"]),
        }
        if isinstance(common["law"], LocalLaw):
            _check_local(common["guarantee"], document["kind"])
        elif common["law"] is not None:
            _check_noise(common["guarantee"], common["law"])
        elif document["kind"] != ValueRelease.kind:
            raise ParameterError("there is no noise law")
        return _KINDS[document["kind"]].rebuild(common, decode_box(document["box"]), document["content"], arrays)
    except FileFormatError as error:
        raise type(error)(f"{name}: {error}") from None
    except (SfumatoError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise FileFormatError(f"{name}: not a valid sfumato release ({error})") from None


def _read(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON document and the arrays, after checks that need no parsing."""
    try:
        size = os.path.getsize(name)
        with open(name, "rb") as file:
            header = int.from_bytes(file.read(8), "little")
    except FileNotFoundError:
        raise MissingFileError("there is no such file") from None
    except OSError as error:
        raise FileFormatError(f"cannot be read ({error.strerror})") from None
    if size > _LARGEST_FILE:
        raise FileFormatError(f"too large for a release ({size} bytes)")
    if size < 8 or header > size - 8:
        raise FileFormatError("truncated, or not a sfumato release")
    if header > _LARGEST_HEADER:
        raise FileFormatError(f"its header is too large for a release ({header} bytes)")
    try:
        with safe_open(name, framework="numpy") as container:
            text = (container.metadata() or {}).get("sfumato")
            arrays = {key: container.get_tensor(key) for key in container.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        raise FileFormatError(f"damaged, or not a sfumato file ({error})") from None
    if text is None:
        raise FileFormatError("a safetensors file, but not a sfumato release")
    for key, values in arrays.items():
        if values.dtype != np.float64 or not np.isfinite(values).all():
            raise FileFormatError(f"array {key!r} must hold finite 64-bit numbers")
    return json.loads(text, parse_constant=_refuse_constant), arrays


def _check_local(guarantee: Guarantee, kind: str) -> None:
    """Refuse the noise of devices in what no device reported, and a promise that devices do not make."""
    if kind not in _COLLECTED:
        raise ParameterError("the noise of devices is only in what devices reported")
    plain = Guarantee(guarantee.epsilon, 0.0, None, None, "replace", "row", model="local")
    if guarantee != plain:
        raise ParameterError("what devices report is pure, and in the local model")


def _check_noise(guarantee: Guarantee, law: NoiseLaw) -> None:
    """Refuse a promise that the noise could not keep: the certificate calls for at least so much."""
    privacy = Privacy(guarantee.epsilon, guarantee.delta or 0.0, guarantee.rho, guarantee.neighbours, guarantee.unit)
    needed, kept = calibrate(law.certificate, law.size, privacy, law.kind)
    if guarantee.model != "central":
        raise ParameterError("noise at the door is central privacy, and the guarantee says otherwise")
    if guarantee.confidence > kept.confidence:
        raise ParameterError("the sensitivity was only sampled, and the guarantee does not say so")
    if not {*kept.assumptions} <= {*guarantee.assumptions}:
        raise ParameterError("the guarantee leaves out what it rests on")
    if guarantee.mu is not None and (kept.mu is None or guarantee.mu < kept.mu * (1 - 1e-6)):
        raise ParameterError("the guarantee's mu promises more than the noise keeps")
    if law.certificate.exponent is None:  # real vectors: the grid, and what rounding to it costs, may change
        check_scale(law, privacy)
        return
    if law.exponent != needed.exponent:
        raise ParameterError("the noise and its certificate are on different grids")
    if law.deviation < needed.deviation * (1 - 1e-9):
        raise ParameterError("there is less noise than the guarantee needs")


def _refuse_constant(name: str) -> None:
    raise FileFormatError(f"{name} is not a number")


def _check_envelope(document: dict[str, Any]) -> None:
    if not isinstance(document, dict) or document.get("format") != "sfumato":
        raise FileFormatError("not a sfumato release")
    if document.get("version") != FORMAT_VERSION:
        raise FileFormatError(
            f"format version {document.get('version')!r} is unknown to sfumato {__version__}, "
            f"which reads version {FORMAT_VERSION}; upgrade sfumato"
        )
    if set(document) != _KEYS:
        raise FileFormatError(f"unexpected or missing entries: {sorted(set(document) ^ _KEYS)}")
    if document["kind"] not in _KINDS:
        raise FileFormatError(f"unknown kind of release {document['kind']!r}")
