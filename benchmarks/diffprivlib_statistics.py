"""diffprivlib's statistics of some columns; ``everyday_peers`` runs it in an environment of its own."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from diffprivlib import tools


def main(asked: dict[str, Any]) -> list[tuple[str, str, float, list[list[float]]]]:
    """(column, statistic, epsilon, answers), one list of numbers for each repeat."""
    warnings.simplefilter("ignore")
    found = []
    with np.load(asked["file"]) as columns:
        for name, values in columns.items():
            bounds = tuple(asked["bounds"][name])
            for epsilon in asked["epsilons"]:
                # Its histogram is calibrated for records that come or go; a replaced one does both.
                calls = {
                    "mean": lambda v=values, b=bounds, e=epsilon: tools.mean(v, e, b),
                    "variance": lambda v=values, b=bounds, e=epsilon: tools.var(v, e, b),
                    "median": lambda v=values, b=bounds, e=epsilon: tools.median(v, e, b),
                    "quantiles": lambda v=values, b=bounds, e=epsilon: tools.quantile(v, asked["levels"], e, b),
                    "histogram": lambda v=values, b=bounds, e=epsilon: tools.histogram(v, e / 2, asked["bins"], b)[0],
                }
                for statistic, call in calls.items():
                    answers = [np.atleast_1d(call()).tolist() for _ in range(asked["repeats"][statistic])]
                    found.append((name, statistic, epsilon, answers))
    return found


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
