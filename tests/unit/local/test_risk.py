"""Mean losses from reports: what a device tells, what comes out, and what is refused."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import expit

import sfumato as sf
from sfumato.bases.smooth_losses import SMOOTH
from sfumato.errors import ParameterError, ParameterTypeError
from sfumato.local.records import read_records, within

YESNO = sf.Categorical(["no", "yes"])
BOX = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": YESNO})
PAY = sf.Box({"age": (20, 60), "pay": (0, 100)})
WEIGHTS = sf.Box({"age": (-2, 2), "intercept": (-1, 1)})
RECORDS = [[40, 40, "yes"], [20, 80, "no"], [1e9, None, "maybe"], [np.nan, -np.inf, None]]


def asked(box=BOX, loss="logistic", parameters=WEIGHTS, **options):
    return sf.local.RiskMinimization(
        box, 1.0, loss, parameters, **{"lattice": 5, "degree": 3, "response": "rich", "seed": 3, **options}
    )


def told(protocol, records=RECORDS, users=None):
    columns = within(protocol.box, read_records(protocol.box, records))
    users = np.arange(len(records), dtype=np.uint64) if users is None else users
    return protocol.answers(columns, users)


def collected(protocol, records):
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


def people(count, seed=1):
    """One column, and who is rich by the logistic law with slope 1.2 on [-1, 1]."""
    generator = np.random.default_rng(seed)
    age = generator.uniform(20, 60, count)
    rich = generator.random(count) < expit(1.2 * (age - 40) / 20)
    return np.column_stack([age, np.full(count, 40.0), rich])


NUMBERS = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": sf.Categorical([0, 1])})


# --- what a device tells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH)
def test_answers_by_hand(loss):
    """Everybody's loss at every lattice point, as a share of its range; the middle stands in for what is missing."""
    protocol = asked(loss=loss, randomizer="laplace")
    low, high = protocol.range
    rows = low + (high - low) * told(protocol)
    for row, age, y in zip(rows, (0.0, -1.0, 1.0, 0.0), (1, -1, -1, -1), strict=True):
        scores = protocol.points @ [age, 1.0]
        values = {
            "logistic": np.log1p(np.exp(-y * scores)),
            "squared": (scores - y) ** 2,
            "huber": np.sqrt(1 + (scores - y) ** 2) - 1,
            "smoothed-hinge": 0.5 * np.log1p(np.exp((1 - y * scores) / 0.5)),
        }
        assert row == pytest.approx(values[loss])
    each = [told(asked(loss=loss), [record], np.array([7], dtype=np.uint64)) for record in RECORDS]
    question = int(asked().asked(np.array([7], dtype=np.uint64))[0])
    assert np.concatenate(each) == pytest.approx((rows[:, question] - low) / (high - low))


def test_the_lattice_is_of_chebyshev_points_or_even():
    nodes = (1 - np.cos(np.pi * (np.arange(5) + 0.5) / 5)) / 2
    assert asked().points[::5, 0] == pytest.approx(-2 + 4 * nodes) and asked().points[:5, 1] == pytest.approx(
        -1 + 2 * nodes
    )
    even = asked(lattice=4, bernstein=2).points
    assert even[:4, 1] == pytest.approx([-1, -1 / 3, 1 / 3, 1]) and len(even) == 16


def test_a_range_of_its_own_holds_all_that_a_loss_can_be():
    for loss in SMOOTH:
        answers = told(asked(loss=loss, randomizer="laplace", lattice=40, degree=3), [[60, 0, "yes"], [20, 0, "yes"]])
        assert answers.min() >= 0.0 and answers.max() <= 1.0
        # Nearly attained at a corner of the lattice, of the squared loss nearly at its bottom too.
        assert answers.max() > 0.95 and answers.min() < 0.05
    clipped = asked(range=(0.5, 1.0), randomizer="laplace")
    assert set(told(clipped).ravel()) >= {0.0, 1.0}


def test_a_numeric_response_and_a_column_called_intercept():
    protocol = sf.local.RiskMinimization(
        PAY, 1.0, "squared", sf.Box({"age": (-1, 1)}), lattice=3, degree=2, response="pay", randomizer="laplace"
    )
    low, high = protocol.range
    assert (low, high) == (0.0, 4.0)
    assert 4 * told(protocol, [[60, 25]])[0] == pytest.approx((protocol.points[:, 0] + 0.5) ** 2)
    named = sf.Box({"intercept": (0, 2), "rich": YESNO})
    own = sf.local.RiskMinimization(
        named,
        1.0,
        "squared",
        sf.Box({"intercept": (-1, 1)}),
        lattice=3,
        degree=2,
        response="rich",
        randomizer="laplace",
    )
    assert 4 * told(own, [[2, "yes"]])[0] == pytest.approx((own.points[:, 0] - 1) ** 2)


