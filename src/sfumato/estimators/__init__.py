"""Estimators that follow scikit-learn's conventions, for code that already speaks them.

Every ``fit`` is a release and spends privacy budget; see docs/estimators.md before cross-validating anything.
"""

from __future__ import annotations

from sfumato.extras import need

need("sklearn", "estimators")  # says which extra is missing

from sfumato.estimators.bayes import PrivateNaiveBayes  # noqa: E402
from sfumato.estimators.classifiers import PrivateKernelClassifier, PrivateLogisticRegression  # noqa: E402
from sfumato.estimators.density import PrivateKernelDensity  # noqa: E402
from sfumato.estimators.expectations import EXPECTED_FAILED_CHECKS  # noqa: E402
from sfumato.estimators.regressors import PrivateKernelRegressor, PrivateRidge  # noqa: E402
from sfumato.estimators.smoother import PrivateKernelSmoother  # noqa: E402
from sfumato.estimators.surroundings import check_pipeline  # noqa: E402

__all__ = [
    "EXPECTED_FAILED_CHECKS",
    "PrivateKernelClassifier",
    "PrivateKernelDensity",
    "PrivateKernelRegressor",
    "PrivateKernelSmoother",
    "PrivateLogisticRegression",
    "PrivateNaiveBayes",
    "PrivateRidge",
    "check_pipeline",
]
