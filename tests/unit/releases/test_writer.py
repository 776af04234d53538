"""What is saved is read back first; what cannot be read back is written beside, and never lost."""

import os
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, UnreadableReleaseError


@pytest.fixture
def release():
    return sf.release(sf.Statistic("count"), np.zeros((5, 1)), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0))


def broken(monkeypatch, error):
    def rebuild(*_):
        raise error

    monkeypatch.setattr("sfumato.releases.value.ValueRelease.rebuild", rebuild)


@pytest.mark.parametrize("error", [ValueError("a bound that is too narrow"), MemoryError()], ids=["bound", "memory"])
def test_what_cannot_be_read_back_is_written_beside(release, tmp_path, monkeypatch, error):
    with monkeypatch.context() as patch:
        broken(patch, error)
        with pytest.raises(UnreadableReleaseError, match=r"r\.sfumato\.unread; keep that file") as caught:
            release.save(tmp_path / "r.sfumato")
    assert (str(error) or "not enough memory") in str(caught.value)
    assert os.listdir(tmp_path) == ["r.sfumato.unread"]
    assert sf.load(tmp_path / "r.sfumato.unread").value == release.value  # once the defect is mended


def test_two_of_them_do_not_take_each_others_place(release, tmp_path, monkeypatch):
    broken(monkeypatch, ValueError("no"))
    for _ in range(3):
        with pytest.raises(UnreadableReleaseError):
            release.save(tmp_path / "r.sfumato")
    assert sorted(os.listdir(tmp_path)) == [f"r.sfumato.unread{number}" for number in ("", 2, 3)]


def test_the_old_file_stays_where_the_new_one_cannot_be_read(release, tmp_path, monkeypatch):
    release.save(tmp_path / "r.sfumato")
    before = (tmp_path / "r.sfumato").read_bytes()
    broken(monkeypatch, ValueError("no"))
    with pytest.raises(UnreadableReleaseError):
        release.save(tmp_path / "r.sfumato")
    assert (tmp_path / "r.sfumato").read_bytes() == before


@pytest.mark.few(1)
@pytest.mark.parametrize("bandwidth", [0.1, [0.05, 0.2], [[0.01, 0.0], [0.0, 0.01]]], ids=["one", "each", "matrix"])
def test_a_narrow_bandwidth_for_each_column_loads(tmp_path, bandwidth):
    """Below an eightieth of a column, which is the limit of matrices whose columns are connected."""
    records = np.random.default_rng(0).normal(5, 1, (200, 2))
    box = sf.Box({"x": (0, 10), "y": (0, 10)})
    release = sf.release(sf.KDE(bandwidth), records, box, sf.Privacy(epsilon=1.0), basis=sf.Binning(20))
    release.save(tmp_path / "r.sfumato")
    loaded = sf.load(tmp_path / "r.sfumato")
    assert loaded.masses.kernel == release.masses.kernel
    assert loaded([[5.0, 5.0]]) == release([[5.0, 5.0]])


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_far_from_one_load(tmp_path, unit):
    """Products of squares would leave the range of numbers."""
    records = unit * np.random.default_rng(0).uniform(size=(50, 2))
    box = sf.Box({"x": (0, unit), "y": (0, unit)})
    release = sf.release(sf.KDE(0.2 * unit), records, box, sf.Privacy(epsilon=1.0), basis=sf.Binning(4))
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").masses.kernel == release.masses.kernel


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_units_whose_densities_no_number_holds_are_refused(unit):
    box = sf.Box({"x": (0, unit), "y": (0, unit)})
    with pytest.raises(ParameterError, match="use other units"):
        sf.KDE(0.2 * unit).check_box(box)


def test_a_number_that_json_does_not_have_is_written_beside(tmp_path):
    release = sf.release(sf.KDE(0.3), np.zeros(5), sf.Box([(0, 1)]), sf.Privacy(epsilon=1.0), basis=sf.Binning(3))
    odd = replace(release, choice=replace(release.choice, predicted_error=float("nan")))
    with pytest.raises(UnreadableReleaseError, match="NaN is not a number"):
        odd.save(tmp_path / "r.sfumato")
    assert os.listdir(tmp_path) == ["r.sfumato.unread"]


def test_a_matrix_that_is_too_fine_is_still_refused():
    box = sf.Box({"x": (0, 10), "y": (0, 10)})
    with pytest.raises(ParameterError, match=r"a deviation of at least 0\.125"):
        sf.KDE([[0.01, 0.005], [0.005, 0.01]]).check_box(box)


def test_a_lattice_wider_than_its_predicted_window_is_published(tmp_path):
    """It was refused after the charge: its predicted error was looked for in a window that it does not fit."""
    box = sf.Box({"x": (0, 1)})
    target = sf.KDE(0.005, post="none")
    release = sf.release(target, np.zeros(9), box, sf.Privacy(epsilon=1.0), basis=sf.SplitLattice(5, 0.3))
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").choice == release.choice
