"""Signed releases: whoever trusts a key reads what it signed, to the last byte, and nothing else."""

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, MissingExtraError, ParameterError, ParameterTypeError
from sfumato.releases.file.signature import fingerprint, new_keys, private_key, public_key

ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
GOLDEN = sorted(
    (Path(__file__).parents[3] / "golden").glob("[n-z]*-v1.sfumato"), key=lambda file: file.stem != "pure-v1"
)


@pytest.fixture(scope="module")
def keys():
    return new_keys()


@pytest.fixture
def signed(keys, tmp_path):
    sf.load(GOLDEN[0]).save(tmp_path / "signed.sfumato", key=keys[0])
    return tmp_path / "signed.sfumato"


def parts(path):
    with safe_open(path, framework="numpy") as container:
        return container.metadata(), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


def ways(folder, private, public):
    """A pair of keys as paths, text, bytes, bare bytes and objects."""
    (folder / "k.pem").write_bytes(private)
    (folder / "k.pub").write_bytes(public)
    one, other = private_key(private), public_key(public)
    return [
        (folder / "k.pem", folder / "k.pub"),
        (str(folder / "k.pem"), str(folder / "k.pub")),
        (private, public),
        (one.private_bytes_raw(), other.public_bytes_raw()),
        (one, other),
        (one, [public_key(new_keys()[1]), other]),
    ]


def test_every_form_of_a_key_signs_and_is_trusted(keys, tmp_path):
    release = sf.load(GOLDEN[0])
    for key, trust in ways(tmp_path, *keys[:2]):
        release.save(tmp_path / "r.sfumato", key=key)
        assert sf.load(tmp_path / "r.sfumato", trust=trust).guarantee == release.guarantee


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_every_kind_can_be_signed(file, keys, tmp_path):
    release = sf.load(file)
    release.save(tmp_path / "r.sfumato", key=keys[0])
    assert sf.load(tmp_path / "r.sfumato", trust=keys[1]).guarantee == release.guarantee


def test_without_trust_a_signed_file_loads_as_any_other(signed):
    assert sf.load(signed).guarantee == sf.load(GOLDEN[0]).guarantee


def test_an_unsigned_file_is_refused(keys):
    with pytest.raises(FileFormatError, match="not signed"):
        sf.load(GOLDEN[0], trust=keys[1])


def test_another_key_is_refused(signed, keys):
    with pytest.raises(FileFormatError, match=f"signed by another key .*{keys[2]}"):
        sf.load(signed, trust=new_keys()[1])


def test_every_change_of_the_document_is_refused(signed, keys):
    metadata, arrays = parts(signed)
    document = json.loads(metadata["sfumato"])
    changes = [("epsilon", 0.01), ("assumptions", []), ("unit", {"column": "a", "max_rows": 9})]
    for name, value in changes:
        forged = json.loads(metadata["sfumato"])
        forged["guarantee"][name] = value
        assert forged != document
        signed.write_bytes(pack(arrays, metadata=metadata | {"sfumato": json.dumps(forged)}))
        with pytest.raises(FileFormatError, match="does not fit"):
            sf.load(signed, trust=keys[1])


def test_even_a_space_in_the_document_is_a_change(signed, keys):
    metadata, arrays = parts(signed)
    signed.write_bytes(pack(arrays, metadata=metadata | {"sfumato": metadata["sfumato"] + " "}))
    with pytest.raises(FileFormatError, match="does not fit"):
        sf.load(signed, trust=keys[1])


@pytest.mark.parametrize("change", ["value", "sign of nought", "shape", "name", "one more"])
def test_every_change_of_an_array_is_refused(signed, keys, change):
    metadata, arrays = parts(signed)
    name, values = next(iter(arrays.items()))
    if change == "value":
        values.flat[0] = np.nextafter(values.flat[0], np.inf)
    elif change == "sign of nought":
        values.flat[0] = -0.0 if values.flat[0] == 0 else -values.flat[0]
    elif change == "shape":
        arrays[name] = values[None]
    elif change == "name":
        arrays["other"] = arrays.pop(name)
    else:
        arrays["more"] = values
    signed.write_bytes(pack(arrays, metadata=metadata))
    with pytest.raises(FileFormatError, match="does not fit"):
        sf.load(signed, trust=keys[1])


