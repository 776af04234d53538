"""Publish one summary of a table, then ask it whatever comes to mind: nothing more is spent.

Run it: ``python examples/smooth_queries.py``. The patients are simulated; no real person is in them.
docs/queries.md says more.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(5)
age = np.clip(rng.gamma(9, 5, size=100_000), 0, 110)
bmi = np.clip(rng.normal(22 + 0.08 * age, 4), 10, 60)
ill = np.where(age / 30 + bmi / 25 - 3.6 + rng.logistic(0, 0.4, size=len(age)) > 0, "yes", "no")
patients = pd.DataFrame({"age": age, "bmi": bmi, "ill": ill})

# Bounds, categories and degrees are public knowledge: 20 frequencies follow bumps of about eight years.
box = sf.Box({"age": (0, 110), "bmi": (10, 60), "ill": sf.Categorical(["no", "yes"])})
summary = sf.summarize(patients, box, sf.Privacy(epsilon=1.0), degree=(20, 8, 2), interactions=2)
print(summary.guarantee, f"\n{summary.indices.size} moments, noise {summary.noise_sd:.4f} in each\n")


def forties(points):
    """Any smooth function of points in the columns' own units."""
    return np.exp(-((points[:, 0] - 45) ** 2) / 200)


questions = {
    "bump around 45 years": summary.answer(forties, columns="age"),
    "mean age": summary.mean("age"),
    "variance of the BMI": summary.variance("bmi"),
    "share who are ill": summary.share({"ill": "yes"}),
    "density at 50, bandwidth 8": summary.kde([50.0], bandwidth=8, columns="age").each(lambda part: part[0]),
}
truths = {  # not for publication
    "bump around 45 years": forties(age[:, None]).mean(),
    "mean age": age.mean(),
    "variance of the BMI": bmi.var(),
    "share who are ill": (ill == "yes").mean(),
    "density at 50, bandwidth 8": np.exp(-((age - 50) ** 2) / 128).mean() / (8 * np.sqrt(2 * np.pi)),
}
print(f"{'question':<28}{'answer':>10}{'error':>10}{'truth':>10}")
for name, found in questions.items():
    print(f"{name:<28}{found.value:10.4f}{found.error:10.4f}{truths[name]:10.4f}")

# A thousand more cost nothing either. Each error holds by itself, at 95 %: some of a thousand are further off.
centres = rng.uniform(20, 80, size=1000)
bumps = [lambda points, centre=centre: np.exp(-((points[:, 0] - centre) ** 2) / 200) for centre in centres]
many = summary.answer_many(bumps, columns="age")
exact = np.array([np.exp(-((age - centre) ** 2) / 200).mean() for centre in centres])
print(f"\n1000 bumps: the worst is off by {np.abs(many.value - exact).max():.4f}; errors say {many.error.max():.4f}")

# Models are fitted to the summary, not to the records.
line, risk = summary.fit("bmi", ["age"]), summary.fit("ill", ["age"], kind="logistic")
print(f"BMI = {line.intercept:.1f} + {line.coefficients[0]:.3f} age (simulated: 22 + 0.08 age)")
print("probability of being ill at 30, 50 and 70:", risk.predict([[30.0], [50.0], [70.0]]).round(2))

# What a summary cannot follow, it says: a bump of one year is far too narrow for 20 frequencies.
narrow = summary.answer(lambda points: np.exp(-((points[:, 0] - 45) ** 2) / 2), columns="age")
print(f"\na bump of one year: {narrow.value:.3f}, error {narrow.error:.3f} (approximation {narrow.approximation:.3f})")
