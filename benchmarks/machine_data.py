"""The data of the learners' benchmarks: two Gaussian classes by a public seed; a9a and CoverType where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from pyarrow import csv
from sklearn.datasets import load_svmlight_file

import sfumato as sf
from benchmarks.reproduce import SHARED

SQUARE = sf.Box([(0, 1), (0, 1)])
PER_CLASS = 1500
SIDE = 101  # of the grid on the unit square
A9A_COLUMNS, A9A_LONGEST = 123, 14**0.5  # each row has at most 14 ones
PUBLIC, TEST, NUMERIC = 40_000, 40_000, 10  # of CoverType: rows held out, and columns that are numbers
LANDMARKS, RANK = 1200, 300


@dataclass(frozen=True)
class Task:
    """Private rows to learn from, rows to be judged on, and a public sample without labels."""

    records: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    public: np.ndarray
    box: sf.Box

    def __len__(self) -> int:
        return len(self.records)


@lru_cache(maxsize=1)
def square(side: int = SIDE) -> np.ndarray:
    """A grid on the unit square."""
    axis = np.linspace(0, 1, side)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


@lru_cache(maxsize=1)
def two_gaussians(seed: int = 20170207) -> tuple[np.ndarray, np.ndarray]:
    """The Bernstein paper's Figure 2: 1500 records of each class, rejected to the unit square, labels 1 and -1."""
    rng = np.random.default_rng(seed)
    laws = (((0.3, 0.5), [[0.01, 0], [0, 0.01]]), ((0.6, 0.4), [[0.01, 0.008], [0.008, 0.015]]))
    draws = [rng.multivariate_normal(mean, cov, 2 * PER_CLASS) for mean, cov in laws]
    kept = [d[((d >= 0) & (d <= 1)).all(axis=1)][:PER_CLASS] for d in draws]
    return np.concatenate(kept), np.repeat([1, -1], PER_CLASS)


def exact_svm(points: np.ndarray) -> np.ndarray:
    """The noise-free learner of Figure 2 (hinge loss, C = 1, Gaussian kernel with sigma = 1), in closed form.

    Every margin stays below 1, so every record is a support vector at its upper bound: f = mean(y_i K(x_i, .)).
    """
    records, labels = two_gaussians()
    weights = labels * np.exp(-(records**2).sum(axis=1) / 2) / len(labels)
    found = [np.exp(part @ records.T) @ weights for part in np.array_split(points, max(1, len(points) // 1000))]
    return np.concatenate(found) * np.exp(-(points**2).sum(axis=1) / 2)


@lru_cache(maxsize=1)
def exact_on_square() -> np.ndarray:
    """That learner on the grid."""
    return exact_svm(square())


@lru_cache(maxsize=1)
def a9a() -> Task | None:
    """Adult, binarised: 32,561 rows to learn from and 16,281 to test on; None without the shared data."""
    folder = SHARED / "data"
    if not (folder / "a9a.libsvm.gz").exists() or not (folder / "a9a.t.libsvm.gz").exists():
        return None
    paths = [str(folder / f"{name}.libsvm.gz") for name in ("a9a", "a9a.t")]
    loaded = [load_svmlight_file(path, n_features=A9A_COLUMNS) for path in paths]
    (records, labels), (test, truth) = ((x.toarray(), y.astype(int)) for x, y in loaded)
    box = sf.Box([(0, 1)] * A9A_COLUMNS, max_norm=A9A_LONGEST)
    return Task(records, labels, test, truth, test[:1000], box)


@lru_cache(maxsize=1)
def covtype() -> Task | None:
    """CoverType, class 2 against the rest; None without the shared data.

    A public seed sets 80,000 rows apart: 40,000 are a public sample, which alone decides how columns are centred and
    scaled, where the landmarks lie and what the constants are; 40,000 are the test. All others are private.
    """
    path = SHARED / "data" / "covtype.data.gz"
    if not path.exists():
        return None
    table = csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=True))
    columns = [column.to_numpy().astype(np.float64) for column in table.columns]
    order = np.random.default_rng(0).permutation(len(columns[0]))
    records = np.stack(columns[:-1], axis=1)[order]
    labels = np.where(columns[-1] == 2, 1, -1)[order]
    sample = records[:PUBLIC]
    middle, width = sample.mean(axis=0), sample.std(axis=0)
    records -= middle
    records[:, :NUMERIC] /= width[:NUMERIC]
    box = sf.Box([(-12, 12)] * records.shape[1], max_norm=3.0)
    held = PUBLIC + TEST
    return Task(records[held:], labels[held:], records[PUBLIC:held], labels[PUBLIC:held], records[:PUBLIC], box)


def landmarks(task: Task) -> sf.Landmarks:
    """The first 1200 rows of the public sample, of whose span 300 directions are kept."""
    return sf.Landmarks(task.box.clean(task.public[:LANDMARKS]), rank=RANK)


def in_span(features: object, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """The features of the private and of the test rows, as numbers: for learners that are not private."""
    return _mapped(features, task, task.records), _mapped(features, task, task.test)


def _mapped(features: object, task: Task, rows: np.ndarray) -> np.ndarray:
    block = 2**15
    parts = [features(task.box.clean(rows[i : i + block])) for i in range(0, len(rows), block)]  # type: ignore[operator]
    return np.concatenate(parts)
