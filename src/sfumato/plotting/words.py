"""Words and numbers for pictures and pages, from public quantities only."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import numpy as np

from sfumato.core.neighbours import Person
from sfumato.core.privacy import Guarantee
from sfumato.plotting.sampled import HEADLINE, sampled
from sfumato.releases.bayes import NaiveBayesRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density import DensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.grouped import GroupedDensityRelease
from sfumato.releases.machine import MachineRelease
from sfumato.releases.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

Functions = FunctionRelease | GroupedDensityRelease
Learners = MachineRelease | CurveRelease
Drawable = Functions | Learners | NaiveBayesRelease | ValueRelease | SummaryRelease

_LONGEST = 48  # a target's own name, to be used in a title
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain(name: str, longest: int = 60) -> str:
    r"""A name as one printable line: no control characters, no tricks with the direction of text.

    >>> plain("age\nof\tpatient")
    'age of patient'
    """
    kept = "".join(c if c.isprintable() or c in "\u200c\u200d" else " " if c.isspace() else "\ufffd" for c in name)
    return kept if len(kept) <= longest else kept[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def exact(number: float | None) -> str:
    """Every digit that matters: a rounded epsilon would promise too much."""
    return repr(number).removesuffix(".0")


def number(value: float, digits: int = 3) -> str:
    r"""A rounded number for reading.

    >>> number(0.0000195), number(-12.3456), number(2000000.0)
    ('1.95\xa0×\xa010⁻⁵', '−12.3', '2\xa0×\xa010⁶')
    """
    text, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if value == 0 or -4 < int(exponent) < 6:
        text = f"{float(f'{value:.{digits}g}'):,.10g}"
    else:
        text = f"{float(text):.10g}\N{NO-BREAK SPACE}{power(int(exponent))}"
    return text.replace("-", "\N{MINUS SIGN}")


def power(exponent: int) -> str:
    """A power of ten as a factor."""
    return f"\N{MULTIPLICATION SIGN}\N{NO-BREAK SPACE}10{str(exponent).translate(_RAISED)}"


def wrap(words: str, width: int) -> str:
    """Words in lines of at most this many characters."""
    return "\n".join(textwrap.wrap(words, width))


def short(guarantee: Guarantee) -> str:
    """The guarantee in one line.

    >>> short(Guarantee(1.0, 0.0, None, None, "replace", "row"))
    'epsilon = 1, replace one row'
    """
    parts = [f"rho = {exact(guarantee.rho)}" if guarantee.rho is not None else f"epsilon = {exact(guarantee.epsilon)}"]
    if guarantee.delta:
        parts.append(f"delta = {exact(guarantee.delta)}")
    unit = guarantee.unit
    who = f"one person (up to {unit.max_rows} rows)" if isinstance(unit, Person) else "one row"
    parts.append(f"{'replace' if guarantee.neighbours == 'replace' else 'add or remove'} {who}")
    if guarantee.model == "local":
        parts.append("local model")
    random = sampled(guarantee.confidence, ())
    return ", ".join(parts) if random is None else f"{HEADLINE} (gamma = {random.gamma}): {', '.join(parts)}"


_STATISTICS = {"count": "number", "bounds": "private bounds", "your own": "caller's own statistic"}


def subject(release: ValueRelease) -> str:
    """What a statistic is about."""
    if release.statistic != "count":
        return listed(release.box.names)
    return "records" if getattr(release.summary, "complete", False) else f"records with {listed(release.box.names)}"


def quantity(release: Drawable) -> str:
    """What the values are, in words: the target's own name if it has a short one, and which derivative."""
    if isinstance(release, ValueRelease):
        return _STATISTICS.get(release.statistic, release.statistic)
    if isinstance(release, CurveRelease | NaiveBayesRelease):
        return "regression" if isinstance(release, CurveRelease) else "naive Bayes classifier"
    named = dict(release.target).get("target", "")
    words = named if 0 < len(named) <= _LONGEST and named != "black box" else "released function"
    if not isinstance(release, FunctionRelease):
        return plain(words)
    along = [
        plain(name, 30) if times == 1 else f"{plain(name, 30)} ({'twice' if times == 2 else f'{times} times'})"
        for name, times in zip(release.box.names, release.expansion.derivatives, strict=True)
        if times
    ]
    return plain(words) if not along else f"derivative along {' and '.join(along)} of the {plain(words)}"


def linked(release: Drawable) -> str:
    """What stands between the name of a function and those of its columns."""
    return "on" if "regression of " in quantity(release) else "of"


def brief(text: str) -> str:
    """Code for reading: long decimals are cut.

    >>> brief("SplitLattice(points=(21,), width=(1.9211169303659432,))")
    'SplitLattice(points=(21,), width=(1.921,))'
    """
    return re.sub(r"\d+\.\d{5,}", lambda found: f"{float(found[0]):.4g}", text)


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> listed(["age", "bmi", "hour"])
    'age, bmi and hour'
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def widths(release: DensityRelease) -> list[str]:
    """The kernel's standard deviation along each column, for reading."""
    return [number(float(d)) for d in np.sqrt(np.diag(release.bandwidth))]


def caption(release: FunctionRelease | Learners) -> str:
    """What stands below a picture: the guarantee, and of a density or a curve the bandwidth."""
    words, kernel = short(release.guarantee), release.high if isinstance(release, CurveRelease) else release
    if not isinstance(kernel, DensityRelease):
        return words
    between = "; " if release.box.dimension == 1 else "\n"
    return f"{words}{between}{blur(kernel)}"


def blur(release: DensityRelease) -> str:
    """The bandwidth in words."""
    return f"bandwidth {listed(widths(release))}"
