"""A certificate bounds how far neighbours move a coefficient vector, and says how that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from sfumato.checks import one_of, positive_integer, positive_number
from sfumato.core.neighbours import RELATIONS, Person, rows_per_unit
from sfumato.core.privacy import Privacy
from sfumato.errors import ParameterError

NORMS = ("linf", "l1", "l2", "l1-linf", "flow", "user")  # no noise of the library fits a user's own norm
SAME_PLACES = (
    "a person is replaced by one with the same number of rows that count, in the same places among all that do"
)
HOW_KNOWN = ("proved", "enforced", "stated", "sampled")


@dataclass(frozen=True)
class Certificate:
    """For all neighbours D, D': ``||c(D) - c(D')|| <= bound`` in the named norm.

    Parameters
    ----------
    norm, bound
        ``"linf"`` (pointwise), ``"l1"``, ``"l2"``, ``"l1-linf"`` (the sum over public blocks of the largest
        change in each) or ``"flow"`` (of integers: L1 plus the size of the sum, what enters or leaves); and the bound.
    relation
        The neighbouring relation that the bound speaks of.
    known, proof
        ``"proved"``, ``"enforced"`` (the code makes it true for every input), ``"stated"`` (by the
        caller) or ``"sampled"`` (random differential privacy only); and the page in ``docs/proofs/``.
    exponent
        None for real vectors, which the mechanism rounds and pays for; otherwise the vector is already an
        integer multiple of ``2**exponent`` and ``bound`` counts these steps.
    assumptions, confidence
        What the bound rests on that the code cannot check, in words; below 1 only for a sampled bound.
    blocks
        For ``"l1-linf"``: how many of the coefficients, which are integers, are in each public block, in their order.
    """

    norm: str
    bound: float | int
    relation: str
    known: str
    proof: str
    exponent: int | None = None
    assumptions: tuple[str, ...] = ()
    confidence: float = 1.0
    blocks: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        one_of("norm", self.norm, NORMS)
        one_of("relation", self.relation, RELATIONS)
        one_of("known", self.known, HOW_KNOWN)
        if not (0 < self.confidence < 1 if self.known == "sampled" else self.confidence == 1):
            raise ParameterError(f"confidence={self.confidence!r} does not fit a bound that is {self.known!r}")
        if (self.norm == "l1-linf") != bool(self.blocks) or (self.blocks and self.exponent is None):
            raise ParameterError(f"a bound on blocks of integers, and no other, needs blocks, got {self.blocks!r}")
        object.__setattr__(self, "blocks", tuple(positive_integer("a block", size) for size in self.blocks))
        if self.norm == "flow" and self.exponent is None:
            raise ParameterError("norm='flow' is for whole numbers: rounding would change their sum")
        if self.exponent is None or self.norm == "l2":
            object.__setattr__(self, "bound", positive_number("bound", self.bound))
        else:
            object.__setattr__(self, "bound", positive_integer("bound", self.bound))

    def for_unit(self, privacy: Privacy) -> Certificate:
        """Turn a bound for one row into a bound for the protected unit, by the triangle inequality.

        A person of up to m rows moves the coefficients m times as far. Replacing a person by one with other
        rows elsewhere is not a chain of row replacements, and the guarantee says so (docs/proofs/persons.md).
        """
        if not isinstance(privacy.unit, Person):
            return self
        notes = (SAME_PLACES,) if privacy.neighbours == "replace" else ()
        bound = self.bound * privacy.unit.max_rows
        if isinstance(bound, float):
            bound = math.nextafter(bound, math.inf)  # the product may have been rounded down
        return replace(self, bound=bound, assumptions=self.assumptions + notes)


def certify_sum(norm: str, budget: int, exponent: int, privacy: Privacy, blocks: tuple[int, ...] = ()) -> Certificate:
    """The enforced certificate of a sum of fixed-point records, each of norm at most ``budget`` steps.

    Adding or removing a row moves the sum by one record's norm, replacing one by two; a person of up to m rows m times
    as far, whether or not the number of rows changes (docs/proofs/rounding.md, persons.md; of blocks, blocks.md).
    """
    bound = (2 if privacy.neighbours == "replace" else 1) * rows_per_unit(privacy.unit) * budget
    page = "blocks" if blocks else "rounding"
    return Certificate(norm, bound, privacy.neighbours, "enforced", page, exponent, blocks=blocks)
