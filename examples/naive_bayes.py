"""Publish a naive Bayes classifier of numbers and categories, and ask where its labels are certain.

Run it: ``python examples/naive_bayes.py``. The patients are simulated; no real person is in them.
docs/regression.md says more.
"""

import numpy as np
import pandas as pd

import sfumato as sf


def clinic(n, seed):
    """Made-up patients: age and blood pressure, smoking, and who is ill."""
    rng = np.random.default_rng(seed)
    age, smoker = rng.uniform(20, 90, size=n), rng.choice(["never", "former", "daily"], p=[0.5, 0.3, 0.2], size=n)
    risk = 1 / (1 + np.exp(-(age - 60) / 6 - 2 * (smoker == "daily")))
    ill = rng.random(n) < risk
    pressure = rng.normal(np.where(ill, 145, 125), 12)
    return pd.DataFrame({"age": age, "bp": pressure, "smoker": smoker, "ill": np.where(ill, "yes", "no")})


patients, others = clinic(20_000, seed=1), clinic(5_000, seed=2)
patients.loc[:499, "ill"] = "would not say"  # an undeclared label: these records count for nothing

# All of this is public knowledge; classes and categories never come from the table.
box = sf.Box({"age": (0, 110), "bp": (60, 220), "smoker": sf.Categorical(["never", "former", "daily"])})
right = {}
for likelihood in ("normal", "kernel"):
    target = sf.NaiveBayes("ill", ["no", "yes"], likelihood=likelihood)
    model = sf.release(target, patients, box, sf.Privacy(epsilon=1.0))
    right[likelihood] = float((model.predict(others, outside="clip") == others["ill"]).mean())
    print(f"{likelihood} likelihoods: right for {right[likelihood]:.1%} of other patients (not for publication)")
print(f"records that counted, by class: {dict(zip(model.classes, model.counts.round().tolist(), strict=True))}")

# A missing value, or an undeclared category, says nothing about the class.
people = pd.DataFrame({"age": [30.0, 59.0, np.nan, 80.0], "bp": [115.0, 135.0, 150.0, 160.0]})
people["smoker"] = ["never", "never", "a pipe", "daily"]
low, high = model.band(people, confidence=0.95)
table = people.assign(
    label=model.predict(people),
    ill=model.predict_proba(people)[:, 1],
    least=low[:, 1],
    most=high[:, 1],
    certain=model.certain(people),
)
print(f"\n{table.round(2).to_string(index=False)}")
print(f"\nnoise cannot have changed the label of {model.certain(others, outside='clip').mean():.0%} of other patients")
print(model.guarantee)
