"""What every kind of release shares: a guarantee, a noise law, a box, and one file format."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.bases.base import frozen
from sfumato.core.box import Box
from sfumato.core.calibration import NoiseLaw
from sfumato.core.privacy import Guarantee
from sfumato.upwards import UPWARDS


@dataclass(frozen=True)
class Receipt:
    """What the ledger says about the charge for a release, as of that charge, in words.

    ``limit``, ``spent`` and ``left`` are the account's; ``spent`` includes this release. ``hash`` is the head of the
    ledger's chain with the release's entry: whoever keeps the release can tell whether a ledger still has it.
    """

    account: str
    entry: int
    accountant: str
    limit: str
    spent: str
    left: str
    hash: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(ABC):
    """A published, immutable artefact. Nothing in it was derived from the data except noisy coefficients.

    Parameters
    ----------
    guarantee
        What it promises, to whom, on which assumptions.
    law
        The public law of the noise in it.
    target
        What was published, in plain words and public parameters.
    receipt
        The ledger's receipt; None for a release that was not charged to an account.
    """

    kind: ClassVar[str]

    guarantee: Guarantee
    law: NoiseLaw
    target: tuple[tuple[str, str], ...]
    receipt: Receipt | None = None

    @property
    @abstractmethod
    def box(self) -> Box:
        """The public domain."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The numeric content, by name."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The rest of the content of this kind, as plain JSON data."""

    @classmethod
    @abstractmethod
    def rebuild(
        cls, common: dict[str, Any], box: Box, fields: dict[str, Any], arrays: dict[str, NDArray[np.float64]]
    ) -> Self:
        """The inverse of ``arrays`` and ``fields``; ``common`` holds the arguments of this base class."""

    def save(self, path: str | os.PathLike[str], key: Any = None) -> None:
        """Write the release to one file that anybody can ``sf.load``; docs/file-format.md describes it.

        The file is read back before it is put in its place. Should that fail, which is a defect, the release is
        written beside it, and the error says where.

        Parameters
        ----------
        key
            An Ed25519 private key that signs the file: a path to a PEM file, its bytes, or an ``Ed25519PrivateKey``.
            ``sfumato keys new`` makes one. Whoever trusts its public half reads it with ``sf.load(path, trust=...)``.
        """
        UPWARDS["save"](self, path, key)


@dataclass(frozen=True, eq=False, kw_only=True)
class SumsRelease(Release):
    """A release of noisy sums over records.

    Parameters
    ----------
    domain
        The columns that it is about.
    numbers
        The noisy sums (read-only).
    """

    domain: Box
    numbers: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", frozen(self.numbers))

    @property
    def box(self) -> Box:
        return self.domain

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        return {"numbers": self.numbers}
