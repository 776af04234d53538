"""Old files still load, still give the same values, and still promise the same."""

import json
from pathlib import Path

import pytest

import sfumato as sf

FILES = sorted(Path(__file__).parent.glob("*.sfumato"))
FLAVOURS = {"pure", "person", "concentrated", "derivative", "laplace"}


def test_every_flavour_of_version_one_is_here():
    assert {file.stem.removesuffix("-v1") for file in FILES if file.stem.endswith("-v1")} >= FLAVOURS


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def golden(request):
    return sf.load(request.param), json.loads(request.param.with_suffix(".json").read_text(encoding="utf-8"))


def test_it_still_evaluates_to_the_stored_values(golden):
    release, expected = golden
    assert release(expected["points"]) == pytest.approx(expected["values"], rel=1e-12, abs=1e-12)


def test_it_still_has_the_stored_guarantee(golden):
    release, expected = golden
    assert {name: getattr(release.guarantee, name) for name in expected["guarantee"]} == expected["guarantee"]
    assert release.guarantee.confidence == expected["confidence"]
    assert getattr(release.guarantee.unit, "max_rows", None) == expected["max_rows"]


def test_it_still_reads_the_same(golden):
    release, expected = golden
    assert list(release.guarantee.assumptions) == expected["assumptions"]
    assert list(release.box.names) == expected["names"]
    assert repr(release.basis) == expected["basis"]
    assert [list(pair) for pair in release.target] == expected["target"]


def test_it_still_knows_its_noise(golden):
    release, expected = golden
    kind, size, deviation = expected["noise"]
    assert (release.law.kind, release.law.size) == (kind, size)
    assert release.law.deviation == pytest.approx(deviation, rel=1e-12)
    low, high = release.band(expected["points"])
    assert (low < high).all()


def test_saving_it_again_keeps_it(golden, tmp_path):
    release, expected = golden
    release.save(tmp_path / "again.sfumato")
    again = sf.load(tmp_path / "again.sfumato")
    assert again(expected["points"]).tolist() == release(expected["points"]).tolist()
    assert again.guarantee == release.guarantee
    assert again.law == release.law
