"""The benchmarks' own arithmetic: baselines, closed forms, tables, and what happens where data or peers are missing."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

ROOT = Path(__file__).parents[2]
if not (ROOT / "benchmarks").exists():
    pytest.skip("this checkout has no benchmarks", allow_module_level=True)
sys.path.append(str(ROOT))

from benchmarks import (  # noqa: E402
    __main__,
    machine_baselines,
    machine_data,
    machine_figures,
    machines,
    machines_speed,
    peers,
    reproduce,
    sampler,
)
from benchmarks.machine_baselines import SemiInteractive, lattice_draws, lattice_errors  # noqa: E402
from benchmarks.machine_data import SQUARE, exact_on_square, exact_svm, square, two_gaussians  # noqa: E402
from benchmarks.suite import grids  # noqa: E402
from benchmarks.tables import show  # noqa: E402
from benchmarks.timing import row  # noqa: E402


def test_figure_2_has_1500_records_of_each_class_in_the_square():
    records, labels = two_gaussians()
    assert records.min() >= 0
    assert records.max() <= 1
    assert [int((labels == side).sum()) for side in (1, -1)] == [1500, 1500]
    assert records[labels == 1].mean(axis=0) == pytest.approx([0.3, 0.5], abs=0.02)
    assert np.cov(records[labels == -1].T) == pytest.approx(np.array([[0.01, 0.008], [0.008, 0.015]]), abs=0.002)


def test_the_closed_form_is_the_minimiser():
    records, labels = two_gaussians()
    assert (labels * exact_svm(records)).max() < 1  # so each record's dual variable is at its upper bound
    target = sf.KernelMachine("hinge", sf.RBF(0.5), C=1.0, classes=[-1, 1])
    quiet = sf.release(target, (records, labels), SQUARE, sf.Privacy(epsilon=1e6), basis=sf.Landmarks(25))
    assert quiet(square()) == pytest.approx(exact_on_square(), abs=2e-5)


def test_the_lattice_noise_is_proportional_to_the_sensitivity():
    quiet = lattice_draws(3, 2, 1.0, 1e-12)[:5]
    printed, corrected = (lattice_draws(3, 2, 1.0, factor / 3000)[:5] - quiet for factor in (1, 2))
    assert corrected == pytest.approx(2 * printed, abs=1e-8)
    scale = 16 / 3000  # of the Laplace noise on (k+1)^2 values
    corner = lattice_draws(3, 1, 1.0, 1 / 3000)[:, 0] - exact_svm(np.zeros((1, 2)))  # one value of the lattice alone
    assert np.abs(corner).mean() == pytest.approx(scale, rel=0.35)  # 200 draws of a fixed seed


def test_a_lattice_without_noise_is_near_the_learner():
    (error, _), (flips, _) = lattice_errors(8, 3, 1e9, 1 / 3000)
    assert error < 1e-3
    assert flips < 5e-3


def test_the_best_lattice_is_the_best(monkeypatch):
    monkeypatch.setattr(machine_baselines, "DEGREES", (1, 6))
    monkeypatch.setattr(machine_baselines, "ORDERS", (1,))
    best, errors = machine_baselines.best_lattice(1.0, 2 / 3000)
    assert best == (1, 1)
    assert errors[0][0] < lattice_errors(6, 1, 1.0, 2 / 3000)[0][0]


def semi_interactive() -> SemiInteractive:
    seen = np.random.default_rng(0).normal(size=(50, 4))
    return SemiInteractive(seen, np.array([1.0, -2.0, 0.5, 0.0]), 0.01, 10.0)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
def test_the_printed_semi_interactive_noise_is_too_small(epsilon):
    learner = semi_interactive()
    assert 0.5 < learner.printed(epsilon, 1e-6) / learner.needed(epsilon, 1e-6) < 0.8


def test_the_semi_interactive_learner_fits_noisy_predictions_in_a_ball():
    learner, rng = semi_interactive(), np.random.default_rng(1)
    assert learner.draw(0.0, "gaussian", rng) == pytest.approx(learner.learned)
    assert np.linalg.norm(learner.draw(1e6, "laplace", rng)) == pytest.approx(10.0)
    drawn = np.array([learner.draw(0.1, "gaussian", rng) - learner.learned for _ in range(4000)])
    wanted = 0.01 * np.linalg.inv(learner.seen.T @ learner.seen)  # least squares' covariance
    assert np.cov(drawn.T) == pytest.approx(wanted, abs=0.15 * wanted.max())


def test_figure_2_is_judged_against_what_was_asked(monkeypatch):
    monkeypatch.setattr(machines, "FIGURE_RELEASES", 4)
    monkeypatch.setattr(machines, "TRIAL_RELEASES", 2)
    monkeypatch.setattr(machine_baselines, "DEGREES", (2,))
    monkeypatch.setattr(machine_baselines, "ORDERS", (2,))
    rows = machines.figure2()
    assert [r["asked"] for r in rows if "asked" in r] == ["<= 0.004", "<= 0.015"]
    assert rows[0]["value"] < rows[2]["value"]  # the whitened learner against the lattice


def test_a_table_by_epsilon_is_in_order_and_says_what_was_missed(capsys):
    table = machines.Rows("accuracy of a thing", "accuracy", {1.0: (0.8, 0.9), 0.1: (0.7, None)})
    table.add("ours", 1.0, (0.85, 0.001), judged=True)
    table.add("ours", 0.1, (0.65, 0.002), judged=True)
    table.same("not private", 0.95)
    show("name", table.found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[4].split() == ["epsilon", "0.1", "1"]
    assert [line.split() for line in lines if line.strip().startswith("ours")] == [
        ["ours", "0.65", "±0.002", "0.85", "±0.001"]
    ]
    missed = [line for line in lines if "NOT REACHED:" in line]
    assert len(missed) == 1
    assert "epsilon=0.1   asked >= 0.7" in missed[0]
    assert [r["aim_met"] for r in table.found if "aim_met" in r] == [False]


def test_a_row_has_an_aim_beside_what_is_asked():
    assert row("x", 2.0, "s", "<= 3", 1.0)["met"]
    assert not row("x", 2.0, "s", "<= 3", 1.0)["aim_met"]
    assert "aim" not in row("x", 2.0, "s")


@pytest.mark.parametrize(("what", "source"), [("kernel-fig2a", "covtype"), ("kernel-fig2b", "a9a")])
def test_a_figure_without_its_data_is_skipped_with_the_reason(what, source, monkeypatch, capsys):
    monkeypatch.setattr(machine_figures, source, lambda: None)
    reproduce.main([what])
    assert capsys.readouterr().out.startswith(f"skipped: it needs ../shared/data/{source}")


def test_benchmarks_without_shared_data_say_what_they_leave_out(monkeypatch, capsys):
    monkeypatch.setattr(machines, "figure2", list)
    monkeypatch.setattr(machines, "a9a", lambda: None)
    monkeypatch.setattr(machines, "covtype", lambda: None)
    assert machines.run() == []
    assert "a9a is left out" in (said := capsys.readouterr().out)
    assert "CoverType is left out" in said


def test_an_unknown_figure_is_refused_with_the_known_ones():
    with pytest.raises(SystemExit, match="kernel-fig2b"):
        reproduce.main(["figure-3"])


def test_a_missing_peer_is_left_out_with_the_reason(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("DIFFPRIVLIB_PYTHON", str(tmp_path / "python"))
    assert machine_baselines.diffprivlib_accuracies([1.0], 1) == {}
    assert "diffprivlib is left out" in capsys.readouterr().out


def test_boundaries_are_interpolated():
    axis = np.linspace(0, 1, 5)
    assert machine_figures._crossing(axis, axis - 0.3) == pytest.approx(0.3)
    assert machine_figures._crossing(axis, axis + 1) is None


def test_figures_print_as_tables_with_empty_cells(capsys):
    reproduce.show([{"table": "t", "eps": 0.1, "found": None}, {"table": "t", "eps": 1.0, "found": 0.12345}], {})
    assert capsys.readouterr().out.splitlines() == ["", "t", "eps   found", "0.1        ", "  1  0.1235"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_the_memory_meter_sees_an_allocation_and_not_its_parent():
    ballast = np.ones(2**26)  # 512 MiB in this process, which the other must not see
    code = (
        "import numpy as np; from benchmarks.machines_memory import peak; a = peak(); np.ones(2**23); print(a, peak())"
    )
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    before, after = map(float, answer.stdout.split())
    assert before < ballast.nbytes / 2**20
    assert 60 < after - before < 80


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_training_memory_is_measured_in_a_process_of_its_own():
    rows = machines_speed.memory((2000, 4000))
    assert [r["unit"] for r in rows] == ["MiB", "s", "MiB", "s", "MiB"]
    assert all(r["value"] > 0 for r in rows[:4])


def test_a9a_fits_its_box():
    task = machine_data.a9a()
    if task is None:
        pytest.skip("needs ../shared/data/a9a.libsvm.gz")
    assert task.records.shape == (32561, 123)
    assert np.linalg.norm(task.records, axis=1).max() <= machine_data.A9A_LONGEST * (1 + 1e-12)
    assert set(np.unique(task.records)) == {0.0, 1.0}


# --- regression and naive Bayes -----------------------------------------------------------------------------------

from benchmarks import adult, naive_bayes, regression, regression_baselines, talk  # noqa: E402


def sine(x):
    return np.sin(2 * np.pi * x)


def test_the_printed_priestley_chao_is_its_sum_over_gaps():
    x, y = np.array([0.7, 0.1, 0.4]), np.array([3.0, 1.0, 2.0])
    kernel = np.exp(-0.5 * ((0.5 - np.array([0.4, 0.7])) / 0.2) ** 2) / (0.2 * np.sqrt(2 * np.pi))
    found = regression_baselines.priestley_chao(x, y, 0.2, np.array([0.5]))
    assert found == pytest.approx([0.3 * kernel @ [2.0, 3.0]])


def test_the_printed_condition_is_about_the_nearest_record_not_the_gap():
    assert regression_baselines.least_gap(np.array([0.8, 0.0, 0.1, 0.95])) == pytest.approx(4 * 0.15)


def test_the_printed_mechanism_without_noise_has_the_error_of_its_approximation(monkeypatch):
    monkeypatch.setattr(regression_baselines, "BANDWIDTHS", (0.1,))
    ends, (x, y) = (0.05, 0.95, 19), regression.draw(sine, 0)
    points = np.linspace(*ends)
    truth = regression_baselines.priestley_chao(x, y, 0.1, points)
    rng = np.random.default_rng(0)
    quiet, noisy = (regression_baselines.printed_errors(x, y, truth, ends, 1.5, e, rng) for e in (1e9, 1.0))
    assert quiet[0.1, 20, 20] < 0.01 < quiet[0.1, 4, 1]
    assert noisy[0.1, 20, 20] > 10 * quiet[0.1, 20, 20]
    best, errors = regression_baselines.best_on_average([quiet, quiet], regression_baselines.ORDERS)
    assert errors.tolist() == [min(quiet.values())] * 2
    assert quiet[best] == errors[0]
    assert regression_baselines.best_on_average([quiet], [3])[0][2] == 3


@pytest.mark.slow
def test_a_regression_table_judges_the_ratio(monkeypatch):
    monkeypatch.setattr(regression, "REPEATS", 3)
    monkeypatch.setattr(regression, "TRIALS", 2)
    monkeypatch.setattr(regression, "NW_BANDWIDTHS", (0.04,))
    monkeypatch.setattr(regression, "PC_BANDWIDTHS", (0.1,))
    monkeypatch.setattr(regression, "PC_BASES", ((6, 5),))
    monkeypatch.setattr(regression_baselines, "BANDWIDTHS", (0.1,))
    rows = regression.table("sine", sine)
    ours, best, exact, corrected, *printed, nothing = (r["value"] for r in rows)
    assert exact < ours < corrected
    assert printed[1::2] == pytest.approx([error / ours for error in printed[::2]])
    assert printed[0] >= printed[2] >= printed[4] > best  # the more orders, the better with hindsight
    assert nothing == pytest.approx(1.0, abs=1e-3)
    assert [r["value"] for r in rows if r.get("asked") == ">= 5"] == [printed[3]]


def test_sets_of_records_differ_and_can_be_drawn_again():
    (x, y), (again, _), (other, _) = (regression.draw(sine, repeat, 100) for repeat in (0, 0, 1))
    assert (x == again).all()
    assert not (x == other).any()
    assert np.abs(y).max() <= 1.5
    assert np.std(y - sine(x)) == pytest.approx(regression.NOISE, rel=0.2)


@pytest.mark.slow
def test_the_talk_is_reproduced_quickly_and_leaves_no_file(capsys):
    path = ROOT / "benchmarks" / "results" / "talk-regression.json"
    before = path.read_bytes() if path.exists() else None
    reproduce.main(["talk-regression", "--quick"])
    said = capsys.readouterr().out
    assert "10 repeats" in said
    assert "corrected, joint noise" in said
    assert (path.read_bytes() if path.exists() else None) == before


def test_only_some_figures_are_quick():
    with pytest.raises(SystemExit, match="usage"):
        reproduce.main(["bernstein-fig1", "--quick"])


def test_the_talk_forgets_the_binomials_and_its_estimator_moves_further_than_it_says():
    weights = talk.talk_weights()
    assert weights.sum(axis=1) == pytest.approx(1.0)  # an odd order
    assert np.abs(weights @ talk.NODES - talk.GRID).max() < 1e-9  # straight lines are reproduced
    curved = talk.NODES**2
    right = talk.BASIS.axis_weights(talk.BOX, 0, talk.GRID, 0)
    missed, rest = (np.abs(w @ curved - talk.GRID**2).max() for w in (weights, right))
    assert missed > 10 * rest
    printed, corrected = talk.moved(4.0)
    assert printed["c needed"] < 4.0
    assert printed["ratio"] > 100
    assert 0.3 < corrected["ratio"] <= 1


def test_adult_has_the_documented_columns():
    box = adult.box()
    assert [len(column.categories) for column in box.columns[6:]] == [8, 16, 7, 14, 6, 5, 2, 41]
    assert set(box.names) | {adult.LABEL} == set(adult.NAMES)
    assert adult.box(numeric_only=True).names == tuple(adult.NUMERIC)


@pytest.mark.slow
def test_adult_fits_its_box():
    task = adult.adult()
    if task is None:
        pytest.skip("needs ../shared/data/adult.data.gz")
    assert (len(task), len(task.test[adult.LABEL])) == (32561, 16281)
    for part in (task.records, task.test):
        assert set(part[adult.LABEL]) == set(adult.CLASSES)
        for name, text in adult.CATEGORIES.items():
            assert set(part[name]) <= {*text.split(), "?"}


def small_adult() -> adult.Adult:
    rng = np.random.default_rng(5)

    def part(n):
        rich = rng.random(n) < 0.4
        found = {name: rng.uniform(*bounds, size=n) for name, bounds in adult.NUMERIC.items()}
        found["age"] = np.where(rich, 50.0, 30.0) + rng.normal(size=n)
        found |= {name: rng.choice([*text.split(), "?"], n).astype(object) for name, text in adult.CATEGORIES.items()}
        return {**found, adult.LABEL: np.where(rich, ">50K", "<=50K").astype(object)}

    return adult.Adult(part(1500), part(300))


@pytest.mark.slow
def test_naive_bayes_is_judged_against_its_peer_and_itself(monkeypatch):
    monkeypatch.setattr(naive_bayes, "RELEASES", 2)
    monkeypatch.setattr(naive_bayes, "EPSILONS", (1.0, 1000.0))
    monkeypatch.setattr(naive_bayes, "adult", small_adult)
    monkeypatch.setattr(
        naive_bayes, "box", lambda _: sf.Box({"age": (16, 100), "sex": sf.Categorical(["Female", "Male"])})
    )
    monkeypatch.setattr(naive_bayes, "ask_diffprivlib", lambda script, asked: {"1.0": [0.5, 0.6], "1000.0": [0.7, 0.7]})
    rows = naive_bayes.run()
    assert [r["asked"] for r in rows if "asked" in r] == [">= 0", ">= 0", "<= 1.5"] * 2
    quiet = [r["value"] for r in rows if r["what"] == "sfumato, normal likelihoods" and r["epsilon"] == 1000.0]
    assert quiet[0] > 0.95
    peer = [r["value"] for r in rows if r["what"].startswith("diffprivlib")]
    assert peer == [pytest.approx(0.55), pytest.approx(0.7)]


def test_naive_bayes_without_its_data_says_so(monkeypatch, capsys):
    monkeypatch.setattr(naive_bayes, "adult", lambda: None)
    assert naive_bayes.run() == []
    assert "Adult is left out" in capsys.readouterr().out


def test_naive_bayes_without_its_peer_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("DIFFPRIVLIB_PYTHON", str(tmp_path / "python"))
    assert naive_bayes.diffprivlib_accuracies(small_adult()) == {}
    assert "diffprivlib is left out" in capsys.readouterr().out


def test_every_benchmark_has_a_module():
    modules = [__main__.MODULES.get(name, name.replace("-", "_")) for name in __main__.NAMES]
    assert all(importlib.util.find_spec(f"benchmarks.{module}") for module in modules)
    assert not {path.stem for path in (ROOT / "benchmarks").glob("*.py")} & set(sys.stdlib_module_names)


@pytest.fixture
def everyday(monkeypatch):
    module = pytest.importorskip("benchmarks.everyday", reason="needs OpenDP, which `make bench` installs")
    monkeypatch.setattr(module, "REPEATS", dict.fromkeys(module.REPEATS, 2))
    return module


def heights() -> np.ndarray:
    """Values in steps of .1 within the bounds of that column, with many ties."""
    return np.round(np.random.default_rng(3).normal(160, 6, 4001), 1)


@pytest.mark.parametrize("statistic", ["mean", "variance", "median", "quantiles", "histogram"])
def test_all_libraries_estimate_the_same_thing(everyday, statistic):
    column, values = everyday.COLUMNS[3], heights()
    right = everyday.truth(statistic, column, values)
    for known in everyday.told(statistic, column):
        for missing in ("none", "drop"):
            ours = everyday.released(statistic, known, values, 1e5, missing)
            assert ours == pytest.approx(np.tile(right, (2, 1)), abs=2e-3)
        (theirs,) = everyday.others(statistic, column, known, values, 1e5, {}).values()
        assert theirs == pytest.approx(np.tile(right, (2, 1)), abs=0.1 if statistic in everyday.CHOSEN else 2e-3)


def test_opendp_spends_the_whole_budget_and_no_more(everyday):
    from benchmarks import everyday_peers as opendp

    for statistic in ("mean", "variance", "histogram"):
        measure = opendp.perturbed(statistic, 500, (0, 110), 0.1, 10)
        assert measure.map(opendp.REPLACED) == pytest.approx(0.1, rel=1e-6)
        assert measure.map(opendp.REPLACED) <= 0.1
    for level in (0.25, 0.5):
        spent = opendp.quantile(500, np.arange(111.0), level, 0.1).map(opendp.REPLACED)
        assert spent == pytest.approx(0.1, rel=1e-6)
        assert spent <= 0.1


def test_diffprivlib_estimates_the_same_thing(everyday):
    if not (ROOT / ".venv-diffprivlib" / "bin" / "python").exists():
        pytest.skip("needs the environment that `make bench` makes for diffprivlib")
    column, values = everyday.COLUMNS[3], heights()
    found = everyday.diffprivlib_answers(
        {"Height": values}, {"Height": (column.low, column.high)}, (100.0,), everyday.QUARTILES, 10, everyday.REPEATS
    )
    # At larger epsilons its quantiles fail. More than 20 times the noise's scale: false alarms below 1e-8.
    allowed = {"mean": 0.01, "variance": 4.0, "median": 0.1, "quantiles": 0.1, "histogram": 0.5}
    assert {statistic for _, statistic, _ in found} == {*everyday.REQUIRED, *everyday.EXTRA}
    for (_, statistic, _), answers in found.items():
        right = np.tile(everyday.truth(statistic, column, values), (2, 1))
        assert answers == pytest.approx(right, abs=allowed[statistic] + 1e-9)


def test_who_is_told_of_steps_chooses_among_them(everyday):
    bounds, steps = everyday.told("median", everyday.COLUMNS[3])
    assert steps.candidates.tolist() == [round(0.1 * i, 1) for i in range(400, 2201)]
    assert set(steps.candidates) < set(bounds.candidates)
    assert [known.words for known in everyday.told("mean", everyday.COLUMNS[3])] == [""]


def test_differences_are_in_standard_errors(everyday):
    assert everyday.apart((1.0, 0.3), (2.0, 0.4), 0.1) == pytest.approx(-2.0)
    assert everyday.apart((0.5, 0.0), (0.2, 3e-17), 0.1) == pytest.approx(3.0)  # neither ever varied
    assert everyday.apart((0.0, 0.0), (0.0, 0.0), 0.1) == 0
    assert everyday.mistake(np.array([[1.0, 3.0], [2.0, 6.0]]), np.array([0.0, 2.0]))[0] == 2.0


def test_each_peer_is_judged_that_was_told_as_much(everyday, monkeypatch):
    monkeypatch.setattr(everyday, "EPSILONS", (1.0,))
    column, values = everyday.COLUMNS[3], heights()
    recorded = {("Height", "median", 1.0): np.full((2, 1), 150.0)}
    rows = everyday.compare("median", column, values, recorded)
    assert [r["what"].strip() for r in rows if "asked" in r] == [
        "sfumato, minus diffprivlib",
        "sfumato, minus OpenDP",
        "sfumato, told steps of 0.1, minus OpenDP, told steps of 0.1",
    ]
    assert any(r["what"].strip().startswith("sfumato, not told, minus OpenDP, told") for r in rows)
    worst, above, _, below = everyday.summary(
        [row("a", 4.0, "", "<= 3"), row("b", -9.0, "", "<= 3"), row("c", 5.0, "")]
    )
    assert (worst["value"], worst["met"], above["value"], below["value"]) == (4.0, False, 1, 1)
    assert not any("asked" in r for r in everyday.compare("variance", column, values, {}))


def test_statistics_without_shared_data_say_so(everyday, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(everyday, "SHARED", tmp_path)
    assert everyday.run() == []
    assert "need ../shared/data/nhanes" in capsys.readouterr().out


def test_nhanes_has_its_columns_within_bounds(everyday):
    values = everyday.nhanes()
    if values is None:
        pytest.skip("needs ../shared/data/nhanes_raw_2009_2012.csv.gz")
    assert {name: len(found) for name, found in values.items()} == {
        "Age": 20293, "BMI": 18014, "BPSysAve": 14867, "Height": 18035, "Pulse": 14896
    }  # fmt: skip
    assert all(c.low <= values[c.name].min() and values[c.name].max() <= c.high for c in everyday.COLUMNS)


def test_a_peer_without_its_environment_answers_nothing(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("DIFFPRIVLIB_PYTHON", str(tmp_path / "python"))
    assert peers.ask_diffprivlib("diffprivlib_statistics.py", {}) is None
    assert "diffprivlib is left out" in capsys.readouterr().out


def test_the_spread_of_a_deviation():
    found = np.array([0.0, 0.0, 1.0, 1.0, 3.0])
    squares = (found - 1) ** 2  # 1, 1, 0, 0, 4: their variance is 2.7
    size, spread = sampler.deviation(found)
    assert size == pytest.approx(np.sqrt(1.5))
    assert spread == pytest.approx(np.sqrt(np.var(squares, ddof=1) / 5) / (2 * np.sqrt(1.5)))


def test_the_plain_target_is_the_kernel_estimate(monkeypatch):
    monkeypatch.setattr(sampler, "ROWS", 40)
    proved = 1 / (0.1 * np.sqrt(2 * np.pi) * 40)
    for certificate in (sampler.kde(4), sampler.plain(4)):
        assert (certificate.m, certificate.k, certificate.norm) == (285, 285, "linf")
        assert 0.99 * proved <= certificate.bound <= proved * (1 + 1e-9)
    records = np.random.default_rng(0).random(40)
    own = sf.KDE(0.1).rehearse(records, reproduce.BOX, sf.Bernstein(20))
    assert sampler.lattice_density(records) == pytest.approx(own, rel=1e-6)


@pytest.mark.slow
def test_the_sampler_is_judged_against_what_was_asked(monkeypatch):
    monkeypatch.setattr(sampler, "ROWS", 30)
    for name, few in (("EXAMPLE_REPEATS", 5), ("SEEDS", 2), ("FAST", 1), ("SLOW", 1), ("ROUNDS", 1)):
        monkeypatch.setattr(sampler, name, few)
    rows = sampler.run()
    assert [r["asked"] for r in rows if "asked" in r] == ["<= 7", "<= 7", ">= 20", ">= 20", ">= 0.99", "<= 1", ">= 1.7"]
    needed = {r["what"]: r["value"] for r in rows if r["unit"] == "pairs"}
    assert needed["gamma = 0.1    dkw"] == 285
    assert needed["gamma = 0.05   exchangeable"] == 19


@pytest.mark.parametrize("name", ["adaptive grid", "PrivTree"])
def test_cells_that_look_where_records_are_tile_the_box_and_find_a_town(name):
    """Almost without noise: every place in one cell, masses those of the records, small cells where these are."""
    rng = np.random.default_rng(4)
    records = np.concatenate([rng.normal(0.3, 0.01, (4000, 2)), rng.random((1000, 2))])
    lows, highs, counts = grids.PEERS[name](records, 20.0, rng)
    places = rng.random((100, 2))
    inside = (places[:, None, :] >= lows) & (places[:, None, :] < highs)
    assert (inside.all(axis=2).sum(axis=1) == 1).all()
    assert counts.sum() == pytest.approx(5000, abs=150)
    sizes = (highs - lows).prod(axis=1)
    town = ((lows < 0.3) & (highs > 0.3)).all(axis=1)
    assert sizes[town].max() < 0.01 * sizes.mean()
    axes = [np.linspace(0, 1, 41)] * 2
    middle = grids.smoothed((lows, highs, counts), axes, 0.03)[12, 12]  # a normal density of 0.8 of the records
    assert middle == pytest.approx(0.8 / (2 * np.pi * 0.001), rel=0.05)
