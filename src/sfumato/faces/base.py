"""What a release of any kind says of itself: in a terminal, as data, on a page, on a card, in a picture.

A kind of release has one face, and a fact is told there once; ``title`` and ``rows`` are all that a face must have.
``rows`` is what a terminal says, ``data`` the same for programs, ``page`` what its template needs,
``card`` a few lines for a notebook, ``code`` how to use it, ``picture`` what to draw, as data. Numpy only: ``drawing``
draws pictures, ``pages`` lays pages out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from sfumato.bases.unit import in_words
from sfumato.codec import encode_box, encode_guarantee, encode_law
from sfumato.core.box import Categorical, Date
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError
from sfumato.faces.promise import (
    certificate_facts,
    guarantee_words,
    noise_facts,
    noise_lines,
    promise_facts,
    random_data,
    sampled,
    short,
)
from sfumato.faces.scales import layout_of
from sfumato.faces.words import exact, listed, plain

CONFIDENCE = 0.95
_LONGEST = 48  # a target's own name, to be used in a title
_FEW_NAMES = 6  # that a heading lists
_SOME_NAMES = 8  # that a title lists

Facts = list[tuple[str, list[str]]]


class Asked(Protocol):
    """What was asked for, where that is known: it says why things are as they are."""

    @property
    def target(self) -> Any: ...

    @property
    def privacy(self) -> Privacy: ...


class Face(ABC):
    """What one release says of itself.

    Parameters
    ----------
    release
        What it is the face of.
    confidence
        Of every band and of all limits that it tells.
    to_scale
        Whether its two columns are drawn as on a map, whatever they are called.
    group
        The column that told groups apart, and the one group that it is the face of: pages and pictures say so.
    """

    kind: ClassVar[str] = "page"  # names its template; this one says what a terminal says
    thing: ClassVar[str] = "function"
    parts: ClassVar[str] = "coefficients"  # what received noise
    part: ClassVar[str] = "coefficient"  # one of them
    joined: ClassVar[str] = "of"  # what stands between its name and those of its columns
    serves: ClassVar[tuple[str, ...]] = ()  # commands that need a release of this kind, or of one like it
    use: ClassVar[str | None] = None  # the command to use where another one was tried

    def __init__(
        self,
        release: Any,
        confidence: float = CONFIDENCE,
        to_scale: bool = False,
        group: tuple[str, Any] | None = None,
    ) -> None:
        self.release = release
        self.confidence = confidence
        self.layout = layout_of(release.box, to_scale)
        self.group = group

    # --- names ------------------------------------------------------------------------------------------------

    @property
    def quantity(self) -> str:
        """What the values are: the target's own name if it has a short one."""
        named = dict(self.release.target).get("target", "")
        return plain(named if 0 < len(named) <= _LONGEST and named != "black box" else "released function")

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is, in a few words, for a sentence."""

    @property
    def heading(self) -> str:
        """The same over a card."""
        of = "" if self.response is None else f"of {self.response} "
        return f"{self.quantity} {of}{self.joined} {', '.join(self.release.box.names)}"

    @property
    def caption(self) -> str:
        """What stands below every picture: the promise."""
        return short(self.release.guarantee)

    @property
    def columns(self) -> str:
        """The names of the columns where there are few, their number where there are many."""
        names = self.release.box.names
        return listed(names) if len(names) <= _FEW_NAMES else f"{len(names)} columns"

    def named(self, many: str) -> str:
        """The names of the columns for a sentence, or how to call ``many``."""
        names = self.release.box.names
        return listed(names) if len(names) <= _SOME_NAMES else many

    @property
    def response(self) -> str | None:
        """What is predicted, if anything is."""
        return None

    @property
    def by(self) -> str | None:
        """The column that tells groups apart, if one does."""
        return None

    @property
    def groups(self) -> dict[Any, Any]:
        """The releases of single groups; none where there are no groups."""
        return {}

    def of_group(self, name: Any) -> Face:
        """The face of one of its groups; unknown ones are refused."""
        raise ParameterError.of("group", f"{name}: this release has no groups; leave it out")

    # --- terminal and programs --------------------------------------------------------------------------------

    @abstractmethod
    def rows(self, asked: Asked | None = None) -> Facts:
        """What a terminal says of this kind and of no other."""

    def nothing_there(self) -> list[str]:
        """Warnings that by its own noisy numbers next to no record counts; none where it has no such number."""
        return []

    def details(self) -> Facts:
        """What it adds for those who look closer."""
        return [("noise", self.noise_lines())]

    def noise_lines(self) -> list[str]:
        """The noise in words."""
        return noise_lines(self.release.law)

    def target_row(self) -> tuple[str, list[str]]:
        """What was published, with its public parameters."""
        told = [value if name == "target" else f"{name}: {value}" for name, value in self.release.target]
        return "target", told

    def data(self) -> dict[str, Any]:
        """The same as ``rows``, as plain data."""
        return {name: lines[0] if len(lines) == 1 else lines for name, lines in self.rows()}

    def common_data(self) -> dict[str, Any]:
        """Everything public that all kinds have, but their coefficients, as plain data."""
        release = self.release
        law = None if release.law is None else {**encode_law(release.law), "deviation": release.law.deviation}
        return {
            "kind": release.kind,
            "what": self.title,
            "guarantee": {**encode_guarantee(release.guarantee), "words": guarantee_words(release.guarantee)},
            "random": random_data(release.guarantee),
            "box": encode_box(release.box),
            "noise": law,
            "target": dict(release.target),
            "receipt": None if release.receipt is None else vars(release.receipt),
            "warnings": self.nothing_there(),
        }

    # --- page, card, code -------------------------------------------------------------------------------------

    def page(self) -> dict[str, Any]:
        """What the template of this kind needs beyond what all need."""
        return {}

    def card(self) -> list[tuple[str, str]]:
        """What a card says of this kind."""
        return [(name, "; ".join(lines)) for name, lines in self.rows()]

    def card_rows(self) -> list[tuple[str, str]]:
        """All that a card says."""
        return [("guarantee", str(self.release.guarantee)), ("box", self.box_words), *self.card()]

    @property
    def box_words(self) -> str:
        """The box in a line."""
        return ", ".join(f"{row['name']}: {row['values']}" for row in self.column_rows())

    def code(self, name: str) -> str:
        """How to use it; ``name`` is what the file is called."""
        return "\n".join([*self.first_lines(name), "help(release)"])

    def common_page(self) -> dict[str, Any]:
        """What a page says of every kind."""
        release, what = self.release, self.quantity
        law, promise = release.law, release.guarantee
        return {
            "kind": self.kind,
            "thing": self.thing,
            "title": f"{what[0].upper()}{what[1:]}",
            "response": self.response,
            "joined": self.joined,
            "names": release.box.names,
            "where": self.columns,
            "short": short(promise),
            "confidence": f"{100 * self.confidence:.10g} %",
            "promise": promise_facts(promise),
            "random": sampled(promise.confidence, promise.assumptions),
            "nothing_there": self.nothing_there(),
            "certificate": self.bound(),
            "receipt": release.receipt,
            "noise": None if law is None else noise_facts(law),
            "parts": self.parts,
            "columns": self.column_rows(),
            "max_norm": None if release.box.max_norm is None else exact(release.box.max_norm),
            "target": release.target,
            "error": None,
            "basis": None,
            "test": None,
        }

    def bound(self) -> dict[str, Any] | None:
        """The bound behind the noise, in the words of this kind."""
        if self.release.law is None:
            return None
        found = certificate_facts(self.release.law.certificate)
        return {**found, "norm": found["norm"].replace("coefficient", self.part)}

    def column_rows(self) -> list[dict[str, Any]]:
        """The columns of the box, and how often the function was differentiated along each."""
        box, rows = self.release.box, []
        for name, column in zip(box.names, box.columns, strict=True):
            values = (
                ", ".join(str(c) for c in column.categories)
                if isinstance(column, Categorical)
                else " to ".join(map(exact, column.bounds))
            )
            rows.append({"name": name, "kind": column.kind, "values": values, "times": 0})
        return rows

    @property
    def middle(self) -> list[Any]:
        """The middle of a box, in few digits; of dates, as text; of categories, the first."""
        found: list[Any] = []
        for column in self.release.box.columns:
            if isinstance(column, Categorical):
                found.append(column.categories[0])
                continue
            middle = column.low / 2 + column.high / 2
            found.append(in_words(column, middle) if isinstance(column, Date) else float(f"{middle:.4g}"))
        return found

    @property
    def points(self) -> list[Any]:
        """The same as the points that code evaluates a release at."""
        return self.middle if self.release.box.dimension == 1 else [self.middle]

    def first_lines(self, name: str) -> list[str]:
        """How every piece of code begins."""
        return ["import sfumato as sf", "", f"release = sf.load({name + '.sfumato'!r})", "print(release.guarantee)", ""]

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self) -> Any:
        """What to draw, as data of a type that has a painter; a refusal where paper cannot show it."""
        raise ParameterError(f"a release of kind {self.release.kind!r} has no picture")

    @property
    def picture_words(self) -> str:
        """The same for those who do not see it."""
        return self.heading

    def sketch(self, asked: Asked | None = None) -> Any:
        """What a terminal draws before the facts, as data; None for nothing, empty for nothing but its place."""
        return None
