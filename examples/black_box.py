"""Publish a density of private ages, look at its error, and hand it out as a file.

Run it: ``python examples/black_box.py``. The ages are simulated; no real person is in them.
"""

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf

rng = np.random.default_rng(1)
ages = np.concatenate([rng.normal(35, 10, size=3000), rng.normal(70, 8, size=2000)])
bandwidth = 6.0


def fit(data):
    """A kernel density estimate; values outside the bounds are clipped, so that every age counts."""
    data = np.clip(data, 0, 110)
    peak = 1 / (bandwidth * np.sqrt(2 * np.pi))
    return lambda points: (peak * np.exp(-((points - data) ** 2) / (2 * bandwidth**2))).mean(axis=1)


# One person moves the estimate by at most (peak of the kernel) / n at any age.
target = sf.BlackBox(fit, sensitivity=1 / (len(ages) * bandwidth * np.sqrt(2 * np.pi)))
box = sf.Box({"age": (0, 110)})
privacy = sf.Privacy(epsilon=1.0)
basis = sf.Bernstein(degree=20, order=3)

print("Before anything is spent:\n")
print(sf.plan(target, box, privacy, n=len(ages), basis=basis))

release = sf.release(target, ages, box, privacy, basis=basis)
grid = np.linspace(0, 110, 12)
low, high = release.band(grid, confidence=0.95)
print("\n  age   density   95 % band of the noise")
for age, value, a, b in zip(grid, release(grid), low, high, strict=True):
    print(f"{age:5.0f}  {value:8.5f}   [{a:8.5f}, {b:8.5f}]")
print(f"\nshare between 60 and 80: {release.integrate({'age': (60, 80)}):.3f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "ages.sfumato"
    release.save(path)
    again = sf.load(path)
    print(f"{path.stat().st_size} bytes on disk, same values: {np.array_equal(again(grid), release(grid))}")
print(again.guarantee)
