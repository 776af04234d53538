"""Labels that follow a private classifier: what they have, what is charged, what files hold, what is refused."""

import numpy as np
import pytest
from scipy.special import expit

import sfumato as sf
from sfumato.bases.synthetic.line import Line, columns_of, judge_of, line_of
from sfumato.errors import BudgetExceededError, FileFormatError, NothingThereWarning, ParameterError
from sfumato.faces import face_of

QUIET, PURE = sf.Privacy(epsilon=1e3), sf.Privacy(epsilon=1.0)
BOX = sf.Box(
    {"x": (-4, 4), "y": (-4, 4), "few": sf.Integer(0, 3), "ill": sf.Categorical(["no", "yes"]),
     "hour": sf.Periodic(0, 24), "town": sf.Categorical(["a", "b", "c"])}
)  # fmt: skip
RNG, N = np.random.default_rng(4), 6000
X = np.clip(RNG.normal(size=N), -4, 4)
Y = np.clip(0.9 * X + 0.5 * RNG.normal(size=N), -4, 4)  # goes with x, and speaks against it
FEW = RNG.integers(0, 4, N).astype(float)
TOWN = RNG.choice(["a", "b", "c"], N)
ILL = RNG.random(N) < expit(2 * X - 2 * Y + 1.5 * (FEW == 2) - 0.5 * (TOWN == "b"))
DATA = {"x": X, "y": Y, "few": FEW, "ill": np.where(ILL, "yes", "no"), "hour": RNG.uniform(0, 24, N), "town": TOWN}


@pytest.fixture(scope="module")
def quiet():
    return sf.synthesize(DATA, BOX, QUIET, label="ill", method="rule", seed=5)


def sick(table):
    return np.array(table["ill"].to_pylist()) == "yes"


def places(table, rule):
    """Where rows stand on the learned line, computed by the classifier itself."""
    box = rule.learned.box
    points = {name: table[name].to_numpy(zero_copy_only=False) for name in box.names}
    return rule.learned.decision({**points, "few": points["few"].astype(int)})


def test_labels_go_with_the_columns_as_the_two_numbers_say(quiet):
    table, line = quiet.data, quiet.rule.line(BOX, "ill")
    assert quiet.method == "rule" and quiet.bought["rule"] > 0.5
    assert sum(quiet.bought.values()) == pytest.approx(1.0)
    assert sick(table).mean() == pytest.approx(ILL.mean(), abs=0.01)
    records = {0: X / 4, 1: Y / 4, 2: FEW / 1.5 - 1, 4: DATA["hour"] / 12 - 1,
               5: np.array(["abc".index(one) for one in TOWN], dtype=float)}  # fmt: skip
    together = (np.where(ILL, 1, -1) * line.at(BOX, records)).mean()
    found = places(table, quiet.rule)
    assert np.corrcoef(found, sick(table))[0, 1] > 0.3
    sums, _ = quiet.noisy.rule
    assert sums[1] / N == pytest.approx(together, abs=2e-3)


def test_a_classifier_of_the_rows_finds_the_rule_that_strata_do_not_have(quiet):
    """x and y differ little between the classes by themselves; together they tell them apart."""
    linear = pytest.importorskip("sklearn.linear_model")
    strata = sf.synthesize(DATA, BOX, QUIET, label="ill", method="strata", shares={"means": 1.0}, seed=5)

    def area(table):
        rows = np.stack([table["x"].to_numpy(), table["y"].to_numpy(), table["few"].to_numpy() == 2], axis=1)
        scores = (
            linear.LogisticRegression().fit(rows, sick(table)).decision_function(np.stack([X, Y, FEW == 2], axis=1))
        )
        ranks = scores.argsort().argsort()
        return (ranks[ILL].mean() - (ILL.sum() - 1) / 2) / (~ILL).sum()

    assert area(quiet.data) > area(strata.data) + 0.02


