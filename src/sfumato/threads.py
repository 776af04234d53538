"""Small linear algebra on one thread: waking others up costs more than the algebra itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _controller() -> Any:
    return ThreadpoolController()


def one_thread() -> Any:
    """Within this context the BLAS library is held to one thread, for the whole process."""
    return _controller().limit(limits=1, user_api="blas")


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with the BLAS library held to one thread."""

    @wraps(function)
    def held(*args: P.args, **kwargs: P.kwargs) -> R:
        with one_thread():
            return function(*args, **kwargs)

    return held
