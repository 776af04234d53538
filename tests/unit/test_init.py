"""The public names, and that importing the package is cheap."""

import subprocess
import sys
import types

import pytest

import sfumato as sf

PUBLIC = [
    "AboveThreshold",
    "Account",
    "Answer",
    "Bernstein",
    "Binning",
    "BlackBox",
    "Box",
    "Categorical",
    "Certificate",
    "ComponentsRelease",
    "Composed",
    "Coordinates",
    "CosineMoments",
    "Cosines",
    "Csv",
    "CurveRelease",
    "Date",
    "DensityRelease",
    "FunctionRelease",
    "GroupedDensityRelease",
    "Guarantee",
    "Hoelder",
    "Integer",
    "KDE",
    "KernelMachine",
    "Landmarks",
    "Ledger",
    "Linear",
    "LinearKernel",
    "LogisticRegression",
    "MachineRelease",
    "Matern",
    "Model",
    "NadarayaWatson",
    "NaiveBayes",
    "NaiveBayesRelease",
    "Periodic",
    "Person",
    "Plan",
    "Polynomial",
    "Precomputed",
    "PriestleyChao",
    "PrincipalComponents",
    "Privacy",
    "RBF",
    "Ridge",
    "SampledCertificate",
    "SamplerPlan",
    "Smooth",
    "SmoothedHinge",
    "SmoothedHuber",
    "SplitLattice",
    "Statistic",
    "Step",
    "SummaryRelease",
    "TableMoments",
    "TableRelease",
    "Target",
    "Tuned",
    "UserKernel",
    "UserLoss",
    "ValueRelease",
    "__version__",
    "composed",
    "engines",
    "errors",
    "load",
    "local",
    "noise",
    "oracles",
    "plan",
    "private_bounds",
    "private_box",
    "private_pca",
    "read_box",
    "release",
    "sample_sensitivity",
    "sampler_plan",
    "select",
    "summarize",
    "synthesize",
]


def python(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def test_the_public_names_are_these():
    assert sorted(sf.__all__) == PUBLIC


def test_dir_lists_the_public_names():
    assert sorted(dir(sf)) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    assert getattr(sf, name) is not None


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ("__version__", "errors", "noise", "oracles")])
def test_every_public_name_is_documented(name):
    assert getattr(sf, name).__doc__.strip()


def test_modules_and_callables():
    assert isinstance(sf.errors, types.ModuleType)
    assert isinstance(sf.noise, types.ModuleType)
    assert callable(sf.noise.laplace)
    assert callable(sf.noise.gaussian)
    assert isinstance(sf.local, types.ModuleType)
    assert callable(sf.local.Density)
    assert isinstance(sf.oracles, types.ModuleType)
    assert callable(sf.oracles.uniform)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        sf.magic  # noqa: B018


def test_a_star_import_brings_the_public_names():
    names = {}
    exec("from sfumato import *", names)
    assert {name for name in names if not name.startswith("__")} == set(PUBLIC) - {"__version__"}


def test_importing_brings_nothing_heavy():
    heavy = {"numpy", "scipy", "pyarrow", "narwhals", "pandas", "polars", "safetensors"}
    loaded = python("import sys, sfumato; print(*sys.modules)")
    assert not heavy & set(loaded)


def test_dir_brings_nothing_heavy():
    assert "numpy" not in python("import sys, sfumato; dir(sfumato); sfumato.__version__; print(*sys.modules)")


def test_a_name_brings_only_what_it_needs():
    loaded = python("import sys, sfumato; sfumato.Privacy(epsilon=1.0); print(*sys.modules)")
    assert not {"pyarrow", "safetensors", "scipy", "narwhals"} & set(loaded)


@pytest.mark.slow
def test_reading_a_release_needs_no_engines():
    loaded = python("import sys, sfumato; sfumato.load; print(*sys.modules)")
    assert not {"sfumato.engines", "sfumato.targets", "narwhals", "pyarrow"} & set(loaded)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("sfumato") == sf.__version__
