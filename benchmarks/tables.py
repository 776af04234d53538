"""Printing a benchmark's rows: lines, or a table over epsilon, or bandwidth and epsilon, where rows have those."""

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
    if "asked" not in row:
        return ""
    aim = f", aimed at {row['aim']:g}: {'reached' if row['aim_met'] else 'not reached'}" if "aim" in row else ""
    return f"   asked {row['asked']}: {'reached' if row['met'] else 'NOT REACHED'}{aim}"


def _place(row: Row) -> tuple[float, ...]:
    return tuple(row[key] for key in ("bandwidth", "epsilon") if key in row)


def _matrix(rows: list[Row]) -> None:
    columns = list(dict.fromkeys(map(_place, rows)))
    columns = sorted(columns) if len(columns[0]) == 1 else columns
    methods = list(dict.fromkeys(row["what"] for row in rows))
    found = {(row["what"], _place(row)): row for row in rows}
    width = max(map(len, methods))
    title = "b, epsilon" if len(columns[0]) > 1 else "epsilon"
    print(f"  {title:<{width}}" + "".join(f"{', '.join(f'{c:g}' for c in column):>16}" for column in columns))
    for method in methods:
        texts = [_cell(found.get((method, column))) for column in columns]
        print(f"  {method:<{width}}" + "".join(f"{text:>16}" for text in texts))
    for row in rows:
        if "asked" in row and not row["met"]:
            place = ", ".join(f"{key}={row[key]:g}" for key in ("bandwidth", "epsilon") if key in row)
            print(f"  NOT REACHED: {row['what']} at {place}{_verdict(row)}")


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    spread = f" ±{row['spread']:.1g}" if row.get("spread") is not None else ""
    return f"{row['value']:.{row.get('digits', 3)}g}{spread}"
