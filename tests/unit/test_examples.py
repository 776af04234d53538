"""Every example runs, says something, and finds what it set out to find; every snippet of the guides runs.

Noise cannot be seeded. Each check of a noisy number fails by chance with a probability below 1e-7.
"""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.bayes.attributes import Attributes
from sfumato.releases.bayes.likelihoods import Smoothed

ROOT = Path(__file__).parents[2]
SURE = 1 - 1e-9
GUIDES = [
    "statistics.md", "sampler.md", "extending.md", "coming-from-diffpriv.md", "regression.md", "queries.md", "local.md",
]  # fmt: skip


def run(*arguments, folder):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, check=False)


def snippets(page: str) -> str:
    """All code of a page in one, as a reader would type it in."""
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


@pytest.mark.few(1)  # those below run too
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_example_runs(path, tmp_path):
    result = run(str(path), folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "differential privacy" in result.stdout


def test_no_example_hides_a_module_of_the_standard_library():
    """Python looks for modules beside the script first."""
    assert not {path.stem for path in (ROOT / "examples").glob("*.py")} & set(sys.stdlib_module_names)


def test_the_readme_example_runs(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    result = run("-c", code, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "ages.sfumato").exists()


@pytest.mark.few(1)
@pytest.mark.parametrize("page", GUIDES)
def test_the_snippets_of_a_guide_run(page, tmp_path):
    result = run("-W", "error", "-c", snippets(f"docs/{page}"), folder=tmp_path)
    assert result.returncode == 0, result.stderr


def test_guides_show_the_classes_of_the_examples():
    """Comments and docstrings apart, the tutorials and the programs are the same."""

    def bare(text: str) -> list[str]:
        text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
        return [line.split("  #")[0].strip() for line in text.splitlines() if line.split("#")[0].strip()]

    shown = set(bare(snippets("docs/extending.md")))
    for name, start, stop in [
        ("priestley_chao", "class PriestleyChao", "rng ="),
        ("kmeans", "def to_unit", "def from_unit"),
        ("kmeans", "def sums_and_counts", "def lloyd"),
        ("kmeans", "def matched", "BOX ="),
    ]:
        source = (ROOT / "examples" / f"{name}.py").read_text()
        missing = [line for line in bare(source[source.index(start) : source.index(stop)]) if line not in shown]
        assert not missing


def example(name: str) -> dict:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def test_everyday_statistics_are_within_their_intervals():
    found = example("everyday_statistics")
    patients = found["patients"]
    known = patients.dropna()
    truths = {
        "measured": len(known),
        "means": known[["age", "bmi"]].clip([0, 10], [110, 60], axis=1).mean().to_numpy(),
        "quartiles": patients["age"].quantile([0.25, 0.5, 0.75], interpolation="nearest").to_numpy(),
        "own": np.clip(np.rint(patients["age"]) - 60, 0, 50).sum(),
    }
    for name, truth in truths.items():
        low, high = found[name].interval(SURE)
        assert np.all(low <= truth), name
        assert np.all(truth <= high), name
    assert found["account"].name == "clinic-2026"


def test_the_sampled_sensitivity_is_reproducible_and_random_everywhere(capsys):
    found = example("sampled_sensitivity")
    assert found["certificate"].bound == pytest.approx(0.00029652872996788, rel=1e-9)
    assert found["release"].guarantee.confidence == 0.95
    assert str(found["release"].guarantee).startswith("random")
    assert capsys.readouterr().out.count("refused:") == 2


def test_priestley_chao_is_proved_and_sampled():
    found = example("priestley_chao")
    proved, certificate = found["proved"], found["certificate"]
    assert 0.05 * proved.sensitivity < certificate.bound < proved.sensitivity
    assert found["safe"].guarantee.confidence == 1
    assert found["random"].guarantee.confidence == 0.9
    # The largest of 21 noises is R max|U|, R Gamma(22), in units of the sensitivity: beyond 65 with probability 2e-10,
    # below 2 with probability 3e-8.
    quiet = proved.rehearse(found["data"], found["box"], found["basis"])
    noise = np.abs(found["safe"].coefficients - quiet).max() / proved.sensitivity
    assert 2 < noise < 65


@pytest.mark.slow
def test_kmeans_finds_the_blobs_and_pays_for_every_round():
    found = example("kmeans")
    # Eight units are 640 in the sum of a cluster of 4000, 21 times the scale 30 of the noise: 60 exp(-21) < 1e-7.
    assert np.abs(found["centres"] - found["blobs"]).max() < 8
    assert found["guarantee"].epsilon == 1
    assert found["ordered"].norm == "l1"
    assert found["unordered"].norm == "user"
    assert found["unordered"].bound <= found["ordered"].bound
    assert "0.5-differential privacy" in found["once"].guarantee.assumptions[0]


def test_the_curve_is_within_its_band_and_gaps_lose_whole_years():
    found = example("regression")
    low, high = found["curve"].band(found["grid"], SURE, include="worst")
    assert np.all(low <= found["exact"])
    assert np.all(found["exact"] <= high)
    # The widths follow from the noise's law and the number of records nearby: many at 50 (about 2.2), none at 105.
    assert found["high"][2] - found["low"][2] < 5
    assert (low[-1], high[-1]) == (60, 220)
    assert found["noise"][1] > 5 * found["noise"][0]
    # Next to no noise: what is left is what the gaps make of whole years, a line in the middle of the range.
    flat = sf.release(found["gaps"], found["whole"], found["box"], sf.Privacy(epsilon=1e6))(found["grid"])
    assert np.abs(flat - 140).max() < 2


@pytest.mark.slow
def test_naive_bayes_is_right_and_certain_of_what_noise_cannot_change():
    found = example("naive_bayes")
    model, others = found["model"], found["others"]
    assert found["right"]["kernel"] > 0.9  # 0.928 without noise, and at least 0.92 under ten times as much
    smooth = [part for part in model.likelihoods if isinstance(part, Smoothed)]
    widths = [float(np.sqrt(part.densities[0].masses.kernel.covariance[0][0])) for part in smooth]
    lattices = tuple(part.densities[0].basis if part in smooth else None for part in model.likelihoods)
    target = sf.NaiveBayes("ill", ["no", "yes"], bandwidth=widths)
    privacy = sf.Privacy(epsilon=1e6)
    quiet = sf.release(target, found["patients"], found["box"], privacy, basis=Attributes(lattices))
    told, meant = (one.predict(others, outside="clip") for one in (model, quiet))
    certain = model.certain(others, SURE, outside="clip")
    assert certain.any()
    assert np.all(told[certain] == meant[certain])
    for part in model.likelihoods:
        low, high = part.count_limits(SURE)
        labels = found["patients"]["ill"].to_numpy()
        counts = np.array([(labels == label).sum() for label in model.classes])  # without those that are undeclared
        assert np.all(low <= counts)
        assert np.all(counts <= high)
