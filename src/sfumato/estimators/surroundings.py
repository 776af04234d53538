"""What surrounds an estimator: steps that learn from the same private records, without noise and unpaid.

scikit-learn does not tell an estimator who fits it, so ``fit`` looks at who called it. What it says depends on the
steps' types and settings alone, never on a record.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.utils import get_tags

from sfumato.errors import ParameterError, ParameterTypeError, UnpaidLearningWarning

_REMEDY = (
    "use public bounds instead of a fitted scaler, steps that learn nothing, or sklearn.frozen.FrozenEstimator around "
    "a step that was fitted on public data (docs/estimators.md)"
)
# An encoder with given categories learns nothing, but by default it refuses, and prints, values that are none of them.
_QUIET = {OneHotEncoder: "ignore", OrdinalEncoder: "use_encoded_value"}


def check_pipeline(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline, refusing one with a step before the last that learns from the records it is fitted on.

    Steps that learn nothing are known by scikit-learn's tag ``requires_fit=False`` (``FunctionTransformer``,
    ``Normalizer``, ``Binarizer``, ...); ``FrozenEstimator`` and ``PolynomialFeatures`` pass too, and so do encoders
    whose categories are all given and who raise for no value. Pipelines, unions and column transformers are looked
    into. Whether a ``FunctionTransformer`` treats each row alone, and a frozen step was fitted on public data, nobody
    can see.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> check_pipeline(make_pipeline(Normalizer(), "passthrough"))[0]
    Normalizer()
    >>> check_pipeline(make_pipeline(StandardScaler(), "passthrough"))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: ...
    """
    if not isinstance(pipeline, Pipeline):
        raise ParameterTypeError(f"pipeline must be a scikit-learn Pipeline, got {type(pipeline).__name__}")
    learning = _learning_before_the_last(pipeline)
    if learning:
        raise ParameterError(f"{_sentence(learning)}; {_REMEDY}")
    return pipeline


def warn_of_unpaid_learning(estimator: BaseEstimator) -> None:
    """Warn if whoever called ``fit`` learns from the same records: a pipeline's steps, a search, a calibration."""
    who = type(estimator).__name__
    for caller, is_pipeline in _callers(estimator):
        name = type(caller).__name__
        if not is_pipeline:
            said = (
                f"{who}.fit was called by {name}.fit: each such call is a release of its own, and what {name} learns, "
                "scores or chooses by the private records is not covered by release_.guarantee"
            )
        elif learning := _learning_before_the_last(caller):
            said = f"{who}.fit was called by a {name} that voids its guarantee. {_sentence(learning)}; {_REMEDY}"
        else:
            continue
        warnings.warn(said, UnpaidLearningWarning, stacklevel=3)


def _callers(estimator: BaseEstimator) -> Iterator[tuple[Any, bool]]:
    """Pipelines and scikit-learn's other estimators that are being fitted right now, innermost first."""
    frame, seen = inspect.currentframe(), [estimator]
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name.startswith("fit") else None
        if isinstance(caller, BaseEstimator) and not any(caller is known for known in seen):
            seen.append(caller)
            is_pipeline = isinstance(caller, Pipeline)
            if is_pipeline or str(frame.f_globals.get("__name__")).startswith("sklearn."):
                yield caller, is_pipeline
        frame = frame.f_back


def _sentence(learning: list[str]) -> str:
    return f"These steps learn from the private records without noise and are in no guarantee: {', '.join(learning)}"


def _learning_before_the_last(pipeline: Pipeline) -> list[str]:
    return [words for name, step in pipeline.steps[:-1] for words in _learning(name, step)]


def _learning(name: str, step: Any) -> list[str]:
    """The parts of a step that learn from what they are fitted on, in words."""
    parts = _parts(step)
    if parts is not None:
        return [words for inner, part in parts for words in _learning(f"{name}__{inner}", part)]
    return [] if _learns_nothing(step) else [f"{name!r} ({type(step).__name__})"]


def _parts(step: Any) -> list[tuple[str, Any]] | None:
    """What a composite step is made of; None for any other."""
    if isinstance(step, Pipeline):
        return list(step.steps)
    if isinstance(step, FeatureUnion):
        return list(step.transformer_list)
    if isinstance(step, ColumnTransformer):
        return [*((name, part) for name, part, _ in step.transformers), ("remainder", step.remainder)]
    return None


def _learns_nothing(step: Any) -> bool:
    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if isinstance(step, FrozenEstimator) or type(step) is PolynomialFeatures:  # the latter counts columns
        return True
    if type(step) in _QUIET:
        given = not isinstance(step.categories, str) and step.min_frequency is None and step.max_categories is None
        return given and step.handle_unknown == _QUIET[type(step)]
    return isinstance(step, BaseEstimator) and not get_tags(step).requires_fit
