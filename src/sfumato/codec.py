"""What files hold: public types as plain data and back, JSON that says one thing, plain files written whole.

Releases, protocols, checkpoints, ledgers and box files share it. Devices import it, so it needs numpy and the standard
library only. Whatever comes from a file is checked on the way in.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.checks import one_of, positive_number, probability, shown, whole_number
from sfumato.core.box import Box, Categorical, Column, Date, Integer, Interval, Periodic
from sfumato.core.calibration import NOISES, NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import RELATIONS, Person, Unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import FileFormatError, MissingFileError, ParameterError, ParameterTypeError
from sfumato.harmless import printable
from sfumato.laws import LocalLaw

NUMERIC: dict[str, type[Interval]] = {"interval": Interval, "integer": Integer, "periodic": Periodic, "date": Date}
LARGEST_COUNT = 2**62 - 1  # of rows, reports, entries: what 64 bits hold
# A hostile fraction such as 1e999999999 would expand to gigabytes; real ones have a few hundred digits.
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")
_LARGEST_EXPONENT = 1000
_LARGEST_BOUND = 2.0**130  # of a certificate, in steps of its grid

LARGEST_JSON = 2**22  # bytes or characters of a document
_DEEPEST = 32  # arrays and objects inside one another
_LONGEST_NUMBER = 100  # digits of a whole number, its sign included
_LONGEST_SHOWN = 40
# A string (closed or not, so that a scan never turns back) or a bracket.
_STRINGS_AND_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


# --- public types as plain data ---------------------------------------------------------------------------


def exact_keys(data: Mapping[str, Any], keys: set[str], what: str) -> None:
    """Refuse entries that are missing, and entries that nobody reads: data could ride along in them."""
    if set(data) != keys:
        raise ParameterError(f"{what} has unexpected or missing entries: {sorted(set(data) ^ keys)}")


def encode_box(box: Box) -> dict[str, Any]:
    """Plain data for a box."""
    columns = [
        {"name": name, "kind": c.kind, **_encode_column(c)} for name, c in zip(box.names, box.columns, strict=True)
    ]
    return {"columns": columns, "named": box.named, "max_norm": box.max_norm}


def _encode_column(column: Column) -> dict[str, Any]:
    """Bounds, dates among them as text, which says whether they are in UTC; or categories."""
    if isinstance(column, Categorical):
        return {"categories": list(column.categories)}
    whole = {"whole": True} if getattr(column, "whole", False) else {}
    return {**dict(zip(("low", "high"), column.bounds, strict=True)), **whole}


def decode_box(data: Mapping[str, Any]) -> Box:
    """Rebuild a box."""
    exact_keys(data, {"columns", "named", "max_norm"}, "the box")
    specs: dict[str, Column] = {}
    for c in data["columns"]:
        bounds = {"categories"} if c["kind"] == "categorical" else {"low", "high"}
        more = {"whole"} & {*c} if c["kind"] == "periodic" else set()
        exact_keys(c, {"name", "kind", *bounds, *more}, "a column of the box")
        if c["kind"] == "categorical":
            specs[c["name"]] = Categorical(tuple(c["categories"]))
        else:
            kind = NUMERIC[one_of("kind", c["kind"], tuple(NUMERIC))]
            if kind is Date and not (isinstance(c["low"], str) and isinstance(c["high"], str)):
                raise ParameterError("the bounds of a column of dates must be text")
            specs[c["name"]] = kind(c["low"], c["high"], **{name: c[name] for name in more})
    if len(specs) != len(data["columns"]):
        raise ParameterError("two columns of the box have the same name")
    return Box(specs if data["named"] else list(specs.values()), max_norm=data["max_norm"])


def encode_unit(unit: Unit) -> Any:
    """Plain data for the protected unit."""
    return {"column": unit.column, "max_rows": unit.max_rows} if isinstance(unit, Person) else unit


def decode_unit(data: Any) -> Unit:
    """Rebuild a unit."""
    if not isinstance(data, dict):
        return one_of("unit", data, ("row",))
    exact_keys(data, {"column", "max_rows"}, "the unit")
    return Person(data["column"], whole_number("max_rows", data["max_rows"], 1, LARGEST_COUNT))


def decode_rows(data: Any, promised: Guarantee) -> int | None:
    """A public number of rows, or None; refusing one where the guarantee makes it private."""
    if data is None:
        return None
    if (promised.neighbours, promised.unit) != ("replace", "row"):
        raise ParameterError("a number of rows contradicts the guarantee, under which it is private")
    return whole_number("rows", data, 0, LARGEST_COUNT)


def encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Plain data for a guarantee."""
    return {**vars(guarantee), "unit": encode_unit(guarantee.unit), "assumptions": list(guarantee.assumptions)}


