"""The simulated clinic: the same people for everybody, inside their box."""

import csv
import io

import numpy as np
import pytest

from sfumato import demo
from sfumato.boxfile import read_box

STUDIES = pytest.mark.parametrize("study", demo.STUDIES, ids=lambda study: study.name)


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    path = tmp_path_factory.mktemp("box") / "columns.toml"
    path.write_text(demo.BOX)
    return read_box(path)


def test_the_cohort_is_the_same_for_everybody_and_inside_its_box(box):
    first, second = demo.cohort(), demo.cohort()
    assert list(first) == list(box.names)
    for name, low, high in zip(box.names, box.low, box.high, strict=True):
        assert np.array_equal(first[name], second[name])
        assert len(first[name]) == demo.PATIENTS
        assert low < first[name].min() and first[name].max() < high


def test_the_csv_file_holds_the_cohort():
    rows = list(csv.DictReader(io.StringIO(demo.cohort_csv(50))))
    for name, values in demo.cohort(50).items():
        assert [float(row[name]) for row in rows] == pytest.approx(values.tolist(), rel=1e-5)


def test_the_points_are_in_the_box(box):
    rows = list(csv.DictReader(io.StringIO(demo.POINTS)))
    assert rows and all(0 <= float(row["age"]) <= 110 for row in rows)


@STUDIES
def test_the_studies_are_over_columns_of_the_box(study, box):
    assert set(study.bandwidths) <= set(box.names)
    assert all(0 < width < 20 for width in study.bandwidths.values())
