"""A target of your own in one small class: Priestley-Chao kernel regression, proved first, then sampled.

Run it: ``python examples/priestley_chao.py``. The patients are simulated; no real person is in them.
docs/extending.md derives the sensitivity.
"""

import numpy as np
import pyarrow as pa

import sfumato as sf


class PriestleyChao(sf.BlackBox):
    """The curve of a response along one column: each response weighs as much as the gap before it is wide.

    Parameters
    ----------
    box, response, limits
        The column along which the curve runs, the name of the response, and the response's public limits.
    bandwidth, n, widest
        The Gaussian kernel's, in the column's units; the public number of rows; and how many times the average gap
        a gap may be wide, which is enforced.
    sensitivity
        A sampled certificate instead of the proved bound.
    """

    def __init__(self, box, response, limits, bandwidth, n, widest=4.0, sensitivity=None):
        (column,), (low,), (high,) = box.names, box.low, box.high
        gap, peak = widest * (high - low) / n, 1 / (bandwidth * np.sqrt(2 * np.pi))

        def fit(table):
            at, value = (np.asarray(table[name], dtype=float) for name in (column, response))
            there = ~(np.isnan(at) | np.isnan(value))  # a missing record is no record
            order = np.lexsort((value[there], at[there]))  # by place, then by response: ties are no accident
            at, value = at[there][order], value[there][order]
            weights = value * np.minimum(np.diff(at, prepend=low), gap)
            return lambda points: peak * np.exp(-(((points - at) / bandwidth) ** 2) / 2) @ weights

        if sensitivity is None:
            largest = max(abs(limits[0]), abs(limits[1]))
            sensitivity = 4 * largest * gap * peak * (1 + n**2 * 2.0**-50)  # the last factor pays for rounding
        super().__init__(fit, sensitivity=sensitivity, columns={column: (low, high), response: limits})


rng = np.random.default_rng(3)
x = rng.uniform(0, 1, size=20_000)
data = pa.table({"x": x, "y": x * np.sin(10 * x) + rng.normal(0, 0.2, size=20_000)})  # stands for something private
box, limits, basis = sf.Box({"x": (0, 1)}), (-1.5, 1.5), sf.Bernstein(degree=20, order=3)

proved = PriestleyChao(box, "y", limits, bandwidth=0.1, n=20_000)
oracle = sf.oracles.uniform(sf.Box({"x": (0, 1), "y": limits}), table=True)
certificate = sf.sample_sensitivity(
    proved, oracle, n=20_000, gamma=0.1, rule="exchangeable", m=49, box=box, basis=basis, seed=1
)
print(f"proved {proved.sensitivity:.5f}, sampled {certificate.bound:.5f}")

sampled = PriestleyChao(box, "y", limits, bandwidth=0.1, n=20_000, sensitivity=certificate)
safe = sf.release(proved, data, box, sf.Privacy(epsilon=1.0, gamma=0), basis=basis)
random = sf.release(sampled, data, box, sf.Privacy(epsilon=1.0, gamma=0.1), basis=basis)

grid = np.linspace(0, 1, 11)
low, high = safe.band(grid, confidence=0.95)
curve = proved.fit(data)(grid[:, None])  # not for publication
print("\n   x   without noise   proved   95 % band of its noise   sampled")
for row in zip(grid, curve, safe(grid), low, high, random(grid), strict=True):
    print("{:4.1f} {:15.2f} {:8.2f}        [{:5.2f}, {:5.2f}] {:12.2f}".format(*row))
print(f"\nproved:  {safe.guarantee}")
print(f"sampled: {random.guarantee}")