def decode_guarantee(data: Mapping[str, Any]) -> Guarantee:
    """Rebuild a guarantee."""
    exact_keys(data, set(Guarantee.__dataclass_fields__), "the guarantee")
    delta = data["delta"]
    Privacy(data["epsilon"], 0.0 if delta is None else delta, data["rho"])  # refuses what nobody can grant
    if (delta is None) != (data["epsilon"] is None):
        raise ParameterError("epsilon and delta come together")
    if data["mu"] is not None:
        positive_number("mu", data["mu"])
    one_of("neighbours", data["neighbours"], RELATIONS)
    one_of("model", data["model"], ("central", "local"))
    if data["confidence"] != 1:
        probability("confidence", data["confidence"])
    unit, assumptions = decode_unit(data["unit"]), tuple(printable(a) for a in data["assumptions"])
    return Guarantee(**{**data, "unit": unit, "assumptions": assumptions})


def encode_law(law: NoiseLaw | LocalLaw) -> dict[str, Any]:
    """Plain data for a noise law and the certificate it was calibrated for; or for the noise of devices."""
    if isinstance(law, LocalLaw):
        return {"kind": "local", **vars(law)}
    certificate = {**vars(law.certificate), "assumptions": list(law.certificate.assumptions)}
    if not certificate.pop("blocks"):  # which most have not, and files of old versions never
        return {**vars(law), "scale": str(law.scale), "certificate": certificate}
    certificate["blocks"] = list(law.certificate.blocks)
    return {**vars(law), "scale": str(law.scale), "certificate": certificate}


def decode_law(data: Mapping[str, Any]) -> NoiseLaw | LocalLaw:
    """Rebuild a noise law."""
    if data["kind"] == "local":
        exact_keys(data, {"kind", "randomizer", "size", "deviation"}, "the noise")
        return LocalLaw(printable(data["randomizer"]), _decode_size(data["size"]), data["deviation"])
    exact_keys(data, set(NoiseLaw.__dataclass_fields__), "the noise")
    kind, size = one_of("kind", data["kind"], NOISES), _decode_size(data["size"])
    scale = decode_fraction("the noise scale", data["scale"])
    return NoiseLaw(kind, size, decode_exponent(data["exponent"]), scale, _decode_certificate(data["certificate"]))


def _decode_size(data: Any) -> int:
    return whole_number("size", data, 1, LARGEST_COUNT)  # whoever reads a file holds it against what is there


def decode_exponent(data: Any) -> int:
    """The exponent of a grid's step."""
    return whole_number("exponent", data, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)


def decode_fraction(what: str, data: Any) -> Fraction:
    """An exact positive number of at most a thousand digits."""
    if not isinstance(data, str) or not _FRACTION.fullmatch(data):
        raise ParameterError(f"{what} is not a fraction")
    scale = Fraction(data)
    if not 0 < scale < 2**130:
        raise ParameterError(f"{what} is beyond what any release has")
    return scale


def _decode_certificate(data: Mapping[str, Any]) -> Certificate:
    fields = set(Certificate.__dataclass_fields__)
    exact_keys(data, fields if data["norm"] == "l1-linf" else fields - {"blocks"}, "the certificate")
    blocks = tuple(data.get("blocks", ()))
    if data["exponent"] is not None:
        decode_exponent(data["exponent"])
    if not isinstance(data["proof"], str):
        raise ParameterError("the certificate's proof must be a name")
    positive_number("bound", float(data["bound"]))
    if data["exponent"] is not None and data["bound"] > _LARGEST_BOUND:
        raise ParameterError(f"the certificate's bound is beyond what any release has, got {data['bound']!r}")
    return Certificate(**{**data, "assumptions": tuple(printable(a) for a in data["assumptions"]), "blocks": blocks})


# --- JSON that says one thing -----------------------------------------------------------------------------


