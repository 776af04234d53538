"""How good private naive Bayes is on Adult, beside itself without privacy and diffprivlib's Gaussian naive Bayes.

Accuracies are means of real releases on the test file. Bandwidths and bases are the defaults: nothing was tuned.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.adult import CLASSES, LABEL, NUMERIC, Adult, adult, box
from benchmarks.density_baselines import Score, score
from benchmarks.machines import Rows
from benchmarks.peers import ask_diffprivlib
from benchmarks.timing import row

EPSILONS, RELEASES = (0.1, 1.0, 10.0), 20
QUIET = 1e6  # an epsilon at which there is next to no noise
ALLOWED = 1.5  # percentage points below the same model without privacy, at epsilon = 1


def run() -> list[dict[str, Any]]:
    """The table of accuracies, and what was asked of the default model."""
    task = adult()
    if task is None:
        print("  Adult is left out: ../shared/data has no adult.data.gz and adult.test.gz")
        return []
    title = f"Adult, n = {len(task)}, 14 columns: test accuracy, {RELEASES} releases; ± is a standard error"
    table = Rows(title, "accuracy", {})
    found = {}
    for likelihood in ("kernel", "normal"):
        for numeric_only in (False, True):
            what = f"sfumato, {likelihood} likelihoods" + (", numeric columns only" if numeric_only else "")
            for epsilon in EPSILONS:
                found[what, epsilon] = released(task, likelihood, epsilon, numeric_only, RELEASES)
                table.add(what, epsilon, found[what, epsilon])
            found[what, QUIET] = released(task, likelihood, QUIET, numeric_only, 1)
            table.same("  without privacy" + what.removeprefix("sfumato"), found[what, QUIET][0])
    peer = diffprivlib_accuracies(task)
    for epsilon, accuracy in peer.items():
        table.add("diffprivlib GaussianNB, numeric columns", epsilon, accuracy)
    table.same("always the larger class", float(np.mean(task.test[LABEL] == CLASSES[0])))
    return [*table.found, *judged(found, peer)]


def released(task: Adult, likelihood: str, epsilon: float, numeric_only: bool, count: int) -> Score:
    """The mean test accuracy of real releases, with its standard error (none for one release)."""
    target = sf.NaiveBayes(LABEL, list(CLASSES), likelihood=likelihood)
    records = pa.table({name: pa.array(values.tolist()) for name, values in task.records.items()})
    accuracies = []
    for _ in range(count):
        release = sf.release(target, records, box(numeric_only), sf.Privacy(epsilon=epsilon))
        accuracies.append(np.mean(release.predict(task.test, outside="clip") == task.test[LABEL]))
    return score(np.array(accuracies)) if count > 1 else (float(accuracies[0]), 0.0)


def diffprivlib_accuracies(task: Adult) -> dict[float, Score]:
    """diffprivlib on the numeric columns with the same bounds; empty where it is not installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.npz"
        labels = {name: part[LABEL].astype(str) for name, part in (("labels", task.records), ("truth", task.test))}
        np.savez(path, records=task.numbers(task.records), test=task.numbers(task.test), **labels)
        asked = {"file": str(path), "bounds": list(NUMERIC.values()), "epsilons": EPSILONS, "repeats": RELEASES}
        answer = ask_diffprivlib("diffprivlib_bayes.py", asked) or {}
    return {float(epsilon): score(np.array(accuracies)) for epsilon, accuracies in answer.items()}


def judged(found: dict[tuple[str, float], Score], peer: dict[float, Score]) -> list[dict[str, Any]]:
    """What was asked: above diffprivlib at every epsilon, and near the model without privacy at epsilon = 1."""
    rows = []
    for what in ("sfumato, kernel likelihoods", "sfumato, normal likelihoods"):
        at = {"section": f"{what}, all columns: percentage points"}
        for epsilon, (accuracy, spread) in peer.items():
            mean, own = found[what, epsilon]
            more = {"spread": 100 * float(np.hypot(own, spread)), **at}
            rows.append(row(f"above diffprivlib at epsilon = {epsilon:g}", 100 * (mean - accuracy), "", ">= 0", **more))
        mean, own = found[what, 1.0]
        below = 100 * (found[what, QUIET][0] - mean)
        limit = f"<= {ALLOWED}"
        rows.append(row("below the same without privacy, epsilon = 1", below, "", limit, spread=100 * own, **at))
    return rows
