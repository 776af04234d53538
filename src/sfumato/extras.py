"""Optional dependencies, imported only when something asks for them."""

from __future__ import annotations

from importlib import import_module
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
