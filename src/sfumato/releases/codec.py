"""Plain JSON data for the public types of the core, and back, checking everything on the way in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sfumato.bases.base import LARGEST_LATTICE
from sfumato.checks import one_of, positive_number, probability, whole_number
from sfumato.core.box import Box, Categorical, Column, Integer, Interval, Periodic
from sfumato.core.calibration import NOISES, NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import RELATIONS, Person, Unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.base import Receipt
from sfumato.releases.local_law import LocalLaw

_KINDS = {"interval": Interval, "integer": Integer, "periodic": Periodic}
# A hostile fraction such as 1e999999999 would expand to gigabytes; real ones have a few hundred digits.
LARGEST_COUNT = 2**62 - 1  # of rows, reports, entries: what 64 bits hold
_LARGEST_EXPONENT = 1000
_LARGEST_BOUND = 2.0**130  # of a certificate, in steps of its grid
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")


def exact_keys(data: Mapping[str, Any], keys: set[str], what: str) -> None:
    """Refuse entries that are missing, and entries that nobody reads: data could ride along in them."""
    if set(data) != keys:
        raise ParameterError(f"{what} has unexpected or missing entries: {sorted(set(data) ^ keys)}")


def encode_box(box: Box) -> dict[str, Any]:
    """Plain data for a box."""
    columns = []
    for name, c in zip(box.names, box.columns, strict=True):
        body = {"categories": list(c.categories)} if isinstance(c, Categorical) else {"low": c.low, "high": c.high}
        columns.append({"name": name, "kind": c.kind, **body})
    return {"columns": columns, "named": box.named, "max_norm": box.max_norm}


def decode_box(data: Mapping[str, Any]) -> Box:
    """Rebuild a box."""
    exact_keys(data, {"columns", "named", "max_norm"}, "the box")
    specs: dict[str, Column] = {}
    for c in data["columns"]:
        bounds = {"categories"} if c["kind"] == "categorical" else {"low", "high"}
        exact_keys(c, {"name", "kind", *bounds}, "a column of the box")
        if c["kind"] == "categorical":
            specs[c["name"]] = Categorical(tuple(c["categories"]))
        else:
            specs[c["name"]] = _KINDS[c["kind"]](c["low"], c["high"])
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
    return {**vars(law), "scale": str(law.scale), "certificate": certificate}


def decode_law(data: Mapping[str, Any]) -> NoiseLaw | LocalLaw:
    """Rebuild a noise law."""
    if data["kind"] == "local":
        exact_keys(data, {"kind", "randomizer", "size", "deviation"}, "the noise")
        return LocalLaw(
            printable(data["randomizer"]), whole_number("size", data["size"], 1, LARGEST_LATTICE), data["deviation"]
        )
    exact_keys(data, set(NoiseLaw.__dataclass_fields__), "the noise")
    kind, size = one_of("kind", data["kind"], NOISES), whole_number("size", data["size"], 1, LARGEST_LATTICE)
    scale = decode_fraction("the noise scale", data["scale"])
    return NoiseLaw(kind, size, decode_exponent(data["exponent"]), scale, _decode_certificate(data["certificate"]))


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
    exact_keys(data, set(Certificate.__dataclass_fields__), "the certificate")
    if data["exponent"] is not None:
        decode_exponent(data["exponent"])
    if not isinstance(data["proof"], str):
        raise ParameterError("the certificate's proof must be a name")
    positive_number("bound", float(data["bound"]))
    if data["exponent"] is not None and data["bound"] > _LARGEST_BOUND:
        raise ParameterError(f"the certificate's bound is beyond what any release has, got {data['bound']!r}")
    return Certificate(**{**data, "assumptions": tuple(printable(a) for a in data["assumptions"])})


def decode_receipt(data: Mapping[str, Any] | None) -> Receipt | None:
    """Rebuild a receipt; ``vars`` is its plain data."""
    if data is None:
        return None
    exact_keys(data, set(Receipt.__dataclass_fields__), "the receipt")
    words = {name: printable(data[name]) for name in data if name != "entry"}
    return Receipt(entry=whole_number("entry", data["entry"], 1, LARGEST_COUNT), **words)
