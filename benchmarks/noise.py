"""Exact Laplace and Gaussian noise on a vector of 10^5 numbers, against OpenDP in the same run."""

from __future__ import annotations

from typing import Any

import numpy as np
import opendp.prelude as dp

import sfumato as sf
from benchmarks.timing import row, seconds

SIZE = 100_000


def opendp_laplace(k: int | None) -> Any:
    """OpenDP's measurement; ``k`` is the exponent of its grid, None its default (the finest)."""
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=SIZE)
    return dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0, **({} if k is None else {"k": k}))


def opendp_gaussian(k: int | None) -> Any:
    """OpenDP's Gaussian measurement."""
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=SIZE)
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=1.0, **({} if k is None else {"k": k}))


def run() -> list[dict[str, Any]]:
    """Nanoseconds per sample and the ratios."""
    dp.enable_features("contrib", "floating-point")
    values = np.linspace(0.0, 1.0, SIZE)
    as_list = values.tolist()
    cases = {
        "laplace": (lambda: sf.noise.laplace(values, l1=1.0, epsilon=1.0), opendp_laplace),
        "gaussian": (lambda: sf.noise.gaussian(values, l2=1.0, epsilon=1.0, delta=1e-6), opendp_gaussian),
    }
    rows = []
    for name, (ours, peer) in cases.items():
        mine = seconds(ours) / SIZE
        rows.append(row(f"sfumato {name}", mine * 1e9, "ns per sample"))
        for label, k in (("k=-40", -40), ("default", None)):
            measurement = peer(k)
            theirs = seconds(lambda m=measurement: m(as_list), repeats=3) / SIZE
            rows.append(row(f"OpenDP {name}, {label}", theirs * 1e9, "ns per sample"))
            rows.append(row(f"  ratio, {label}", theirs / mine, "times faster"))
    return rows
