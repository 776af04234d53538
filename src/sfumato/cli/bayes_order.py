"""A naive Bayes classifier that was asked for, checked as far as public parameters go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.cli.publishing import Order, check_names


def bayes_order(data: Path, box: sf.Box, privacy: sf.Privacy, settings: dict[str, Any]) -> Order:
    """Refuse what cannot work, naming the option, before anything is read or spent.

    Parameters
    ----------
    settings
        Of ``sf.NaiveBayes``.
    """
    check_names(data, {**dict.fromkeys(box.names, "--column"), settings["response"]: "--label"}, privacy)
    target = sf.NaiveBayes(**settings)
    target.check_box(box)
    return Order(data, box, privacy, "auto", target)
