"""Publish a regression curve with its band, and see where Priestley-Chao regression goes wrong.

Run it: ``python examples/regression.py``. The patients are simulated; no real person is in them.
docs/regression.md says more.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(3)
age = np.clip(rng.gamma(9, 5, size=20_000), 0, 110)
pressure = 112 + 30 / (1 + np.exp((52 - age) / 8)) + rng.normal(0, 10, size=len(age))  # rises in middle age
patients = pd.DataFrame({"age": age, "bp": pressure})

box, privacy = sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0)  # bounds, range and bandwidth are public knowledge
target = sf.NadarayaWatson(bandwidth=4.0, response="bp", range=(60, 220))
print(sf.plan(target, box, privacy, n=len(patients)), "\n")

curve = sf.release(target, patients, box, privacy)
grid = np.array([10.0, 30.0, 50.0, 70.0, 90.0, 105.0])
low, high = curve.band(grid, confidence=0.95)
near = np.exp(-(((grid[:, None] - age) / 4.0) ** 2) / 2)
exact = near @ pressure / near.sum(axis=1)  # not for publication

print(" age   without noise   released   95 % band")
for row in zip(grid, exact, curve(grid), low, high, strict=True):
    print("{:4.0f} {:15.1f} {:10.1f}   [{:.1f}, {:.1f}]".format(*row))
print("(hardly anybody is 105: there the band says that the curve knows nothing)")
print(curve.guarantee)

# Gaps between sorted records instead of a denominator. In whole years nearly all gaps are 0, and nearly all is lost.
gaps = sf.PriestleyChao(bandwidth=4.0, response="bp", range=(60, 220))
whole = patients.assign(age=np.rint(age))
noise = [sf.plan(one, box, privacy, n=len(patients)).noise_error for one in (target, gaps)]
print("\nlargest noise to expect: Nadaraya-Watson {:.1f}, Priestley-Chao {:.1f} mmHg".format(*noise))
rise = {}
for name, one in {"Nadaraya-Watson": target, "Priestley-Chao": gaps}.items():
    young, old = sf.release(one, whole, box, privacy)([30.0, 70.0])
    rise[name] = old - young
    print(f"ages in whole years, from 30 to 70 the pressure rises by {rise[name]:.0f} mmHg ({name})")
