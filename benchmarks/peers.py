"""Running a peer that needs an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def ask_diffprivlib(script: str, asked: dict[str, Any]) -> Any:
    """Run a script of ours in diffprivlib's own environment; None, with a reason, where there is none."""
    python = Path(os.environ.get("DIFFPRIVLIB_PYTHON", ROOT / ".venv-diffprivlib" / "bin" / "python"))
    if not python.exists():
        print("  diffprivlib is left out: it has no environment here (`make bench` makes .venv-diffprivlib)")
        return None
    command = [str(python), str(Path(__file__).with_name(script)), json.dumps(asked)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