def test_it_is_two_events_of_one_grant(tmp_path):
    account = sf.Ledger(tmp_path / "l.db").account("a", limit=sf.Privacy(epsilon=1.0))
    table = sf.synthesize(DATA, BOX, PURE, label="ill", method="rule", ledger=account, rows=100)
    assert (table.guarantee.epsilon, table.guarantee.delta) == (1.0, 0.0)
    assert table.rule.learned.mechanism == "objective"
    assert table.receipt is not None and table.receipt.entry == 2
    assert table.rule.learned.guarantee.epsilon == pytest.approx(0.5)
    with pytest.raises(BudgetExceededError):
        sf.synthesize(DATA, BOX, sf.Privacy(epsilon=0.01), label="ill", method="rule", ledger=account)


def test_an_account_that_cannot_pay_both_pays_nothing(tmp_path):
    account = sf.Ledger(tmp_path / "l.db").account("a", limit=sf.Privacy(epsilon=0.5))
    with pytest.raises(BudgetExceededError, match="nothing was released"):
        sf.synthesize(DATA, BOX, PURE, label="ill", method="rule", ledger=account)
    assert account.history() == []


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "grant",
    [
        PURE, sf.Privacy(epsilon=1.0, delta=1e-6), sf.Privacy(rho=0.2),
        sf.Privacy(epsilon=1.0, neighbours="add-remove"),
        sf.Privacy(epsilon=1.0, unit=sf.Person("town", 2), neighbours="add-remove"),
    ],
    ids=["pure", "delta", "rho", "add-remove", "person"],
)  # fmt: skip
def test_every_grant_has_its_rule_and_its_file(grant, tmp_path):
    box = sf.Box({name: kind for name, kind in zip(BOX.names, BOX.columns, strict=True) if name != "town"})
    table = sf.synthesize(DATA, box, grant, label="ill", method="rule", rows=50, expected_rows=N)
    promised = table.guarantee
    assert (promised.epsilon, promised.rho) == (grant.epsilon, grant.rho)
    table.save(tmp_path / "t.sfumato")
    loaded = sf.load(tmp_path / "t.sfumato")
    assert loaded.data.equals(table.data) and loaded.guarantee == promised
    assert loaded.judge == table.judge and loaded.bought == table.bought


def forged(release, **change):
    common = {name: getattr(release, name) for name in ("guarantee", "law", "target", "receipt")}
    return type(release).rebuild(common, release.box, {**release.fields(), **change}, release.arrays())


def test_forged_rules_are_refused(quiet):
    told = quiet.rule.to_json()
    for change in (
        {"share": "1/100"},  # the rule would be cheaper than its noise
        {"share": "99/100"},  # the table would be
        {"noise": {**told["noise"], "scale": "1/1000"}},
        {"learned": {**told["learned"], "objective": None}},
    ):
        with pytest.raises((ParameterError, FileFormatError)):
            forged(quiet, rule={**told, **change})
    with pytest.raises(ParameterError):
        forged(quiet, method="strata")


def test_the_face_says_where_labels_come_from(quiet):
    face = face_of(quiet)
    told = dict(face.rows())
    assert "logistic regression with objective noise" in told["rule"][0]
    assert "ill follows a linear rule of the columns" in face.independent
    assert ("labels", "follow a logistic regression with objective noise, published first for 50 % of the grant") in (
        quiet.target
    )


def test_what_is_refused_before_anything_is_read():
    three = sf.Box({"x": (-4, 4), "town": sf.Categorical(["a", "b", "c"])})
    for label in ("town", None):
        with pytest.raises(ParameterError, match="two classes") as caught:
            sf.synthesize(None, three, PURE, label=label, method="rule")
        assert caught.value.parameter == "method"


def test_values_never_raise():
    """Missing labels, missing values, categories that nobody declared, numbers far outside."""
    odd = {
        "x": np.where(np.arange(N) % 3 == 0, np.nan, 1e300), "y": np.full(N, np.inf), "few": np.full(N, 1.5),
        "ill": np.where(np.arange(N) % 2 == 0, "maybe", "yes"), "hour": np.full(N, np.nan), "town": ["?"] * N,
    }  # fmt: skip
    with pytest.warns(NothingThereWarning):
        table = sf.synthesize(odd, BOX, PURE, label="ill", method="rule", rows=30)
    assert table.data.num_rows == 30


# --- the line -------------------------------------------------------------------------------------------------------


