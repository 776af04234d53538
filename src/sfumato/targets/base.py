"""What every target offers to the pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod

from sfumato.bases.base import LatticeBasis
from sfumato.bases.smoothness import Smoothness
from sfumato.core.box import Box
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private
from sfumato.core.privacy import Privacy
from sfumato.engines.memory import Engine
from sfumato.engines.tables import Columns, Table


class Target(ABC):
    """A function of private data that is to be published.

    A target is immutable configuration: the data come as an argument, touch ``coefficients`` only, and leave
    it inside a ``Private`` vector whose certificate the target has proved.
    """

    smoothness: Smoothness | None = None
    largest: float | None = None  # a public bound on the size of every value, where there is one
    columns: Columns = None

    @abstractmethod
    def choose_basis(self, box: Box, n: int | None, privacy: Privacy) -> LatticeBasis:
        """A basis picked from public quantities only."""

    @abstractmethod
    def certificate(self, basis: LatticeBasis, box: Box, n: int | None, privacy: Privacy) -> Certificate:
        """How far neighbours can move the coefficients: at most 20 lines, with a page in ``docs/proofs/``."""

    @abstractmethod
    def coefficients(
        self, table: Table, basis: LatticeBasis, box: Box, certificate: Certificate, engine: Engine
    ) -> Private:
        """The private coefficients, sealed. Nothing here may raise because of the records' values."""

    @abstractmethod
    def describe(self) -> tuple[tuple[str, str], ...]:
        """What is published, in plain words and public parameters, for the release."""
