"""Publish a private table of made-up patients, and use its rows as any tool would.

Run it: ``python examples/synthetic_table.py``. The patients are simulated; no real person is in them.
docs/tables.md says more.
"""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(5)
age = np.clip(rng.gamma(9, 5, size=20_000), 0, 110)
ill = rng.random(20_000) < age / 150
patients = {
    "age": age,
    "bmi": np.clip(rng.normal(22 + 0.08 * age + 2 * ill, 4), 10, 60),
    "visits": rng.poisson(2, size=20_000).astype(float),
    "ill": np.where(ill, "yes", "no"),
}

# Bounds and categories are public knowledge. The classes of the label are told apart.
box = sf.Box({"age": (0, 110), "bmi": (10, 60), "visits": sf.Integer(0, 9), "ill": sf.Categorical(["no", "yes"])})
table = sf.synthesize(patients, box, sf.Privacy(epsilon=1.0), label="ill", rows=10_000, seed=1)
print(table.guarantee)
print("bought:", {word: round(part, 2) for word, part in table.bought.items()}, "\n")

made, sick = table.data, np.array(table.data["ill"].to_pylist()) == "yes"
print("in the table, in truth (not for publication)")
print(f"share who are ill   {sick.mean():.3f} {ill.mean():.3f}")
for name in ("age", "bmi", "visits"):
    values, true = made[name].to_numpy(), patients[name]
    print(f"mean {name:6s} ill    {values[sick].mean():.2f} {true[ill].mean():.2f}")
    print(f"mean {name:6s} not    {values[~sick].mean():.2f} {true[~ill].mean():.2f}")
together = [np.corrcoef(one["age"], one["bmi"])[0, 1] for one in (made, patients)]
print(f"age and bmi, correlation {together[0]:.2f} {together[1]:.2f}")

# A summary of the same patients, paid for by itself, says how far off the table is, in units of its own error.
summary = sf.summarize(patients, box, sf.Privacy(epsilon=1.0), degree=3, interactions=2)
print()
print(summary.compare(table))
