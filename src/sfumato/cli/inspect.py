"""The command that says what a release is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from sfumato.cli.options import ReleaseFile, settings
from sfumato.cli.output import facts, printable, screen, show, working
from sfumato.cli.reader import load

Limits = Annotated[float, typer.Option(help="Of the limits of a statistic.")]


def inspect(ctx: typer.Context, file: ReleaseFile, confidence: Limits = 0.95) -> None:
    """Say what a release is and what it promises; of a statistic, also its value."""
    from sfumato.cli.sparks import sketched
    from sfumato.faces import face_of
    from sfumato.faces.promise import HEADLINE, box_lines, guarantee_words, random_lines, receipt_lines

    release = load(ctx, file)
    face, promise = face_of(release, confidence), release.guarantee
    random = random_lines(promise)
    signed, signed_data = _signed(ctx, file)
    with working(ctx, "describing the release"):
        rows: list[tuple[str, list[str]]] = [
            ("what", [face.title]),
            *([("random", random)] if random else []),
            *(("warning", [words]) for words in face.nothing_there()),
            ("guarantee", [str(promise).partition(";")[0]]),
            ("in words", [guarantee_words(promise)]),
            ("rests on", [f"- {note}" for note in promise.assumptions] or ["the proofs in docs/proofs alone"]),
            ("box", box_lines(release.box)),
            *face.rows(),
            *face.details(),
            ("receipt", receipt_lines(release.receipt)),
            ("signature", [signed]),
        ]
        data = {"file": str(file), "signature": signed_data, **face.common_data(), **face.data()}
        sketch = face.sketch()
    parts: list[Any] = [Text(f"  WARNING: {HEADLINE}", style="bold yellow"), ""] if random else []
    drawn = sketched(sketch, screen())
    parts += [*([] if drawn is None else [drawn]), *([] if sketch is None else [""])]
    show(ctx, data, Text(printable(file), style="bold"), "", *parts, facts(rows))


def _signed(ctx: typer.Context, file: Path) -> tuple[str, dict[str, Any] | None]:
    """Who signed a file, in words and as plain data; ``--trust`` has been asked for when the file was read."""
    from sfumato.releases.file.container import read_bytes, unpacked
    from sfumato.releases.file.signature import check_signature, signed_with, trusted_keys

    contents, trust = unpacked(read_bytes(file)), list(settings(ctx).trust)
    if trust:  # again: it has been read again
        who = check_signature(contents, trusted_keys(trust))
        return f"by the key {who}, which you trust", {"key": who, "trusted": True}
    if contents.signature is None:
        return "none", None
    who = signed_with(contents)[0]
    return f"by the key {who}, not checked: give --trust and the public key", {"key": who, "trusted": False}
