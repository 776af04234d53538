"""The private classifier that the labels of a synthetic table follow, inside the table's file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.synthetic.line import Line, columns_of, line_of
from sfumato.codec import decode_fraction, decode_law, encode_law, exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Guarantee, Privacy, part_of
from sfumato.errors import ParameterError
from sfumato.releases.machine.machine import MachineRelease
from sfumato.releases.machine.response import Response

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rule:
    """A logistic regression of the label, and which share of the table's grant has paid for it.

    Parameters
    ----------
    learned
        What was published first.
    share
        Its part of the grant, by basic composition; the rest bought the table's own numbers.
    """

    learned: MachineRelease
    share: Fraction

    @cached_property
    def slopes(self) -> Floats:
        """``(terms,)``: in units of the columns that it was learned from."""
        return np.asarray(self.learned.linear()[0][0])

    def line(self, box: Box, label: str) -> Line:
        """Where records of the table's box stand."""
        return line_of(box, label, self.slopes)

    def arrays(self) -> dict[str, Floats]:
        """What is kept of it beside plain data."""
        return {f"rule_{name}": values for name, values in self.learned.arrays().items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        law = self.learned.law
        assert isinstance(law, NoiseLaw)
        return {"share": str(self.share), "noise": encode_law(law), "learned": self.learned.fields()}


def promised_for(part: Privacy, assumptions: tuple[str, ...] = ()) -> Guarantee:
    """What a part of a grant promises by itself."""
    delta = None if part.rho is not None else part.delta
    return Guarantee(part.epsilon, delta, part.rho, None, part.neighbours, part.unit, assumptions=assumptions)


def rule_from_json(data: Any, arrays: Mapping[str, Floats], box: Box, label: str | None, grant: Privacy) -> Rule:
    """Rebuild it, refusing one with less noise than its share of the grant calls for, or of another label."""
    exact_keys(data, {"share", "noise", "learned"}, "the rule")
    share, law = decode_fraction("the rule's share", data["share"]), decode_law(data["noise"])
    if not isinstance(law, NoiseLaw) or not 0 < share < 1 or label is None:
        raise ParameterError("the rule, its noise and its share do not belong together")
    kind = box.columns[box.names.index(label)]
    own = {name.removeprefix("rule_"): values for name, values in arrays.items()}
    common = {"guarantee": promised_for(part_of(grant, share)), "law": law, "target": (), "receipt": None}
    learned = MachineRelease.rebuild(common, columns_of(box, label), data["learned"], own)
    assert isinstance(kind, Categorical)
    if learned.response != Response(label, kind.categories) or learned.law != law:
        raise ParameterError("the rule is that of another label")
    learned.linear()  # refuses what is not linear
    return Rule(learned, share)