def read_json(text: str | bytes, largest: int = LARGEST_JSON) -> Any:
    """The value of a JSON document, refusing one that could be read in two ways or takes long to read.

    Refused are equal keys in one object, NaN and infinities (also as ``1e999``), whole numbers of more than 100
    digits, nesting deeper than 32, more than ``largest`` bytes, and bytes that are not UTF-8. The standard library
    takes the last of two equal keys: a file that shows one epsilon and loads another is not a file.

    >>> read_json('{"epsilon": 1, "lattice": [12]}')
    {'epsilon': 1, 'lattice': [12]}
    >>> read_json('{"epsilon": 1, "epsilon": 50}')
    Traceback (most recent call last):
    ...
    sfumato.errors.FileFormatError: the key 'epsilon' stands twice in one object
    """
    if len(text) > largest:
        raise FileFormatError(f"{len(text)} bytes of JSON; at most {largest} are read")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        _check_depth(decoded)
        return json.loads(
            decoded,
            object_pairs_hook=_once,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except UnicodeDecodeError:
        raise FileFormatError("not UTF-8 text") from None
    except json.JSONDecodeError as error:  # its message tells a place, never the text
        raise FileFormatError(f"not JSON ({error})") from None


def _check_depth(text: str) -> None:
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > _DEEPEST:
            raise FileFormatError(f"JSON that is nested deeper than {_DEEPEST}")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FileFormatError(f"the key {key[:_LONGEST_SHOWN]!a} stands twice in one object")
        found[key] = value
    return found


def _refuse_constant(name: str) -> None:
    raise FileFormatError(f"{name} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise FileFormatError(f"{text[:_LONGEST_SHOWN]} is too large for a number")
    return value


def _short(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise FileFormatError(f"a whole number of {len(text)} digits; at most {_LONGEST_NUMBER} are read")
    return int(text)


# --- plain files ------------------------------------------------------------------------------------------
# A path may lead to a pipe that never speaks, a device, or a file of a terabyte without a byte on the disk. All of
# these are refused before anything is read.


def open_plain(path: str | os.PathLike[str], solid: bool = True) -> BinaryIO:
    """A file that is open for reading; pipes, devices, folders and, if ``solid``, files with holes are refused at once.

    >>> open_plain("no-such-file")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingFileError: no-such-file: there is no such file
    """
    name = os.fspath(_checked(path))
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # opening a pipe waits, opening a device may do anything
            raise FileFormatError(f"{name}: a folder, a pipe or a device, not a plain file")
        file = open(name, "rb", opener=_without_waiting)  # noqa: SIM115 the caller closes it
    except FileNotFoundError:
        raise MissingFileError(f"{name}: there is no such file") from None
    except OSError as error:
        raise FileFormatError(f"{name}: cannot be read ({error.strerror})") from None
    try:
        _check_solid(file.fileno(), name, solid)
    except BaseException:
        file.close()
        raise
    return file


def read_plain(path: str | os.PathLike[str], largest: int, what: str) -> bytes:
    """All bytes of a plain file, refusing one of more than ``largest`` bytes; errors say ``what`` it should be."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise FileFormatError(f"{os.fspath(path)}: too large for {what} ({size} bytes, at most {largest})")
        return file.read(size)  # never more than was seen, whoever writes meanwhile


def write_plain(path: str | os.PathLike[str], payload: bytes, private: bool = False, like: str | None = None) -> None:
    """Write a whole file: a crash leaves the old one or none, never half of it, and a link is replaced, not followed.

    Parameters
    ----------
    private
        Whether only its owner may read it; else the umask says who may.
    like
        Or a file whose owner and mode it takes.
    """
    target = _checked(path)
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: there is no such folder")
    # In a folder of its own the file is made under the umask, and nobody else can put another in its place.
    folder = tempfile.mkdtemp(dir=target.parent, prefix=".sfumato-")
    temporary = os.path.join(folder, "whole")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(handle, "wb") as file:
            if like is not None:
                _take_after(handle, os.stat(like))
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        Path(temporary).unlink(missing_ok=True)
        os.rmdir(folder)
    with suppress(PermissionError):  # a folder that may be written, not read
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)  # the name is on the disk too
        finally:
            os.close(handle)


def _take_after(handle: int, other: os.stat_result) -> None:
    os.fchmod(handle, stat.S_IMODE(other.st_mode))
    if os.geteuid() == 0:
        os.fchown(handle, other.st_uid, other.st_gid)


def _checked(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError(f"path must be a file's path, got path={shown(path)}")
    return Path(path)


def _check_solid(handle: int, name: str, solid: bool) -> None:
    """Refuse what has become something else since it was looked at, and what has holes."""
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        raise FileFormatError(f"{name}: not a plain file")
    # Where a file system does not know of holes, the first one is said to be at the end.
    if solid and hasattr(os, "SEEK_HOLE") and seen.st_size and os.lseek(handle, 0, os.SEEK_HOLE) < seen.st_size:
        raise FileFormatError(f"{name}: has holes, stretches of its {seen.st_size} bytes that nobody wrote")
    os.lseek(handle, 0, os.SEEK_SET)


def _without_waiting(name: str, flags: int) -> int:
    """Open a file that may have become a pipe since it was looked at."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
