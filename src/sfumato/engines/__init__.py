"""Reading tables, and summing what each record contributes. Engines never see noise or budget.

``sf.engines.Dask`` and ``sf.engines.Spark`` work where the records are; without either the work is done in memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.engines.dask import Dask
    from sfumato.engines.spark import Spark

_HOMES = {"Dask": "dask", "Spark": "spark"}
__all__ = ["Dask", "Spark"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
