"""Public parameters of naive Bayes and Priestley-Chao that cannot be, said in words that users know."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError

LINE, ONE = sf.Box({"x": (0, 1)}), sf.Privacy(epsilon=1.0)
X = np.random.default_rng(1).uniform(size=(200, 1))


def test_undeclared_classes():
    with pytest.raises(ParameterError, match=r"classes=\[...\]"):
        sf.NaiveBayes("ill")


def test_many_classes():
    target = sf.NaiveBayes("y", list(range(600)), likelihood="normal")
    assert sf.release(target, (X, np.rint(X[:, 0] * 599)), LINE, ONE).predict([0.5]).shape == (1,)


def test_bases_that_users_have():
    with pytest.raises(ParameterTypeError, match=r"sf\.Bernstein or sf\.Step"):
        sf.release(sf.PriestleyChao(0.1, range=(0, 1)), (X, X[:, 0]), LINE, ONE, basis=sf.Binning(9))
    with pytest.raises(ParameterTypeError, match="basis='auto'"):
        sf.release(sf.NaiveBayes("y", [0, 1]), (X, X[:, 0]), LINE, ONE, basis=sf.Binning(9))
