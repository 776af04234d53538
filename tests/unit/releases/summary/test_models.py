"""Linear and logistic models: their loss from a summary, and fits against direct minimisation on the records."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import sfumato as sf
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.releases.summary.models import nearest_measure
from unit.releases.exact import exact, moments

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60), "bp": (60, 220), "ill": sf.Categorical(["no", "yes"])})
SURE = sf.Privacy(epsilon=1e7)
RNG = np.random.default_rng(21)
ROWS = 800
AGE, BMI = RNG.uniform(10, 100, ROWS), RNG.uniform(15, 50, ROWS)
BP = 90 + 0.5 * AGE + 0.8 * BMI + RNG.uniform(-15, 15, ROWS)
ILL = (RNG.random(ROWS) < 1 / (1 + np.exp(-(AGE - 60) / 15 + (BMI - 30) / 20))).astype(int)
RECORDS = np.stack([AGE, BMI, BP, ILL], axis=1)
LINEAR = sf.Model("linear", "bp", ("age", "bmi"), (0.4, 0.7), 95.0)
LOGISTIC = sf.Model("logistic", "ill", ("age", "bmi"), (0.05, -0.03), -2.0)


@pytest.fixture(scope="module")
def summary():
    return exact(RECORDS, BOX, sf.Cosines((12, 12, 3, 2)), SURE)


def logistic_loss(weights, columns, labels):
    return np.logaddexp(0, -(2 * labels - 1) * (weights[0] + columns @ weights[1:])).mean()


# --- models -----------------------------------------------------------------------------------------------------


def test_models_predict():
    points = np.array([[40.0, 30.0], [80.0, 20.0]])
    assert LINEAR.predict(points).tolist() == pytest.approx([132.0, 141.0])
    assert LOGISTIC.predict(points) == pytest.approx(1 / (1 + np.exp(-(-2 + points @ [0.05, -0.03]))))
    steep = sf.Model("logistic", "ill", ("age",), (1e6,), 0.0)
    assert steep.predict([[1.0], [-1.0]]) == pytest.approx([1.0, 0.0])
    assert sf.Model("linear", "bp", ["age"], np.array([2.0]), 1).coefficients == (2.0,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ridge", "bp", ("age",), (1.0,), 0.0), "kind must be one of 'linear', 'logistic', got kind='ridge'"),
        (("linear", "bp", "age", (1.0,), 0.0), "columns must be a list"),
        (("linear", "bp", ("age",), 1.0, 0.0), "coefficients must be a list"),
        (("linear", "bp", (), (), 0.0), "columns must be a list, one entry for each column"),
        (("linear", "bp", ("age",), (1.0, 2.0), 0.0), "1 columns and 2 coefficients"),
        (("linear", "bp", ("age",), (math.nan,), 0.0), "a coefficient must be finite"),
        (("linear", "bp", ("age",), (1.0,), math.inf), "intercept must be finite"),
        (("linear", "bp", ("age",), (1.0,), "0"), "intercept must be a number"),
    ],
)
def test_models_must_make_sense(arguments, words):
    with pytest.raises((ParameterError, ParameterTypeError), match=words):
        sf.Model(*arguments)


@pytest.mark.parametrize("points", [[40.0, 30.0], [[1.0]], np.zeros((2, 3))])
def test_points_must_have_the_models_columns(points):
    with pytest.raises(ParameterError, match=r"points must have shape \(m, 2\)"):
        LINEAR.predict(points)


# --- losses -----------------------------------------------------------------------------------------------------


def test_the_loss_of_a_linear_model_is_exact(summary):
    found = summary.loss(LINEAR)
    assert found.value == pytest.approx(((BP - LINEAR.predict(RECORDS[:, :2])) ** 2).mean())
    assert found.approximation == 0.0
    single = sf.Model("linear", "bmi", ("bp",), (0.1,), 5.0)
    assert summary.loss(single).value == pytest.approx(((BMI - 5 - 0.1 * BP) ** 2).mean())


@pytest.mark.parametrize("categories", [["no", "yes"], [0, 1], [7, 3]])
def test_the_loss_of_a_logistic_model_is_that_of_its_second_category(categories):
    box = sf.Box({"age": (0, 110), "bmi": (10, 60), "ill": sf.Categorical(categories)})
    found = exact(RECORDS[:, [0, 1, 3]], box, sf.Cosines(12), SURE).loss(LOGISTIC)
    truth = logistic_loss(np.array([-2, 0.05, -0.03]), RECORDS[:, :2], ILL)
    assert abs(found.value - truth) <= found.approximation + 1e-6
    assert found.value == pytest.approx(truth, abs=1e-3)


def test_losses_refuse_what_they_cannot_be(summary):
    with pytest.raises(ParameterTypeError, match=r"model must be an sf\.Model, got 'linear'"):
        summary.loss("linear")
    with pytest.raises(ParameterError, match="column 'height' is unknown"):
        summary.loss(sf.Model("linear", "bp", ("height",), (1.0,), 0.0))
    with pytest.raises(ParameterError, match="column 'ill' is categorical"):
        summary.loss(sf.Model("linear", "ill", ("age",), (1.0,), 0.0))
    with pytest.raises(ParameterError, match="two categories, column 'bp' has not"):
        summary.loss(sf.Model("logistic", "bp", ("age",), (1.0,), 0.0))
    with pytest.raises(ParameterError, match="column 'height' is unknown"):
        summary.loss(sf.Model("logistic", "height", ("age",), (1.0,), 0.0))


# --- fits -------------------------------------------------------------------------------------------------------


def direct(columns, response):
    """Least squares on the records."""
    design = np.column_stack([np.ones(len(columns)), columns])
    found = np.linalg.lstsq(design, response, rcond=None)[0]
    return found[0], found[1:]


def test_a_linear_fit_is_that_of_least_squares(summary):
    model = summary.fit("bp", ["age", "bmi"])
    intercept, slopes = direct(RECORDS[:, :2], BP)
    assert model.coefficients == pytest.approx(slopes, rel=1e-6)
    assert model.intercept == pytest.approx(intercept, rel=1e-6)
    assert (model.kind, model.response, model.columns) == ("linear", "bp", ("age", "bmi"))
    assert summary.fit("bp").columns == ("age", "bmi")  # categories are left out by default
    assert summary.loss(model).value <= summary.loss(LINEAR).value


def test_a_linear_fit_through_the_whole_line():
    box = sf.Box({"age": (0, 110), "bmi": (10, 60), "bp": (60, 220)})
    noisy = sf.summarize(RECORDS[:, :3], box, sf.Privacy(epsilon=1e9), degree=3)
    intercept, slopes = direct(RECORDS[:, :2], BP)
    model = noisy.fit("bp")
    assert model.coefficients == pytest.approx(slopes, abs=2e-3)
    assert model.intercept == pytest.approx(intercept, abs=0.2)


def test_a_ridge_shrinks_slopes_of_scaled_columns(summary):
    half, ridge = np.array([55.0, 25.0]), 0.05
    scaled = RECORDS[:, :2] / half
    spread = np.cov(scaled.T, bias=True) + ridge * np.eye(2)
    along = np.array([np.cov(column, BP, bias=True)[0, 1] for column in scaled.T])
    model = summary.fit("bp", ["age", "bmi"], ridge=ridge)
    assert model.coefficients == pytest.approx(np.linalg.solve(spread, along) / half, rel=1e-9)
    assert model.predict(RECORDS[:, :2]).mean() == pytest.approx(BP.mean())


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_hopeless_noise_gives_a_modest_model(epsilon):
    box = sf.Box([(0, 110), (10, 60), (60, 220)])
    model = sf.summarize(RECORDS[:20, :3], box, sf.Privacy(epsilon=epsilon), degree=3).fit("x2")
    assert np.isfinite([*model.coefficients, model.intercept]).all()


def test_a_logistic_fit_is_that_of_direct_minimisation(summary):
    model = summary.fit("ill", ["age", "bmi"], "logistic")
    middle, half = np.array([55.0, 35.0]), np.array([55.0, 25.0])
    scaled = (RECORDS[:, :2] - middle) / half
    best = minimize(logistic_loss, np.zeros(3), (scaled, ILL), tol=1e-10)
    own = np.array([model.intercept, *model.coefficients])
    assert logistic_loss(own, RECORDS[:, :2], ILL) <= best.fun + 1e-4
    assert np.array(model.coefficients) * half == pytest.approx(best.x[1:], abs=0.05)
    assert model.kind == "logistic"


def test_a_logistic_fit_of_one_column_through_the_whole_line():
    box = sf.Box({"age": (0, 110), "ill": sf.Categorical([0, 1])})
    noisy = sf.summarize(RECORDS[:, [0, 3]], box, sf.Privacy(epsilon=1e8), degree=16)
    model = noisy.fit("ill", kind="logistic")
    best = minimize(logistic_loss, np.zeros(2), ((RECORDS[:, :1] - 55) / 55, ILL), tol=1e-10)
    assert logistic_loss(np.array([model.intercept, *model.coefficients]), RECORDS[:, :1], ILL) <= best.fun + 1e-4


def test_the_nearest_measure_has_the_moments(summary):
    axes, measure = nearest_measure(summary, (0, 3))
    assert measure.min() >= 0 and measure.sum() == pytest.approx(1.0)
    found = np.cos(np.outer(np.arange(12), np.arccos(axes[0].nodes))) @ measure @ np.array([[1, 1], [1, -1]])
    frequencies = [(a, 0, 0, b) for a in range(12) for b in range(2)]
    assert found.ravel() == pytest.approx(moments(RECORDS, BOX, frequencies), abs=5e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"response": "height"}, "column 'height' is unknown"),
        ({"response": "bp", "columns": ["age", "height"]}, "column 'height' is unknown"),
        ({"response": "bp", "columns": ["age", "bp"]}, r"the response 'bp' must not be among the columns"),
        ({"response": "bp", "kind": "probit"}, "kind must be one of 'linear', 'logistic'"),
        ({"response": "bp", "columns": ["ill"]}, "column 'ill' is categorical"),
        ({"response": "ill"}, "column 'ill' is categorical"),
        ({"response": "bp", "columns": ["age"], "kind": "logistic"}, "two categories, column 'bp' has not"),
        ({"response": "bp", "ridge": 0.0}, "ridge must be positive"),
        ({"response": "bp", "columns": []}, "columns must be different names, one or more"),
    ],
)
def test_fits_refuse_what_cannot_be(summary, arguments, words):
    with pytest.raises(ParameterError, match=words):
        summary.fit(**arguments)


def test_a_logistic_fit_has_few_columns():
    box = sf.Box({**{f"x{i}": (0, 1) for i in range(4)}, "ill": sf.Categorical(["no", "yes"])})
    records = np.column_stack([RNG.random((50, 4)), RNG.integers(0, 2, 50)])
    wide = exact(records, box, sf.Cosines(3))
    with pytest.raises(ParameterError, match="at most 4 columns with the response, got 5: name fewer columns"):
        wide.fit("ill", kind="logistic")
    assert wide.fit("ill", ["x0", "x1"], "logistic").columns == ("x0", "x1")
