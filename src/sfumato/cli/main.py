"""The console script: it starts the command line, or says in one line what is missing."""

from __future__ import annotations

import json
import sys

from sfumato.errors import MissingExtraError
from sfumato.extras import need


def run() -> None:
    """Run ``sfumato``; without typer and rich say how to install them."""
    try:
        for module in ("typer", "rich"):
            need(module, "cli")
        from sfumato.cli.app import app

        app()
    except MissingExtraError as error:
        line = json.dumps({"error": str(error)}) if "--json" in sys.argv else f"error: {error}"
        sys.stderr.write(f"{line}\n")
        sys.exit(1)
    except KeyboardInterrupt:  # while modules were being imported
        sys.exit(130)
