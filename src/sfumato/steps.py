"""Where a long computation is, for whoever watches: public words at public places, never what a record holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)


def step(what: str) -> None:
    """Say what begins now. The words, and the order of steps, depend on public parameters only."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(what)


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """Tell ``watcher`` of every step inside the block.

    >>> with watched(print):
    ...     step("choosing a basis")
    choosing a basis
    """
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)
