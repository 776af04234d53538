"""Optional dependencies, imported only when something asks for them."""

from __future__ import annotations

from functools import cache
from importlib import import_module, metadata
from typing import Any

from sfumato.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import a module, or say which extra of sfumato installs it.

    Parameters
    ----------
    module
        Its full name, such as ``"matplotlib.figure"``.
    extra
        The name in ``pip install 'sfumato[...]'``.

    >>> need("math", "plot").sqrt(4.0)
    2.0
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is there and something in it is broken: hide nothing
            raise
        message = f"{package} is not installed; pip install 'sfumato[{extra}]'"
        raise MissingExtraError(message, name=package) from None


def need_version(package: str, extra: str, least: tuple[int, ...]) -> Any:
    """Import a package, or say which extra installs it, or which version of it there is and which is needed.

    Parameters
    ----------
    package, extra
        As for ``need``.
    least
        The first version that will do, such as ``(4, 0)``.
    """
    found = need(package, extra)
    there = _version(package)
    numbers = tuple(int(part) for part in there.split(".")[: len(least)] if part.isdecimal())
    if numbers < least:
        wanted = ".".join(map(str, least))
        message = f"{package} {wanted} or later is needed, got {there}; pip install 'sfumato[{extra}]'"
        raise MissingExtraError(message, name=package)
    return found


@cache
def _version(package: str) -> str:
    """What is installed, looked up once: its file takes longer to read than a charge to a ledger takes in all."""
    return metadata.version(package)
