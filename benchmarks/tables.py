"""Printing a benchmark's rows: lines, or a table over (bandwidth, epsilon) where rows have those."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def show(name: str, rows: list[Row]) -> None:
    """Every section in the order of its first row."""
    print(f"\n{name}")
    sections: dict[str, list[Row]] = {}
    for row in rows:
        sections.setdefault(row.get("section", ""), []).append(row)
    for title, part in sections.items():
        if title:
            print(f"\n  {title}")
        cells = [row for row in part if "epsilon" in row]
        if cells:
            _matrix(cells)
        _lines([row for row in part if "epsilon" not in row])


def _lines(rows: list[Row]) -> None:
    width = max((len(row["what"]) for row in rows), default=0)
    for row in rows:
        print(f"  {row['what']:<{width}}  {row['value']:>12.5g} {row['unit']}{_spread(row)}{_verdict(row)}")


def _spread(row: Row) -> str:
    return f" ({row['spread']:.2g} standard error)" if row.get("spread") is not None else ""


def _verdict(row: Row) -> str:
    return f"   asked {row['asked']}: {'reached' if row['met'] else 'NOT REACHED'}" if "asked" in row else ""


def _matrix(rows: list[Row]) -> None:
    columns = list(dict.fromkeys((row["bandwidth"], row["epsilon"]) for row in rows))
    methods = list(dict.fromkeys(row["what"] for row in rows))
    found = {(row["what"], row["bandwidth"], row["epsilon"]): row for row in rows}
    width = max(map(len, methods))
    print(f"  {'b, epsilon':<{width}}" + "".join(f"{f'{b:g}, {e:g}':>16}" for b, e in columns))
    for method in methods:
        texts = [_cell(found.get((method, *column))) for column in columns]
        print(f"  {method:<{width}}" + "".join(f"{text:>16}" for text in texts))
    for row in rows:
        if "asked" in row and not row["met"]:
            print(f"  NOT REACHED: {row['what']} at b={row['bandwidth']:g}, epsilon={row['epsilon']:g}{_verdict(row)}")


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    spread = f" ±{row['spread']:.1g}" if row.get("spread") is not None else ""
    return f"{row['value']:.3g}{spread}"
