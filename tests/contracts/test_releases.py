"""Every release keeps the contract."""

import numpy as np

import sfumato as sf
from contracts.release_contract import ReleaseContract

LINE = sf.Box({"t": (0.0, 2.0)})
PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})


def mean(data):
    return lambda points: float(np.mean(data)) + points[:, 0] / 10


class FunctionContract(ReleaseContract):
    box, basis, privacy, options = LINE, sf.Bernstein(6, 2), sf.Privacy(epsilon=1.0), {}

    def make(self, data=None):
        target = sf.BlackBox(mean, sensitivity=0.05, range=(0, 20), **self.options)
        return sf.release(
            target, np.linspace(0, 1, 50) if data is None else data, self.box, self.privacy, basis=self.basis
        )

    def points(self):
        return self.box.from_unit(np.random.default_rng(2).uniform(size=(9, self.box.dimension)))

    def answers(self, release):
        points = self.points()
        return [release(points), *release.band(points), np.array([release.integrate()])]


class TestFunctionOfOneColumn(FunctionContract):
    pass


class TestFunctionOfTwoColumns(FunctionContract):
    box, basis = PLANE, sf.Bernstein((4, 2), 3)


class TestStepFunction(FunctionContract):
    basis = sf.Step(9)


class TestGaussianFunction(FunctionContract):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6, neighbours="add-remove")


class TestConcentratedFunction(FunctionContract):
    privacy = sf.Privacy(rho=0.1)


class TestSmoothFunction(FunctionContract):
    options = {"smoothness": sf.Smooth(4, 3.0)}

    def answers(self, release):
        return [*super().answers(release), *release.band(self.points(), include="total")]


class TestDerivative(FunctionContract):
    def make(self, data=None):
        return super().make(data).derivative("t")

    def answers(self, release):
        points = self.points()
        return [release(points), *release.band(points)]
