"""One density for each of a column's declared categories, released together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.density.shares import certify_masses, check_cells
from sfumato.checks import did_you_mean
from sfumato.codec import exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.calibration import NoiseLaw
from sfumato.errors import ParameterError
from sfumato.harmless import printable
from sfumato.releases.base import Release
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.file.certified import check_certificate, granted_of, sum_norm
from sfumato.upwards import Shown

Floats = NDArray[np.float64]
Category = str | int | float

INDEPENDENT = ("laplace", "gaussian")  # noises whose parts, group by group, have the law of a part


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupedDensityRelease(Shown, Release):
    """Densities by category: ``release["F"]`` is the density of that group.

    All groups are one noisy vector, in which a record has one place: replacing it moves two groups, and the guarantee
    pays for both. How many records a group has is private: ``shares`` are noisy too.
    """

    kind: ClassVar[str] = "grouped-density"

    by: str
    parts: dict[Category, DensityRelease]

    @property
    def box(self) -> Box:
        return next(iter(self.parts.values())).box

    @property
    def groups(self) -> tuple[Category, ...]:
        """The declared categories."""
        return tuple(self.parts)

    def __getitem__(self, category: Category) -> DensityRelease:
        if category not in self.parts:
            raise ParameterError(
                f"{self.by} must be one of {list(self.parts)}, got {category!r}{did_you_mean(category, self.parts)}"
            )
        return self.parts[category]

    def __iter__(self) -> Iterator[Category]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def shares(self) -> dict[Category, float]:
        """Each group's noisy share of all records; all alike where there seem to be none."""
        counts = {name: part.count for name, part in self.parts.items()}
        everyone = sum(counts.values())
        return {name: count / everyone if everyone else 1 / len(counts) for name, count in counts.items()}

    def __repr__(self) -> str:
        by = f"{printable(self.by)} {list(self.parts)}"
        return f"<GroupedDensityRelease of {list(self.box.names)} by {by}: {self.guarantee}>"

    def arrays(self) -> dict[str, Floats]:
        return {
            f"{name}.{i}": values
            for i, part in enumerate(self.parts.values())
            for name, values in part.arrays().items()
        }

    def fields(self) -> dict[str, Any]:
        first = next(iter(self.parts.values()))
        return {"by": self.by, "categories": list(self.parts), "density": first.fields()}

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"by", "categories", "density"}, "the content")
        if not isinstance(fields["categories"], list) or not isinstance(fields["by"], str):
            raise ParameterError("the groups must be a list of categories of a named column")
        categories = Categorical(tuple(fields["categories"])).categories
        if (
            common["law"].kind not in INDEPENDENT
            or common["law"].size % len(categories)
            or fields["density"].get("rows") is not None
        ):
            raise ParameterError("the categories do not fit the noise law, or groups have a public number of rows")
        law: NoiseLaw = common["law"]
        one = NoiseLaw(law.kind, law.size // len(categories), law.exponent, law.scale, law.certificate)
        parts: dict[Category, DensityRelease] = {}
        unread = dict(arrays)
        for i, category in enumerate(categories):
            own = {name: unread.pop(f"{name}.{i}") for name in ("masses", "measure") if f"{name}.{i}" in unread}
            parts[category] = DensityRelease.part({**common, "law": one}, box, dict(fields["density"]), own)
        exact_keys(unread, set(), "the file")
        masses, norm = parts[categories[0]].masses, sum_norm(law.certificate)
        check_cells(box, masses.cells, len(categories))
        grant = granted_of(common["guarantee"])
        needed = certify_masses(norm, masses.lattice, box, masses.kernel, masses.cells, grant)
        check_certificate(law.certificate, needed)
        return cls(**common, by=fields["by"], parts=parts)
