"""Plans for a sensitivity sampler, and how commands show what was sampled."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.cli.sensitivity import meaning
from unit.drawing.support import sampled_certificate, statistic

WARNING = "WARNING: random differential privacy, not differential privacy"


def fit(data):
    return lambda points: points[:, 0] * np.mean(data)


def random_function(account=None):
    """A function on a sampled certificate."""
    box, basis = sf.Box([(0, 110)]), sf.Bernstein(3)
    settings = {"n": 20, "gamma": 0.05, "rule": "exchangeable", "box": box, "basis": basis, "seed": 1}
    certificate = sf.sample_sensitivity(fit, sf.oracles.uniform(box), progress=False, **settings)
    privacy = sf.Privacy(epsilon=1.0, gamma=0.05)
    data = np.full((20, 1), 40.0)
    return sf.release(sf.BlackBox(fit, certificate), data, box, privacy, basis=basis, ledger=account)


class TestPlan:
    def test_text(self, sfumato):
        out = sfumato("sensitivity", "plan", "--gamma", "0.05").out
        for words in (
            "A sampler plan, rule dkw.",
            "1,305 pairs of neighbouring tables",
            "the bound is the largest of their distances",
            "0.00418287: the part of gamma",
            "at most 5 % (over the sampling too) are further apart than the bound, and for those nothing is promised",
            "RANDOM differential privacy, not differential privacy",
            "gamma=0.05, m=1305, rule='dkw'",
        ):
            assert words in out, words
        rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[-3:]}
        assert rows["dkw"][:3] == ["*", "1,305", "1,305"]
        assert rows["exchangeable"][:2] == ["19", "19"] and rows["pac"][:2] == ["90", "90"]

    def test_the_smaller_distance_and_other_rules(self, sfumato):
        assert "distance 1,496 of 1,500" in sfumato("sensitivity", "plan", "--gamma", "0.05", "--m", "1500").out
        out = sfumato("sensitivity", "plan", "--gamma", "0.05", "--rule", "pac").out
        assert "In all but 1 % of samplings, at most 5 % of all pairs" in out and "the share of samplings" in out
        out = sfumato("sensitivity", "plan", "--m", "99", "--rule", "exchangeable").out
        assert "at most 1 %" in out and "none: this rule needs no part of its own" in out

    @pytest.mark.parametrize(
        "asked", [{"gamma": 0.05}, {"m": 500}, {"gamma": 0.1, "m": 1000}, {"gamma": 0.1, "rho": 0.02}]
    )
    @pytest.mark.parametrize("rule", ["dkw", "exchangeable", "pac"])
    def test_json_is_the_library_s_plan(self, sfumato, asked, rule):
        if rule == "exchangeable":
            asked = {name: value for name, value in asked.items() if name != "rho"}
        args = [part for name, value in asked.items() for part in (f"--{name}", value)]
        data = sfumato("sensitivity", "plan", *args, "--rule", rule, "--json").data
        plan = sf.sampler_plan(**asked, rule=rule)
        assert {name: data[name] for name in vars(plan)} == vars(plan)
        assert data["random"] is True and data["meaning"] == meaning(plan)
        assert [row["rule"] for row in data["compared"]] == ["dkw", "exchangeable", "pac"]
        assert next(row for row in data["compared"] if row["rule"] == rule)["m"] == plan.m

    def test_a_rule_without_an_answer_says_why(self, sfumato):
        asked = ("--gamma", "0.05", "--m", "50", "--rule", "exchangeable")
        data = sfumato("sensitivity", "plan", *asked, "--json").data
        assert "rule 'dkw' needs at least m=1305" in data["compared"][0]["error"] and data["m"] == 50
        assert "needs at least m=1305" in sfumato("sensitivity", "plan", *asked).out

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            ([], "give --gamma G"),
            (
                ["--gamma", "0.05", "--m", "500"],
                "--m=500 pairs are too few for gamma=0.05: rule 'dkw' needs at least m=1305",
            ),
            (["--gamma", "0.05", "--m", "9", "--rule", "exchangeable"], "needs at least m=19"),
            (["--gamma", "0.05", "--m", "9", "--rho", "0.1", "--rule", "pac"], "needs at least m=45"),
            (["--gamma", "2"], "--gamma must lie strictly between 0 and 1"),
            (["--gamma", "0"], "--gamma must lie strictly between 0 and 1"),
            (["--gamma", "0.1", "--rho", "1"], "--rho must lie strictly between 0 and 1"),
            (["--gamma", "0.1", "--rho", "0.2"], "--rho must be below gamma=0.1"),
            (["--m", "0"], "--m must be at least 1"),
            (["--m", "9", "--rule", "lucky"], "--rule must be one of 'dkw', 'exchangeable', 'pac'"),
            (["--m", "9", "--rho", "0.1", "--rule", "exchangeable"], "--rule='exchangeable' has no rho"),
        ],
    )
    def test_errors(self, sfumato, args, message):
        sfumato("sensitivity", "plan", *args).failed(2, message)


class TestRandomReleases:
    @pytest.mark.parametrize("kind", ["value", "function"])
    def test_inspect_warns_first(self, sfumato, tmp_path, kind):
        made = random_function() if kind == "function" else statistic("own", certificate=sampled_certificate(0.05))
        made.save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        lines = [line.strip() for line in out.splitlines() if line.strip()]
        assert lines[1] == WARNING
        oracle = "uniform on Box" if kind == "function" else "Gaussian of mean 0.0"
        for words in ("gamma 0.05", "rule exchangeable: distance 19 of 19 pairs", f"oracle: {oracle}", "(sampled)"):
            assert words in out, words
        assert "not differential privacy (gamma 0.05)." in " ".join(out.split())
        data = sfumato("inspect", "r.sfumato", "--json").data
        assert (
            data["random"]["gamma"] == 0.05 and data["random"]["rule"] == "exchangeable" and data["random"]["m"] == 19
        )
        assert data["random"]["oracle"].startswith(oracle) and data["guarantee"]["confidence"] == 0.95

    def test_pages_warn(self, sfumato, tmp_path):
        random_function().save(tmp_path / "r.sfumato")
        assert sfumato("report", "r.sfumato").code == 0
        page = (tmp_path / "r.html").read_text()
        assert "Random differential privacy, not differential privacy." in page and 'class="callout random"' in page

    def test_a_release_that_is_not_random_does_not_warn(self, sfumato, curve):
        assert "WARNING" not in sfumato("inspect", curve).out
        assert sfumato("inspect", curve, "--json").data["random"] is None


class TestLedger:
    def test_random_entries_have_a_table_of_their_own(self, sfumato, tmp_path):
        account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=3, gamma=0.2))
        random_function(account)
        sf.release(sf.KDE(12), np.full((20, 1), 40.0), sf.Box([(0, 110)]), sf.Privacy(epsilon=0.5), ledger=account)
        random_function(account)
        out = sfumato("ledger", "show", "b.db", "--account", "clinic").out
        proved, random = out.split("Random differential privacy, not differential privacy: a book of its own")
        assert "epsilon 0.5" in proved and "black box" not in proved and proved.count("published") == 1
        assert random.count("epsilon 1 (random) by linf, gamma 0.05") == 2
        assert (
            random.count("rule exchangeable: distance 19 of 19 pairs") == 2 and random.count("oracle: uniform on") == 2
        )
        assert "their gammas add up to 0.1" in random
        lines = proved.splitlines()
        assert "epsilon 2.5" in lines[1] and "with random" in lines[2] and "epsilon 0.5" in lines[2]
        history = sfumato("ledger", "show", "b.db", "--account", "clinic", "--json").data["history"]
        told = [entry["sampled"] for entry in history if entry["random"]]
        assert [entry["sampled"] for entry in history if not entry["random"]] == [None]
        assert {(t["gamma"], t["rule"], t["m"]) for t in told} == {(0.05, "exchangeable", 19)} and len(told) == 2

    def test_only_random_entries(self, sfumato, tmp_path):
        random_function(sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=3)))
        out = sfumato("ledger", "show", "b.db", "--account", "clinic").out
        assert "nothing was spent yet" not in out and "entry 1" in out and "mechanism" not in out

    def test_a_limit_of_gamma(self, sfumato, tmp_path):
        out = sfumato("ledger", "create", "b.db", "clinic", "--epsilon", "3", "--gamma", "0.04").out
        assert "epsilon 3, gamma 0.04 for replacing one row" in out
        account = sf.Ledger(tmp_path / "b.db").account("clinic")
        assert account.limit == sf.Privacy(epsilon=3, gamma=0.04)
        with pytest.raises(sf.errors.BudgetExceededError, match=r"gamma 0\.04"):
            random_function(account)
        sfumato("ledger", "create", "b.db", "other", "--epsilon", "3", "--gamma", "1").failed(
            2, "gamma must lie in [0, 1)"
        )
