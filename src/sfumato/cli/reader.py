"""Reading a release on behalf of a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

import sfumato as sf
from sfumato.cli.options import settings
from sfumato.cli.output import working


def load(ctx: typer.Context, path: Path) -> Any:
    """Read a release; where ``--trust`` was given, only one that such a key has signed."""
    trust = list(settings(ctx).trust)
    with working(ctx, f"reading {path.name}"):
        return sf.load(path, trust=trust) if trust else sf.load(path)
