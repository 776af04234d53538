"""One self-contained HTML page about a release, for people who will not run any code.

Everything on the page is public: it is computed from the release alone. The words are in templates/report.html;
this module supplies the numbers, and jinja2 escapes whatever a user or a file may have named.
"""

from __future__ import annotations

import html
import io
import math
import os
import re
import xml.etree.ElementTree as ET
from decimal import ROUND_CEILING, Context, Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._version import __version__
from sfumato.bases.bernstein import Step
from sfumato.bases.smoothness import Hoelder, Linear, Smooth, Smoothness
from sfumato.checks import probability
from sfumato.core.box import Box, Categorical, Interval
from sfumato.core.calibration import NoiseLaw
from sfumato.core.certificate import Certificate
from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.extras import need
from sfumato.plotting import (
    ACCENT,
    HAIR,
    INK,
    MUTED,
    Sample,
    exact,
    figure,
    number,
    plain,
    quantity,
    sample,
    short,
    style,
)
from sfumato.releases.function import FunctionRelease
from sfumato.releases.io import write_atomically
from sfumato.releases.uncertainty import half_width

Floats = NDArray[np.float64]

_DELTAS = (1e-5, 1e-6, 1e-9)  # where the curve of a concentrated promise is quoted
_POINTS = 4000  # at which the band's width is summarised where there is no picture
_WEAK = 10.0  # an epsilon from which the page says that the promise restrains little
_RAISED, _LOWERED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+"), str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "\N{MINUS SIGN}0123456789")
_NOISES = {"laplace": "Laplace", "gaussian": "Gaussian", "linf": "K-norm, L\N{INFINITY}", "l2": "K-norm, L2"}
_VARIABLES = {INK: "var(--ink)", MUTED: "var(--muted)", HAIR: "var(--hair)", ACCENT: "var(--accent)"}


def write(release: FunctionRelease, path: str | os.PathLike[str], confidence: float = 0.95) -> None:
    """Write the page, whole or not at all."""
    write_atomically(path, render(release, confidence, Path(path).stem).encode("utf-8"))


def render(release: FunctionRelease, confidence: float = 0.95, name: str = "release") -> str:
    """The page as text; ``name`` is what the code on it calls the file of the release."""
    probability("confidence", confidence)
    for package in ("jinja2", "matplotlib"):
        need(package, "plot")
    page: str = _template().render(facts(release, confidence, name))
    return page


@cache
def _template() -> Any:
    jinja = need("jinja2", "plot")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(lambda part: (files("sfumato") / "templates" / part).read_text("utf-8")),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def _printable(value: Any) -> Any:
    """No control characters and no tricks with the direction of text, whatever a column is called."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(plain(line, len(line)) for line in value.split("\n"))


def facts(release: FunctionRelease, confidence: float, name: str) -> dict[str, Any]:
    """Everything that the template says."""
    what, names = quantity(release), release.box.names
    seen = sample(release, confidence) if _drawable(release.box) else None
    return {
        "title": f"{what[0].upper()}{what[1:]}",
        "names": names,
        "where": " and ".join(names) if len(names) < 3 else f"{len(names)} columns",
        "short": short(release.guarantee),
        "confidence": f"{100 * confidence:.10g} %",
        "promise": _promise(release.guarantee),
        "certificate": _certificate(release.law.certificate),
        "receipt": release.receipt,
        "noise": _noise(release.law),
        "error": _error(release, seen, confidence),
        "columns": _columns(release),
        "max_norm": None if release.box.max_norm is None else exact(release.box.max_norm),
        "basis": repr(release.basis),
        "target": release.target,
        "pictures": [] if seen is None else _pictures(release, seen),
        "code": _code(release, name),
        "version": __version__,
    }


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
        "factor": None if epsilon is None or epsilon > 700 else _above(math.exp(epsilon)),
        "belief": _above(100 / (1 + math.exp(-epsilon))) if pure and epsilon is not None and epsilon < _WEAK else None,
        "chance": _one_in(guarantee.delta) if guarantee.delta else None,
        "weak": epsilon is not None and epsilon >= _WEAK,
        "curve": [(exact(delta), _above(bound)) for delta, bound in curve if math.isfinite(bound)],
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


def _above(value: float, digits: int = 4) -> Any:
    """A number rounded up: what is quoted must not promise more than what holds.

    >>> _above(2.718281828), _above(0.70000001)
    (Markup('2.719'), Markup('0.7001'))
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value))
    return _number(float(rounded), digits)


def _number(value: float, digits: int = 3) -> Any:
    r"""A number for reading, its power of ten raised by the page rather than by characters that few fonts draw well.

    >>> _number(1.5e-9)
    Markup('1.5\xa0×\xa010<sup>−9</sup>')
    """
    mark = need("markupsafe", "plot").Markup
    return mark(_RAISED.sub(lambda found: f"<sup>{found[0].translate(_LOWERED)}</sup>", number(value, digits)))


