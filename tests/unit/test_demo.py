"""The simulated clinic: the same people for everybody, inside their box."""

import csv
import io

import numpy as np
import pytest

from sfumato import demo
from sfumato.boxfile import read_box

STUDIES = pytest.mark.parametrize("study", demo.STUDIES, ids=lambda study: study.name)


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("box")
    texts = {"columns.toml": demo.BOX, "homes.toml": demo.HOMES}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: read_box(folder / name) for name in texts}


def test_the_cohort_is_the_same_for_everybody_and_inside_its_boxes(boxes):
    first, second = demo.cohort(), demo.cohort()
    assert list(first) == [*boxes["columns.toml"].names, "ill", "smoker", *boxes["homes.toml"].names]
    assert set(first["ill"]) == {"no", "yes"} and set(first["smoker"]) == {"never", "former", "daily"}
    bounds = [(name, *ends) for box in boxes.values() for name, *ends in zip(box.names, box.low, box.high, strict=True)]
    for name, low, high in bounds:
        assert np.array_equal(first[name], second[name])
        assert len(first[name]) == demo.PATIENTS
        assert low < first[name].min() and first[name].max() < high


def test_the_csv_file_holds_the_cohort():
    rows = list(csv.DictReader(io.StringIO(demo.cohort_csv(50))))
    for name, values in demo.cohort(50).items():
        if name in ("ill", "smoker"):
            assert [row[name] for row in rows] == values.tolist()
        else:
            assert [float(row[name]) for row in rows] == pytest.approx(values.tolist(), rel=1e-5)


def test_the_points_are_in_the_box():
    rows = list(csv.DictReader(io.StringIO(demo.POINTS)))
    assert rows and all(0 <= float(row["age"]) <= 110 for row in rows)


@STUDIES
def test_the_studies_are_over_columns_of_their_boxes(study, boxes):
    assert set(study.columns) <= set(boxes[study.box].names)
    assert len(study.bandwidths) in (0, len(study.columns)) and all(0 < width < 20 for width in study.bandwidths)
    assert study.target.describe()
