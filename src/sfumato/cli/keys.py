"""The command that makes keys, with which releases are signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import examples
from sfumato.cli.output import facts, show
from sfumato.errors import ParameterError

app = typer.Typer(no_args_is_help=True, help="Keys that sign releases, and that readers trust.")


@app.callback()
def _keys() -> None:
    """Keys that sign releases, and that readers trust."""


@app.command("new", epilog=examples("sfumato keys new clinic.pem", "sfumato density ... --key clinic.pem"))
def new(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Where the private key goes.", show_default=False)],
) -> None:
    """Make an Ed25519 key: PATH for whoever publishes, PATH.pub for whoever reads.

    The private key is written without a password, for its owner's eyes only. Neither file is ever replaced.
    """
    from sfumato.codec import write_plain
    from sfumato.releases.file.signature import new_keys

    public = path.with_name(f"{path.name}.pub")
    for file in (path, public):
        if file.exists() or file.is_symlink():
            raise ParameterError(f"{file}: is there already, and a key is never replaced; choose another name")
    private, other, who = new_keys()
    write_plain(path, private, private=True)
    write_plain(public, other)
    rows = [
        ("fingerprint", [who]),
        ("private", [f"{path}  sign with --key; keep it safe"]),
        ("public", [f"{public}  hand it out; readers give it to --trust"]),
    ]
    show(ctx, {"fingerprint": who, "private": str(path), "public": str(public)}, "Made a key.", "", facts(rows))
