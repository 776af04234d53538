"""The local model: nobody is trusted. Each person randomises on their own device; the server learns functions anyway.

>>> import sfumato as sf
>>> protocol = sf.local.Density(sf.Box({"age": (0, 110)}), epsilon=1.0, lattice=12)
>>> collector = protocol.collector()
>>> collector.add(protocol.encode([44.0], user=17), user=17)
True
"""

from sfumato.local.collector import Collector
from sfumato.local.density import Density
from sfumato.local.generalized import GeneralizedLinear
from sfumato.local.linear import LinearModel
from sfumato.local.marginals import Marginals
from sfumato.local.planner import LocalPlan, plan
from sfumato.local.protocol import Protocol, load
from sfumato.local.risk import RiskMinimization
from sfumato.local.smooth import SmoothQueries

__all__ = ["Collector", "Density", "GeneralizedLinear", "LinearModel", "LocalPlan", "Marginals", "Protocol",
           "RiskMinimization", "SmoothQueries", "load", "plan"]  # fmt: skip
