"""Publish the density of two private columns by group, and ask it questions.

Run it: ``python examples/density.py``. The patients are simulated; no real person is in them.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(1)
sex = rng.choice(["F", "M"], size=20_000)
age = rng.gamma(9, 5, size=20_000)
patients = pd.DataFrame({"sex": sex, "age": age, "bmi": rng.normal(22 + 0.08 * age, 4)})

box = sf.Box({"age": (0, 110), "bmi": (10, 60)})
print(sf.plan(sf.KDE(bandwidth=[5, 2.5]), box, sf.Privacy(epsilon=1.0), n=len(patients)), "\n")

joint = sf.release(sf.KDE(bandwidth=[5, 2.5]), patients, box, sf.Privacy(epsilon=1.0))
print("basis:", joint.choice)
low, high = joint.band([[40, 26]])
print(f"density at age 40, BMI 26: {joint([[40, 26]])[0]:.5f}, between {low[0]:.5f} and {high[0]:.5f} (95 %)")
print(f"share above 65 years with a BMI above 30: {joint.probability({'age': (65, 110), 'bmi': (30, 60)}):.3f}")
print(f"median BMI at age 40: {joint.conditional({'age': 40}).quantile(0.5):.1f}")
print("quartiles of age:", np.round(joint.marginal("age").quantile([0.25, 0.5, 0.75]), 1))

grouped_box = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})
groups = sf.release(sf.KDE(bandwidth=3, by="sex"), patients, grouped_box, sf.Privacy(epsilon=1.0))
for name in groups:
    print(f"{name}: {groups.shares[name]:.2f} of all, mean age {groups[name].mean():.1f}")
print(groups.guarantee)
