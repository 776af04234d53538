"""Linear models from reports: what a device tells, what the collector makes of it, and what is refused."""

import dataclasses
import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.core.randomizer import Codebook
from sfumato.errors import FileFormatError, ParameterError, ParameterTypeError
from sfumato.faces import face_of
from sfumato.local.channels import unit_moments
from sfumato.local.records import read_records, within
from sfumato.releases.collected.moments import CollectedMoments

YESNO = sf.Categorical([0, 1])
BOX = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": YESNO})
NUMBERS = sf.Box({"age": (20, 60), "pay": (0, 100), "hours": (0, 80)})
USERS = np.arange(4, dtype=np.uint64)
RECORDS = [[40, 40, 1], [20, 80, 0], [1e9, None, "maybe"], [np.nan, -np.inf, None]]


def told(protocol, records=RECORDS):
    return protocol.answers(within(protocol.box, read_records(protocol.box, records)), USERS[: len(records)])


def people(count, seed=1):
    """Age and hours, and who is rich: the older, more or less."""
    generator = np.random.default_rng(seed)
    age, hours = generator.uniform(20, 60, count), generator.uniform(0, 80, count)
    rich = age + 0.2 * hours + generator.normal(0, 4, count) > 48
    return np.column_stack([age, hours, rich])


def collected(protocol, records):
    collector = protocol.collector()
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


# --- what a device tells ------------------------------------------------------------------------------------------


def test_everybody_tells_a_unit_vector():
    for protocol in (sf.local.LinearModel(BOX, 1.0, "rich"), sf.local.LinearModel(NUMBERS, 1.0, "pay")):
        for matrix in (None, np.eye(3) / 3):
            own = dataclasses.replace(protocol, second_moments=matrix)
            answers = told(own)
            assert answers.shape == (4, own.questions)
            assert np.linalg.norm(answers, axis=1) == pytest.approx(1)


def test_the_vector_by_hand():
    protocol = sf.local.LinearModel(BOX, 1.0, "rich", scales={"age": (30, 10)}, constant=2.0, weight=0.5)
    assert protocol.scales == ((30.0, 10.0), (40.0, 20.0)) and protocol.questions == 9
    z = np.array([2.0, 1.0, -2.0])  # 40 years, no hours
    u = z / 3
    squares = [u[0] ** 2, u[0] * u[1], u[0] * u[2], u[1] ** 2, u[1] * u[2], u[2] ** 2]
    roots = np.array([1, math.sqrt(2), math.sqrt(2), 1, math.sqrt(2), 1])
    expected = np.concatenate([squares * roots, -0.5 * u]) / math.sqrt(1.25)
    assert told(protocol, [[40, 0, 0]])[0] == pytest.approx(expected)


def test_a_number_is_told_over_the_length_of_its_record():
    """So that least squares of what was told are those of the numbers, weighted with one over the square of lengths."""
    protocol = sf.local.LinearModel(NUMBERS, 1.0, "pay", second_moments=np.eye(3) / 3)
    whole = np.array([1.3, 1.0, -1.0])  # 50 years, 20 hours
    length = np.linalg.norm(whole)
    y = 0.5 * 1.3 / length
    assert told(protocol, [[50, 75, 20]])[0] == pytest.approx([*(y * whole / length), math.sqrt(1 - y**2)])


def test_moments_are_read_back():
    protocol = sf.local.LinearModel(BOX, 1.0, "rich", seed=1)
    records = people(500)
    units, _ = protocol._units(within(BOX, read_records(BOX, records)))
    users = np.arange(500, dtype=np.uint64)
    means = protocol.answers(within(BOX, read_records(BOX, records)), users).mean(axis=0)
    second, cross = protocol.moments(means)
    assert second == pytest.approx(units.T @ units / 500) and np.array_equal(second, second.T)
    assert cross == pytest.approx(((2 * records[:, 2] - 1) @ units) / 500)
    assert protocol.public_moments(records) == pytest.approx(second)


# --- what comes out -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_of_two_categories_learns():
    """Four reports in five predicted right; the rule itself is right in nine of ten, and everybody alike in six."""
    records = people(12_000)
    release = collected(sf.local.LinearModel(BOX, 4.0, "rich"), records)
    new = people(4000, seed=2)
    right = np.mean(release.predict(new[:, :2]) == new[:, 2])
    assert right > 0.8
    model = release.fit()
    assert model.columns == ("age", "hours") and model.coefficients[0] > 4 * model.coefficients[1] / 2 > 0
    values, errors = release.slopes()
    assert (errors > 0).all() and values[0] > errors[0]


