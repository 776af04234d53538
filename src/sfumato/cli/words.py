"""Releases in words and in plain data."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from sfumato.codec import encode_box, encode_guarantee, encode_law
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.laws import LocalLaw
from sfumato.plotting.collected_panels import is_collected
from sfumato.plotting.sampled import HEADLINE, sampled
from sfumato.plotting.words import linked, listed, quantity, subject
from sfumato.releases.base import Receipt, Release
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.machine import MachineRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

_NOISES = {
    "laplace": "Laplace noise",
    "gaussian": "Gaussian noise",
    "linf": "K-norm noise of the L-infinity ball",
    "l2": "K-norm noise of the L2 ball",
}
_MOVES = {
    "linf": "each coefficient by at most {bound}",
    "l1": "the coefficients by at most {bound} in L1 norm",
    "l2": "the coefficients by at most {bound} in L2 norm",
}
_DELTA = 1e-6  # at which a concentrated promise is quoted


def guarantee_words(guarantee: Guarantee) -> str:
    """What a guarantee means for one of those in the data.

    >>> guarantee_words(Guarantee(1.0, 0.0, None, None, "replace", "row"))
    'Replacing any one row of the data makes no outcome more than 2.719 times as likely.'
    """
    unit = guarantee.unit
    rows = (
        f"any one person (column {unit.column!r}, up to {unit.max_rows} rows)"
        if isinstance(unit, Person)
        else "any one row"
    )
    verb = "Replacing" if guarantee.neighbours == "replace" else "Adding or removing"
    epsilon, delta, quoted = guarantee.epsilon, guarantee.delta, ""
    if epsilon is None:
        epsilon, delta = guarantee.epsilon_at(_DELTA), _DELTA
        quoted = f" This is its promise at delta {delta:g}; it makes one for every delta."
    factor = f"{_above(math.exp(epsilon))} times" if epsilon < 700 else f"e^{epsilon:g} times"
    slack = f", up to a probability of {delta:g}" if delta else ""
    text = f"{verb} {rows} of the data makes no outcome more than {factor} as likely{slack}.{quoted}"
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is not None:
        text += (
            f" For random data this holds with confidence {guarantee.confidence!r} only: {HEADLINE} (gamma "
            f"{random.gamma})."
        )
    return text


def random_data(guarantee: Guarantee) -> dict[str, Any] | None:
    """How a promise was sampled, as plain data; None for one that was not."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    return None if random is None else {**vars(random), "gamma": float(random.gamma)}


def random_lines(guarantee: Guarantee) -> list[str]:
    """The same in words; none for a promise that is not random."""
    random = sampled(guarantee.confidence, guarantee.assumptions)
    if random is None:
        return []
    return [f"gamma {random.gamma}", f"rule {random.how}", f"oracle: {random.oracle or 'not told'}"]


def _above(value: float) -> str:
    """A number rounded up to four digits: what is quoted must not promise more than what holds."""
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(Decimal(value))):.10g}"


def box_lines(box: Box) -> list[str]:
    """The columns of a box, one a line."""
    lines = []
    for name, column in zip(box.names, box.columns, strict=True):
        if isinstance(column, Categorical):
            lines.append(f"{name}: one of {', '.join(map(str, column.categories))}")
        else:
            kind = "" if column.kind == "interval" else f", {column.kind}"
            lines.append(f"{name}: {column.low:.10g} to {column.high:.10g}{kind}")
    return lines if box.max_norm is None else [*lines, f"Euclidean norm at most {box.max_norm:.10g}"]


def noise_lines(law: NoiseLaw | LocalLaw) -> list[str]:
    """The noise, and the certificate that it was calibrated for; or what people's devices put in."""
    if isinstance(law, LocalLaw):
        return [f"that of people's own devices ({law.randomizer}), standard deviation at most {law.deviation:.6g}"]
    certificate = law.certificate
    bound = certificate.bound * 2.0 ** (certificate.exponent or 0)
    scale = "standard deviation" if law.kind == "gaussian" else "scale"
    return [
        f"{_NOISES[law.kind]}, {scale} {law.deviation:.6g}, in steps of 2^{law.exponent}",
        f"one unit moves {_MOVES[certificate.norm].format(bound=f'{bound:.6g}')} ({certificate.known})",
    ]


def receipt_lines(receipt: Receipt | None) -> list[str]:
    """The ledger's receipt."""
    if receipt is None:
        return ["none: not charged to an account"]
    return [
        f"account {receipt.account!r}, entry {receipt.entry}, {receipt.accountant} accounting",
        f"spent by then: {receipt.spent}",
        f"left then: {receipt.left} of {receipt.limit}",
    ]


def number_words(value: float) -> str:
    """A rounded number for reading."""
    return f"{value:.4g}"


def counted(count: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def title(release: Release) -> str:
    """What a release is, in a few words."""
    names = listed(release.box.names)
    if isinstance(release, GroupedDensityRelease):
        return f"densities of {names}, one for each {release.by} ({', '.join(map(str, release.groups))})"
    if isinstance(release, MachineRelease):
        what = "a regression" if release.classes is None else "a classifier"
        return f"{what} of {release.response.name} from {names if release.box.dimension < 9 else 'many columns'}"
    if isinstance(release, CurveRelease):
        return f"a regression of {release.response.name} on {names}"
    if isinstance(release, NaiveBayesRelease):
        few = names if release.box.dimension < 9 else "many columns"
        return f"a naive Bayes classifier of {release.response.name} from {few}"
    if isinstance(release, ValueRelease):
        return f"the {quantity(release)} of {subject(release)}"
    if is_collected(release):
        what = {"collected-density": "a density", "marginals": "tables"}.get(release.kind, "a summary")
        few = names if release.box.dimension < 9 else f"{release.box.dimension} columns"
        return f"{what} of {few}, collected from people's devices"
    if isinstance(release, SummaryRelease):
        return f"a summary of {names if release.box.dimension < 9 else f'{release.box.dimension} columns'}"
    if not isinstance(release, FunctionRelease):
        return f"a {release.kind} of {names}"
    if not any(release.expansion.derivatives):
        what, link = (quantity(release), "on") if linked(release) == "on" else (release.kind, "of")
        return f"a {what} {link} {names}"
    times = zip(release.box.names, release.expansion.derivatives, strict=True)
    along = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in times if count)
    return f"a derivative, along {along}, of a {release.kind} of {names}"


def target_lines(release: Release) -> list[str]:
    """What was published, with its public parameters."""
    return [value if name == "target" else f"{name}: {value}" for name, value in release.target]


def release_data(release: Release) -> dict[str, Any]:
    """Everything public about a release but its coefficients, as plain data."""
    data: dict[str, Any] = {
        "kind": release.kind,
        "what": title(release),
        "guarantee": {**encode_guarantee(release.guarantee), "words": guarantee_words(release.guarantee)},
        "random": random_data(release.guarantee),
        "box": encode_box(release.box),
        "noise": None if release.law is None else {**encode_law(release.law), "deviation": release.law.deviation},
        "target": dict(release.target),
        "receipt": None if release.receipt is None else vars(release.receipt),
    }
    if isinstance(release, FunctionRelease):
        data |= {"basis": release.basis.to_json(), "derivatives": list(release.expansion.derivatives)}
    return data
