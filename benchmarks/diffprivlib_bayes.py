"""diffprivlib's Gaussian naive Bayes; ``naive_bayes`` runs it in an environment with scikit-learn 1.6."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from diffprivlib.models import GaussianNB


def main(asked: dict[str, Any]) -> dict[str, list[float]]:
    """Test accuracies by epsilon; columns and bounds are those it is given."""
    with np.load(asked["file"]) as file:
        records, labels, test, truth = (file[name] for name in ("records", "labels", "test", "truth"))
    bounds = tuple(np.array(asked["bounds"], dtype=float).T)

    def accuracy(epsilon: float) -> float:
        return float(GaussianNB(epsilon=epsilon, bounds=bounds).fit(records, labels).score(test, truth))

    return {str(epsilon): [accuracy(epsilon) for _ in range(asked["repeats"])] for epsilon in asked["epsilons"]}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