def test_a_model_of_a_number_is_in_its_units():
    """Least squares without noise: what the collector would see of very many people."""
    generator = np.random.default_rng(3)
    age, hours = generator.uniform(20, 60, 4000), generator.uniform(0, 80, 4000)
    records = np.column_stack([age, 10 + age - 0.1 * hours, hours])
    protocol = sf.local.LinearModel(NUMBERS, 8.0, "pay")
    columns = within(NUMBERS, read_records(NUMBERS, records))
    second, cross = protocol.moments(protocol.answers(columns, np.arange(4000, dtype=np.uint64)).mean(axis=0))
    release = CollectedMoments.of(protocol, second, cross, 10**18)
    model = release.fit()
    assert model.coefficients == pytest.approx((1.0, -0.1), rel=1e-6) and model.intercept == pytest.approx(10, rel=1e-6)
    assert release.predict([[30.0, 40.0], [60.0, 0.0], [1e9, 0.0]]) == pytest.approx([36.0, 70.0, 70.0], rel=1e-6)


def test_public_second_moments_leave_the_response_alone_to_be_told():
    records = people(6000)
    matrix = sf.local.LinearModel(BOX, 2.0, "rich").public_moments(people(2000, seed=5))
    protocol = sf.local.LinearModel(BOX, 2.0, "rich", second_moments=matrix)
    assert protocol.questions == 3
    release = collected(protocol, records)
    assert release.public and release.second_moments == pytest.approx(matrix)
    right = np.mean(release.predict(records[:, :2]) == records[:, 2])
    assert right > 0.8


@pytest.mark.parametrize("box", [BOX, NUMBERS], ids=["last", "in the middle"])
def test_public_records_need_no_response(box):
    """Whatever holds them: the same matrix as with one, of which nothing is seen."""
    protocol = sf.local.LinearModel(box, 2.0, box.names[2] if box is BOX else "pay")
    full = np.insert(people(200, seed=5)[:, :2], protocol.box.names.index(protocol.response), 1.0, axis=1)
    expected = protocol.public_moments(full)
    rows = np.delete(full, box.names.index(protocol.response), axis=1)
    table = dict(zip(protocol.columns, rows.T, strict=True))
    frame = pd.DataFrame(table)
    forms = [rows, rows.tolist(), list(map(tuple, rows)), table, frame, frame.to_dict("records"), frame.iloc[:, ::-1]]
    labelled = frame.assign(**{protocol.response: "?"})
    forms += [full.tolist(), labelled, labelled.to_dict("records"), iter(rows.tolist())]
    for form in forms:
        assert protocol.public_moments(form) == pytest.approx(expected, abs=1e-12)
    assert np.trace(expected) == pytest.approx(1)


def test_one_public_column_may_be_plain_values():
    protocol = sf.local.LinearModel(sf.Box({"age": (20, 60), "rich": YESNO}), 2.0, "rich")
    ages = [20.0, 50.0, 60.0]
    expected = protocol.public_moments([[age, 0] for age in ages])
    for form in (ages, np.array(ages), np.array(ages)[:, None], {"age": ages}):
        assert protocol.public_moments(form) == pytest.approx(expected)


@pytest.mark.parametrize("nobody", [[], (), np.empty((0, 2)), np.empty((0, 3)), {"age": [], "hours": []}], ids=repr)
def test_no_public_records_are_refused(nobody, recwarn):
    with pytest.raises(ParameterError, match="records must hold at least one public record, got none"):
        sf.local.LinearModel(BOX, 2.0, "rich").public_moments(nobody)
    assert not recwarn.list


