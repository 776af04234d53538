"""Every release that devices reported keeps the contract of releases."""

import numpy as np

import sfumato as sf
from contracts.release_contract import ReleaseContract

LINE = sf.Box({"t": (0.0, 1.0)})
GROUPS = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical([0, 1, 2])})


class CollectedContract(ReleaseContract):
    """Releases of fifty reports."""

    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=5, seed=7)

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        collector = self.protocol.collector()
        collector.add_batch(self.protocol.encode_many(self.arranged(records)))
        return collector.release()

    def arranged(self, records):
        return records

    def answers(self, release):
        points = np.random.default_rng(2).uniform(size=(9, 1))
        return [release(points), *release.band(points), np.array([release.integrate()])]


class TestCollectedDensity(CollectedContract):
    pass


class TestLaplaceDensity(CollectedContract):
    protocol = sf.local.Density(LINE, epsilon=1.0, lattice=3, seed=7, randomizer="laplace")


class TestCollectedMoments(CollectedContract):
    protocol = sf.local.LinearModel(sf.Box({"t": (0.0, 1.0), "y": sf.Categorical([0, 1])}), 2.0, "y", seed=7)

    def arranged(self, records):
        return np.column_stack([records, np.round(records)])

    def answers(self, release):
        model, points = release.fit(), [[0.2], [0.9]]
        numbers = np.array([*model.coefficients, model.intercept, release.noise_sd, release.ridge])
        told = [release.second_moments, release.cross_moments, *release.slopes(), release.scores(points)]
        return [*told, numbers, release.predict(points).astype(float)]


class TestPublicMoments(TestCollectedMoments):
    """Of a number and a circle."""

    protocol = sf.local.LinearModel(
        sf.Box({"t": sf.Periodic(0.0, 1.0), "y": (0, 1)}), 2.0, "y", second_moments=np.eye(3) / 3, seed=7
    )


class TestCollectedModel(CollectedContract):
    protocol = sf.local.GeneralizedLinear(
        sf.Box({"t": (0.0, 1.0), "y": sf.Categorical([0, 1])}), 2.0, "y", copies="gaussian", delta=1e-5, seed=7
    )

    def arranged(self, records):
        return np.column_stack([records, np.round(records)])

    def answers(self, release):
        return [release.weights, release.cross_moments, release.fit().predict([[0.2], [0.9]])]


class TestCollectedRisk(CollectedContract):
    weights = sf.Box({"t": (-1, 1), "intercept": (-2, 2)})
    box = sf.Box({"t": (0.0, 1.0), "y": (0, 1)})
    protocol = sf.local.RiskMinimization(
        box, 1.0, "squared", weights, lattice=(5, 6), degree=3, response="y", seed=7, ridge=0.5
    )

    def arranged(self, records):
        return np.column_stack([records, records])

    def answers(self, release):
        points = np.random.default_rng(2).uniform(-1, 1, size=(9, 2))
        lowest = release.minimise()
        return [release(points), *release.band(points), np.array([*lowest.parameters, lowest.value, lowest.gap])]


class TestCollectedSummary(CollectedContract):
    protocol = sf.local.SmoothQueries(LINE, epsilon=1.0, degree=4, seed=7)

    def answers(self, release):
        answer = release.answer(lambda p: np.exp(-p[:, 0]))
        return [np.array([answer.value, answer.error, answer.noise_sd]), release.moments]


class TestMarginals(CollectedContract):
    protocol = sf.local.Marginals(GROUPS, epsilon=1.0, seed=7)

    def arranged(self, records):
        return np.stack([records > 0.3, records * 3 // 1], axis=1).astype(float)

    def answers(self, release):
        tables = [release.table(names, raw) for names in (["a"], ["b", "a"]) for raw in (False, True)]
        return [*tables, *release.band(["a", "b"])]
