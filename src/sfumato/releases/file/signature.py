"""Signed files: whose word a release is, for what cannot be computed from the file itself.

Ed25519, by the ``cryptography`` package, which only those need who sign or trust.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.codec import read_json
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError
from sfumato.extras import need
from sfumato.releases.file.container import Contents

Key = str | os.PathLike[str] | bytes | Any  # Any: an Ed25519PrivateKey or Ed25519PublicKey
Trust = Key | Sequence[Key]

_PURPOSE = b"sfumato release, version 1\n"  # a key that signs other things signs no release by accident
_RAW = 32  # bytes of a bare key
_LARGEST_KEY = 2**14  # bytes of a PEM file


def _ed25519() -> Any:
    return need("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")


def _serialization() -> Any:
    return need("cryptography.hazmat.primitives.serialization", "sign")


def fingerprint(public: Any) -> str:
    """The SHA-256 of a public key's 32 bytes: what a file says about who signed it."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()


def _key_bytes(name: str, key: Key) -> bytes:
    if isinstance(key, bytes):
        return key
    if not isinstance(key, str | os.PathLike):
        raise ParameterTypeError.of(name, f"must be a path, bytes or an Ed25519 key, got {type(key).__name__}")
    try:
        if not Path(key).is_file() or Path(key).stat().st_size > _LARGEST_KEY:
            raise MissingFileError(f"{name}: there is no key in {os.fspath(key)!r}; make one with 'sfumato keys new'")
        return Path(key).read_bytes()
    except OSError as error:
        if isinstance(error, MissingFileError):
            raise
        raise ParameterError(f"{name}: {os.fspath(key)!r} cannot be read ({error.strerror})", parameter=name) from None


def private_key(key: Key) -> Any:
    """An ``Ed25519PrivateKey``, from itself, from a PEM file or from bytes."""
    kind = _ed25519().Ed25519PrivateKey
    if isinstance(key, kind):
        return key
    data = _key_bytes("key", key)
    try:
        if len(data) == _RAW:
            return kind.from_private_bytes(data)
        found = _serialization().load_pem_private_key(data, password=None)
    except (ValueError, TypeError):  # what it says might hold parts of the key
        found = None
    if not isinstance(found, kind):
        raise ParameterError.of(
            "key", "must be an Ed25519 private key without a password, as 'sfumato keys new' makes one"
        )
    return found


def public_key(key: Key) -> Any:
    """An ``Ed25519PublicKey``, from itself, from a PEM file or from bytes."""
    kind = _ed25519().Ed25519PublicKey
    if isinstance(key, kind):
        return key
    data = _key_bytes("trust", key)
    try:
        found = kind.from_public_bytes(data) if len(data) == _RAW else _serialization().load_pem_public_key(data)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, kind):
        raise ParameterError.of(
            "trust", "must be an Ed25519 public key, such as the .pub file that 'sfumato keys new' wrote"
        )
    return found


@dataclass(frozen=True)
class Signer:
    """A private key that has been read."""

    key: Any

    @classmethod
    def of(cls, key: Key) -> Signer:
        """Read a key, refusing what is none: before anything is paid for."""
        return key if isinstance(key, cls) else cls(private_key(key))


def new_keys() -> tuple[bytes, bytes, str]:
    """A new private key and its public half, as PEM, and the fingerprint."""
    key, form = _ed25519().Ed25519PrivateKey.generate(), _serialization()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    return private, public, fingerprint(key.public_key())


def message(contents: Contents) -> bytes:
    """What is signed: a digest of everything that is read from a file, each part with its length before it."""
    digest = hashlib.sha512(_PURPOSE)
    parts = [contents.text.encode("utf-8", "surrogatepass")]
    for name, values in sorted(contents.arrays.items()):
        shape = ",".join(map(str, values.shape))
        parts += [name.encode("utf-8", "surrogatepass"), shape.encode(), values.astype("<f8").tobytes()]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def sign(contents: Contents, signer: Signer) -> Contents:
    """The same with a signature."""
    value = signer.key.sign(message(contents)).hex()
    told = {"algorithm": "ed25519", "key": fingerprint(signer.key.public_key()), "value": value}
    return replace(contents, signature=json.dumps(told))


def signed_with(contents: Contents) -> tuple[str, bytes]:
    """The fingerprint and the signature that a file carries, neither of them checked."""
    if contents.signature is None:
        raise FileFormatError("not signed, and only what a trusted key has signed was to be read")
    told = read_json(contents.signature) if isinstance(contents.signature, str) else None
    if not isinstance(told, dict) or set(told) != {"algorithm", "key", "value"} or told["algorithm"] != "ed25519":
        raise FileFormatError("its signature is of an unknown form")
    try:
        return str(told["key"]), bytes.fromhex(told["value"])
    except (TypeError, ValueError):
        raise FileFormatError("its signature is damaged") from None


def trusted_keys(trust: Trust) -> dict[str, Any]:
    """The public keys that are trusted, by their fingerprints."""
    several = trust if isinstance(trust, Sequence) and not isinstance(trust, str | bytes) else [trust]
    keys = {fingerprint(key): key for key in map(public_key, several)}
    if not keys:
        raise ParameterError.of("trust", "must name one public key or more, got none")
    return keys


def check_signature(contents: Contents, trusted: Mapping[str, Any]) -> str:
    """Refuse a file that none of the trusted keys has signed; returns the fingerprint of the one that has."""
    invalid = need("cryptography.exceptions", "sign").InvalidSignature
    who, value = signed_with(contents)
    if who not in trusted:
        raise FileFormatError(f"signed by another key ({who[:64]!a}), not by {' or '.join(trusted)}")
    try:
        trusted[who].verify(value, message(contents))
    except invalid:
        raise FileFormatError("its signature does not fit: it was changed after it was signed") from None
    return who
