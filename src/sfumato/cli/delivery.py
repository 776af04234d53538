"""What follows a charge: the release is written first, and nothing that fails later takes it along.

Whatever can be refused is refused before anything is spent. What still goes wrong afterwards (a disk that is full, a
folder that has gone, a picture) is told in one line that says that the release was published, and where it is.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import typer

from sfumato.cli.failures import report_failure, report_warning, words
from sfumato.cli.options import settings
from sfumato.cli.output import working
from sfumato.errors import InterruptedReleaseError, SfumatoError, UnreadableReleaseError
from sfumato.steps import step

_ELSEWHERE = ("/var/tmp", "/dev/shm")  # noqa: S108 in a folder of its own, which only its owner reads


class DeliveryError(SfumatoError):
    """A release was published, and something that was to come with it failed."""


class Delivery:
    """A release that was paid for, and what became of it.

    Parameters
    ----------
    asked
        Where it was to be written.
    key
        What signs it, if anything does.
    """

    def __init__(self, ctx: typer.Context, release: Any, asked: Path, key: Any = None) -> None:
        self.ctx, self.release, self.asked, self.key = ctx, release, asked, key
        self.place: Path | None = None
        self.failed: list[str] = []

    @classmethod
    def of(cls, ctx: typer.Context, make: Callable[[], Any], asked: Path, key: Any = None) -> Self:
        """Make a release and write it before anything else; an interrupt after the charge waits for both.

        Parameters
        ----------
        make
            Publishes it.
        """
        stopped: KeyboardInterrupt | None = None
        try:
            release = make()
        except InterruptedReleaseError as error:
            stopped = error
            told = "interrupted, but paid for: it is written first; interrupt again to lose it"
            report_warning(told, settings(ctx).json)
            release = error.finish()
        except KeyboardInterrupt as error:
            for note in getattr(error, "__notes__", ()):
                report_warning(note, settings(ctx).json)
            raise
        step(f"writing {asked.name}")
        delivery = cls(ctx, release, asked, key)
        try:
            delivery.save()
        except KeyboardInterrupt as error:
            stopped = error
            delivery.save()  # once more: writing is quick, and what it writes in one go
        if stopped is not None:
            report_failure(delivery.whereabouts(), settings(ctx).json)
            raise stopped
        return delivery

    def save(self) -> Path:
        """Write the release where it was to go, or wherever there is room; returns where it was to go or is."""
        with working(self.ctx, f"writing {self.asked.name}"):
            try:
                self._save(self.asked)
            except UnreadableReleaseError as error:  # which says where it is
                self.failed.append(str(error))
            except Exception as error:
                self.failed.append(f"{self.asked} could not be written ({_why(error)}){self._elsewhere()}")
        return self.place or self.asked

    def _save(self, path: Path) -> None:
        self.release.save(path, self.key)
        self.place = path

    def _elsewhere(self) -> str:
        """Write it where there may still be room; says where."""
        folders = [tempfile.gettempdir(), *_ELSEWHERE, str(Path.home())]
        for folder in filter(os.path.isdir, dict.fromkeys(folders)):
            try:
                own = tempfile.mkdtemp(prefix="sfumato-", dir=folder)
            except OSError:
                continue
            try:
                self._save(Path(own) / self.asked.name)
            except UnreadableReleaseError as error:
                return f", and {error}"
            except Exception:  # the next folder may do
                with suppress(OSError):
                    os.rmdir(own)
                continue
            return ": move it to a safe place"
        return f", nor in {', '.join(folders)}: it is lost, and what was spent for it stays spent"

    @contextmanager
    def step(self, what: str, command: str | None = None) -> Iterator[None]:
        """Do something with the release; should it fail, say so at the end, and how to do it again for nothing."""
        try:
            yield
        except KeyboardInterrupt:
            report_failure(self.whereabouts(), settings(self.ctx).json)
            raise
        except Exception as error:
            again = "" if command is None or self.place is None else f"; try {shlex.join(self._again(command))!r}"
            self.failed.append(f"{what} failed: {_why(error)}{again}")

    def _again(self, command: str) -> list[str]:
        return ["sfumato", command, str(self.place)]

    def whereabouts(self) -> str:
        """That there is a release, and where."""
        return "the release was published" + ("" if self.place is None else f" and is in {self.place}")

    def finish(self) -> None:
        """Leave with an error if anything failed."""
        if self.failed:
            raise DeliveryError(f"{self.whereabouts()}, it need not be paid for again; but {'; '.join(self.failed)}")


def _why(error: Exception) -> str:
    said = words(error)
    return said if isinstance(error, SfumatoError | OSError) else f"{type(error).__name__}: {said}"
