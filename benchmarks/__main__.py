"""Run the benchmarks, show a table and leave a JSON file in ``benchmarks/results/``."""

from __future__ import annotations

import importlib
import json
import platform
import sys
from pathlib import Path

import numpy as np

import sfumato
from benchmarks.tables import show

NAMES = (
    "noise", "evaluation", "ledger", "team-ledger", "footprint", "density", "density-speed", "bands", "machines",
    "machines-speed", "statistics", "quantiles", "sampler", "regression", "naive-bayes", "queries", "local",
    "local-learning", "scaling", "suite-densities", "suite-frequencies", "suite-quantities",
    "suite-classification",
)  # fmt: skip
# A file called statistics.py would hide Python's own from scripts in this folder.
MODULES = {
    "statistics": "everyday",
    "suite-densities": "suite.densities",
    "suite-frequencies": "suite.frequencies",
    "suite-quantities": "suite.quantities",
    "suite-classification": "suite.classification",
}


def main(wanted: list[str]) -> None:
    for name in wanted or NAMES:
        if name not in NAMES:
            raise SystemExit(f"unknown benchmark {name!r}; there are {', '.join(NAMES)}")
        rows = importlib.import_module(f"benchmarks.{MODULES.get(name, name.replace('-', '_'))}").run()
        show(name, rows)
        record = {
            "benchmark": name,
            "sfumato": sfumato.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "rows": rows,
        }
        path = Path(__file__).parent / "results" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"  -> {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
