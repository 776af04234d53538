"""The command that says what a release is."""

import numpy as np
import pytest

import sfumato as sf
from unit.cli.support import published, renamed


class TestInspect:
    def test_text(self, sfumato, curve):
        out = sfumato("inspect", curve).out
        for words in (
            "a function of age",
            "1-differential privacy for replacing one row",
            "no outcome more than 2.719 times as likely",
            "stated by the caller",
            "age: 0 to 110",
            "Bernstein(degree=4, order=1), 5 coefficients",
            "K-norm noise",
            "none: not charged to an account",
        ):
            assert words in out

    def test_json(self, sfumato, curve):
        data = sfumato("inspect", curve, "--json").data
        assert data["kind"] == "function" and data["file"] == str(curve)
        assert data["guarantee"]["epsilon"] == 1.0 and "times as likely" in data["guarantee"]["words"]
        assert data["box"]["columns"] == [{"name": "age", "kind": "interval", "low": 0.0, "high": 110.0}]
        assert data["basis"] == {"name": "bernstein", "degree": 4, "order": 1}
        assert data["noise"]["kind"] == "linf" and data["noise"]["deviation"] > 0
        assert data["receipt"] is None and data["target"]["target"] == "black box"

    def test_receipt(self, sfumato, tmp_path):
        account = sf.Ledger(tmp_path / "b.db").account("clinic", limit=sf.Privacy(epsilon=3))
        published(sf.Box([(0, 1)]), sf.Bernstein(2), ledger=account).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "account 'clinic', entry 1, basic accounting" in out and "left then: epsilon 2 of epsilon 3" in out
        assert sfumato("--json", "inspect", "r.sfumato").data["receipt"]["left"] == "epsilon 2"

    @pytest.mark.parametrize(
        ("privacy", "words"),
        [
            (sf.Privacy(epsilon=1, delta=1e-6), ["up to a probability of 1e-06", "Gaussian noise, standard deviation"]),
            (sf.Privacy(rho=0.5), ["This is its promise at delta 1e-06", "concentrated"]),
            (sf.Privacy(epsilon=1, neighbours="add-remove"), ["Adding or removing any one row"]),
            (sf.Privacy(epsilon=1, unit=sf.Person(0, 3)), ["any one person (column 0, up to 3 rows)"]),
            (sf.Privacy(epsilon=800), ["e^800 times"]),
        ],
    )
    def test_other_guarantees(self, sfumato, tmp_path, privacy, words):
        published(sf.Box([(0, 1)]), sf.Bernstein(1), privacy).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        for word in words:
            assert word in out

    def test_the_quoted_factor_is_rounded_up(self, sfumato, tmp_path):
        for epsilon in (0.1, 0.5, 1.0, 2.3):
            published(sf.Box([(0, 1)]), sf.Bernstein(1), sf.Privacy(epsilon=epsilon)).save(tmp_path / "r.sfumato")
            words = sfumato("inspect", "r.sfumato", "--json").data["guarantee"]["words"]
            quoted = float(words.split("more than ")[1].split(" times")[0])
            assert np.exp(epsilon) <= quoted <= 1.001 * np.exp(epsilon)

    def test_kinds_of_columns_and_derivatives(self, sfumato, tmp_path):
        release = published(sf.Box([(0, 1), (0, 2), (-1, 1)]), sf.Bernstein(2))
        box = sf.Box({"a": sf.Integer(0, 1), "b": sf.Periodic(0, 2), "c": (-1, 1)}, max_norm=3)
        named = renamed(release, box).derivative("c").derivative("c").derivative("a")
        named.save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "a derivative, along a, c (2 times), of a function of a, b and c" in out
        assert "a: 0 to 1, integer" in out and "b: 0 to 2, periodic" in out and "norm at most 3" in out

    def test_names_cannot_steer_the_terminal_or_forge_lines(self, sfumato, tmp_path):
        box = sf.Box({"age\x1b[2J\n  receipt  account 'rich'\u202e [bold]x[/bold]": (0, 110)})
        renamed(published(sf.Box([(0, 110)]), sf.Bernstein(4)), box).save(tmp_path / "r.sfumato")
        out = sfumato("inspect", "r.sfumato").out
        assert "\x1b" not in out and "\u202e" not in out and "[bold]x[/bold]" in out
        assert sum(line.strip().startswith("receipt") for line in out.splitlines()) == 1

    def test_not_a_release(self, sfumato, tmp_path):
        sfumato("inspect", "nothing.sfumato").failed(3, "nothing.sfumato: there is no such file")
        sfumato("inspect", tmp_path).failed(3, "not a plain file")
        (tmp_path / "x.sfumato").write_text("not a release")
        for command in (["inspect"], ["plot"], ["report"]):
            sfumato(*command, "x.sfumato").failed(3, "x.sfumato")
        sfumato("evaluate", "x.sfumato", "-").failed(3, "x.sfumato")
