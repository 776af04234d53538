"""Every exception sfumato raises on purpose.

The tree::

    SfumatoError
    ├── ParameterError (ValueError)          a public parameter is out of its allowed range
    │   ├── ParameterTypeError (TypeError)   a public parameter has the wrong type
    │   ├── OutsideBoxError                  points lie outside the public box
    │   └── RehearsalError                   a function of the caller's failed on made-up records; nothing was spent
    ├── SchemaError (ValueError)             the table lacks a column, or a column has the wrong type
    ├── FileFormatError (ValueError)         a file is not a release this version can read
    ├── UnreadableReleaseError               a release was written beside its place: it cannot be read back
    ├── MissingFileError (FileFormatError, SchemaError, FileNotFoundError)   there is no such file
    ├── PrivateDataError (TypeError)         private numbers were about to leave through a side door
    ├── MissingExtraError (ImportError)      an optional dependency is not installed
    ├── EngineError                          a cluster could not add records up; nothing was released
    ├── UnpaidLearningWarning (UserWarning)  warned of, not raised: something else learns from the private records
    ├── RandomPrivacyWarning (UserWarning)   warned of, not raised: the guarantee rests on a sampled sensitivity
    ├── NothingThereWarning (UserWarning)    warned of, not raised: what was released seems to tell of no record
    └── LedgerError                          the ledger cannot be read or written, or refuses a charge
        └── BudgetExceededError              the account has not enough left; nothing was released

    KeyboardInterrupt
    └── InterruptedReleaseError              interrupted after the noise was drawn: its finish() returns the release

None of them ever depends on the *values* of private records: an error is an output, and outputs
must be differentially private. Only schema and public parameters raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self


class SfumatoError(Exception):
    """Base class of every deliberate error."""


class ParameterError(SfumatoError, ValueError):
    """A public parameter is out of its allowed range; ``parameter`` is its name, where one is at fault.

    >>> ParameterError.of("bandwidth", "must be positive, got bandwidth=-1")
    ParameterError('bandwidth must be positive, got bandwidth=-1')
    >>> ParameterError("bandwidth=-1 is not positive", parameter="bandwidth").parameter
    'bandwidth'
    """

    def __init__(self, *words: object, parameter: str | None = None) -> None:
        super().__init__(*words)
        self.parameter = parameter

    @classmethod
    def of(cls, parameter: str, words: str) -> Self:
        """The error that says of a parameter, in these words, what is wrong with it."""
        return cls(f"{parameter} {words}", parameter=parameter)


class ParameterTypeError(ParameterError, TypeError):
    """A public parameter has the wrong type."""


class OutsideBoxError(ParameterError):
    """Points lie outside the public box."""


class RehearsalError(ParameterError):
    """A function of the caller's failed on made-up records, before anything was spent."""


class SchemaError(SfumatoError, ValueError):
    """The table lacks a column, or a column has the wrong type."""


class FileFormatError(SfumatoError, ValueError):
    """A file is not a release that this version of sfumato can read."""


class UnreadableReleaseError(SfumatoError):
    """A release was written, beside its place, and cannot be read back: a defect of sfumato, and nothing is lost."""


class MissingFileError(FileFormatError, SchemaError, FileNotFoundError):
    """There is no such file."""


class PrivateDataError(SfumatoError, TypeError):
    """Private numbers were about to leave through a side door."""


class MissingExtraError(SfumatoError, ImportError):
    """An optional dependency is not installed."""


NOTHING_LOST = "nothing was released, and nothing was charged"


class EngineError(SfumatoError):
    """A cluster, or what it runs on, could not add records up: nothing was released, and nothing was charged.

    Where a step before it was charged already, it says which.
    """

    def after(self, charged: str) -> Self:
        """The same error where something was charged before it.

        >>> print(EngineError(f"no memory: {NOTHING_LOST}").after("entry 3 of account 'clinic'"))
        no memory: nothing was released, but entry 3 of account 'clinic' is charged and counts
        """
        said = str(self).replace(NOTHING_LOST, f"nothing was released, but {charged} is charged and counts")
        return type(self)(said)


class InterruptedReleaseError(KeyboardInterrupt):
    """An interrupt came after the noise was drawn: what was granted is spent, and ``finish()`` returns the release.

    All that is left to do has public numbers to go by: it may be done now, later or more than once, at no further cost.
    """

    def __init__(self, paid: str, finish: Callable[[], Any]) -> None:
        super().__init__(f"interrupted after the noise was drawn{paid}: finish() of this error returns the release")
        self.finish = finish


class UnpaidLearningWarning(SfumatoError, UserWarning):  # noqa: N818 it is warned with
    """Something around an estimator learns from the private records, and no guarantee covers it: a warning."""


class RandomPrivacyWarning(SfumatoError, UserWarning):  # noqa: N818 it is warned with
    """A guarantee rests on a sampled sensitivity, and the grant did not say that it may: a warning."""


class NothingThereWarning(SfumatoError, UserWarning):  # noqa: N818 it is warned with
    """By public numbers alone, what is released seems to tell of no record, or not to depend on any: a warning.

    ``release`` is what was paid for, if anything was: where warnings are errors, it is not lost.
    """

    def __init__(self, words: str, release: object = None) -> None:
        super().__init__(words)
        self.release = release


class LedgerError(SfumatoError):
    """The ledger cannot be read or written, or refuses a charge."""


class BudgetExceededError(LedgerError):
    """The account has not enough left; nothing was released."""