def test_a_place_on_the_line_is_the_classifiers_own(quiet):
    line, rule = quiet.rule.line(BOX, "ill"), quiet.rule
    records = {0: X / 4, 1: Y / 4, 2: FEW / 1.5 - 1, 4: DATA["hour"] / 12 - 1,
               5: np.array(["abc".index(one) for one in TOWN], dtype=float)}  # fmt: skip
    own = rule.learned.decision({**{n: DATA[n] for n in ("x", "y", "hour", "town")}, "few": FEW.astype(int)})
    found = line.size * line.at(BOX, records)
    assert np.ptp(own - found) < 1e-9 * max(1.0, np.abs(own).max())
    assert columns_of(BOX, "ill").names == ("x", "y", "few", "hour", "town")


def test_no_record_is_beyond_the_ends_of_the_line_and_gaps_add_nothing():
    line = line_of(BOX, "ill", np.array([1.0, -2.0, 0.1, 0.2, -0.7, 0.4, 0.05, 3.0, -1.0, -2.0]))
    far = {0: np.array([1.0, -1.0]), 1: np.array([-1.0, 1.0]), 2: np.array([1 / 3, 1 / 3]), 4: np.array([1.0, -1.0]),
           5: np.array([0.0, 2.0])}  # fmt: skip
    assert np.abs(line.at(BOX, far)).max() <= 1.0 and line.at(BOX, far)[0] > 0.8
    gaps = {place: np.array([np.nan]) for place in (0, 1, 2, 4)} | {5: np.array([-1.0])}
    assert line.at(BOX, gaps).tolist() == [0.0]
    flat = line_of(BOX, "ill", np.zeros(10))
    assert flat.at(BOX, far).tolist() == [0.0, 0.0]


def test_a_column_of_one_whole_number_tells_nothing():
    box = sf.Box({"x": (-4, 4), "one": sf.Integer(0.2, 1.1), "ill": sf.Categorical(["no", "yes"])})
    data = {"x": X, "one": np.ones(N), "ill": DATA["ill"]}
    table = sf.synthesize(data, box, PURE, label="ill", method="rule", rows=20)
    assert table.rule.line(box, "ill").parts[1] == ()
    assert set(table.data["one"].to_pylist()) == {1}
    alone = sf.Box({"one": sf.Integer(0.2, 1.1), "ill": sf.Categorical(["no", "yes"])})
    with pytest.raises(ParameterError, match="two classes"):
        sf.synthesize(data, alone, PURE, label="ill", method="rule")


@pytest.mark.parametrize("slope", [0.0, 3.0, -5.0])
def test_slope_and_intercept_are_those_of_the_two_numbers(slope):
    t = np.random.default_rng(1).uniform(-1, 1, 20_000)
    chances = expit(slope * t - 0.4)
    sums = np.array([(2 * chances - 1).mean(), ((2 * chances - 1) * t).mean()])
    judge = judge_of(Line(((1.0,),), ()), t, sums, 1e-6)
    assert (judge.slope, judge.intercept) == pytest.approx((slope, -0.4), abs=0.02)
    labels = judge.labels(t, 0.3)
    assert labels.mean() == pytest.approx(chances.mean(), abs=1e-3)
    assert ((2 * labels - 1) * t).mean() == pytest.approx(sums[1], abs=2e-3)


def test_numbers_that_are_all_noise_leave_the_rules_own_slope():
    t = np.random.default_rng(1).uniform(-1, 1, 2000)
    judge = judge_of(Line(((1.0,),), (), 2.0), t, np.array([0.0, -0.5]), 100.0)
    assert judge.slope == pytest.approx(2.0, abs=0.1)


def test_no_numbers_make_it_infinite():
    t = np.linspace(-1, 1, 500)
    for sums in ([1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.0, -1.0]):
        judge = judge_of(Line(((1.0,),), ()), t, np.array(sums), 1e-9)
        assert np.isfinite([judge.slope, judge.intercept]).all()
        assert set(judge.labels(t, 0.0).tolist()) <= {0, 1}
    assert np.isfinite(judge_of(Line(((1.0,),), ()), np.zeros(10), np.array([0.2, 0.1]), 0.01).slope)
