"""Every release keeps the contract."""

import numpy as np
import pytest

import sfumato as sf
from contracts.release_contract import ReleaseContract
from sfumato.bases.unit import from_unit

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
        return from_unit(self.box, np.random.default_rng(2).uniform(size=(9, self.box.dimension)))

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


class DensityContract(ReleaseContract):
    """Densities of fifty records."""

    box, basis, privacy, options = sf.Box({"t": (0.0, 1.0)}), "auto", sf.Privacy(epsilon=1.0), {}
    bandwidth = 0.15

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        return sf.release(self.target(), self.arranged(records), self.box, self.privacy, basis=self.basis)

    def target(self):
        return sf.KDE(self.bandwidth, **self.options)

    def arranged(self, records):
        return records

    def answers(self, release):
        points = from_unit(release.box, np.random.default_rng(2).uniform(size=(9, release.box.dimension)))
        bands = [limit for include in ("noise", "total", "worst") for limit in release.band(points, include=include)]
        numbers = np.array([release.integrate(), release.count, *release.count_band()])
        return [release(points), *bands, numbers, release.sample(3, seed=1)]


class TestDensityOfOneColumn(DensityContract):
    pass


class TestDensityOfTwoColumns(DensityContract):
    box = sf.Box({"x": (0.0, 1.0), "hour": sf.Periodic(0, 1)})
    bandwidth = [0.2, 0.3]

    def arranged(self, records):
        return np.stack([records, records[::-1]], axis=1)

    def answers(self, release):
        return [*super().answers(release), *release.marginal("x").band([0.2, 0.4])]


class TestDensityWithABandwidthMatrix(TestDensityOfTwoColumns):
    bandwidth = [[0.06, 0.02], [0.02, 0.07]]

    def answers(self, release):
        points = from_unit(release.box, np.random.default_rng(2).uniform(size=(5, 2)))
        return [release(points), *release.band(points, include="noise"), *release.band(points[:2], include="worst")]


class TestDensityWithoutConstraints(DensityContract):
    options = {"post": "none"}


@pytest.mark.slow
class TestDensityOfCompleteRecords(DensityContract):
    options = {"missing": "none"}


@pytest.mark.slow
class TestSplitDensity(DensityContract):
    basis = sf.SplitLattice(9, 0.08)


class TestBinnedDensityOfAPrivateNumber(DensityContract):
    basis, privacy = sf.Binning(9), sf.Privacy(epsilon=1.0, neighbours="add-remove")


@pytest.mark.slow
class TestGaussianDensity(DensityContract):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6)


@pytest.mark.slow
class TestConcentratedDensity(DensityContract):
    privacy = sf.Privacy(rho=0.1)


class TestPolynomialDensity(DensityContract):
    basis = sf.Bernstein(9, 2)


@pytest.mark.slow
class TestPolynomialDensityWithoutConstraints(DensityContract):
    basis, options = sf.Bernstein(9, 2), {"post": "none"}


class TestGroupedDensity(DensityContract):
    box = sf.Box({"t": (0.0, 1.0), "group": sf.Categorical([0, 1, 2])})
    options = {"by": "group"}

    def arranged(self, records):
        return np.stack([records, np.arange(len(records)) % 2], axis=1)

    def answers(self, release):
        parts = [answer for name in release for answer in super(TestGroupedDensity, self).answers(release[name])]
        return [*parts, np.array(list(release.shares.values()))]


@pytest.mark.slow
class TestGaussianGroupedDensity(TestGroupedDensity):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6, neighbours="add-remove")


class MachineContract(ReleaseContract):
    """Learners of fifty records; landmarks at public points whose numbers appear nowhere else."""

    box, privacy = sf.Box({"t": (0.0, 1.0)}), sf.Privacy(epsilon=1.0)
    loss, kernel, options = "hinge", sf.RBF(3.0), {"classes": ["low", "high"]}
    basis = sf.Landmarks([0.1234, 0.3141, 0.4571, 0.6173, 0.8317])

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        target = sf.KernelMachine(self.loss, self.kernel, 2.0, response="y", **self.options)
        return sf.release(target, (records, self.responses(records)), self.box, self.privacy, basis=self.basis)

    def responses(self, records):
        return np.where(records > 0.4, "high", "low")

    def answers(self, release):
        points = np.random.default_rng(2).uniform(size=(9, 1))
        share = np.array([release.certain_share()])
        return [
            release(points),
            release.predict(points) == "high",
            *release.band(points),
            release.certain(points),
            share,
        ]


class TestOutputMachine(MachineContract):
    pass


class TestObjectiveMachine(MachineContract):
    loss, options = "logistic", {"classes": ["low", "high"], "mechanism": "objective"}

    def answers(self, release):
        return [*super().answers(release), release.probability([0.1, 0.7])]