@pytest.mark.slow
def test_a_larger_ridge_says_less():
    release = collected(sf.local.LinearModel(BOX, 4.0, "rich"), people(5000))
    small, large = release.fit(ridge=1e-6), release.fit(ridge=1e3)
    assert np.abs(large.coefficients).max() < 1e-3 * np.abs(small.coefficients).max()
    with pytest.raises(ParameterError, match="ridge must be"):
        release.fit(ridge=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "response", "options"),
    [
        (1.0, "rich", {}),
        (8.0, "rich", {"weight": 2.0}),
        (4.0, "pay", {}),
        (4.0, "rich", {"second_moments": np.eye(3) / 3}),
    ],
)
def test_plan_and_noise_are_the_root_mean_square_of_what_is_off(epsilon, response, options):
    """To 10 %, in 400 collections of 150 people: six deviations of such a mean, a false alarm in 1e8 runs."""
    box = BOX if response == "rich" else NUMBERS
    protocol, records = sf.local.LinearModel(box, epsilon, response, **options), people(150)[:, [0, 2, 1]]
    records = people(150) if box is BOX else records
    turns, users = 400, np.arange(150, dtype=np.uint64)
    columns = within(box, read_records(box, records))
    true_second, true_cross = protocol.moments(protocol.answers(columns, users).mean(axis=0))
    squares = []
    for turn in range(turns):
        collector = protocol.collector()
        collector.add_batch(protocol.encode_many(records, first_user=150 * turn))
        release = collector.release()
        squares.append(
            [np.mean((release.second_moments - true_second) ** 2), np.mean((release.cross_moments - true_cross) ** 2)]
        )
    second, cross = np.sqrt(np.mean(squares, axis=0))
    assert cross == pytest.approx(release.deviations[1], rel=0.1)
    assert second == pytest.approx(release.deviations[0], rel=0.1)
    whole = cross if release.public else math.sqrt((9 * second**2 + 3 * cross**2) / 12)
    assert release.noise_sd == pytest.approx(whole, rel=0.1)
    plan = sf.local.plan(protocol, people=150)
    assert plan.deviation == pytest.approx(release.noise_sd) and set(plan.variances) == {"privunit"}
    assert max(release.deviations) <= release.law.deviation


@pytest.mark.slow
def test_the_ridge_is_the_root_mean_square_of_eigenvalues_of_noise():
    """Exactly, whatever people hold: the noise in a matrix has this sum of squares."""
    protocol = sf.local.LinearModel(BOX, 2.0, "rich", weight=0.5)
    generator, size = np.random.default_rng(3), 3
    answers = protocol.answers(within(BOX, read_records(BOX, people(1)[:1])), USERS[:1])[0]
    gain, square = unit_moments(Codebook(2.0), protocol.questions)
    along, across = math.sqrt(square - gain**2), math.sqrt((1 - square) / (protocol.questions - 1))
    noise = generator.normal(size=(40_000, protocol.questions))
    noise = across * noise + (along - across) * np.outer(noise @ answers, answers)
    found = [np.sum(protocol.moments(one)[0] ** 2) for one in noise / gain]
    # A mean of 40,000 sums of squares: 3 % is nine of its deviations.
    assert math.sqrt(np.mean(found) / size) == pytest.approx(math.sqrt(size * protocol.variances[0]), rel=0.03)


@pytest.mark.parametrize("response", ["rich", "late"])
def test_variances_are_those_of_the_law(response):
    """Exactly, from the law of a named direction: also of a circle, which is two numbers of a record."""
    box = BOX if response == "rich" else CLOCK
    protocol = sf.local.LinearModel(box, 2.0, response, weight=0.5)
    size, pairs = protocol.record_size, len(protocol._pairs[0])
    answers = protocol.answers(within(box, read_records(box, [[21, 30, 1]])), USERS[:1])[0]
    gain, square = unit_moments(Codebook(2.0), protocol.questions)
    along, across = square - gain**2, (1 - square) / (protocol.questions - 1)
    law = (across * np.eye(len(answers)) + (along - across) * np.outer(answers, answers)) / gain**2
    noise = np.linalg.cholesky(law).T  # rows whose squares add up to the law
    found = [[np.sum(part**2) for part in protocol.moments(row)] for row in noise]
    second, cross = np.sum(found, axis=0)
    assert protocol.variances == pytest.approx((second / size**2, cross / size))
    assert len(answers) == pairs + size


# --- circles and dates ----------------------------------------------------------------------------------------------

CLOCK = sf.Box({"hour": sf.Periodic(0, 24), "age": (20, 60), "late": YESNO})


def at_night(count, seed=1):
    """Late from six in the evening to six in the morning: no straight line says that."""
    generator = np.random.default_rng(seed)
    hour, age = generator.uniform(0, 24, count), generator.uniform(20, 60, count)
    return np.column_stack([hour, age, (hour > 18) | (hour < 6)])


