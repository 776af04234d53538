"""The simulated clinic: the same people for everybody, inside their box, with a sensitivity that holds."""

import csv
import io

import numpy as np
import pyarrow as pa
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


def people(rows, study):
    return pa.table({name: rows[:, i] for i, name in enumerate(study.bandwidths)})


@STUDIES
def test_no_replacement_moves_the_density_further_than_stated(study, box):
    generator = np.random.default_rng(1)
    columns = [box.names.index(name) for name in study.bandwidths]
    low, high, n = box.low[columns], box.high[columns], 30
    fit, worst = study.fit(n), 0.0
    for trial in range(200):
        rows = generator.uniform(low, high, (n, len(columns)))
        other = rows.copy()
        rows[0] = [generator.uniform(low, high), low, np.full(len(columns), np.nan)][trial % 3]
        other[0] = [high, np.full(len(columns), np.nan), generator.uniform(low, high)][trial % 3]
        # The largest change is where one of the two people stands.
        points = np.vstack([generator.uniform(low, high, (20, len(columns))), rows[:1], other[:1]])
        points = points[np.isfinite(points).all(axis=1)]
        moved = np.abs(fit(people(rows, study))(points) - fit(people(other, study))(points))
        worst = max(worst, float(moved.max()))
    assert 0.99 * study.sensitivity(n) < worst <= study.sensitivity(n)


@STUDIES
def test_densities_stay_between_zero_and_the_peak_of_the_kernel(study, box):
    columns = [box.names.index(name) for name in study.bandwidths]
    middle = (box.low + box.high)[columns] / 2
    same = study.fit(10)(people(np.tile(middle, (10, 1)), study))
    assert same(middle[None, :])[0] == pytest.approx(study.peak)
    missing = study.fit(10)(people(np.full((10, len(columns)), np.nan), study))
    assert missing(middle[None, :]).tolist() == [0.0]


@STUDIES
def test_the_density_of_the_whole_cohort_integrates_to_about_one(study, box):
    columns = [box.names.index(name) for name in study.bandwidths]
    cohort = demo.cohort(500)
    density = study.fit(500)(pa.table({name: cohort[name] for name in study.bandwidths}))
    axes = [np.linspace(box.low[i], box.high[i], 81) for i in columns]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)
    volume = np.prod(box.high[columns] - box.low[columns])
    assert density(points).mean() * volume == pytest.approx(1.0, abs=0.05)
