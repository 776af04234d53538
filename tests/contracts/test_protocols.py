"""Every protocol keeps the contract."""

import dataclasses

import numpy as np

import sfumato as sf
from contracts.protocol_contract import ProtocolContract

PLANE = sf.Box({"age": (0, 110), "hour": sf.Periodic(0, 24)})
GROUPS = sf.Box({"a": sf.Categorical(["no", "yes"]), "b": sf.Categorical([1, 2, 3]), "c": sf.Categorical([0, 1])})


class DensityContract(ProtocolContract):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=(3, 4), seed=7, randomizer="hadamard")

    def records(self):
        return np.random.default_rng(1).uniform([-10, 0], [120, 24], size=(self.people, 2))


class TestHadamardDensity(DensityContract):
    pass


class TestSubsetDensity(DensityContract):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=(3, 4), seed=7, randomizer="subset")


class TestWideSubsetDensity(DensityContract):
    protocol, width = sf.local.Density(PLANE, epsilon=4.0, lattice=(20, 30), seed=7, randomizer="subset"), 2


class TestBitDensity(DensityContract):
    protocol = sf.local.Density(PLANE, epsilon=0.5, lattice=3, seed=7, randomizer="bit", users=1000)


class TestLikelihoodDensity(DensityContract):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, randomizer="likelihood")


class TestLogLogDensity(DensityContract):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, randomizer="loglog")


class TestLaplaceDensity(DensityContract):
    protocol, width = sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, randomizer="laplace"), 72


class TestPrivUnitDensity(DensityContract):
    protocol = sf.local.Density(PLANE, epsilon=1.0, lattice=2, seed=7, randomizer="privunit")


class TestLinearModel(ProtocolContract):
    protocol = sf.local.LinearModel(
        sf.Box({"age": (0, 110), "hour": (0, 24), "ill": sf.Categorical([0, 1])}), epsilon=1.0, response="ill", seed=7
    )

    def records(self):
        return np.random.default_rng(1).uniform([-10, 0, 0], [120, 24, 2], size=(self.people, 3)).round()


class TestLinearModelOfANumber(TestLinearModel):
    protocol = sf.local.LinearModel(
        sf.Box({"age": (0, 110), "hour": (0, 24), "ill": (0, 1)}), 2.0, "ill", seed=7, second_moments=np.eye(3) / 3
    )


class TestGeneralizedLinear(TestLinearModel):
    protocol, width = sf.local.GeneralizedLinear(TestLinearModel.protocol.box, 1.0, "ill", seed=7, steps=5), 2


class TestGaussianGeneralizedLinear(TestLinearModel):
    protocol = sf.local.GeneralizedLinear(
        TestLinearModel.protocol.box, 1.0, "ill", copies="gaussian", delta=1e-6, degree=2, algorithm=5, seed=7
    )
    width = 36


class TestAbsoluteGeneralizedLinear(TestLinearModel):
    protocol = sf.local.GeneralizedLinear(
        sf.Box({"age": (0, 110), "hour": (0, 24), "ill": (0, 1)}), 4.0, "ill", "absolute", seed=7, degree=3, steps=3
    )
    width = 4


class RiskContract(ProtocolContract):
    box = sf.Box({"age": (0, 110), "hour": (0, 24), "ill": sf.Categorical([0, 1])})
    parameters = sf.Box({"age": (-2, 2), "intercept": (-1, 1)})
    protocol = sf.local.RiskMinimization(
        box, 1.0, "logistic", parameters, lattice=(4, 3), degree=2, response="ill", seed=7, ridge=0.1
    )

    @property
    def released_on(self):
        return self.parameters

    def records(self):
        return np.random.default_rng(1).uniform([-10, 0, 0], [120, 24, 2], size=(self.people, 3)).round()


class TestBitRisk(RiskContract):
    pass


class TestLikelihoodRisk(RiskContract):
    protocol = dataclasses.replace(RiskContract.protocol, randomizer="likelihood")


class TestLogLogRisk(RiskContract):
    protocol = dataclasses.replace(RiskContract.protocol, randomizer="loglog", lattice=3, loss="smoothed-hinge")


class TestLaplaceRisk(RiskContract):
    protocol, width = dataclasses.replace(RiskContract.protocol, randomizer="laplace", range=(0.0, 1.0)), 96


class TestBernsteinRisk(RiskContract):
    protocol = dataclasses.replace(RiskContract.protocol, lattice=4, degree=3, bernstein=2, total=False, loss="huber")


class SmoothContract(ProtocolContract):
    box = sf.Box({"age": (0, 110), "group": sf.Categorical(["x", "y", "z"])})
    protocol = sf.local.SmoothQueries(box, epsilon=1.0, degree=(4, 1), seed=7)

    def records(self):
        generator = np.random.default_rng(1)
        return [[generator.uniform(-5, 120), "xyz?"[generator.integers(4)]] for _ in range(self.people)]


class TestBitSmooth(SmoothContract):
    pass


class TestLaplaceSmooth(SmoothContract):
    protocol = sf.local.SmoothQueries(SmoothContract.box, epsilon=1.0, degree=3, seed=7, randomizer="laplace")
    width = 64


class TestLikelihoodSmooth(SmoothContract):
    protocol = sf.local.SmoothQueries(
        SmoothContract.box, epsilon=1.0, degree=3, seed=7, randomizer="likelihood", interactions=1
    )


class TestLogLogSmooth(SmoothContract):
    protocol = sf.local.SmoothQueries(
        SmoothContract.box, epsilon=1.0, degree=3, seed=7, randomizer="loglog", interactions="cross"
    )


class MarginalsContract(ProtocolContract):
    protocol = sf.local.Marginals(GROUPS, epsilon=1.0, seed=7)

    def records(self):
        generator = np.random.default_rng(1)
        kinds = [[*column.categories, None] for column in self.protocol.box.columns]
        return [[kind[generator.integers(len(kind))] for kind in kinds] for _ in range(self.people)]


class TestTwoWayMarginals(MarginalsContract):
    pass


class TestThreeWayMarginals(MarginalsContract):
    protocol = sf.local.Marginals(GROUPS, epsilon=2.0, ways=3, one_way=0.4, seed=7)


class TestOneWayMarginals(MarginalsContract):
    protocol = sf.local.Marginals(GROUPS, epsilon=1.0, ways=1, seed=7, randomizer="hadamard")


class TestSubsetMarginals(MarginalsContract):
    protocol = sf.local.Marginals(GROUPS, epsilon=1.0, ways=1, seed=7, randomizer="subset")


class TestChebyshevMarginals(MarginalsContract):
    protocol = sf.local.Marginals(
        sf.Box({name: sf.Categorical([0, 1]) for name in "abc"}), epsilon=1.0, ways=3, seed=7, randomizer="chebyshev"
    )
