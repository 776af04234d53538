"""One face for each kind of release: what it says in a terminal, as data, on a page, and what its picture shows.

A new kind registers its face here; terminal, JSON, page, card and picture come from it.
"""

from __future__ import annotations

from typing import Any

from sfumato.faces.base import CONFIDENCE, Face
from sfumato.faces.bayes import NaiveBayesFace
from sfumato.faces.collected import CollectedDensityFace, CollectedMomentsFace, CollectedSummaryFace, MarginalsFace
from sfumato.faces.components import ComponentsFace
from sfumato.faces.curve import CurveFace
from sfumato.faces.density import DensityFace, GroupedDensityFace
from sfumato.faces.function import FunctionFace
from sfumato.faces.machine import MachineFace
from sfumato.faces.risk import CollectedRiskFace
from sfumato.faces.summary import SummaryFace
from sfumato.faces.table import TableFace
from sfumato.faces.value import ValueFace
from sfumato.faces.walked import CollectedModelFace
from sfumato.releases.base import Release
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.collected.density import CollectedDensity
from sfumato.releases.collected.marginals import MarginalsRelease
from sfumato.releases.collected.model import CollectedModel
from sfumato.releases.collected.moments import CollectedMoments
from sfumato.releases.collected.risk import CollectedRisk
from sfumato.releases.components import ComponentsRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import GroupedDensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.machine.machine import MachineRelease
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.synthetic.table import TableRelease
from sfumato.releases.value import ValueRelease

__all__ = ["CONFIDENCE", "FACES", "Face", "face_of", "nothing_there"]

FACES: dict[type[Release], type[Face]] = {
    FunctionRelease: FunctionFace,
    DensityRelease: DensityFace,
    GroupedDensityRelease: GroupedDensityFace,
    CurveRelease: CurveFace,
    MachineRelease: MachineFace,
    NaiveBayesRelease: NaiveBayesFace,
    ValueRelease: ValueFace,
    SummaryRelease: SummaryFace,
    CollectedDensity: CollectedDensityFace,
    MarginalsRelease: MarginalsFace,
    CollectedMoments: CollectedMomentsFace,
    CollectedRisk: CollectedRiskFace,
    CollectedModel: CollectedModelFace,
    TableRelease: TableFace,
    ComponentsRelease: ComponentsFace,
}
# A kind that also comes from people's own devices says other things then.
LOCAL: dict[type[Release], type[Face]] = {SummaryRelease: CollectedSummaryFace}


def nothing_there(release: Any) -> list[str]:
    """Warnings that by its own noisy numbers next to no record counts; none for what has no face."""
    known = any(kind in FACES for kind in type(release).__mro__)
    return face_of(release).nothing_there() if known else []


def face_of(
    release: Release, confidence: float = CONFIDENCE, to_scale: bool = False, group: str | int | float | None = None
) -> Face:
    """What a release says of itself.

    Parameters
    ----------
    confidence
        Of every band that it tells.
    to_scale
        Whether its two columns are drawn as on a map.
    group
        The one of its groups that is meant; all of them if left out.
    """
    faces = FACES | LOCAL if release.guarantee.model == "local" else FACES
    face = next(faces[kind] for kind in type(release).__mro__ if kind in faces)(release, confidence, to_scale)
    return face if group is None else face.of_group(group)
