"""The one place through which every release path pays: reserve, then draw, then mark published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sfumato.accounting.events import Event
from sfumato.errors import ParameterTypeError
from sfumato.releases.base import Receipt


@dataclass
class Told:
    """What the block that was paid for tells the ledger: the digest of the release that it made."""

    release: str = ""


@runtime_checkable
class Payer(Protocol):
    """Something that can pay for an event: an account of the ledger."""

    def spend(self, event: Event, told: Told | None = None) -> AbstractContextManager[Receipt]:
        """Reserve before the block, mark published after it."""
        ...

    def would_cost(self, what: Any, *more: Any) -> Any:
        """Say whether events fit, one after the other, charging nothing."""
        ...


def check_payer(ledger: object) -> None:
    """Refuse what is neither None nor an account."""
    if ledger is not None and not isinstance(ledger, Payer):
        raise ParameterTypeError(
            f"ledger must be an account, sf.Ledger(path).account(name), got {type(ledger).__name__}"
        )


@contextmanager
def charged(ledger: Payer | None, event: Event, told: Told | None = None) -> Iterator[Receipt | None]:
    """Charge the event to an account around the block that draws the noise; with no ledger, just run the block.

    What the block has put into ``told`` by its end is recorded with the publication.
    """
    check_payer(ledger)
    if ledger is None:
        yield None
        return
    with ledger.spend(event, told) as receipt:
        yield receipt
