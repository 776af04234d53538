"""One file for every release: a safetensors container whose metadata is one JSON document.

Arrays and text, nothing else: no pickle, no code, a closed list of kinds. docs/file-format.md describes it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato._version import __version__
from sfumato.checks import one_of, whole_number
from sfumato.codec import (
    LARGEST_COUNT,
    decode_box,
    decode_guarantee,
    decode_law,
    exact_keys,
    read_json,
)
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Guarantee
from sfumato.errors import FileFormatError, ParameterError
from sfumato.harmless import printable
from sfumato.laws import LocalLaw
from sfumato.releases.base import Receipt, Release
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.collected.density import CollectedDensity
from sfumato.releases.collected.marginals import MarginalsRelease
from sfumato.releases.collected.model import GAUSSIAN, CollectedModel
from sfumato.releases.collected.moments import CollectedMoments
from sfumato.releases.collected.risk import CollectedRisk
from sfumato.releases.components import ComponentsRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import GroupedDensityRelease
from sfumato.releases.file.certified import PLACES, checked_noise, granted_of
from sfumato.releases.file.container import FORMAT_VERSION, LARGEST_FILE, Contents, read_bytes, unpacked
from sfumato.releases.file.signature import Trust, check_signature, trusted_keys
from sfumato.releases.function import FunctionRelease
from sfumato.releases.machine.machine import MachineRelease
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.synthetic.table import TableRelease
from sfumato.releases.value import ValueRelease

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
    CollectedMoments,
    CollectedRisk,
    CollectedModel,
    TableRelease,
    ComponentsRelease,
)
_PAPER = ("likelihood", "loglog", "laplace")
# What devices can have reported, and how: each kind has randomizers of its own.
_COLLECTED: dict[str, tuple[str, ...]] = {
    CollectedDensity.kind: ("hadamard", "subset", "bit", *_PAPER, "privunit"),
    MarginalsRelease.kind: ("hadamard", "subset", "chebyshev"),
    SummaryRelease.kind: ("bit", *_PAPER),
    CollectedMoments.kind: ("privunit",),
    CollectedRisk.kind: ("bit", *_PAPER),
    CollectedModel.kind: ("privunit-copies", GAUSSIAN),
}
_KINDS: dict[str, type[Release]] = {kind.kind: kind for kind in _EVERY}
_KEYS = {"format", "version", "library", "kind", "box", "guarantee", "noise", "target", "receipt", "content"}
_LONGEST_COMPLAINT = 500  # characters of what is wrong with a file, which may hold anything


def load(path: str | os.PathLike[str], trust: Trust | None = None) -> Any:
    """Read a release from a file, refusing anything that is not exactly one.

    Parameters
    ----------
    trust
        One public key or several (a path to a PEM file, its bytes, or an ``Ed25519PublicKey``): only what one of them
        signed is read. Without it a signature is not looked at.

    >>> load("no-such-file.sfumato")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file.sfumato: there is no such file
    """
    trusted = None if trust is None else trusted_keys(trust)
    return restored(read_bytes(path), os.fspath(path), trusted)


def restored(payload: bytes, name: str, trusted: Mapping[str, Any] | None = None) -> Any:
    """The release in the bytes of a file; errors say the file's ``name``."""
    try:
        if len(payload) > LARGEST_FILE:
            raise FileFormatError(f"too large for a release ({len(payload)} bytes)")
        contents = unpacked(payload)
        if trusted is not None:
            check_signature(contents, trusted)
        with np.errstate(all="ignore"):  # what overflows is refused, and a stranger's file warns nobody
            return _rebuilt(read_json(contents.text), contents)
    except FileFormatError as error:
        raise type(error)(f"{name}: {_shortened(error)}") from None
    except MemoryError:  # that is the machine's
        raise
    except Exception as error:  # whoever wrote the file chose what goes wrong: it is the file's fault, whatever it is
        raise FileFormatError(f"{name}: not a valid sfumato release ({_shortened(error)})") from None


def _shortened(error: Exception) -> str:
    said = str(error) or type(error).__name__
    return said if len(said) <= _LONGEST_COMPLAINT else said[:_LONGEST_COMPLAINT] + " ..."


def _rebuilt(document: Any, contents: Contents) -> Any:
    """The release that a document describes; every number in it is bounded before anything is computed from it."""
    _check_envelope(document)
    law = None if document["noise"] is None else decode_law(document["noise"])
    numbers = sum(values.size for values in contents.arrays.values())
    if law is not None and law.size > numbers:
        raise ParameterError(f"the noise law speaks of {law.size} numbers, the file has {numbers}")
    common: dict[str, Any] = {
        "guarantee": decode_guarantee(document["guarantee"]),
        "law": law,
        "target": tuple((printable(key), printable(value)) for key, value in document["target"]),
        "receipt": _receipt(document["receipt"]),
    }
    if isinstance(law, LocalLaw):
        _check_local(common["guarantee"], law, document["kind"])
    elif law is not None:
        _check_noise(common["guarantee"], law)
        if law.kind == "blocks" and document["kind"] != TableRelease.kind:
            raise ParameterError("noise in blocks is for synthetic tables alone")
    elif document["kind"] != ValueRelease.kind:
        raise ParameterError("there is no noise law")
    return _KINDS[document["kind"]].rebuild(common, decode_box(document["box"]), document["content"], contents.arrays)


def _receipt(data: dict[str, Any] | None) -> Receipt | None:
    if data is None:
        return None
    exact_keys({"hash": "", **data}, set(Receipt.__dataclass_fields__), "the receipt")  # older files have none
    words = {name: printable(data[name]) for name in data if name != "entry"}
    return Receipt(entry=whole_number("entry", data["entry"], 1, LARGEST_COUNT), **words)


def _check_local(guarantee: Guarantee, law: LocalLaw, kind: str) -> None:
    """Refuse the noise of devices in what no device reported, and a promise that devices do not make."""
    if kind not in _COLLECTED:
        raise ParameterError("the noise of devices is only in what devices reported")
    one_of("randomizer", law.randomizer, _COLLECTED[kind])
    # Gaussian noise is never pure, and all other noise of devices is; how large delta is, the release itself checks.
    needed = law.randomizer == GAUSSIAN
    delta = guarantee.delta if needed else 0.0
    plain = Guarantee(guarantee.epsilon, delta, None, None, "replace", "row", model="local")
    if guarantee != plain or guarantee.epsilon is None or (needed and not guarantee.delta):
        raise ParameterError("what devices report is in the local model, and pure except with Gaussian noise")


def _check_noise(guarantee: Guarantee, law: NoiseLaw) -> None:
    """Refuse a promise that the noise could not keep: the certificate calls for at least so much."""
    privacy = granted_of(guarantee)
    kept = checked_noise(law, privacy)
    if guarantee.model != "central":
        raise ParameterError("noise at the door is central privacy, and the guarantee says otherwise")
    if guarantee.confidence > kept.confidence:
        raise ParameterError("the sensitivity was only sampled, and the guarantee does not say so")
    told = {*guarantee.assumptions}
    placed = law.certificate.known == "stated" and privacy.unit != "row" and privacy.neighbours == "replace"
    if not {*kept.assumptions} <= told or (placed and not PLACES & told):
        raise ParameterError("the guarantee leaves out what it rests on")
    if guarantee.mu is not None and (kept.mu is None or guarantee.mu < kept.mu * (1 - 1e-6)):
        raise ParameterError("the guarantee's mu promises more than the noise keeps")


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
