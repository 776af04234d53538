"""The one place through which every release path pays: reserve, then draw, then mark published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sfumato.accounting.events import Event
from sfumato.errors import EngineError, ParameterTypeError
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


class Paying:
    """A payer that remembers what it was charged."""

    def __init__(self, payer: Payer) -> None:
        self._payer = payer
        self._receipts: list[Receipt] = []

    @contextmanager
    def spend(self, event: Event, told: Told | None = None) -> Iterator[Receipt]:
        """Reserve before the block, mark published after it."""
        with self._payer.spend(event, told) as receipt:
            self._receipts.append(receipt)
            yield receipt

    def would_cost(self, what: Any, *more: Any) -> Any:
        """Say whether events fit, one after the other, charging nothing."""
        return self._payer.would_cost(what, *more)

    def words(self) -> str:
        """What was charged so far; empty if nothing was."""
        return ", ".join(f"entry {receipt.entry} of account {receipt.account!r}" for receipt in self._receipts)


@contextmanager
def said_if_paid(ledger: Payer | None) -> Iterator[Payer | None]:
    """Around several steps that a payer is charged for: what fails after one of them says what stays charged.

    The payer that it yields is to be charged instead.
    """
    if ledger is None:
        yield None
        return
    paying = Paying(ledger)
    try:
        yield paying
    except EngineError as error:
        if not paying.words():
            raise
        raise error.after(paying.words()) from None
    except BaseException as error:  # interrupts too: they are as they were, with a note
        if paying.words():
            error.add_note(f"{paying.words()} is charged and counts")
        raise


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
