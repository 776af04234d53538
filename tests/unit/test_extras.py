"""Optional dependencies: found, missing, or broken."""

import sys

import pytest

import sfumato as sf
from sfumato.engines.dask import client_at
from sfumato.errors import MissingExtraError
from sfumato.extras import need


def test_a_module_that_is_there_is_returned():
    assert need("os.path", "plot").join("a", "b").endswith("b")


@pytest.mark.parametrize("module", ["surely_missing_package", "surely_missing_package.part"])
def test_a_missing_package_names_the_extra(module):
    with pytest.raises(MissingExtraError) as caught:
        need(module, "plot")
    assert str(caught.value) == "surely_missing_package is not installed; pip install 'sfumato[plot]'"
    assert caught.value.name == "surely_missing_package"
    assert isinstance(caught.value, ImportError)


def test_a_package_that_is_hidden_counts_as_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"matplotlib is not installed; pip install 'sfumato\[plot\]'"):
        need("matplotlib", "plot")


def test_a_missing_part_of_an_installed_package_is_not_blamed_on_the_extra():
    with pytest.raises(ModuleNotFoundError) as caught:
        need("json.surely_missing", "plot")
    assert not isinstance(caught.value, MissingExtraError)


def test_a_broken_package_shows_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "half_a_package.py").write_text("import surely_missing_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        need("half_a_package", "plot")
    assert caught.value.name == "surely_missing_dependency"


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("psycopg", lambda: sf.Ledger("postgresql+psycopg://nobody@127.0.0.1:1/none")),
        ("dp_accounting", lambda: sf.composed([(sf.Privacy(epsilon=0.123), 3)], 1e-6)),
        ("distributed", lambda: client_at("tcp://127.0.0.1:1")),
        ("dask", sf.engines.Dask),
        ("pyspark", sf.engines.Spark),
    ],
)
def test_an_extra_that_is_too_old_is_told_where_it_is_used(package, use, monkeypatch):
    pytest.importorskip(package)
    monkeypatch.setattr("sfumato.extras._version", lambda name: "0.0.1")
    with pytest.raises(MissingExtraError, match=rf"{package} [0-9.]+ or later is needed, got 0\.0\.1; pip install"):
        use()
