"""The exception tree: one base, and the built-in exceptions that people expect to catch."""

import copy
import inspect
import pickle
import warnings

import pytest

import sfumato as sf
from sfumato import errors

TREE = {
    "SfumatoError": (Exception,),
    "ParameterError": (errors.SfumatoError, ValueError),
    "ParameterTypeError": (errors.ParameterError, TypeError),
    "OutsideBoxError": (errors.ParameterError,),
    "SchemaError": (errors.SfumatoError, ValueError),
    "FileFormatError": (errors.SfumatoError, ValueError),
    "PrivateDataError": (errors.SfumatoError, TypeError),
    "MissingExtraError": (errors.SfumatoError, ImportError),
    "UnpaidLearningWarning": (errors.SfumatoError, UserWarning),
    "RandomPrivacyWarning": (errors.SfumatoError, UserWarning),
    "NothingThereWarning": (errors.SfumatoError, UserWarning),
    "RehearsalError": (errors.ParameterError,),
}


CLASSES = {
    name: kind for name, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
}


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_has_the_one_base(name):
    """But for an interrupt, which ``except Exception`` must not swallow."""
    base = KeyboardInterrupt if name == "InterruptedReleaseError" else errors.SfumatoError
    assert issubclass(CLASSES[name], base) and issubclass(CLASSES[name], Exception) == (base is not KeyboardInterrupt)


@pytest.mark.parametrize("name", TREE)
def test_every_error_stands_where_the_tree_says(name):
    assert getattr(errors, name).__bases__ == TREE[name]


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_is_drawn_in_the_docstring(name):
    assert name in errors.__doc__


@pytest.mark.parametrize("name", ["UnpaidLearningWarning", "RandomPrivacyWarning"])
def test_warnings_can_be_filtered_and_turned_into_errors(name):
    kind = CLASSES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kind)
        warnings.warn("quiet", kind, stacklevel=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.RandomPrivacyWarning)
        warnings.simplefilter("error", errors.UnpaidLearningWarning)
        with pytest.raises(errors.SfumatoError, match="loud"):
            warnings.warn("loud", kind, stacklevel=1)


@pytest.mark.parametrize("kind", [errors.ParameterError, errors.ParameterTypeError, errors.OutsideBoxError])
def test_a_refusal_knows_its_parameter(kind):
    error = kind.of("bandwidth", "must be positive, got bandwidth=-1")
    assert str(error) == "bandwidth must be positive, got bandwidth=-1"
    assert error.parameter == "bandwidth" and kind("something").parameter is None
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.parameter) == (kind, str(error), "bandwidth")


@pytest.mark.parametrize(
    ("parameter", "made"),
    [
        ("epsilon", lambda: sf.Privacy(epsilon=-1)),
        ("delta", lambda: sf.Privacy(epsilon=1, delta=2)),
        ("neighbours", lambda: sf.Privacy(epsilon=1, neighbours="x")),
        ("bandwidth", lambda: sf.KDE(-1)),
        ("bandwidth", lambda: sf.KDE(200.0).check_box(sf.Box({"age": (0, 110)}))),
        ("expected_rows", lambda: sf.KDE(expected_rows=0)),
        ("C", lambda: sf.KernelMachine("logistic", response="ill", classes=(0, 1), C=-1)),
        ("candidates", lambda: sf.Tuned([1])),
        ("points", lambda: sf.Binning(1)),
        ("degree", lambda: sf.CosineMoments(degree=0)),
        ("probabilities", lambda: sf.Statistic("mean", "age", probabilities=[0.5])),
        ("lattice", lambda: sf.local.Density(sf.Box({"age": (0, 110)}), 1.0, lattice=1)),
    ],
)
def test_the_culprit_is_named(parameter, made):
    with pytest.raises(errors.ParameterError) as caught:
        made()
    assert caught.value.parameter == parameter
