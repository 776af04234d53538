"""Learn without being trusted: phones tell one byte each, and the server fits a linear model.

Run it: ``python examples/local_learning.py``. The people are simulated; no real person is in them.
"""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(1)
people = 8_000


def crowd(count: int) -> np.ndarray:
    """Screen time, age, and whether somebody sleeps badly."""
    hours, age = rng.gamma(4, 1.2, size=count), rng.uniform(16, 80, size=count)
    badly = hours / 2 - (age - 48) / 32 + rng.normal(0, 1, size=count) > 2.4
    return np.column_stack([hours, age, badly])


# Public: what is asked, with round guesses of centre and spread. Nothing of it is taken from anybody's record.
box = sf.Box({"hours": (0, 16), "age": (16, 80), "sleeps_badly": sf.Categorical([0, 1])})
protocol = sf.local.LinearModel(box, epsilon=4.0, response="sleeps_badly", scales={"hours": (5, 2.5), "age": (48, 18)})
print(sf.local.plan(protocol, people=people), "\n")

# On a phone: one record in, eleven bytes out, one of which is information.
print("a report:", protocol.encode({"hours": 6.5, "age": 31, "sleeps_badly": 1}, user=0).hex())

# At the server, which sees reports and never a record.
collector = protocol.collector()
collector.add_batch(protocol.encode_many(crowd(people)))
release = collector.release()
for name, slope, error in zip(release.columns, *release.slopes(), strict=True):
    print(f"{name}: {slope:+.2f} for a unit, within {error:.2f} (95 %, noise in how it goes with sleep)")
new = crowd(5_000)
right, most = np.mean(release.predict(new[:, :2]) == new[:, 2]), max(new[:, 2].mean(), 1 - new[:, 2].mean())
print(f"right for {100 * right:.0f} % of new people; always saying what is more frequent: {100 * most:.0f} %")
print(release.guarantee)
