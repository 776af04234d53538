"""sfumato publishes functions of private data under differential privacy.

>>> import numpy as np, sfumato as sf
>>> target = sf.BlackBox(lambda data: lambda points: 0 * points[:, 0] + data.mean(), sensitivity=0.01, range=(0, 1))
>>> release = sf.release(target, np.full(100, 0.5), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0), basis=sf.Bernstein(2))
>>> release.guarantee.epsilon
1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__
from sfumato.upwards import UPWARDS as _UPWARDS

if TYPE_CHECKING:
    from sfumato import engines, errors, local, noise, oracles
    from sfumato.accounting.ledger import Account, Ledger
    from sfumato.accounting.tight import Composed, composed
    from sfumato.bases.density.binning import Binning, SplitLattice
    from sfumato.bases.lattice.bernstein import Bernstein, Step
    from sfumato.bases.lattice.smoothness import Hoelder, Linear, Smooth
    from sfumato.bases.machine.kernels import RBF, LinearKernel, Matern, Polynomial, Precomputed, UserKernel
    from sfumato.bases.machine.landmarks import Coordinates, Landmarks
    from sfumato.bases.machine.losses import SmoothedHinge, SmoothedHuber, UserLoss
    from sfumato.bases.moments.cosine import Cosines
    from sfumato.bounds import private_bounds, private_box
    from sfumato.boxfile import read_box
    from sfumato.core.box import Box, Categorical, Date, Integer, Periodic
    from sfumato.core.certificate import Certificate
    from sfumato.core.neighbours import Person
    from sfumato.core.privacy import Guarantee, Privacy
    from sfumato.engines.files import Csv
    from sfumato.pipeline import Plan, plan, release
    from sfumato.releases.bayes.bayes import NaiveBayesRelease
    from sfumato.releases.components import ComponentsRelease
    from sfumato.releases.curve import CurveRelease
    from sfumato.releases.density.density import DensityRelease
    from sfumato.releases.density.grouped import GroupedDensityRelease
    from sfumato.releases.function import FunctionRelease
    from sfumato.releases.io import load
    from sfumato.releases.machine.machine import MachineRelease
    from sfumato.releases.summary.answers import Answer
    from sfumato.releases.summary.models import Model
    from sfumato.releases.summary.summary import SummaryRelease
    from sfumato.releases.synthetic.table import TableRelease
    from sfumato.releases.value import ValueRelease
    from sfumato.sampler.estimate import sample_sensitivity
    from sfumato.sampler.plans import SamplerPlan, sampler_plan
    from sfumato.selection import AboveThreshold, select
    from sfumato.subspace import private_pca
    from sfumato.summary import summarize
    from sfumato.synthetic import synthesize
    from sfumato.targets.base import Target
    from sfumato.targets.black_box import BlackBox
    from sfumato.targets.density.density import KDE
    from sfumato.targets.density.tuned import Tuned
    from sfumato.targets.machine.linear import LogisticRegression, Ridge
    from sfumato.targets.machine.machine import KernelMachine
    from sfumato.targets.moments import CosineMoments
    from sfumato.targets.nadaraya_watson import NadarayaWatson
    from sfumato.targets.naive_bayes import NaiveBayes
    from sfumato.targets.priestley_chao import PriestleyChao
    from sfumato.targets.sampled import SampledCertificate
    from sfumato.targets.statistic import Statistic
    from sfumato.targets.subspace import PrincipalComponents
    from sfumato.targets.tables import TableMoments

# Where each public name lives. Nothing is imported before it is asked for.
_HOMES = {
    "AboveThreshold": "selection",
    "Account": "accounting.ledger",
    "Answer": "releases.summary.answers",
    "Bernstein": "bases.lattice.bernstein",
    "Binning": "bases.density.binning",
    "BlackBox": "targets.black_box",
    "Box": "core.box",
    "Categorical": "core.box",
    "Certificate": "core.certificate",
    "ComponentsRelease": "releases.components",
    "Composed": "accounting.tight",
    "Coordinates": "bases.machine.landmarks",
    "CosineMoments": "targets.moments",
    "Cosines": "bases.moments.cosine",
    "Csv": "engines.files",
    "CurveRelease": "releases.curve",
    "Date": "core.box",
    "DensityRelease": "releases.density.density",
    "FunctionRelease": "releases.function",
    "GroupedDensityRelease": "releases.density.grouped",
    "Guarantee": "core.privacy",
    "Hoelder": "bases.lattice.smoothness",
    "Integer": "core.box",
    "KDE": "targets.density.density",
    "KernelMachine": "targets.machine.machine",
    "Landmarks": "bases.machine.landmarks",
    "Ledger": "accounting.ledger",
    "Linear": "bases.lattice.smoothness",
    "LinearKernel": "bases.machine.kernels",
    "LogisticRegression": "targets.machine.linear",
    "MachineRelease": "releases.machine.machine",
    "Matern": "bases.machine.kernels",
    "Model": "releases.summary.models",
    "NadarayaWatson": "targets.nadaraya_watson",
    "NaiveBayes": "targets.naive_bayes",
    "NaiveBayesRelease": "releases.bayes.bayes",
    "Periodic": "core.box",
    "Person": "core.neighbours",
    "Plan": "pipeline",
    "Polynomial": "bases.machine.kernels",
    "Precomputed": "bases.machine.kernels",
    "PriestleyChao": "targets.priestley_chao",
    "PrincipalComponents": "targets.subspace",
    "Privacy": "core.privacy",
    "RBF": "bases.machine.kernels",
    "Ridge": "targets.machine.linear",
    "SampledCertificate": "targets.sampled",
    "SamplerPlan": "sampler.plans",
    "Smooth": "bases.lattice.smoothness",
    "SmoothedHinge": "bases.machine.losses",
    "SmoothedHuber": "bases.machine.losses",
    "SplitLattice": "bases.density.binning",
    "Statistic": "targets.statistic",
    "Step": "bases.lattice.bernstein",
    "SummaryRelease": "releases.summary.summary",
    "TableMoments": "targets.tables",
    "TableRelease": "releases.synthetic.table",
    "Target": "targets.base",
    "Tuned": "targets.density.tuned",
    "UserKernel": "bases.machine.kernels",
    "UserLoss": "bases.machine.losses",
    "ValueRelease": "releases.value",
    "composed": "accounting.tight",
    "load": "releases.io",
    "plan": "pipeline",
    "private_bounds": "bounds",
    "private_box": "bounds",
    "private_pca": "subspace",
    "read_box": "boxfile",
    "release": "pipeline",
    "sample_sensitivity": "sampler.estimate",
    "sampler_plan": "sampler.plans",
    "select": "selection",
    "summarize": "summary",
    "synthesize": "synthetic",
}

__all__ = [
    "KDE",
    "RBF",
    "AboveThreshold",
    "Account",
    "Answer",
    "Bernstein",
    "Binning",
    "BlackBox",
    "Box",
    "Categorical",
    "Certificate",
    "ComponentsRelease",
    "Composed",
    "Coordinates",
    "CosineMoments",
    "Cosines",
    "Csv",
    "CurveRelease",
    "Date",
    "DensityRelease",
    "FunctionRelease",
    "GroupedDensityRelease",
    "Guarantee",
    "Hoelder",
    "Integer",
    "KernelMachine",
    "Landmarks",
    "Ledger",
    "Linear",
    "LinearKernel",
    "LogisticRegression",
    "MachineRelease",
    "Matern",
    "Model",
    "NadarayaWatson",
    "NaiveBayes",
    "NaiveBayesRelease",
    "Periodic",
    "Person",
    "Plan",
    "Polynomial",
    "Precomputed",
    "PriestleyChao",
    "PrincipalComponents",
    "Privacy",
    "Ridge",
    "SampledCertificate",
    "SamplerPlan",
    "Smooth",
    "SmoothedHinge",
    "SmoothedHuber",
    "SplitLattice",
    "Statistic",
    "Step",
    "SummaryRelease",
    "TableMoments",
    "TableRelease",
    "Target",
    "Tuned",
    "UserKernel",
    "UserLoss",
    "ValueRelease",
    "__version__",
    "composed",
    "engines",
    "errors",
    "load",
    "local",
    "noise",
    "oracles",
    "plan",
    "private_bounds",
    "private_box",
    "private_pca",
    "read_box",
    "release",
    "sample_sensitivity",
    "sampler_plan",
    "select",
    "summarize",
    "synthesize",
]


# What releases do with the help of rooms above them.
_HELPERS = {
    "save": "releases.writer.save",
    "plot": "drawing.plot",
    "report": "pages.write",
    "card": "pages.card",
    "ask": "expressions.ask",
}


def _later(place: str) -> Any:
    """A function that imports the room it lives in when it is called."""
    module, _, name = place.rpartition(".")
    return lambda *given, **named: getattr(import_module(f"sfumato.{module}"), name)(*given, **named)


_UPWARDS.update({what: _later(place) for what, place in _HELPERS.items()})


# Which extra brings an optional dependency, for the error when it is missing.
_EXTRAS = {"sqlalchemy": "ledger", "dp_accounting": "tight"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(import_module(f"sfumato.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in _EXTRAS:
                raise
            from sfumato.errors import MissingExtraError

            extra = _EXTRAS[error.name]
            raise MissingExtraError(f"sf.{name} needs {error.name}: pip install 'sfumato[{extra}]'") from None
    if name in ("engines", "errors", "local", "noise", "oracles"):
        return import_module(f"sfumato.{name}")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