def test_a_circle_is_told_by_its_cosine_and_its_sine():
    protocol = sf.local.LinearModel(CLOCK, 4.0, "late", second_moments=np.eye(4) / 4)
    assert protocol.circles and protocol.record_size == protocol.questions == 4
    records = [[hour, 40, 1] for hour in (0, 6, 24, -6, 30)]
    z = np.array([[1.3, 1, 0, 0], [1.3, 0, 1, 0], [1.3, 1, 0, 0], [1.3, 0, -1, 0], [1.3, 0, 1, 0]])
    users = np.arange(5, dtype=np.uint64)
    told = protocol.answers(within(CLOCK, read_records(CLOCK, records)), users)
    assert told == pytest.approx(z / np.linalg.norm(z, axis=1, keepdims=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [sf.local.LinearModel, sf.local.GeneralizedLinear])
def test_a_model_of_a_circle_tells_its_cosine_and_its_sine(kind, tmp_path):
    """Terminal, JSON, picture and page: a slope for each."""
    release = collected(kind(CLOCK, 16.0, "late", seed=2), at_night(200))
    face = face_of(release)
    slopes = dict(face.rows())["slopes"]
    assert [line.split(":")[0] for line in slopes] == ["cos hour", "sin hour", "age"]
    assert [line.split(" a unit of ")[1] for line in slopes] == ["1", "1", "10"]
    data = face.data()
    assert data["columns"] == ["cos hour", "sin hour", "age"] and len(data["coefficients"]) == 3
    [panel] = face.panels()
    assert sorted(panel.names) == ["age", "cos hour", "sin hour"] and len(panel.values) == 3
    release.report(tmp_path / "page.html")
    assert "cos hour" in (tmp_path / "page.html").read_text()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [sf.local.LinearModel, sf.local.GeneralizedLinear])
def test_a_model_learns_from_a_circle(kind, tmp_path):
    """A straight line is right in one of two; .98 is found (deviation .015 and .005): a false alarm in 1e9."""
    protocol = kind(CLOCK, 16.0, "late", seed=2)
    release = collected(protocol, at_night(6000))
    release.save(tmp_path / "r.sfumato")
    again, new = sf.load(tmp_path / "r.sfumato"), at_night(4000, seed=2)
    found = again.predict(new[:, :2])
    assert np.mean(found == new[:, 2]) > 0.7
    assert again.predict([[0.0, 40.0], [24.0, 40.0]]).tolist() == again.predict([[24.0, 40.0], [0.0, 40.0]]).tolist()
    model = again.fit()
    assert model.columns == again.terms == ("cos hour", "sin hour", "age") and model == release.fit()
    assert (again.scores(new[:, :2]) > 0).tolist() == found.astype(bool).tolist()
    angle = new[:, 0] * np.pi / 12
    by_hand = model.predict(np.column_stack([np.cos(angle), np.sin(angle), new[:, 1]]))
    assert by_hand == pytest.approx(again.scores(new[:, :2]))


def test_the_first_protocols_took_a_circle_for_a_line_and_mean_that_still(tmp_path):
    """Also of a response; whoever wants that says so."""
    round_response = sf.Box({"hour": sf.Periodic(0, 24), "when": sf.Periodic(0, 24)})
    for box, response in ((CLOCK, "late"), (round_response, "when")):
        protocol = sf.local.LinearModel(box, 4.0, response, circles=False, seed=3)
        assert "circles" not in protocol.to_json()["parameters"]
        protocol.save(tmp_path / "p.json")
        loaded = sf.local.load(tmp_path / "p.json")
        assert loaded == protocol and loaded.fingerprint == protocol.fingerprint and not loaded.circles
        assert loaded.scales[0] == (12.0, 6.0)
    release = collected(sf.local.LinearModel(CLOCK, 4.0, "late", circles=False, seed=3), at_night(300))
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").terms == ("hour", "age") and not sf.load(tmp_path / "r.sfumato").circles


def test_circles_come_back_from_files_and_are_refused_where_there_is_none(tmp_path):
    protocol = sf.local.LinearModel(CLOCK, 4.0, "late", seed=3)
    protocol.save(tmp_path / "p.json")
    assert sf.local.load(tmp_path / "p.json") == protocol
    assert dataclasses.replace(protocol, epsilon=2.0).scales == protocol.scales
    assert protocol.fingerprint != dataclasses.replace(protocol, circles=False, scales=None).fingerprint
    assert not sf.local.LinearModel(BOX, 4.0, "rich").circles
    text = (tmp_path / "p.json").read_text().replace('"periodic"', '"interval"').replace('"whole": false,', "")
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(FileFormatError, match="unexpected or inconsistent"):
        sf.local.load(tmp_path / "q.json")
    with pytest.raises(ParameterError, match="'hour' is a circle: leave its scale out"):
        sf.local.LinearModel(CLOCK, 4.0, "late", scales={"hour": (12, 6)})
    with pytest.raises(ParameterError, match="response must have two categories, or be a range; 'hour' is a circle"):
        sf.local.LinearModel(CLOCK, 4.0, "hour")
    with pytest.raises(ParameterTypeError, match="circles must be"):
        sf.local.LinearModel(CLOCK, 4.0, "late", circles=1)


