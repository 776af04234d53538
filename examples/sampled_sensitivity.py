"""Privacy without a proof: sample the sensitivity of a statistic, and say openly that this is *random* privacy.

Run it: ``python examples/sampled_sensitivity.py``. The incomes are simulated; no real person is in them.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.errors import BudgetExceededError, ParameterError, RandomPrivacyWarning

rng = np.random.default_rng(2)
incomes = np.exp(rng.normal(10.4, 0.5, size=2000))  # stands for something private
box = sf.Box({"income": (0, 1_000_000)})


def gini(data):
    """Inequality, between 0 (all equal) and 1; nobody wants to bound its sensitivity by hand."""
    ranked = np.sort(np.clip(data, 1.0, 1_000_000))
    places = 2 * np.arange(1, len(ranked) + 1) - len(ranked) - 1
    return (places * ranked).sum() / (len(ranked) * ranked.sum())


# What a confidence of 95 % costs, before anything is sampled.
for rule in ("dkw", "exchangeable", "pac"):
    print(sf.sampler_plan(gamma=0.05, rule=rule))

# The oracle is public: a guess at what incomes look like, made without looking.
guess = sf.oracles.Oracle("log-normal incomes, median 30,000", lambda n, g: np.exp(g.normal(10.3, 0.6, size=n)))
certificate = sf.sample_sensitivity(gini, guess, n=len(incomes), gamma=0.05, rule="exchangeable", m=399, seed=1)
print(f"sampled sensitivity {certificate.bound:.6f}: distance {certificate.k} of {certificate.m} pairs")

target = sf.Statistic(gini, sensitivity=certificate, range=(0, 1))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", RandomPrivacyWarning)
    sf.plan(target, box, sf.Privacy(epsilon=1.0), n=len(incomes))
print(f"warned: {caught[0].message}")

try:
    sf.release(target, incomes, box, sf.Privacy(epsilon=1.0, gamma=0.0))
except ParameterError as error:
    print(f"refused: {error}")

with tempfile.TemporaryDirectory() as folder:
    limit = sf.Privacy(epsilon=3.0, gamma=0.05)  # sampled sensitivities may fall short with 5 % in all
    account = sf.Ledger(Path(folder) / "budget.db").account("incomes", limit=limit)
    release = sf.release(target, incomes, box, sf.Privacy(epsilon=1.0, gamma=0.05), ledger=account)
    low, high = release.interval()
    print(f"Gini {release.value:.4f}, between {low:.4f} and {high:.4f}")
    print(release.guarantee)
    try:
        sf.release(target, incomes, box, sf.Privacy(epsilon=1.0, gamma=0.05), ledger=account)
    except BudgetExceededError as error:
        print(f"refused: {error}")
