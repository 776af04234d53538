"""Collect without being trusted: every person's device sends one randomised report, and the server learns a density.

Run it: ``python examples/local_model.py``. The patients are simulated; no real person is in them.
"""

import numpy as np

import sfumato as sf

rng = np.random.default_rng(1)
people = 200_000
age = np.clip(rng.gamma(9, 5, size=people), 0, 110)
records = np.stack([age, np.clip(rng.normal(22 + 0.08 * age, 4), 10, 60)], axis=1)

# Before anybody reports: what is asked, and what so many people will tell. All of this is public.
box = sf.Box({"age": (0, 110), "bmi": (10, 60)})
protocol = sf.local.Density(box, epsilon=1.0, lattice=11)
print(sf.local.plan(protocol, people=people), "\n")

# On a device: one record in, one report out. It is 11 bytes long, one of which is information.
report = protocol.encode({"age": 44.0, "bmi": 23.5}, user=0)
print("a report:", report.hex())

# At the collector, which sees reports and never a record. A second report of a person is refused.
collector = protocol.collector()
collector.add(report, user=0)
collector.add(b"not a report", user=1)
morning, evening = protocol.collector(), protocol.collector()
morning.add_batch(protocol.encode_many(records[1:100_000], first_user=1), first_user=1)
evening.add_batch(protocol.encode_many(records[100_000:], first_user=100_000), first_user=100_000)
collector = collector + morning + evening
print(collector)

density = collector.release()
low, high = density.band([[44, 25]])
print(f"density at age 44, BMI 25: {density([[44, 25]])[0]:.5f}, between {low[0]:.5f} and {high[0]:.5f} (95 %)")
print(density.guarantee, "\n")

# Tables of categories: whether people smoke, and whether that goes with illness.
answers = sf.Box({"smoker": sf.Categorical(["no", "yes"]), "ill": sf.Categorical(["no", "yes"])})
smoker = rng.random(people) < 0.3
ill = rng.random(people) < np.where(smoker, 0.4, 0.1)
tables = sf.local.Marginals(answers, epsilon=1.0, ways=2)
asked = tables.collector()
asked.add_batch(
    tables.encode_many([("yes" if s else "no", "yes" if i else "no") for s, i in zip(smoker, ill, strict=True)])
)
release = asked.release()
joint = release.table(["smoker", "ill"])
print(f"smokers: {release.table('smoker')[1]:.3f}; ill among them {joint[1, 1] / joint[1].sum():.2f}, others "
      f"{joint[0, 1] / joint[0].sum():.2f}")  # fmt: skip

# Smooth questions, asked after the collection.
moments = sf.local.SmoothQueries(box, epsilon=1.0, degree=6, interactions=2)
told = moments.collector()
told.add_batch(moments.encode_many(records))
summary = told.release()
print("mean age:", summary.mean("age"))
print(summary.guarantee)
