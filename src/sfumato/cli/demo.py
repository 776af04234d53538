"""The demo command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write.")] = Path("demo"),
    epsilon: Annotated[float, typer.Option(metavar="E", help="Granted to each of the two releases.")] = 1.0,
) -> None:
    """Publish two functions of a simulated clinic: data, ledger, releases, pictures, reports."""
    from sfumato.cli.showcase import run_demo

    run_demo(ctx, folder, epsilon)