@pytest.mark.slow
class TestGaussianMachine(TestObjectiveMachine):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6, neighbours="add-remove")


@pytest.mark.slow
class TestConcentratedMachine(MachineContract):
    privacy = sf.Privacy(rho=0.1)


class TestLinearMachine(TestObjectiveMachine):
    basis, kernel = sf.Coordinates(), sf.LinearKernel()

    def answers(self, release):
        return [*super().answers(release), *release.linear()]


class TestMachineOnALattice(MachineContract):
    basis, kernel = sf.Bernstein(4, 2), sf.LinearKernel()


class TestMachineOfThreeClasses(MachineContract):
    options = {"classes": ["high", "low", "none"]}


class TestRegressionMachine(MachineContract):
    loss, options = "squared", {"range": (-0.7, 1.9), "mechanism": "output"}

    def responses(self, records):
        return np.asarray(records) ** 2

    def answers(self, release):
        points = np.random.default_rng(2).uniform(size=(9, 1))
        return [release(points), release.predict(points), *release.band(points)]


class CurveContract(ReleaseContract):
    """Regression curves of fifty records."""

    box, privacy = sf.Box({"t": (0.0, 1.0)}), sf.Privacy(epsilon=1.0)
    bandwidth, basis = 0.15, sf.Binning(9)

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        target = sf.NadarayaWatson(self.bandwidth, "y", (-0.7, 1.9))
        return sf.release(
            target, (self.arranged(records), np.asarray(records) ** 2), self.box, self.privacy, basis=self.basis
        )

    def arranged(self, records):
        return records

    def answers(self, release):
        points = from_unit(release.box, np.random.default_rng(2).uniform(size=(9, release.box.dimension)))
        bands = [limit for include in ("noise", "total", "worst") for limit in release.band(points, include=include)]
        return [release(points), *bands, release.high(points), release.low(points)]


class TestCurveOfOneColumn(CurveContract):
    pass


class TestCurveOfTwoColumns(CurveContract):
    box, bandwidth, basis = sf.Box({"x": (0.0, 1.0), "hour": sf.Periodic(0, 1)}), [0.2, 0.3], sf.Binning((5, 4))

    def arranged(self, records):
        return np.stack([records, records[::-1]], axis=1)


@pytest.mark.slow
class TestSplitCurve(CurveContract):
    basis = sf.SplitLattice(9, 0.08)


@pytest.mark.slow
class TestGaussianCurve(CurveContract):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6, neighbours="add-remove")


class TestPriestleyChao(FunctionContract):
    box = sf.Box({"t": (0.0, 1.0)})

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        target = sf.PriestleyChao(0.15, "y", (-0.7, 1.9))
        return sf.release(target, (records, np.asarray(records) ** 2), self.box, self.privacy, basis=self.basis)


class BayesContract(ReleaseContract):
    """Naive Bayes classifiers of fifty records."""

    box, privacy, options = sf.Box({"t": (0.0, 1.0)}), sf.Privacy(epsilon=1.0), {"bandwidth": [0.15]}

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        target = sf.NaiveBayes("y", [0, 1], **self.options)
        labels = np.where(np.asarray(records) > 0.4, 1, 0)
        return sf.release(target, (self.arranged(records), labels), self.box, self.privacy)

    def arranged(self, records):
        return records

    def points(self):
        return np.random.default_rng(2).uniform(size=(9, 1))

    def answers(self, release):
        points = self.points()
        bands = [limit for include in ("noise", "total", "worst") for limit in release.band(points, include=include)]
        return [release.predict_proba(points), release.predict(points), *bands, release.certain(points), release.counts]


class TestKernelBayes(BayesContract):
    pass


class TestNormalBayes(BayesContract):
    options = {"likelihood": "normal"}


@pytest.mark.slow
class TestGaussianBayes(BayesContract):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6, neighbours="add-remove")


class TestBayesWithCategories(BayesContract):
    box = sf.Box({"group": sf.Categorical([0, 1, 2]), "t": (0.0, 1.0), "hour": sf.Periodic(0, 1)})
    options = {"bandwidth": [0.15, 0.2]}

    def arranged(self, records):
        return np.stack([np.arange(len(records)) % 3, records, records[::-1]], axis=1)

    def points(self):
        generator = np.random.default_rng(2)
        return np.column_stack([generator.integers(0, 4, 9), generator.uniform(size=(9, 2))])