# --- a loss of the caller's -----------------------------------------------------------------------------------------


def cubic(weights, record):
    return float(weights[0] * record[0] / 60 + weights[1] ** 2)


def test_a_loss_of_ones_own_is_attached_on_both_sides(tmp_path):
    protocol = asked(loss="own", range=(-2, 3), response=None)
    protocol.save(tmp_path / "p.json")
    loaded = sf.local.load(tmp_path / "p.json")
    assert loaded == protocol and "cubic" not in (tmp_path / "p.json").read_text()
    for unattached in (loaded, dataclasses.replace(loaded.with_loss(cubic), seed=4)):
        with pytest.raises(ParameterError, match=r"protocol\.with_loss\(function\) first"):
            unattached.encode(RECORDS[0], user=1)
        with pytest.raises(ParameterError, match="with_loss"):
            unattached.encode_many(RECORDS)
    device, server = loaded.with_loss(cubic), protocol.with_loss(cubic)
    assert device.fingerprint == protocol.fingerprint and device == protocol
    collector = server.collector()
    assert collector.add(device.encode(RECORDS[0], user=1), user=1)
    assert (collector + loaded.collector()).reports == 1
    low, high = protocol.range
    every = dataclasses.replace(protocol, randomizer="laplace").with_loss(cubic)
    expected = [[(cubic(w, r) - low) / (high - low) for w in every.points] for r in ([40, 40, 1], [20, 80, 0])]
    assert told(every)[:2] == pytest.approx(np.array(expected))


def test_nothing_that_a_function_does_shows(capsys, recwarn):
    def rude(weights, record):
        print("a record:", record)
        np.log(record[0] - 40)  # warns of some records
        weights[:] = record[:] = 0.0
        if record[2] == 1:
            raise SystemExit
        return [np.nan, "x", None][int(weights[0])]

    protocol = asked(loss="own", range=(0, 4), response=None).with_loss(rude)
    assert told(protocol).tolist() == [0.5] * 4
    assert capsys.readouterr() == ("", "") and not recwarn.list


@pytest.mark.parametrize("limits", [(0, 1e-3), (-1e308, 1e307), (0, 1e-308)], ids=str)
def test_no_loss_is_too_large_to_be_told_in_silence(limits, recwarn):
    """What overflows for some records only would warn of these: losses are clipped before they are scaled."""
    largest = {"loss": "own", "response": None}, {"loss": "squared", "parameters": sf.Box({"age": (-1e6, 1e6)})}
    for options in largest:
        protocol = asked(range=limits, randomizer="laplace", lattice=4, degree=2, **options)
        if protocol.loss == "own":
            protocol = protocol.with_loss(lambda weights, record: 1.7e308 if record[0] > 30 else -1.7e308)
        answers = told(protocol, [[60, 40, 1], [20, 40, 0], [40, 40, 1]])
        assert ((answers >= 0) & (answers <= 1)).all() and not recwarn.list
        assert protocol.loss == "squared" or answers[:, 0].tolist() == [1, 0, 1]


def test_losses_that_cannot_be_attached():
    with pytest.raises(ParameterError, match="make it with loss='own'"):
        asked().with_loss(cubic)
    with pytest.raises(ParameterTypeError, match="function must be callable"):
        asked(loss="own", range=(0, 1), response=None).with_loss(3)


# --- what comes out -------------------------------------------------------------------------------------------------


def test_the_surface_is_about_the_mean_loss_and_its_lowest_point_about_the_model():
    """50,000 people at epsilon 4: deviation .0067 of each lattice value. The surface within .05, seven of them."""
    records = people(50_000)
    weights = sf.Box({"age": (-2, 2)})
    protocol = sf.local.RiskMinimization(
        NUMBERS, 4.0, "logistic", weights, lattice=9, degree=4, response="rich", seed=3
    )
    release = collected(protocol, records)
    assert isinstance(release, sf.FunctionRelease) and release.box == weights
    at = np.linspace(-2, 2, 41)
    scaled, y = (records[:, 0] - 40) / 20, 2 * records[:, 2] - 1
    truth = np.array([np.logaddexp(0, -y * w * scaled).mean() for w in at])
    assert np.abs(release(at) - truth).max() < 0.05
    assert release.law.deviation == pytest.approx(2 / (2 * math.tanh(2)) / math.sqrt(50_000 / 9), rel=0.1)
    low, high = release.band(at, 0.999999)
    assert ((low < truth) & (truth < high)).all()
    lowest = release.minimise(confidence=0.999999)
    mine = np.logaddexp(0, -y * lowest.parameters[0] * scaled).mean()
    assert mine - truth.min() < 0.03 and lowest.gap > mine - truth.min()
    assert lowest.low < mine < lowest.high


