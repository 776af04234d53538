"""Plain JSON data for the public types of the core, and back, checking everything on the way in."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sfumato.checks import one_of, positive_integer, positive_number, probability
from sfumato.core.box import Box, Categorical, Column, Integer, Interval, Periodic
from sfumato.core.calibration import NOISES, NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.gaussian import noise_multiplier
from sfumato.core.neighbours import RELATIONS, Person, Unit
from sfumato.core.privacy import Guarantee, Privacy
from sfumato.errors import ParameterError
from sfumato.releases.base import Receipt
from sfumato.releases.local_law import LocalLaw

_KINDS = {"interval": Interval, "integer": Integer, "periodic": Periodic}
# A hostile fraction such as 1e999999999 would expand to gigabytes; real ones have a few hundred digits.
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
    return Person(data["column"], data["max_rows"]) if isinstance(data, dict) else one_of("unit", data, ("row",))


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
    unit, assumptions = decode_unit(data["unit"]), tuple(str(a) for a in data["assumptions"])
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
        return LocalLaw(str(data["randomizer"]), data["size"], data["deviation"])
    exact_keys(data, set(NoiseLaw.__dataclass_fields__), "the noise")
    if not isinstance(data["scale"], str) or not _FRACTION.fullmatch(data["scale"]):
        raise ParameterError("the noise scale is not a fraction")
    exponent = data["exponent"]
    if isinstance(exponent, bool) or not isinstance(exponent, int) or not -1000 <= exponent <= 1000:
        raise ParameterError(f"the grid exponent must be a whole number within 1000 of 0, got {exponent!r}")
    stored = data["certificate"]
    if not (stored["exponent"] is None or type(stored["exponent"]) is int) or not isinstance(stored["proof"], str):
        raise ParameterError("the certificate's exponent must be a whole number or null, its proof a name")
    certificate = Certificate(**{**stored, "assumptions": tuple(str(a) for a in stored["assumptions"])})
    kind, size = one_of("kind", data["kind"], NOISES), positive_integer("size", data["size"])
    scale = Fraction(data["scale"])
    if not 0 < scale < 2**130:
        raise ParameterError("the noise scale is beyond what any release has")
    return NoiseLaw(kind, size, exponent, scale, certificate)


def check_scale(law: NoiseLaw, privacy: Privacy) -> None:
    """Refuse noise on a real vector that is less than its certificate calls for on any grid."""
    certificate, root = law.certificate, math.sqrt(law.size)
    spread = {("laplace", "linf"): law.size, ("l2", "linf"): root, ("gaussian", "linf"): root}
    bound = certificate.bound * spread.get((law.kind, certificate.norm), 1)
    if privacy.rho is not None:
        needed = bound / math.sqrt(2 * privacy.rho)
    else:
        assert privacy.epsilon is not None
        gaussian = law.kind == "gaussian"
        needed = bound * noise_multiplier(privacy.epsilon, privacy.delta) if gaussian else bound / privacy.epsilon
    if law.deviation < needed * (1 - 1e-6):
        raise ParameterError("there is less noise than the guarantee needs")


def decode_receipt(data: Mapping[str, Any] | None) -> Receipt | None:
    """Rebuild a receipt; ``vars`` is its plain data."""
    if data is None:
        return None
    exact_keys(data, set(Receipt.__dataclass_fields__), "the receipt")
    words = {name: str(data[name]) for name in data if name != "entry"}
    return Receipt(entry=positive_integer("entry", data["entry"]), **words)