VISITS = sf.Box({"visit": ("2024-01-01", "2024-12-31"), "age": (20, 60), "back": ("2024-01-01", "2025-12-31")})


@pytest.mark.parametrize("centre", ["2024-07-01", dt.date(2024, 7, 1), np.datetime64("2024-07-01"), 19905.0])
def test_the_centre_of_a_column_of_dates_is_a_date(centre):
    protocol = sf.local.LinearModel(VISITS, 4.0, "back", scales={"visit": (centre, 30)}, seed=1)
    assert protocol.scales[0] == (19905.0, 30.0)
    assert dataclasses.replace(protocol, epsilon=2.0).scales == protocol.scales


def test_a_date_is_predicted_as_a_date(tmp_path):
    """Everybody comes back a hundred days later, as reports of very many would say; saved and loaded."""
    start = np.datetime64("2024-01-01")
    days = np.random.default_rng(1).integers(0, 365, size=3000)
    records = list(zip(start + days, np.full(3000, 40.0), start + days + 100, strict=True))
    protocol = sf.local.LinearModel(VISITS, 8.0, "back", seed=1)
    columns = within(VISITS, read_records(VISITS, records))
    told = protocol.answers(columns, np.arange(3000, dtype=np.uint64)).mean(axis=0)
    CollectedMoments.of(protocol, *protocol.moments(told), 10**18).save(tmp_path / "r.sfumato")
    found = sf.load(tmp_path / "r.sfumato").predict({"visit": ["2024-03-01", "2024-06-01T12:00"], "age": [40, 40]})
    assert found.dtype == np.dtype("datetime64[us]")
    expected = np.array(["2024-06-09T00:00", "2024-09-09T12:00"], dtype="datetime64[us]")
    assert np.abs(found - expected).max() < np.timedelta64(60, "m")


def test_a_date_that_is_none_is_no_centre():
    for scales in ({"visit": ("soon", 30)}, {"age": ("2024-07-01", 30)}):
        with pytest.raises((ParameterTypeError, ParameterError), match="a centre must be"):
            sf.local.LinearModel(VISITS, 4.0, "back", scales=scales)


# --- files ----------------------------------------------------------------------------------------------------------


def test_protocols_and_releases_come_back_from_files(tmp_path):
    for protocol in (
        sf.local.LinearModel(BOX, 2.0, "rich", seed=3, scales={"hours": (40, 12)}),
        sf.local.LinearModel(NUMBERS, 2.0, "pay", seed=3, second_moments=np.eye(3) / 3),
    ):
        protocol.save(tmp_path / "p.json")
        loaded = sf.local.load(tmp_path / "p.json")
        assert loaded == protocol and loaded.fingerprint == protocol.fingerprint
        release = collected(protocol, people(100) if protocol.response == "rich" else people(100)[:, [0, 2, 1]])
        release.save(tmp_path / "r.sfumato")
        again = sf.load(tmp_path / "r.sfumato")
        points = [[30.0, 20.0], [50.0, 60.0]]
        assert again.predict(points).tolist() == release.predict(points).tolist()
        assert again.fit() == release.fit() and again.public == release.public


