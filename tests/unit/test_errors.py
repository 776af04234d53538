"""The exception tree: one base, and the built-in exceptions that people expect to catch."""

import inspect
import warnings

import pytest

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
}


CLASSES = dict(inspect.getmembers(errors, inspect.isclass))


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_has_the_one_base(name):
    assert issubclass(CLASSES[name], errors.SfumatoError)


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
