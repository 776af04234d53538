"""One face for each kind of release: what it says in a terminal, as data, on a page, and what its picture shows.

A new kind registers its face here; terminal, JSON, page, card and picture come from it.
"""

from __future__ import annotations

from sfumato.faces.base import CONFIDENCE, Face
from sfumato.faces.bayes import NaiveBayesFace
from sfumato.faces.collected import CollectedDensityFace, CollectedSummaryFace, MarginalsFace
from sfumato.faces.curve import CurveFace
from sfumato.faces.density import DensityFace, GroupedDensityFace
from sfumato.faces.function import FunctionFace
from sfumato.faces.machine import MachineFace
from sfumato.faces.summary import SummaryFace
from sfumato.faces.value import ValueFace
from sfumato.releases.base import Release
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.collected.density import CollectedDensity
from sfumato.releases.collected.marginals import MarginalsRelease
from sfumato.releases.curve import CurveRelease
from sfumato.releases.density.density import DensityRelease
from sfumato.releases.density.grouped import GroupedDensityRelease
from sfumato.releases.function import FunctionRelease
from sfumato.releases.machine.machine import MachineRelease
from sfumato.releases.summary.summary import SummaryRelease
from sfumato.releases.value import ValueRelease

__all__ = ["CONFIDENCE", "FACES", "Face", "face_of"]

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
}
# A kind that also comes from people's own devices says other things then.
LOCAL: dict[type[Release], type[Face]] = {SummaryRelease: CollectedSummaryFace}


def face_of(release: Release, confidence: float = CONFIDENCE) -> Face:
    """What a release says of itself; ``confidence`` is that of every band that it tells."""
    faces = FACES | LOCAL if release.guarantee.model == "local" else FACES
    return next(faces[kind] for kind in type(release).__mro__ if kind in faces)(release, confidence)