def _one_in(delta: float) -> Any:
    """``delta`` as one chance in a whole number, rounded to the safe side.

    >>> _one_in(1e-6)
    '1,000,000'
    """
    count = math.floor(1 / delta * (1 + 1e-12))
    return f"{count:,}" if count < 10**12 else _number(float(f"{count:.2e}"))


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
    # The standard deviation of one coordinate; a K-norm vector has a Gamma-distributed norm (docs/proofs/k-norm.md).
    spread = {
        "laplace": math.sqrt(2),
        "gaussian": 1.0,
        "linf": math.sqrt((law.size + 1) * (law.size + 2) / 3),
        "l2": math.sqrt(law.size + 1),
    }[law.kind]
    return {
        "kind": law.kind,
        "name": _NOISES[law.kind],
        "scale": _number(law.deviation, 4),
        "spread": _number(spread * law.deviation, 3),
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
        "smallest": _number(float(widths.min())),
        "typical": _number(float(np.median(widths))),
        "largest": _number(float(widths.max())),
        "low": None if seen is None else _number(float(seen.values.min())),
        "high": None if seen is None else _number(float(seen.values.max())),
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
    return {"smoothness": words, "approximation": _above(error, 3), "total": _above(error + largest, 3)}


def _smoothness(promise: Smoothness) -> str:
    if isinstance(promise, Smooth):
        return f"derivatives up to order {promise.derivatives} at most {promise.bound:g} on the box scaled to [0, 1]"
    if isinstance(promise, Hoelder):
        return f"H\xf6lder with exponent {promise.exponent:g} and constant {promise.constant:g} on the scaled box"
    return "affine in each column" if isinstance(promise, Linear) else repr(promise)


def _drawable(box: Box) -> bool:
    return box.dimension <= 2 and all(isinstance(c, Interval) for c in box.columns)


def _points(box: Box) -> Floats:
    """Points spread evenly over a box that no picture shows, its centre and two of its corners."""
    # An additive recurrence with square roots of primes: deterministic, and even in every dimension.
    primes = [p for p in range(2, 40 + 20 * box.dimension) if all(p % q for q in range(2, p))][: box.dimension]
    unit = np.outer(np.arange(1, _POINTS - 2), np.sqrt(primes)) % 1.0
    special = np.repeat([[0.0], [0.5], [1.0]], box.dimension, axis=1)
    return box.from_unit(np.concatenate([special, unit]))


# --- parameters -------------------------------------------------------------------------------------------------


def _columns(release: FunctionRelease) -> list[dict[str, Any]]:
    box, rows = release.box, []
    for i, (name, column) in enumerate(zip(box.names, box.columns, strict=True)):
        values = (
            ", ".join(str(c) for c in column.categories)
            if isinstance(column, Categorical)
            else f"{exact(column.low)} to {exact(column.high)}"
        )
        rows.append({"name": name, "kind": column.kind, "values": values, "times": release.expansion.derivatives[i]})
    return rows


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


# --- the picture ------------------------------------------------------------------------------------------------


def _pictures(release: FunctionRelease, seen: Sample) -> list[dict[str, Any]]:
    """The drawing for wide and for narrow screens."""
    one = release.box.dimension == 1
    sizes = {"wide": (8.2, 4.5) if one else (8.8, 4.3), "narrow": (3.5, 3.6) if one else (3.5, 7.0)}
    words = f"{quantity(release)} over {' and '.join(release.box.names)}, with the band of its noise"
    return [{"class": key, "svg": _svg(release, seen, size, key, words)} for key, size in sizes.items()]


def _svg(release: FunctionRelease, seen: Sample, size: tuple[float, float], key: str, words: str) -> Any:
    """Inline SVG that takes its colours and fonts from the page."""
    settings = {**style(), "svg.fonttype": "none", "svg.hashsalt": "sfumato"}
    buffer = io.BytesIO()
    with need("matplotlib", "plot").rc_context(settings):
        drawing = figure(release, seen, size, stacked=key == "narrow")
        drawing.savefig(buffer, format="svg", transparent=True)
    root = ET.fromstring(buffer.getvalue())  # noqa: S314 - matplotlib wrote it a line ago
    _clean(root, f"{key}-")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", plain(words, 300))
    return need("markupsafe", "plot").Markup(ET.tostring(root, encoding="unicode"))


def _clean(element: ET.Element, prefix: str) -> None:
    """Drop namespaces, style sheets and metadata, make identifiers unique, turn our colours into variables."""
    element.tag = element.tag.rpartition("}")[2]
    for name, value in list(element.attrib.items()):
        del element.attrib[name]
        bare = name.rpartition("}")[2]
        if bare == "id":
            value = prefix + value
        elif bare == "href" and value.startswith("#"):
            value = f"#{prefix}{value[1:]}"
        elif bare in ("style", "fill", "stroke", "clip-path"):
            value = value.replace("url(#", f"url(#{prefix}")
            for colour, variable in _VARIABLES.items():
                value = value.replace(colour, variable)
        element.set(bare, value)
    for child in list(element):
        if child.tag.rpartition("}")[2] in ("metadata", "style"):
            element.remove(child)
        else:
            _clean(child, prefix)


# --- notebooks --------------------------------------------------------------------------------------------------


def card(release: FunctionRelease) -> str:
    """A small card for notebooks, from the standard library alone."""
    rows = [
        ("guarantee", str(release.guarantee)),
        ("box", ", ".join(f"{row['name']}: {row['values']}" for row in _columns(release))),
        ("basis", f"{release.basis!r}, {release.law.size:,} coefficients"),
    ]
    value = '<div style="overflow-wrap:anywhere">'
    cells = "".join(
        f'<div style="opacity:.65">{name}</div>{value}{html.escape(_printable(text))}</div>' for name, text in rows
    )
    head = html.escape(_printable(f"{quantity(release)} of {', '.join(release.box.names)}"))
    return (
        '<div style="max-width:44em;padding:.7em 1em;border:1px solid rgba(128,128,128,.35);border-radius:6px;'
        'border-left:4px solid #4f8a99;line-height:1.45">'
        f'<div style="font-weight:600;margin-bottom:.4em;overflow-wrap:anywhere">{head}</div>'
        f'<div style="display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em">{cells}</div></div>'
    )
