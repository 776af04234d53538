"""diffprivlib's logistic regression on a9a; ``machine_baselines`` runs it in an environment with scikit-learn 1.6."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

from diffprivlib.models import LogisticRegression
from sklearn.datasets import load_svmlight_file

STRENGTHS = (0.0001, 0.001, 0.01, 0.1)
LONGEST = 14**0.5


def main(asked: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Test accuracies by setting and epsilon: as it comes, and at the best ``C`` for each epsilon, with hindsight."""
    warnings.simplefilter("ignore")
    files = [str(Path(asked["folder"]) / f"{name}.libsvm.gz") for name in ("a9a", "a9a.t")]
    (records, labels), (test, truth) = (load_svmlight_file(file, n_features=123) for file in files)
    records, test = records.toarray(), test.toarray()

    def accuracies(epsilon: float, **settings: Any) -> list[float]:
        models = (LogisticRegression(epsilon=epsilon, data_norm=LONGEST, **settings) for _ in range(asked["repeats"]))
        return [float(model.fit(records, labels).score(test, truth)) for model in models]

    found: dict[str, dict[str, list[float]]] = {"as it comes": {}, "best C with hindsight, no intercept": {}}
    for epsilon in asked["epsilons"]:
        tried = [accuracies(epsilon, C=strength, fit_intercept=False, max_iter=1000) for strength in STRENGTHS]
        found["as it comes"][str(epsilon)] = accuracies(epsilon)
        found["best C with hindsight, no intercept"][str(epsilon)] = max(tried, key=sum)
    return found


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