@pytest.mark.parametrize(
    "signature",
    ["", "{}", "[]", "null", '{"algorithm": "none", "key": "a", "value": ""}', "x" * 1000, '{"key": 1, "key": 2}'],
)
def test_a_broken_signature_is_refused(signed, keys, signature):
    metadata, arrays = parts(signed)
    signed.write_bytes(pack(arrays, metadata=metadata | {"signature": signature}))
    with pytest.raises(FileFormatError):
        sf.load(signed, trust=keys[1])


@pytest.mark.parametrize("value", ["", "00", "zz", "00" * 64, 3])
def test_a_signature_of_nothing_is_refused(signed, keys, value):
    metadata, arrays = parts(signed)
    told = json.loads(metadata["signature"]) | {"value": value}
    signed.write_bytes(pack(arrays, metadata=metadata | {"signature": json.dumps(told)}))
    with pytest.raises(FileFormatError):
        sf.load(signed, trust=keys[1])


@pytest.mark.parametrize("bad", [b"", b"x" * 32 + b"y", b"-----BEGIN PRIVATE KEY-----\n", "no such file"])
def test_what_is_no_key_is_refused_before_anything_is_read_or_written(bad, tmp_path):
    with pytest.raises((ParameterError, FileFormatError)):
        sf.load(GOLDEN[0]).save(tmp_path / "r.sfumato", key=bad)
    assert not list(tmp_path.iterdir())
    with pytest.raises((ParameterError, FileFormatError)):
        sf.load(GOLDEN[0], trust=bad)


@pytest.mark.parametrize("bad", [3, 1.5, {}])
def test_what_is_not_even_a_path_is_named(bad, tmp_path):
    with pytest.raises(ParameterTypeError, match="key must be"):
        sf.load(GOLDEN[0]).save(tmp_path / "r.sfumato", key=bad)
    with pytest.raises(ParameterTypeError, match="trust must be"):
        sf.load(GOLDEN[0], trust=bad)


def test_trusting_nobody_is_refused():
    with pytest.raises(ParameterError, match="one public key or more"):
        sf.load(GOLDEN[0], trust=[])


def test_halves_are_not_taken_for_each_other(keys, tmp_path):
    with pytest.raises(ParameterError, match="private key"):
        sf.load(GOLDEN[0]).save(tmp_path / "r.sfumato", key=keys[1])
    with pytest.raises(ParameterError, match="public key"):
        sf.load(GOLDEN[0], trust=keys[0])


def test_the_extra_is_named_where_it_is_missing(monkeypatch, tmp_path):
    def missing(name):
        raise ModuleNotFoundError(name, name="cryptography")

    monkeypatch.setattr("sfumato.extras.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"sfumato\[sign\]"):
        sf.load(GOLDEN[0], trust=tmp_path / "k.pub")
    with pytest.raises(MissingExtraError, match=r"sfumato\[sign\]"):
        sf.load(GOLDEN[0]).save(tmp_path / "r.sfumato", key=tmp_path / "k")


# --- the umask ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664), (0o000, 0o666)])
def test_the_umask_says_who_reads_a_release(tmp_path, umask, mode):
    import os

    from sfumato.codec import write_plain

    before = os.umask(umask)
    try:
        sf.load(GOLDEN[0]).save(tmp_path / "r.sfumato")
        write_plain(tmp_path / "mine", b"x", private=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "r.sfumato").stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine", "r.sfumato"]


def test_a_fingerprint_is_that_of_the_public_half(keys):
    assert fingerprint(private_key(keys[0]).public_key()) == fingerprint(public_key(keys[1])) == keys[2]
