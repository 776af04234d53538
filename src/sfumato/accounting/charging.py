"""The one place through which every release path pays: reserve, then draw, then mark published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, runtime_checkable

from sfumato.accounting.events import Event
from sfumato.errors import ParameterTypeError
from sfumato.releases.base import Receipt


@runtime_checkable
class Payer(Protocol):
    """Something that can pay for an event: an account of the ledger."""

    def spend(self, event: Event) -> AbstractContextManager[Receipt]:
        """Reserve before the block, mark published after it."""
        ...

    def would_cost(self, what: Any) -> Any:
        """Say whether an event fits, charging nothing."""
        ...


def check_payer(ledger: object) -> None:
    """Refuse what is neither None nor an account."""
    if ledger is not None and not isinstance(ledger, Payer):
        raise ParameterTypeError(
            f"ledger must be an account, sf.Ledger(path).account(name), got {type(ledger).__name__}"
        )


@contextmanager
def charged(ledger: Payer | None, event: Event) -> Iterator[Receipt | None]:
    """Charge the event to an account around the block that draws the noise; with no ledger, just run the block."""
    check_payer(ledger)
    if ledger is None:
        yield None
        return
    with ledger.spend(event) as receipt:
        yield receipt
