"""A published synthetic table: noisy moments in blocks, a seed, and the rows that follow from them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.synthetic.blocks import RULE, TableBlocks, blocks_from_json
from sfumato.bases.synthetic.line import Judge, judge_of
from sfumato.bases.synthetic.model import TableLaw, check_fit, law_of
from sfumato.bases.synthetic.noisy import Noisy, read_numbers
from sfumato.checks import did_you_mean, one_of, shown, whole_number
from sfumato.codec import decode_rows, exact_keys
from sfumato.core.box import Box, Categorical
from sfumato.core.privacy import part_of
from sfumato.errors import ParameterError
from sfumato.harmless import cell, printable
from sfumato.releases.base import SumsRelease
from sfumato.releases.file.certified import check_certificate, checked_noise, granted_of
from sfumato.releases.rows import MOST_ROWS, as_table, check_rows, randomness
from sfumato.releases.synthetic.program import Atoms, atoms_of, check_program, law_of_atoms, rows_of_atoms
from sfumato.releases.synthetic.rows import drawn, within
from sfumato.releases.synthetic.rule import Rule, rule_from_json
from sfumato.upwards import Shown

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]

METHODS = ("strata", "rule", "lp")
_JUDGED = 8192  # rows by which a rule's slope and intercept are fixed


@dataclass(frozen=True, eq=False, kw_only=True)
class TableRelease(Shown, SumsRelease):
    """A table of made-up records that stands for private ones: any tool can use it.

    Parameters
    ----------
    domain, basis
        The columns, and which numbers were published.
    numbers
        Noisy sums over records (read-only), block after block.
    records
        The public number of records, or None.
    rows, seed
        How many rows ``data`` has, and which they are.
    method
        How rows are made of the numbers.
    rule
        The private classifier that labels follow, published first; None where they are those of the strata.
    """

    kind: ClassVar[str] = "table"

    basis: TableBlocks
    records: int | None
    rows: int
    seed: int
    method: str
    rule: Rule | None = None

    @property
    def label(self) -> str | None:
        """The column whose classes are known each by itself; None where there is none."""
        return self.basis.label

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the label; one without a name where there is none."""
        if self.label is None:
            return ("all records",)
        kind = self.box.columns[self.box.names.index(self.label)]
        assert isinstance(kind, Categorical)
        return kind.categories

    @property
    def bought(self) -> dict[str, float]:
        """For each of ``means``, ``norm``, ``spreads``, ``pairs`` and ``rule`` that was bought, its share of it all."""
        sizes = self.basis.sizes(self.box)
        own = {word: self.basis.budget[word] for word, size in sizes.items() if size}
        if self.law.kind != "blocks":  # of Gaussian noise, squares are shared
            own = {word: sizes[word][0] * budget**2 for word, budget in own.items()}
        first = 0.0 if self.rule is None else float(self.rule.share)
        found = {word: (1 - first) * part / sum(own.values()) for word, part in own.items()}
        return {**found, RULE: first + found[RULE]} if RULE in found else found

    @cached_property
    def noisy(self) -> Noisy:
        """The numbers as moments, with the deviation of the noise in each."""
        return read_numbers(self.numbers, self.basis, self.box, self.law, self.records)

    @cached_property
    def densities(self) -> TableLaw:
        """For each column and class the density that rows are drawn from."""
        if self.atoms is not None:
            return law_of_atoms(self.atoms, self.box)
        with np.errstate(all="ignore"):  # what a stranger's file holds warns nobody
            return law_of(self.noisy, self.basis, self.box)

    @cached_property
    def judge(self) -> Judge | None:
        """The rule with the slope and intercept that two published numbers fix; None where there is no rule."""
        if self.rule is None or self.noisy.rule is None or self.label is None:
            return None
        line, (sums, unsure) = self.rule.line(self.box, self.label), self.noisy.rule
        rows = within(self.densities, self.basis, self.box, _JUDGED, randomness(0))
        known = max(1.0, float(self.noisy.members.sum()))
        return judge_of(line, line.at(self.box, rows), np.clip(sums / known, -1.0, 1.0), unsure / known)

    @cached_property
    def atoms(self) -> Atoms | None:
        """The points that rows are, with their weights, where a linear program found them; None elsewhere."""
        if self.method != "lp":
            return None
        with np.errstate(all="ignore"):
            return atoms_of(self.noisy, self.box, self.seed)

    @cached_property
    def data(self) -> pa.Table:
        """The rows: a table with the columns of the box, whole numbers and categories as they were declared."""
        return self.sample(self.rows, self.seed)

    def sample(self, rows: int, seed: int | None = None) -> pa.Table:
        """So many rows of the same law; the same seed gives the same ones, as does ``data``'s for its number of rows.

        Formal guarantee: rows are computed from the release alone; they satisfy ``guarantee`` and cost nothing.
        """
        count, generator = check_rows(rows), randomness(seed)
        if self.atoms is not None:
            return as_table(self.box, rows_of_atoms(self.atoms, self.box, count, generator))
        return as_table(self.box, drawn(self.densities, self.basis, self.box, count, generator, self.judge))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of ``data`` to a Parquet file."""
        from pyarrow import parquet

        parquet.write_table(self.data, os.fspath(path))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of ``data`` to a CSV file; text that a spreadsheet would run gets an apostrophe."""
        from pyarrow import csv

        csv.write_csv(_for_spreadsheets(self.data), os.fspath(path))

    def __repr__(self) -> str:
        names = printable(", ".join(self.box.names))
        return f"<TableRelease of {names}: {self.rows} rows from {self.numbers.size} numbers; {self.guarantee}>"

    # --- what the file holds ------------------------------------------------------------------------------

    def arrays(self) -> dict[str, Floats]:
        return {"numbers": self.numbers, **({} if self.rule is None else self.rule.arrays())}

    def fields(self) -> dict[str, Any]:
        return {
            "basis": self.basis.to_json(),
            "records": self.records,
            "rows": self.rows,
            "seed": self.seed,
            "method": self.method,
            **({} if self.rule is None else {"rule": self.rule.to_json()}),
        }

    @classmethod
    def rebuild(cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, Floats]) -> Self:
        exact_keys(fields, {"basis", "records", "rows", "seed", "method", *({"rule"} & {*fields})}, "the content")
        more = {name: values for name, values in arrays.items() if name.startswith("rule_") and "rule" in fields}
        exact_keys(arrays, {"numbers", *more}, "the file")
        basis, law, promised = blocks_from_json(fields["basis"]), common["law"], common["guarantee"]
        check_label(basis.label, box)
        check_fit(box, basis.label)
        size, records = basis.size(box), fields["records"]
        public = (promised.neighbours, promised.unit) == ("replace", "row")
        if (records is not None) != public or decode_rows(records, promised) != records:
            raise ParameterError(f"a number of records is there just where the guarantee makes it public: {records!r}")
        if arrays["numbers"].shape != (size,) or law.size != size or not np.isfinite(arrays["numbers"]).all():
            raise ParameterError(f"the table needs {size} finite numbers, got {arrays['numbers'].shape}")
        norm = one_of("norm", law.certificate.norm, ("l1-linf", "l2"))
        grant, rule = granted_of(promised), None
        check_certificate(law.certificate, basis.certified(norm, box, grant))
        if "rule" in fields:
            rule = rule_from_json(fields["rule"], more, box, basis.label, grant)
            checked_noise(law, part_of(grant, 1 - rule.share, grant.delta))
        method = one_of("method", fields["method"], METHODS)
        if len({method == "rule", rule is not None, basis.rule > 0}) != 1:
            raise ParameterError("the method, the rule and the blocks do not belong together")
        if method == "lp":
            check_program(box, basis.label, basis.budget["pairs"] > 0)
        rows = whole_number("rows", fields["rows"], 1, MOST_ROWS)
        seed = whole_number("seed", fields["seed"], 0, 2**63 - 1)
        return cls(**common, domain=box, basis=basis, numbers=arrays["numbers"], records=records, rows=rows,
                   seed=seed, method=method, rule=rule)  # fmt: skip


def _for_spreadsheets(table: pa.Table) -> pa.Table:
    """The same table with names and texts that steer no terminal and run in no spreadsheet: a stranger chose them."""
    import pyarrow as pa

    columns = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            coded = column.combine_chunks().dictionary_encode()  # few texts, many rows
            kept = pa.array(map(cell, coded.dictionary.to_pylist()), pa.string())
            column = pa.DictionaryArray.from_arrays(coded.indices, kept).cast(pa.string())
        columns.append(column)
    return pa.table(columns, names=[*map(cell, table.column_names)])


def check_label(label: str | None, box: Box) -> None:
    """Refuse a label that is no categorical column of the box, and a box that has nothing else."""
    if label is not None and label not in box.names:
        raise ParameterError.of(
            "label",
            f"must be a column of the box {list(box.names)}, got label={shown(label)}{did_you_mean(label, box.names)}",
        )
    if label is not None and not isinstance(box.columns[box.names.index(label)], Categorical):
        raise ParameterError.of("label", f"must be a categorical column, and {label!r} is numeric: declare its classes")
    if box.dimension == (label is not None):
        raise ParameterError.of("box", "must have columns beside the label")
