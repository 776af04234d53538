"""Errors of a learner on public records: counts without noise, which private records would never allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato.cli.options import holding
from sfumato.cli.predict import AT_ONCE, predictor_of
from sfumato.cli.progress import counting
from sfumato.cli.publication import Order
from sfumato.cli.records import open_records
from sfumato.core.box import Categorical
from sfumato.engines.cells import positions
from sfumato.engines.table import Table
from sfumato.engines.tables import open_table
from sfumato.errors import ParameterError
from sfumato.faces.base import Facts
from sfumato.faces.tested import PublicTest
from sfumato.faces.words import counted
from sfumato.releases.bayes.bayes import NaiveBayesRelease
from sfumato.releases.machine.machine import MachineRelease


def open_test(path: Path, data: Path, order: Order) -> tuple[Path, Table]:
    """Open the file of ``--public-test``; its schema is checked before anything is spent.

    Parameters
    ----------
    data
        The private file, which cannot be the public one.
    """
    with holding("--public-test"):
        box, target = order.box, order.target
        if path.exists() and data.exists() and path.samefile(data):
            raise ParameterError(
                f"{path} is the private data: counting errors on it would give its records away; give a public file"
            )
        open_records(path, [*box.names, target.response])
        label = Categorical(tuple(target.classes))
        declared = {**dict(zip(box.names, box.columns, strict=True)), target.response: label}
        return path, open_table(str(path), box, "row", declared)


def count_errors(
    ctx: typer.Context, release: MachineRelease | NaiveBayesRelease, test: tuple[Path, Table]
) -> PublicTest:
    """Compare what a classifier says of public records with their labels."""
    path, table = test
    predictor, column = predictor_of(release, path), release.response.column
    assert isinstance(column, Categorical) and release.classes is not None
    place = {name: k for k, name in enumerate(release.classes)}
    counts = np.zeros((len(release.classes), len(release.classes)), dtype=np.int64)
    rows = 0
    with counting(ctx, f"predicting {path.name}", None) as done:
        for *columns, values in table.batches(release.response.after(release.box), AT_ONCE):
            piece, truth = predictor.piece(columns), positions(values, column)
            known = np.flatnonzero(piece.complete & (truth >= 0))
            if known.size:
                said = np.array([place[label] for label in release.predict(piece.at(known)).tolist()])
                np.add.at(counts, (truth[known], said), 1)
            rows += len(truth)
            done(len(truth))
    return PublicTest(path.name, release.classes, tuple(map(tuple, counts.tolist())), rows)


def tested_lines(tested: PublicTest | None) -> Facts:
    """What there is to say of a public test."""
    if tested is None:
        return []
    if tested.accuracy is None:
        return [("public test", [f"{tested.name}: no complete record with a declared label"])]
    names = [str(name) for name in tested.classes]
    lines = [
        f"{tested.name}: {100 * tested.accuracy:.3g} % of {tested.used:,} labels are right",
        f"(always {names[tested.majority]}, its most frequent label: {100 * tested.baseline:.3g} %)",
    ]
    for name, row in zip(names, tested.counts, strict=True):
        said = ", ".join(f"{other} {count:,}" for other, count in zip(names, row, strict=True))
        lines.append(f"of {sum(row):,} {name}, predicted: {said}")
    if tested.left_out:
        lines.append(f"left out: {counted(tested.left_out, 'record')} without a declared label or a value")
    return [("public test", [*lines, "these counts carry no noise: the file must be public"])]


def tested_data(tested: PublicTest | None) -> dict[str, Any]:
    """The same as plain data."""
    if tested is None:
        return {"public_test": None}
    return {
        "public_test": {
            "file": tested.name,
            "accuracy": tested.accuracy,
            "baseline": None if tested.accuracy is None else tested.baseline,
            "classes": list(tested.classes),
            "counts": [list(row) for row in tested.counts],
            "used": tested.used,
            "left_out": tested.left_out,
        }
    }
