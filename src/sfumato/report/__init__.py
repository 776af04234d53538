"""One self-contained HTML page about a release, for people who will not run any code.

Everything on the page is public: it is computed from the release alone. The words are in templates/report.html;
this module supplies the numbers, and jinja2 escapes whatever a user or a file may have named.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._version import __version__
from sfumato.bases.bernstein import Step
from sfumato.bases.smoothness import Hoelder, Linear, Smooth, Smoothness
from sfumato.bases.unit import from_unit
from sfumato.checks import probability
from sfumato.codec import write_plain
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.extras import need
from sfumato.laws import noise_deviation
from sfumato.plotting import exact, number, quantity, short, views
from sfumato.plotting.collected_panels import is_collected
from sfumato.plotting.figures import Figures
from sfumato.plotting.sampled import sampled
from sfumato.plotting.samples import Sample, drawable
from sfumato.plotting.words import Drawable, Functions, linked, listed
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density import DensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.machine import MachineRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.uncertainty import half_width
from sfumato.releases.value import ValueRelease
from sfumato.report.bayes import bayes_code, bayes_facts
from sfumato.report.cards import card as plain_card
from sfumato.report.collected import collected_card, collected_page
from sfumato.report.curves import curve_code, curve_facts
from sfumato.report.densities import density_code, density_facts
from sfumato.report.drawings import bayes_pictures, machine_pictures, pictures, summary_pictures, value_pictures
from sfumato.report.machines import PublicTest, machine_code, machine_facts, tested_facts
from sfumato.report.numbers import above, readable
from sfumato.report.parts import NOISES, column_rows, printable
from sfumato.report.summaries import summary_code, summary_columns, summary_facts
from sfumato.report.values import rank_certificate, value_code, value_facts

__all__ = ["PublicTest", "card", "facts", "render", "write"]

Floats = NDArray[np.float64]

_DELTAS = (1e-5, 1e-6, 1e-9)  # where the curve of a concentrated promise is quoted
_POINTS = 4000  # at which the band's width is summarised where there is no picture
_FEW_NAMES = 6  # that a title can list
_WEAK = 10.0  # an epsilon from which the page says that the promise restrains little


def write(
    release: Drawable, path: str | os.PathLike[str], confidence: float = 0.95, tested: PublicTest | None = None
) -> None:
    """Write the page, whole or not at all; ``tested`` is how a classifier did on public records."""
    write_plain(path, render(release, confidence, Path(path).stem, tested).encode("utf-8"))


def render(release: Drawable, confidence: float = 0.95, name: str = "release", tested: PublicTest | None = None) -> str:
    """The page as text; ``name`` is what the code on it calls the file of the release."""
    probability("confidence", confidence)
    for package in ("jinja2", "matplotlib"):
        need(package, "plot")
    if is_collected(release):
        template = _template("collected.html")
        return collected_page(release, confidence, name, template, _promise(release.guarantee))  # type: ignore[arg-type]
    page: str = _template().render(facts(release, confidence, name, tested))
    return page


def card(release: Drawable) -> str:
    """A small card for notebooks."""
    return collected_card(release) if is_collected(release) else plain_card(release)  # type: ignore[arg-type]


@cache
def _template(name: str = "report.html") -> Any:
    jinja = need("jinja2", "plot")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(lambda part: (files("sfumato") / "templates" / part).read_text("utf-8")),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def facts(release: Drawable, confidence: float, name: str, tested: PublicTest | None = None) -> dict[str, Any]:
    """Everything that the template says."""
    what, names = quantity(release), release.box.names
    known: dict[str, Any] = {
        "title": f"{what[0].upper()}{what[1:]}",
        "kind": "",
        "response": None,
        "joined": linked(release),
        "names": names,
        "where": " and ".join(names) if len(names) < 3 else f"{len(names)} columns",
        "short": short(release.guarantee),
        "confidence": f"{100 * confidence:.10g} %",
        "promise": _promise(release.guarantee),
        "random": sampled(release.guarantee.confidence, release.guarantee.assumptions),
        "certificate": None if release.law is None else _certificate(release.law.certificate),
        "receipt": release.receipt,
        "noise": None if release.law is None else _noise(release.law),
        "parts": "coefficients",
        "columns": column_rows(release),
        "max_norm": None if release.box.max_norm is None else exact(release.box.max_norm),
        "target": release.target,
        "version": __version__,
        **dict.fromkeys(("density", "machine", "value", "curve", "bayes", "summary")),
        "test": None if tested is None else tested_facts(tested),
    }
    if isinstance(release, MachineRelease):
        return known | _machine(release, confidence, name)
    if isinstance(release, CurveRelease):
        return known | _curve(release, confidence, name)
    if isinstance(release, NaiveBayesRelease):
        return known | _bayes(release, confidence, name)
    if isinstance(release, ValueRelease):
        return known | _value(release, confidence, name)
    if isinstance(release, SummaryRelease):
        return known | _summary(release, confidence, name)
    return known | _function(release, confidence, name)


def _where(release: Drawable) -> str:
    names = release.box.names
    return listed(names) if len(names) <= _FEW_NAMES else f"{len(names)} columns"


def _machine(release: MachineRelease, confidence: float, name: str) -> dict[str, Any]:
    told = machine_facts(release, confidence)
    return {
        "kind": "machine",
        "response": told["response"],
        "joined": "from",
        "where": _where(release),
        "machine": told,
        "error": told["width"],
        "basis": release.handed.words(),
        "pictures": machine_pictures(release, confidence),
        "code": machine_code(release, name),
    }


def _curve(release: CurveRelease, confidence: float, name: str) -> dict[str, Any]:
    told = curve_facts(release, confidence)
    return {
        "kind": "curve",
        "response": told["response"],
        "joined": "on",
        "where": _where(release),
        "curve": told,
        "error": told["error"],
        "basis": repr(release.high.basis),
        "pictures": machine_pictures(release, confidence),
        "code": curve_code(release, name),
    }


def _bayes(release: NaiveBayesRelease, confidence: float, name: str) -> dict[str, Any]:
    told = bayes_facts(release, confidence)
    return {
        "kind": "bayes",
        "response": told["response"],
        "joined": "from",
        "where": _where(release),
        "bayes": told,
        "error": None,
        "basis": None,
        "parts": "counts and sums",
        "pictures": bayes_pictures(release, confidence),
        "code": bayes_code(release, name),
    }


def _value(release: ValueRelease, confidence: float, name: str) -> dict[str, Any]:
    seen, law = Figures.of(release, confidence), release.law
    told = value_facts(seen)
    known = rank_certificate(release) if law is None else _certificate(law.certificate)
    return {
        "certificate": {**known, "norm": known["norm"].replace("coefficient", "number")},
        "kind": "value",
        "where": told["subject"],
        "value": told,
        "error": None,
        "basis": repr(release.summary),
        "parts": "numbers",
        "pictures": value_pictures(seen),
        "code": value_code(release, name),
    }


def _summary(release: SummaryRelease, confidence: float, name: str) -> dict[str, Any]:
    certificate = _certificate(release.law.certificate)
    return {
        "certificate": {**certificate, "norm": certificate["norm"].replace("coefficient", "sum")},
        "kind": "summary",
        "where": _where(release),
        "columns": summary_columns(release),
        "summary": summary_facts(release, confidence),
        "error": None,
        "basis": repr(release.basis),
        "parts": "sums",
        "pictures": summary_pictures(release, confidence),
        "code": summary_code(release, name),
    }


def _function(release: Functions, confidence: float, name: str) -> dict[str, Any]:
    seen = views(release, confidence) if drawable(release) else []
    part = release[release.groups[0]] if isinstance(release, GroupedDensityRelease) else release
    known = {"basis": repr(part.basis), "pictures": pictures(release, seen) if seen else []}
    if isinstance(part, DensityRelease):
        told = density_facts(release, part, confidence)
        known["where"] = listed(release.box.names)
        known["columns"] = column_rows(part) + told["split"]
        known["target"] = [pair for pair in release.target if pair[1] != "-"]
        return {
            **known,
            "kind": "density",
            "density": told,
            "error": told["error"],
            "code": density_code(release, part, name),
        }
    error = _error(part, seen[0].samples[0] if seen else None, confidence)
    return {**known, "error": error, "code": _code(part, name)}


# --- the promise ------------------------------------------------------------------------------------------------


def _promise(guarantee: Guarantee) -> dict[str, Any]:
    unit, epsilon = guarantee.unit, guarantee.epsilon
    pure = guarantee.rho is None and guarantee.delta == 0
    curve = [] if pure else [(delta, guarantee.epsilon_at(delta)) for delta in _DELTAS]
    return {
        "kind": "concentrated" if guarantee.rho is not None else "pure" if pure else "approximate",
        "epsilon": exact(epsilon),
        "delta": exact(guarantee.delta),
        "rho": exact(guarantee.rho),
        "factor": None if epsilon is None or epsilon > 700 else above(math.exp(epsilon)),
        "belief": above(100 / (1 + math.exp(-epsilon))) if pure and epsilon is not None and epsilon < _WEAK else None,
        "chance": _one_in(guarantee.delta) if guarantee.delta else None,
        "weak": epsilon is not None and epsilon >= _WEAK,
        "curve": [(exact(delta), above(bound)) for delta, bound in curve if math.isfinite(bound)],
        "unit": "person" if isinstance(unit, Person) else "row",
        "column": unit.column if isinstance(unit, Person) else None,
        "max_rows": unit.max_rows if isinstance(unit, Person) else 1,
        "replace": guarantee.neighbours == "replace",
        "local": guarantee.model == "local",
        "random": guarantee.confidence < 1,
        "confidence": exact(guarantee.confidence),
        "miss": exact(float(100 - 100 * Decimal(repr(guarantee.confidence)))),
        "assumptions": guarantee.assumptions,
    }


def _one_in(delta: float) -> Any:
    """``delta`` as one chance in a whole number, rounded to the safe side.

    >>> _one_in(1e-6)
    '1,000,000'
    """
    count = math.floor(1 / delta * (1 + 1e-12))
    return f"{count:,}" if count < 10**12 else readable(float(f"{count:.2e}"))


_NORMS = {
    "linf": "largest change of any single coefficient (L\N{INFINITY} norm)",
    "l1": "sum of the absolute changes of all coefficients (L1 norm)",
    "l2": "Euclidean length of the change of all coefficients (L2 norm)",
}


def _certificate(certificate: Certificate) -> dict[str, Any]:
    steps = certificate.exponent is not None
    value = certificate.bound * 2.0 ** (certificate.exponent or 0)
    return {
        "norm": _NORMS[certificate.norm],
        "bound": f"{exact(certificate.bound)} grid steps, that is {number(value, 6)}" if steps else exact(value),
        "relation": "replaced" if certificate.relation == "replace" else "added or removed",
        "known": certificate.known,
        "proof": f"docs/proofs/{certificate.proof}.md",
    }


# --- how wrong it can be ----------------------------------------------------------------------------------------


def _noise(law: NoiseLaw) -> dict[str, Any]:
    return {
        "kind": law.kind,
        "name": NOISES[law.kind],
        "scale": readable(law.deviation, 4),
        "spread": readable(noise_deviation(law), 3),
        "size": f"{law.size:,}",
        "exponent": str(law.exponent).replace("-", "\N{MINUS SIGN}"),
    }


def _error(release: FunctionRelease, seen: Sample | None, confidence: float) -> dict[str, Any]:
    if seen is None:  # values at many points of many columns can take minutes, widths never do
        widths = half_width(release.expansion, release.law, _points(release.box), confidence, "clip")
    else:
        widths = seen.widths
    return {
        "points": f"{len(widths):,}",
        "smallest": readable(float(widths.min())),
        "typical": readable(float(np.median(widths))),
        "largest": readable(float(widths.max())),
        "low": None if seen is None else readable(float(seen.values.min())),
        "high": None if seen is None else readable(float(seen.values.max())),
        **_approximation(release, float(widths.max())),
    }


def _approximation(release: FunctionRelease, largest: float) -> dict[str, Any]:
    if release.smoothness is None:
        return {"smoothness": None, "approximation": None, "total": None}
    words = _smoothness(release.smoothness)
    if any(release.expansion.derivatives):
        return {"smoothness": words, "approximation": None, "total": None}
    error = release.smoothness.approximation_error(release.basis, release.box)
    if not math.isfinite(error):
        return {"smoothness": words, "approximation": None, "total": None}
    return {"smoothness": words, "approximation": above(error, 3), "total": above(error + largest, 3)}


def _smoothness(promise: Smoothness) -> str:
    if isinstance(promise, Smooth):
        return f"derivatives up to order {promise.derivatives} at most {promise.bound:g} on the box scaled to [0, 1]"
    if isinstance(promise, Hoelder):
        return f"H\xf6lder with exponent {promise.exponent:g} and constant {promise.constant:g} on the scaled box"
    return "affine in each column" if isinstance(promise, Linear) else repr(promise)


def _points(box: Box) -> Floats:
    """Points spread evenly over a box that no picture shows, its centre and two of its corners."""
    # An additive recurrence with square roots of primes: deterministic, and even in every dimension.
    primes = [p for p in range(2, 40 + 20 * box.dimension) if all(p % q for q in range(2, p))][: box.dimension]
    unit = np.outer(np.arange(1, _POINTS - 2), np.sqrt(primes)) % 1.0
    special = np.repeat([[0.0], [0.5], [1.0]], box.dimension, axis=1)
    return from_unit(box, np.concatenate([special, unit]))


# --- parameters -------------------------------------------------------------------------------------------------


def _code(release: FunctionRelease, name: str) -> str:
    """How to read the release, at the middle of its box."""
    middle = [float(f"{m:.4g}") for m in (release.box.low + release.box.high) / 2]
    points = middle if release.box.dimension == 1 else [middle]
    last = "" if release.box.dimension > 2 or isinstance(release.basis, Step) else "\nrelease.plot()"
    return (
        f"import sfumato as sf\n\nrelease = sf.load({name + '.sfumato'!r})\nprint(release.guarantee)\n\n"
        f"# its value at a point, and how far the noise can have moved it there\n"
        f"release({points!r})\nlow, high = release.band({points!r}){last}"
    )