def test_public_moments_of_many_columns_fit_into_protocols_and_checkpoints(tmp_path):
    """What makes many columns possible must not be too large for the files that it is handed out in."""
    box = sf.Box({**{f"c{j}": (0, 1) for j in range(215)}, "rich": YESNO})
    rows = np.random.default_rng(1).normal(size=(300, 216))
    matrix = rows.T @ rows / np.sum(rows**2)
    protocol = sf.local.LinearModel(box, 2.0, "rich", second_moments=matrix, seed=3)
    protocol.save(tmp_path / "p.json")
    loaded = sf.local.load(tmp_path / "p.json")
    assert loaded.fingerprint == protocol.fingerprint
    collector = loaded.collector()
    collector.add_batch(loaded.encode_many(np.full((3, 216), 0.5)))
    collector.save(tmp_path / "c.ckpt", position=7)
    again, position = sf.local.Collector.resume(tmp_path / "c.ckpt", loaded)
    assert again.reports == 3 and position == 7


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"response": "ritch"}, "must be a column of the box, got response='ritch'; did you mean 'rich'"),
        ({"response": "stage"}, "must have two categories, or be a range; 'stage' has 3"),
        ({"response": "age"}, "has categories in column 'stage'"),
        ({"scales": {"ages": (1, 2)}}, "are of columns that predict, got 'ages'"),
        ({"scales": {"rich": (1, 2)}}, "are of columns that predict, got 'rich'"),
        ({"scales": {"age": (1, 0)}}, "a unit must be"),
        ({"scales": {"age": (np.nan, 1)}}, "a centre must be"),
        ({"scales": [(1, 2)]}, r"scales must be \(centre, unit\) of 2 columns"),
        ({"scales": {"age": (40, 1e-9)}}, "more than 1e.06 units from its centre"),
        ({"scales": {"age": (1e300, 1e-300)}}, "more than 1e.06 units from its centre"),
        (
            {"box": sf.Box({"age": (-8e307, 8e307), "rich": YESNO}), "scales": {"age": (-1e308, 1e305)}},
            "more than 1e.06 units from its centre",
        ),
        ({"constant": 0.0}, "constant must be"),
        ({"constant": 1e-200}, r"constant must lie in \[1e-06, 1e.06\]"),
        ({"weight": 1e200}, "weight must lie in"),
        ({"weight": -1.0}, "weight must be"),
        ({"second_moments": np.eye(2)}, r"second_moments must have shape \(3, 3\)"),
        ({"second_moments": np.triu(np.ones((3, 3)))}, "second_moments must be symmetric"),
        ({"second_moments": np.diag([1.0, 1.0, -1.0])}, "second_moments must be positive semi-definite"),
        ({"second_moments": np.full((3, 3), np.inf)}, "second_moments must be finite"),
        ({"second_moments": np.diag([1e308] * 3)}, r"second_moments must have entries in \[-1, 1\], .* got 1e\+308"),
        ({"second_moments": [[1.0, -1e308, 0], [1e308, 1, 0], [0, 0, 1]]}, r"entries in \[-1, 1\]"),
        ({"second_moments": np.diag([1.1, 0.1, 0.1])}, r"entries in \[-1, 1\], .* got 1\.1: take"),
    ],
)
def test_parameters_that_make_no_protocol_are_refused(options, words):
    box = BOX
    if "stage" in words:
        box = sf.Box({"age": (20, 60), "stage": sf.Categorical([1, 2, 3]), "rich": YESNO})
    with pytest.raises(ParameterError, match=words):
        sf.local.LinearModel(**{"box": box, "epsilon": 1.0, "response": "rich", **options})


def test_other_things_are_refused():
    for matrix in ("public", [[1.0], [1.0, 2.0]], np.eye(3) * 1j, np.full((3, 3), 10**400, dtype=object)):
        with pytest.raises(ParameterTypeError, match="matrix of numbers"):
            sf.local.LinearModel(BOX, 1.0, "rich", second_moments=matrix)
    with pytest.raises(ParameterTypeError, match=r"scales must be \(centre, unit\) of 'age'"):
        sf.local.LinearModel(BOX, 1.0, "rich", scales={"age": 5})
    with pytest.raises(ParameterError, match="needs a column beside the response"):
        sf.local.LinearModel(sf.Box({"rich": YESNO}), 1.0, "rich")
    with pytest.raises(ParameterError, match="max_norm"):
        sf.local.LinearModel(sf.Box([(0, 1), (0, 1)], max_norm=1.0), 1.0, "x0")
    wide = sf.Box({**{f"c{j}": (0, 1) for j in range(123)}, "rich": YESNO})
    with pytest.raises(ParameterError, match="makes 7,874 numbers; devices tell at most 1,024: give second_moments="):
        sf.local.LinearModel(wide, 1.0, "rich")
    assert sf.local.LinearModel(wide, 1.0, "rich", second_moments=np.eye(124) / 124).questions == 124
    release = collected(sf.local.LinearModel(BOX, 2.0, "rich"), people(50))
    with pytest.raises(ParameterError, match=r"points must have shape \(m, 2\)"):
        release.predict([[1.0, 2.0, 3.0]])