def test_bernsteins_operator_is_the_papers():
    protocol = asked(lattice=4, bernstein=3)
    release = collected(protocol, RECORDS)
    assert release.basis == sf.Bernstein((3, 3), 3)
    assert release([[-2.0, -1.0]]) == pytest.approx(release.coefficients[:1])


def test_degree_is_that_of_all_parameters_together_unless_a_file_says_nothing():
    plane = asked()
    assert plane.total is True and plane.to_json()["parameters"]["total"] is True
    old = asked(total=False)
    assert "total" not in old.to_json()["parameters"] and old.fingerprint != plane.fingerprint
    assert sf.local.protocol.from_json(old.to_json()) == old
    assert sf.local.protocol.from_json(plane.to_json()) == plane == dataclasses.replace(plane)
    line = sf.Box({"age": (-2, 2)})
    for one in (asked(parameters=line), asked(parameters=line, total=True), asked(lattice=4, bernstein=2)):
        assert one.total is False and "total" not in one.to_json()["parameters"]
    assert type(collected(plane, RECORDS).basis).__name__ == "TotalDegree"
    assert type(collected(old, RECORDS).basis).__name__ == "LeastSquares"


def test_all_that_is_planned():
    plan = sf.local.plan(asked(range=(0, 3)), people=10_000)
    bit = 1 / (2 * math.tanh(0.5))
    assert plan.deviation == pytest.approx(3 * bit * math.sqrt(25 / 10_000), rel=1e-6)
    assert plan.liar == pytest.approx(3 * 25 / math.tanh(0.5) / 10_000, rel=1e-6)


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hinge"}, "'hinge' is not smooth.*use sf.local.GeneralizedLinear, or one of 'logistic'"),
        ({"loss": "absolute"}, "'absolute' is not smooth"),
        ({"loss": "logistik"}, "loss must be one of .* did you mean 'logistic'"),
        ({"loss": "own", "response": None}, "range must be given for a loss of yours"),
        ({"parameters": None}, "parameters must be an sf.Box of one to three ranges.*got None"),
        ({"parameters": {"age": (-1, 1)}}, "parameters must be an sf.Box"),
        ({"parameters": sf.Box([(0, 1)] * 4)}, "parameters must be one to three, got 4"),
        ({"parameters": sf.Box({"ages": (0, 1)})}, "parameters must be called like the columns.*did you mean 'age'"),
        ({"parameters": sf.Box({"rich": (0, 1)})}, "parameters must be called like the columns"),
        ({"parameters": sf.Box({"age": YESNO})}, "parameters must be plain ranges within 1e.06, which 'age' is not"),
        ({"parameters": sf.Box({"age": (0, 1e9)})}, "parameters must be plain ranges"),
        ({"parameters": sf.Box({"age": (0, 1)}, max_norm=1.0)}, "max_norm have no meaning"),
        ({"response": None}, "response must be given: the logistic loss is about a column"),
        ({"response": "ritch"}, "response must be a column of the box, got response='ritch'; did you mean 'rich'"),
        ({"lattice": 1}, "lattice needs a number of 2 or more"),
        ({"lattice": (4,)}, r"or one for each parameter \(2\)"),
        ({"lattice": 200}, "at most 4,096 points in all"),
        ({"lattice": 4.0}, "lattice must be a whole number"),
        ({"degree": 5}, r"degree must be below the points along each parameter \(5\)"),
        ({"degree": 0}, "degree must be at least 1"),
        ({"bernstein": 2}, r"lattice must be degree \+ 1 = 4 with bernstein="),
        ({"bernstein": 2, "lattice": 4, "total": True}, "total must be left out, or False, with bernstein="),
        ({"total": 1}, "total must be True or False, got total=1"),
        ({"bernstein": 1000, "lattice": 4}, "bernstein must be at most 100"),
        ({"randomizer": "hadamard"}, "randomizer must be one of"),
        ({"ridge": -1.0}, r"ridge must lie in \[0"),
        ({"range": (1, 1)}, "range must have low < high"),
        ({"range": (0, 1, 2)}, "range must be a pair"),
        ({"range": (-1e308, 1e308)}, "range must have low < high"),
        ({"parameters": sf.Box({"age": (0, 1e-320)})}, "parameters are so narrow that the logistic loss is the same"),
    ],
)
def test_parameters_that_make_no_protocol_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        asked(**options)


def test_columns_that_make_no_protocol_are_refused():
    stages = sf.Box({"stage": sf.Categorical([1, 2, 3]), "rich": YESNO})
    with pytest.raises(ParameterError, match="has categories in column 'stage'"):
        asked(stages, parameters=sf.Box({"stage": (0, 1)}))
    with pytest.raises(ParameterError, match="must have two categories, or be a range; 'stage' has 3"):
        asked(stages, parameters=sf.Box({"intercept": (0, 1)}), response="stage")
