"""Linear models by their usual names: kernel machines with a linear kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.bases.machine.kernels import LinearKernel
from sfumato.errors import ParameterError
from sfumato.targets.machine.machine import KernelMachine


def LogisticRegression(  # noqa: N802 a target, and named as one
    C: float | str = "auto",  # noqa: N803
    *,
    response: str = "label",
    classes: Sequence[Any] | None = None,
    constant: float | None = None,
    **settings: Any,
) -> KernelMachine:
    """Publish a logistic regression of the declared classes; more than two are told apart one against the rest.

    ``C`` multiplies the mean loss. The intercept is the logit of the classes' shares (``prior``) and the weight of a
    constant feature of value ``constant``, which is penalised like the others: 0 leaves it out, None chooses it by the
    box. Other settings are those of ``sf.KernelMachine``.

    >>> LogisticRegression(response="ill", classes=["no", "yes"]).loss
    logistic
    """
    _refuse_intercepts(settings)
    kernel = "linear" if constant is None else LinearKernel(constant)
    return KernelMachine("logistic", kernel, C, response, classes, **settings)


def Ridge(  # noqa: N802
    C: float | str = "auto",  # noqa: N803
    *,
    response: str = "value",
    range: tuple[float, float] | None = None,
    constant: float = 1.0,
    **settings: Any,
) -> KernelMachine:
    """Publish a linear regression with a squared loss and a quadratic penalty, of a response within a declared range.

    Where noise in the objective is predicted to serve better, a smoothed Huber loss stands in for the squared one,
    whose slope has no bound; the release says so.

    >>> Ridge(response="bp", range=(60, 220)).loss
    squared
    """
    _refuse_intercepts(settings)
    return KernelMachine("squared", LinearKernel(constant), C, response, None, range, **settings)


def _refuse_intercepts(settings: dict[str, Any]) -> None:
    for name in ("intercept", "fit_intercept"):
        if name in settings:
            raise ParameterError(
                f"an intercept that is not penalised has no bounded sensitivity, got {name}={settings[name]!r}; it is "
                "the weight of a constant feature instead: constant=1.0, or 0 to leave it out"
            )