class ValueContract(ReleaseContract):
    """Statistics of fifty records."""

    box, privacy = sf.Box({"t": (0.0, 1.0)}), sf.Privacy(epsilon=1.0)
    what, options = "mean", {}

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        return sf.release(sf.Statistic(self.what, **self.options), records, self.box, self.privacy)

    def answers(self, release):
        limits = [limit for confidence in (0.5, 0.99) for limit in release.interval(confidence)]
        return [np.asarray(answer) for answer in (release.value, *limits)]

    def test_text_shows_no_noisy_number(self, release):
        """A single value is its own summary and shown with six digits; the numbers behind it are not."""
        assert len(repr(release).split(";")[0]) < 80


class TestMean(ValueContract):
    pass


class TestCompleteMean(ValueContract):
    options = {"missing": "none"}


class TestGaussianCovariance(ValueContract):
    box = sf.Box({"t": (0.0, 1.0), "u": (-1.0, 1.0)})
    what, privacy = "covariance", sf.Privacy(rho=0.1)

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        return sf.release(sf.Statistic(self.what), np.stack([records, -records], axis=1), self.box, self.privacy)


class TestHistogram(ValueContract):
    what, options = "histogram", {"bins": 5}


class TestCountOfAPrivateNumber(ValueContract):
    what, privacy = "count", sf.Privacy(epsilon=1.0, neighbours="add-remove")


class TestMedian(ValueContract):
    what, options = "median", {"missing": "none"}


class TestChosenMedian(ValueContract):
    what, options = "median", {"interval": "none"}


class TestQuantiles(ValueContract):
    what, privacy = "quantiles", sf.Privacy(rho=0.1)


class TestSampledStatistic(ValueContract):
    what, privacy = staticmethod(np.mean), sf.Privacy(epsilon=1.0, gamma=0.1)

    @property
    def options(self):
        oracle = sf.oracles.uniform(self.box)
        found = sf.sample_sensitivity(np.mean, oracle, 50, gamma=0.1, rule="exchangeable", seed=1, progress=False)
        return {"sensitivity": found}

    def test_it_says_that_it_is_random(self, loaded):
        assert loaded.guarantee.confidence == 0.9
        assert "random differential privacy only, gamma 0.1" in loaded.guarantee.assumptions[0]
        assert loaded.law.certificate.known == "sampled"


class TestPrivateBounds(ValueContract):
    def make(self, data=None):
        return sf.private_bounds(np.linspace(0, 1, 50) if data is None else data, privacy=self.privacy)

    def answers(self, release):
        return [release.value]


class SummaryContract(ReleaseContract):
    """Summaries of fifty records."""

    box, privacy = sf.Box({"t": (0.0, 1.0)}), sf.Privacy(epsilon=1.0)
    options = {"degree": 8}

    def make(self, data=None):
        records = np.linspace(0, 1, 50) if data is None else data
        return sf.summarize(self.arranged(records), self.box, self.privacy, **self.options)

    def arranged(self, records):
        return records

    def answers(self, release):
        found = [
            release.answer(lambda p: np.exp(-((p[:, 0] - 0.4) ** 2))),
            release.answer(lambda p: np.cos(p[:, 0]), damping="balanced", confidence=0.8),
            release.mean(),
            release.covariance(),
            release.share({"t": (0.2, None)}),
            release.kde([0.3, 0.7], 0.3, columns="t"),
        ]
        return [np.array(part) for one in found for part in (one.value, one.error, one.noise_sd, one.approximation)]


class TestSummaryOfOneColumn(SummaryContract):
    pass


class TestSummaryOfAPrivateNumber(SummaryContract):
    privacy = sf.Privacy(epsilon=1.0, neighbours="add-remove")


@pytest.mark.slow
class TestGaussianSummary(SummaryContract):
    privacy = sf.Privacy(epsilon=0.7, delta=1e-6)


@pytest.mark.slow
class TestConcentratedSummary(SummaryContract):
    privacy = sf.Privacy(rho=0.1)


class TestSummaryOfManyColumns(SummaryContract):
    box = sf.Box(
        {
            "t": (0.0, 1.0),
            "group": sf.Categorical([0, 1, 2]),
            "hour": sf.Periodic(0, 1),
            "u": (0, 2),
            "v": sf.Integer(0, 9),
        }
    )
    options = {"degree": 4, "interactions": 2}

    def arranged(self, records):
        groups = np.arange(len(records)) % 4
        return np.stack([records, groups, records[::-1], 2 * records, 9 * records], axis=1)

    def answers(self, release):
        share = release.share({"group": [0, 2], "t": (0.5, 0.9)})
        model = release.fit("t", ["u", "v"])
        two = release.answer(lambda p: p[:, 0] * (p[:, 1] == 2), columns=["t", "group"])
        matrix = release.correlation()
        return [
            np.array([share.value, share.error, two.value, two.error, *model.coefficients, model.intercept]),
            matrix.value,
            matrix.error,
        ]
