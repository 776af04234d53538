"""A classifier that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.checks import one_of
from sfumato.cli.publishing import Order, check_names
from sfumato.errors import ParameterError

_LOSSES = ("logistic", "hinge", "smoothed-hinge")
_FEW = 3  # columns on which a kernel of distances can bend as the data do


def kernel_of(kernel: str | None, gamma: float | None, box: sf.Box) -> Any:
    """The kernel of ``--kernel`` and ``--gamma``; by default an RBF for few columns, else a linear one."""
    named = kernel or ("rbf" if box.dimension <= _FEW else "linear")
    one_of("kernel", named, ("rbf", "matern", "polynomial", "linear"))
    if gamma is None:
        return named
    if named == "rbf":
        return sf.RBF(gamma)
    if named == "polynomial":
        return sf.Polynomial(gamma=gamma)
    why = "" if kernel else f", which is the default for more than {_FEW} columns"
    raise ParameterError(f"--gamma goes with --kernel rbf or polynomial, not with {named}{why}")


def strength_of(text: str) -> float | str:
    """The value of ``--C``."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--C must be auto or a positive number, got {text!r}") from None


def machine_order(
    data: Path, box: sf.Box, privacy: sf.Privacy, landmarks: int | None, settings: dict[str, Any]
) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.KernelMachine``.
    """
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--label"}, privacy)
    one_of("loss", settings["loss"], _LOSSES)
    target = sf.KernelMachine(**settings)
    target.check_box(box)
    basis: Any = "auto"
    if landmarks is not None:
        if isinstance(target.kernel, sf.LinearKernel):
            raise ParameterError("--landmarks goes with other kernels: a linear one is published by its slopes")
        basis = sf.Landmarks(landmarks)
        target.check_basis(basis, box)
    target.settled(box, None, privacy, basis)  # what cannot be combined is refused here already
    return Order(data, box, privacy, basis, target)
