"""A bar on a terminal, if it takes more than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE, _EVERY, _WIDTH = 1.0, 0.1, 30


@contextmanager
def watching(what: str, total: int, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Something to call with how much was done since."""
    started = shown = time.monotonic()
    done = 0

    def tick(count: int) -> None:
        nonlocal done, shown
        done += count
        now = time.monotonic()
        if now - started > _PATIENCE and now - shown > _EVERY:
            shown = now
            full = _WIDTH * done // total
            bar = "#" * full + "-" * (_WIDTH - full)
            left = (now - started) * (total - done) / done
            sys.stderr.write(f"\r{what} {bar} {done:,} of {total:,}, {left:.0f} s left   ")
            sys.stderr.flush()

    if not wanted or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield tick
    finally:
        if shown > started:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
