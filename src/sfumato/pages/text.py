"""Text on a page: no control characters and no tricks with the direction of text, whatever a column is called."""

from __future__ import annotations

from typing import Any

from sfumato.faces.words import plain


def printable(value: Any) -> Any:
    """A text whose lines are printable; what is markup already stays as it is."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return "\n".join(plain(line, len(line)) for line in value.split("\n"))
