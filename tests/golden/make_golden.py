"""Write the golden files: ``python tests/golden/make_golden.py``.

Run it once for each new version of the file format, under a new name, and commit what it writes. It never overwrites
a file: the point of these files is that they are old.

Nothing here is private or random: the coefficients are those of a formula, in place of noisy ones. Collected releases
come from people who are simulated, and devices whose randomness is a fixed stream.
"""

import json
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.bases.bayes.attributes import Attributes
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.statistics.magnitudes import WIDEST
from sfumato.bases.statistics.quantiles import Grid, Quantiles
from sfumato.bases.unit import from_unit
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate
from sfumato.core.privacy import Guarantee, part_of
from sfumato.paid_choice import Settled, expected, first_of
from sfumato.pipeline import prepare
from sfumato.releases.base import Receipt
from sfumato.targets.base import Measured, Published
from sfumato.targets.bounds import Bounds

HERE = Path(__file__).parent
VERSION = 1


def function(basis, box, privacy, smoothness=None, noise="auto"):
    """A release whose coefficients are known."""
    size = basis.size(box)
    stated = Certificate("linf", 0.1, privacy.neighbours, "stated", "bernstein", None, ("fit is what it was",))
    law, guarantee = calibrate(stated.for_unit(privacy), size, privacy, noise)
    return sf.FunctionRelease(
        guarantee=guarantee,
        law=law,
        target=(("target", "black box"), ("stated sensitivity", "0.1"), ("note", "für später")),
        expansion=Expansion(basis, box, np.sin(np.arange(size)) * 10),
        smoothness=smoothness,
    )


def masses(target, basis, box, privacy, rows, groups=1):
    """A density whose noisy masses are known: a bump, and something like noise."""
    size = basis.size(target.domain(box))
    certificate = target.certificate(basis, box, rows, privacy)
    law, guarantee = calibrate(certificate, size * groups, privacy)
    places = np.arange(size * groups)
    values = 40 * np.exp(-0.5 * ((places % size - size / 3) / 4) ** 2) + 3 * np.sin(places)
    return target.finish(Published(values, basis, box, rows, law, guarantee, None, privacy, "caller"))


def densities():
    """One density of every flavour, small."""
    line, day = sf.Box({"age": (0, 110)}), sf.Box({"hour": sf.Periodic(0, 24)})
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60)})
    sexes = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})
    pure, private = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1 / 3, delta=1e-6, neighbours="add-remove")
    yield "density", masses(sf.KDE(9.0), sf.SplitLattice(16, 4.5), line, pure, 400)
    yield "density-linear", masses(sf.KDE(2.0, post="none", missing="none"), sf.Binning(12), day, pure, 400)
    yield "density-private", masses(sf.KDE(9.0), sf.Binning(13), line, private, None)
    visits = sf.Box({"visit": ("2024-01-01T00:00Z", "2025-01-01T00:00Z")})
    yield "density-dates", masses(sf.KDE(20.0), sf.Binning(13), visits, pure, 400)
    matrix = sf.KDE([[300.0, 60.0], [60.0, 100.0]])
    yield "density-matrix", masses(matrix, sf.Binning((8, 7)), plane, sf.Privacy(rho=0.25), 400)
    yield "density-polynomial", masses(sf.KDE(15.0, post="none"), sf.Bernstein(10, 2), line, pure, 400)
    yield "grouped-density", masses(sf.KDE(9.0, by="sex"), sf.Binning(13), sexes, pure, 400, groups=2)


def machine(target, basis, box, privacy, rows):
    """A learner whose noisy weights are known."""
    settled = target.settled(box, rows, privacy, basis)
    certificate = settled.certificate(basis, box, rows, privacy)
    size = settled.size(basis, box)
    law, promised = calibrate(certificate, size, settled.door(privacy))
    if settled.door(privacy) != privacy:  # the noise inside and that at the door promise the grant together
        promised = replace(promised, epsilon=privacy.epsilon, delta=privacy.delta, mu=None)
    values = 0.3 * np.sin(1.0 + np.arange(size))
    return settled.finish(Published(values, basis, box, rows, law, promised, None, privacy, "caller"))


def machines():
    """One learner of every flavour, small."""
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60)})
    pure, approximate = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1 / 3, delta=1e-6, neighbours="add-remove")
    sick = {"response": "ill", "classes": ["no", "yes"]}
    yield (
        "machine-output",
        machine(sf.KernelMachine("hinge", sf.RBF(0.5), 2.0, **sick), sf.Landmarks(16, 6), plane, pure, 400),
    )
    logistic = sf.KernelMachine(
        "logistic",
        sf.Matern(2.5, 0.7),
        5.0,
        response="grade",
        classes=[1, 2, 3],
        mechanism="objective",
        expected_rows=900,
    )
    yield "machine-objective", machine(logistic, sf.Landmarks(9, 4), plane, approximate, None)
    ridge = sf.Ridge(3.0, response="bp", range=(60, 220), mechanism="output")
    yield "machine-linear", machine(ridge, sf.Coordinates(), plane, sf.Privacy(rho=0.25), 400)
    # The same with what their sensitivity follows from, which the files above do not tell.
    hinge = sf.KernelMachine("smoothed-hinge", sf.RBF(0.5), 2.0, mechanism="output", **sick)
    yield "learner-output", machine(hinge, sf.Landmarks(16, 6), plane, pure, 400)
    huber = sf.KernelMachine(
        sf.SmoothedHuber(0.5), "linear", 3.0, response="bp", range=(60, 220), mechanism="objective", expected_rows=900
    )
    yield "learner-objective", machine(huber, sf.Coordinates(), plane, approximate, None)
    svm = sf.KernelMachine("hinge", sf.Polynomial(2, 1.5, 0.5), 1.0, **sick)
    yield "learner-bernstein", machine(svm, sf.Bernstein((3, 2), 2), plane, pure, 400)
    yield "machine-bernstein", machine(svm, sf.Bernstein((3, 2), 2), plane, pure, 400)
    yield "learner-prior", started(plane, pure, 400)


def started(box, privacy, rows):
    """A learner that starts from counts of its classes, which were paid for."""
    whole = Settled(sf.LogisticRegression(20.0, response="ill", classes=["no", "yes"]), "auto", privacy)
    first = first_of(whole, box, rows, prepare)
    left = expected(whole, first, box, rows)
    prepared = prepare(left.target, box, left.privacy, rows)
    measured = Measured(first.step, np.array([371.0, 34.0]), first.prepared.law)
    target, basis = prepared.target.after(measured, prepared.basis, box, rows, privacy, left.privacy)
    made = machine(target, basis, box, left.privacy, rows)
    return replace(made, guarantee=left.promise(prepared.guarantee, privacy))


def published(target, basis, box, privacy, rows, values):
    """A regression or a naive Bayes classifier whose noisy numbers are known."""
    certificate = target.certificate(basis, box, rows, privacy)
    law, guarantee = calibrate(certificate, target.size(basis, box), privacy)
    return target.finish(Published(values(law.size), basis, box, rows, law, guarantee, None, privacy, "caller"))


def regressions():
    """One curve or classifier of every flavour, small."""
    line, pure = sf.Box({"age": (0, 110)}), sf.Privacy(epsilon=1.0)
    mixed = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})
    private = sf.Privacy(epsilon=3.0, delta=1e-6, neighbours="add-remove")
    blood = {"response": "bp", "range": (60, 220)}

    def bumps(size, totals=(3000.0, 2000.0)):
        """A column's numbers: for each class, or for high and low, its records with a bump of its own."""
        places = np.arange(size // 2)
        found = [np.exp(-0.5 * ((places - (k + 1) * len(places) / 3.5) / (len(places) / 4)) ** 2) for k in (0, 1)]
        return np.concatenate([t * f / f.sum() + 4 * np.sin(places + 1) for t, f in zip(totals, found, strict=True)])

    def moments(size):
        first = [-900.0, -1000.0, 1500.0, 500.0, -700.0, 1000.0]  # z, z^2 - 1/2 and half a count in each class
        return np.concatenate([first, bumps(4), bumps(6)])

    def columns(size):
        return np.concatenate([bumps(26), bumps(4), bumps(6)])

    def waves(size):
        return 140 + 30 * np.sin(np.arange(size))

    yield "curve", published(sf.NadarayaWatson(9.0, **blood), sf.Binning(13), line, pure, 5000, bumps)
    yield "priestley-chao", published(sf.PriestleyChao(9.0, **blood), sf.Bernstein(10, 3), line, pure, 5000, waves)
    yield "gaps", published(sf.PriestleyChao(9.0, **blood), sf.Bernstein(10, 3), line, pure, 5000, waves)
    clipped = sf.BlackBox(np.mean, sensitivity=1e9, range=(60, 220))
    yield "clipped", published(clipped, sf.Bernstein(10, 3), line, pure, 5000, waves)
    kernel = sf.NaiveBayes("ill", ["no", "yes"], bandwidth=[9.0])
    yield "naive-bayes", published(kernel, Attributes((sf.Binning(13), None, None)), mixed, pure, 5000, columns)
    normal = sf.NaiveBayes("ill", ["no", "yes"], likelihood="normal")
    yield "naive-bayes-normal", published(normal, Attributes((None,) * 3), mixed, private, None, moments)


def statistic(target, box, privacy, rows, numbers):
    """A statistic whose noisy numbers are known."""
    basis = target.choose_basis(box, rows, privacy)
    certificate = target.certificate(basis, box, rows, privacy)
    law, promised = calibrate(certificate, target.size(basis, box), privacy)
    values = np.array(numbers, dtype=np.float64)
    return target.finish(Published(values, basis, box, rows, law, promised, None, privacy, "auto"))


def sampled_certificate():
    """What ``sf.sample_sensitivity`` once said; later versions may say it in other words."""
    words = (
        "random differential privacy only, gamma 0.1: the l1 sensitivity 0.85 was sampled (rule dkw, distance 285 of "
        "285 pairs, rho 0.009745) from the oracle: Gaussian of mean 0.0 and deviation 1.0; it speaks of one random "
        "pair of tables of 5 records, and of no pair that the oracle would not draw"
    )
    return sf.SampledCertificate(
        "l1", 0.85, "replace", "sampled", "sampler", None, (words,), 0.9, gamma=0.1, m=285, k=285,
        rho=0.00974461166524198, rule="dkw", n=5, size=1, oracle="Gaussian of mean 0.0 and deviation 1.0", seed=1,
    )  # fmt: skip


def statistics():
    """One statistic of every flavour, small."""
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60)})
    sexes = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])})
    pure = sf.Privacy(epsilon=1.0)
    yield "value-mean", statistic(sf.Statistic("mean"), plane, pure, 400, [-71.5, 12.25, 804.5])
    tally = statistic(sf.Statistic("histogram", bins=3), sexes, sf.Privacy(rho=0.25), 400, [40, -3, 120, 77, 9, 151])
    yield "value-histogram", tally
    median = sf.Statistic("median", "age", "none", interval="none")
    basis = Quantiles("median", (0.5,), Grid(0, 11001, 2), True, 0.054102, 0.25)  # levels beside it made its limits
    promised = Guarantee(1.0, 0.0, None, None, "replace", "row")
    chosen = Published(np.array([47.5, 39.25, 56.0]), basis, plane, 4000, None, promised, None, pure, "auto")
    yield "value-median", median.finish(chosen)
    quartiles = sf.Statistic("quantiles", "age", "none", interval="none")  # chosen jointly
    basis = quartiles.choose_basis(plane, 4000, pure)
    together = Published(np.array([33.25, 44.5, 57.75]), basis, plane, 4000, None, promised, None, pure, "auto")
    yield "value-quantiles-jointly", quartiles.finish(together)
    yield "value-variance-steps", in_two_steps(sf.Statistic("variance"), plane, pure, promised)
    counts = 10 * np.sin(np.arange(169.0)).round(1)
    counts[[62, 105, 106]] = [150.0, 40.0, 777.0]
    yield "value-bounds", statistic(Bounds(), sf.Box({"age": (-WIDEST, WIDEST)}), pure, 400, counts.round())
    own = sf.Statistic(np.mean, sensitivity=sampled_certificate(), range=(-2, 2))
    yield "value-random", statistic(own, sf.Box([(-9, 9)]), sf.Privacy(epsilon=0.5, gamma=0.1), 5, [0.375])


def in_two_steps(target, box, privacy, promised):
    """A variance about means that came out like this."""
    first = first_of(Settled(target, "auto", privacy), box, 4000, prepare)
    rest = replace(privacy, epsilon=1 - float(first.step.share))
    means = Measured(first.step, np.array([-820.5, -1300.25, 4001.5]), first.prepared.law)
    target, basis = target.after(means, "auto", box, 4000, privacy, rest)
    certificate = target.certificate(basis, box, 4000, rest)
    law, _ = calibrate(certificate, target.size(basis, box), rest, target.preferred_noise(certificate, rest))
    return target.finish(
        Published(np.array([-2400.5, -3100.25, 9000.5]), basis, box, 4000, law, promised, None, rest, "auto")
    )


def summaries():
    """A summary of every flavour, small: moments of a bump, and something like noise."""
    mixed = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})
    wide = sf.Box(
        {"age": (0, 110), "hour": sf.Periodic(0, 24), "bmi": (10, 60), "visits": sf.Integer(0, 9), "x": (-1, 1)}
    )
    private = sf.Privacy(epsilon=1 / 3, delta=1e-6, neighbours="add-remove")

    def made(target, box, privacy, rows):
        settled = target.settled(box, rows, privacy)
        basis = settled.choose_basis(box, rows, privacy)
        certificate = settled.certificate(basis, box, rows, privacy)
        noise = settled.preferred_noise(certificate, privacy)
        law, promised = calibrate(certificate, settled.size(basis, box), privacy, noise)
        frequencies = basis.index_set(box).frequencies[0 if rows is None else 1 :]
        values = 5000 * np.exp(-frequencies.sum(axis=1) / 2) * np.cos(frequencies @ np.linspace(0.5, 1, box.dimension))
        values += 3 * np.sin(np.arange(len(values)))
        return settled.finish(Published(values, basis, box, rows, law, promised, None, privacy, "caller"))

    yield "summary", made(sf.CosineMoments(5), mixed, sf.Privacy(epsilon=1.0), 5000)
    yield "summary-pairs", made(sf.CosineMoments(4, interactions=2), wide, private, None)
    yield "summary-cross", made(sf.CosineMoments(6, interactions="cross"), mixed, sf.Privacy(rho=0.25), 5000)


def tables():
    """A synthetic table: class means of a few kinds of columns, spreads, one pair, and something like noise."""
    box = sf.Box(
        {"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "bmi": (10, 60), "visits": sf.Integer(0, 9),
         "hour": sf.Periodic(0, 24), "grade": sf.Categorical([1, 2, 3])}
    )  # fmt: skip
    shares = {"means": 0.5, "norm": 0.1, "spreads": 0.2, "pairs": 0.2}
    target, privacy = sf.TableMoments("sex", shares, rows=60, seed=7), sf.Privacy(epsilon=1.0)
    basis = target.choose_basis(box, 5000, privacy)
    law, promised = calibrate(target.certificate(basis, box, 5000, privacy), basis.size(box), privacy)
    units = np.concatenate(
        [np.full(sum(sizes), basis.unit(word, box) * law.step) for word, sizes in basis.sizes(box).items()]
    )
    values = 5000 * units * (0.3 * np.cos(1.7 * np.arange(len(units))) - 0.2)
    stratum = basis.sizes(box)["means"][0]
    values[[0, stratum]] = 5000 * units[0] * np.array([0.6, 0.4])
    yield "table", target.finish(Published(values, basis, box, 5000, law, promised, None, privacy, "caller"))
    yield "table-rule", ruled_table(box, privacy)


def ruled_table(box, privacy):
    """One whose labels follow a rule that was published first: weights and sums that somebody made up."""
    target = sf.TableMoments("sex", {"means": 0.7, "norm": 0.3}, rows=60, seed=7, method="rule")
    step = target.before(box, 5000, privacy, True)
    rest = part_of(privacy, 1 - step.share)
    part = part_of(privacy, step.share)
    learner, own = step.target, step.box
    first = calibrate(learner.certificate(learner.choose_basis(own, 5000, part), own, 5000, part), len(step.typical),
                      learner.door(part))[0]  # fmt: skip
    weights = 3 * np.cos(1.3 * np.arange(len(step.typical)))
    target, _ = target.after(Measured(step, weights, first), "auto", box, 5000, privacy, rest)
    basis = target.choose_basis(box, 5000, rest)
    law, promised = calibrate(target.certificate(basis, box, 5000, rest), basis.size(box), rest)
    promised = replace(promised, epsilon=privacy.epsilon)
    units = np.concatenate(
        [np.full(sum(sizes), basis.unit(word, box) * law.step) for word, sizes in basis.sizes(box).items()]
    )
    values = 5000 * units * (0.2 * np.cos(1.7 * np.arange(len(units))) - 0.1)
    stratum = basis.sizes(box)["means"][0]
    values[[0, stratum]], values[-2:] = 5000 * units[0] * np.array([0.6, 0.4]), 5000 * units[-1] * np.array([-0.2, 0.1])
    return target.finish(Published(values, basis, box, 5000, law, promised, None, privacy, "caller"))


def more_densities():
    """Densities along more columns, and with a receipt."""
    space = sf.Box({"age": (0, 110), "bmi": (10, 60), "hour": sf.Periodic(0, 24)})
    groups = sf.Box({"age": (0, 110), "bmi": (10, 60), "sex": sf.Categorical(["F", "M"])})
    pure, person = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=2.0, neighbours="add-remove", unit=sf.Person("who", 3))
    yield "density-space", masses(sf.KDE([15.0, 8.0, 4.0]), sf.Binning((5, 5, 4)), space, pure, 4000)
    grouped = sf.KDE([15.0, 8.0], by="sex")
    yield "grouped-density-plane", masses(grouped, sf.Binning((5, 6)), groups, pure, 4000, groups=2)
    paid = masses(sf.KDE(9.0, expected_rows=500), sf.Binning(13), sf.Box({"age": (0, 110)}), person, None)
    receipt = Receipt(
        "clinic-2026", 3, "basic", "epsilon 5 for adding or removing one person", "epsilon 4", "epsilon 1"
    )
    yield "density-receipt", replace(paid, receipt=receipt)


def more_learners():
    """Learners of one and of three columns, curves of two and of three, a classifier of three classes."""
    line, plane = sf.Box({"age": (0, 110)}), sf.Box({"age": (0, 110), "bmi": (10, 60)})
    space = sf.Box({"age": (0, 110), "bmi": (10, 60), "dose": (0, 9)})
    pure, private = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=2.0, delta=1e-6, neighbours="add-remove")
    sick, blood = {"response": "ill", "classes": ["no", "yes"]}, {"response": "bp", "range": (60, 220)}
    logistic = sf.KernelMachine("logistic", sf.RBF(2.0), 50.0, mechanism="output", **sick)
    yield "machine-line", machine(logistic, sf.Landmarks(8), line, pure, 4000)
    huber = sf.KernelMachine(sf.SmoothedHuber(0.5), sf.RBF(2.0), 9.0, mechanism="output", **blood)
    yield "machine-number", machine(huber, sf.Landmarks(8), line, pure, 4000)
    flat = sf.LogisticRegression(9.0, response="grade", classes=["a", "b", "c"], mechanism="output")
    yield "machine-space", machine(flat, sf.Coordinates(), space, pure, 4000)

    def halves(size):
        places = np.arange(size // 2)
        return np.concatenate([300 + 40 * np.sin(places), 200 + 40 * np.cos(places)])

    two, three = sf.NadarayaWatson([15.0, 8.0], **blood), sf.NadarayaWatson([25.0, 12.0, 2.0], **blood)
    yield "curve-plane", published(two, sf.Binning((7, 6)), plane, pure, 9000, halves)
    yield "curve-private", published(sf.NadarayaWatson(9.0, **blood), sf.Binning(13), line, private, None, halves)
    yield "curve-space", published(three, sf.Binning((4, 4, 4)), space, pure, 9000, halves)
    bayes = sf.NaiveBayes("grade", ["a", "b", "c"], bandwidth=[12.0])
    mixed = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"]), "grade": sf.Categorical([1, 2, 3])})
    basis = Attributes((sf.Binning(11), None, None))
    yield (
        "naive-bayes-classes",
        published(bayes, basis, mixed, pure, 5000, lambda size: 90 + 60 * np.sin(np.arange(size))),
    )


def components():
    """Principal components, of a covariance and of products; and a table by a linear program."""
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60), "dose": sf.Integer(0, 9)})
    pure, loose = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, delta=1e-6, neighbours="add-remove")
    covariance = [-1500.0, -900.0, 600.0, 2100.0, 900.0, -300.0, 1200.0, 60.0, 1500.0]  # of 5,000 records
    yield "components", made(sf.PrincipalComponents(2, noise="covariance"), plane, pure, 5000, covariance)
    products = [5010.0, -1500.0, -900.0, 600.0, 1500.0, 150.0, 700.0, -400.0, -200.0, 900.0]
    basis = prepare(sf.TableMoments(method="lp"), plane, pure, 5000).basis
    unit = 5000 * 2.0**-24 * basis.budget["means"]
    sums = np.concatenate([[unit], unit * np.linspace(-0.3, 0.4, basis.size(plane) - 1)])
    yield "table-lp", made(sf.TableMoments(None, "auto", 60, 7, "lp"), plane, pure, 5000, sums)
    yield "components-products", made(sf.PrincipalComponents(2, noise="products"), plane, loose, None, products)


def made(target, box, privacy, rows, values):
    """A release of a target whose noisy numbers are known."""
    prepared = prepare(target, box, privacy, rows)
    parts = (np.array(values), prepared.basis, box, rows, prepared.law, prepared.guarantee, None, privacy, "auto")
    return prepared.target.finish(Published(*parts))


def more_statistics():
    """The statistics that the others are not."""
    line, plane = sf.Box({"age": (0, 110)}), sf.Box({"age": (0, 110), "bmi": (10, 60)})
    wards = sf.Box({"ward": sf.Categorical(["surgery", "cardiology", "oncology"])})
    pure, private = sf.Privacy(epsilon=1.0), sf.Privacy(epsilon=1.0, neighbours="add-remove")
    yield "value-count", statistic(sf.Statistic("count"), line, private, None, [391])
    yield "value-sum", statistic(sf.Statistic("sum"), plane, pure, 400, [-31.5, 42.25])
    yield "value-variance", statistic(sf.Statistic("variance", missing="none"), line, pure, 400, [-30.0, -160.0])
    covariance = sf.Statistic("covariance", missing="none")
    yield "value-covariance", statistic(covariance, plane, sf.Privacy(rho=0.25), 4000, [-300, 200, -1600, 40, -1500])
    yield "value-proportions", statistic(sf.Statistic("proportions"), wards, pure, 400, [180, 120, 104])
    own = sf.Statistic(np.mean, sensitivity=0.5, length=3, norm="l2", range=(0, 9))
    yield "value-own", statistic(own, line, pure, 400, [2.5, 7.0, 11.0])
    levels = sf.Statistic("quantiles", "age", probabilities=(0.1, 0.5, 0.9), interval="none")
    chosen = Published(np.array([21.5, 47.5, 80.25]), levels.choose_basis(plane, 4000, pure), plane, 4000, None,
                       Guarantee(1.0, 0.0, None, None, "replace", "row"), None, pure, "auto")  # fmt: skip
    yield "value-quantiles", levels.finish(chosen)
    counted = sf.Statistic("quantiles", "age", probabilities=(0.25, 0.5, 0.75), missing="none")
    tree = counted.choose_basis(line, 400, pure)
    cells = np.rint(400 * np.diff(np.clip(np.linspace(-0.5, 1.5, tree.grid.count + 1), 0, 1) ** 2))
    numbers = tree.sums(cells.astype(np.int64), 400) + np.rint(3 * np.sin(np.arange(tree.size(line))))
    yield "value-tree", statistic(counted, line, pure, 400, numbers)


def collected():
    """What people's devices reported, of each kind."""
    line, plane = sf.Box({"age": (0, 110)}), sf.Box({"age": (0, 110), "bmi": (10, 60)})
    smoking = {"smoker": sf.Categorical(["no", "yes"])}
    groups = sf.Box({"sex": sf.Categorical(["F", "M"]), "ward": sf.Categorical([1, 2, 3]), **smoking})
    binary = sf.Box({name: sf.Categorical([0, 1]) for name in ("asthma", "flu", "cough")})
    crowd = np.random.default_rng(9)
    people = np.column_stack([crowd.normal(50, 15, 20_000), crowd.normal(27, 5, 20_000)])
    women, ward, smokes = crowd.random(20_000) < 0.4, crowd.integers(1, 4, 20_000), crowd.random(20_000) < 0.2
    told = pd.DataFrame({"sex": np.where(women, "F", "M"), "ward": ward, "smoker": np.where(smokes, "yes", "no")})
    ill = pd.DataFrame({"asthma": women & smokes, "flu": ward == 1, "cough": smokes | (ward == 1)}).astype(int)
    asked = {
        "collected-density": (
            sf.local.Density(plane, epsilon=2.0, lattice=(6, 5), seed=7, randomizer="hadamard"),
            people,
        ),
        "collected-density-line": (
            sf.local.Density(line, epsilon=1.0, lattice=9, seed=7, randomizer="laplace"),
            people[:, :1],
        ),
        "collected-marginals": (sf.local.Marginals(groups, epsilon=2.0, people=20_000, seed=7), told),
        "collected-marginals-joint": (
            sf.local.Marginals(binary, epsilon=2.0, ways=3, seed=7, randomizer="chebyshev"),
            ill,
        ),
        "collected-summary": (sf.local.SmoothQueries(plane, epsilon=2.0, degree=4, seed=7), people),
    }
    circles = sf.Box({"hour": sf.Periodic(0, 24), "weekday": sf.Periodic(0, 7, whole=True)})
    visits = np.column_stack([crowd.normal(23, 4, 20_000), crowd.integers(0, 4, 20_000)])
    asked["collected-density-circles"] = (
        sf.local.Density(circles, epsilon=2.0, lattice=(6, 7), seed=7, randomizer="hadamard"),
        visits,
    )
    whole = sf.Box({**dict(zip(plane.names, plane.columns, strict=True)), **smoking})
    known = pd.DataFrame({"age": people[:, 0], "bmi": people[:, 1], "smoker": told["smoker"]})
    asked["collected-moments"] = sf.local.LinearModel(whole, epsilon=4.0, response="smoker", seed=7), known[:2000]
    asked["collected-density-subset"] = sf.local.Density(plane, epsilon=2.0, lattice=(6, 5), seed=7), people
    one, two = sf.Box({"age": (-2, 2)}), sf.Box({"age": (-1, 1), "intercept": (-1, 1)})
    asked["collected-risk"] = (
        sf.local.RiskMinimization(whole, 2.0, "logistic", one, lattice=9, degree=4, response="smoker", seed=7),
        known,
    )
    asked["collected-model"] = (
        sf.local.GeneralizedLinear(whole, 4.0, "smoker", copies="gaussian", delta=1e-6, seed=7),
        known[:2000],
    )
    asked["collected-risk-plane"] = (
        sf.local.RiskMinimization(
            plane, 2.0, "squared", two, lattice=4, degree=3, response="bmi", seed=7, ridge=0.1, bernstein=3
        ),
        people,
    )
    asked["collected-risk-total"] = (
        sf.local.RiskMinimization(whole, 2.0, "logistic", two, lattice=5, degree=3, response="smoker", seed=7),
        known,
    )
    for name, (protocol, records) in asked.items():
        collector = protocol.collector()
        with mock.patch("os.urandom", np.random.default_rng(17).bytes):
            collector.add_batch(protocol.encode_many(records))
        yield name, collector.release()


def releases():
    """One release of every flavour, small."""
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60)})
    line = sf.Box([sf.Periodic(0, 24)])
    yield "pure", function(sf.Bernstein((3, 4), 3), plane, sf.Privacy(epsilon=1.0))
    yield (
        "person",
        function(
            sf.Step(5),
            line,
            sf.Privacy(epsilon=1 / 3, delta=1e-6, neighbours="add-remove", unit=sf.Person("patient", 4)),
            sf.Hoelder(0.5, 2.0),
        ),
    )
    smooth = function(sf.Bernstein(6, 2), sf.Box({"t": sf.Integer(1, 9)}), sf.Privacy(rho=0.25), sf.Smooth(4, 2.5))
    yield "concentrated", smooth
    yield "derivative", smooth.derivative("t")
    yield (
        "laplace",
        function(sf.Bernstein(2), sf.Box([(-1, 1), (-2, 2)], max_norm=1.5), sf.Privacy(epsilon=2.0), noise="laplace"),
    )
    yield from densities()
    yield from machines()
    yield from regressions()
    yield from statistics()
    yield from summaries()
    yield from tables()
    yield from more_densities()
    yield from more_learners()
    yield from more_statistics()
    yield from collected()
    yield from components()
    solid = sf.Box({"age": (0, 110), "bmi": (10, 60), "hour": sf.Periodic(0, 24)})
    yield "space", function(sf.Bernstein((2, 2, 3), 2), solid, sf.Privacy(epsilon=1.0))


def parts_of(release):
    """What can be evaluated: the release itself, or each of its groups by name."""
    return {str(name): release[name] for name in release} if release.kind == "grouped-density" else {"": release}


def first_part(release):
    """A release that can be evaluated: itself, or its first group."""
    return next(iter(parts_of(release).values()))


def basis_of(release):
    """What it is written in, in words."""
    if release.kind == "naive-bayes":
        return ", ".join(type(part).__name__ for part in release.likelihoods)
    if release.kind == "value":
        return repr(release.summary)
    if release.kind in ("collected-moments", "collected-model"):
        return repr(release.scales)
    if release.kind in ("summary", "marginals", "table", "components"):
        return repr(release.walsh if release.kind == "marginals" else release.basis)
    part = release.high if release.kind == "curve" else first_part(release)
    return release.handed.words() if release.kind == "machine" else repr(part.basis)


def asked(release):
    """Answers to a few questions, each with its error."""
    answers = [
        release.answer(lambda p: np.exp(-((p[:, 0] - 40) ** 2) / 800), columns="age"),
        release.answer(lambda p: p[:, 0] * p[:, 1], columns=["age", release.box.names[1]]),
        release.mean("age"),
        release.variance("age"),
        release.share({"age": (30, 70)}),
        release.kde([40.0], 30.0, columns="age").each(lambda part: part[0]),
    ]
    return {
        "answers": [answer.value for answer in answers],
        "errors": [answer.error for answer in answers],
        "moments": release.moments.tolist(),
        "rows": release.rows,
    }


def evaluated(release, points):
    """Values and, for densities, bands, counts and groups; for learners, predictions; for both, widths of bands."""
    if release.kind in ("function", "collected-density", "collected-risk"):
        return {"values": release(points).tolist()}
    if release.kind == "table":
        return {"numbers": release.numbers.tolist(), "rows": release.rows, "classes": list(release.classes)}
    if release.kind == "components":
        told = {name: getattr(release, name).tolist() for name in ("numbers", "mean", "components", "values")}
        return {**told, "records": release.records}
    if release.kind == "marginals":
        return {"tables": [[list(names), table.tolist()] for names, table in release.tables()]}
    if release.kind == "collected-model":
        return {"model": [release.weights.tolist(), release.cross_moments.tolist()]}
    if release.kind == "collected-moments":
        model = release.fit()
        return {"moments": [release.second_moments.tolist(), release.cross_moments.tolist()],
                "model": [*model.coefficients, model.intercept]}  # fmt: skip
    if release.kind == "curve":
        limits = [end.tolist() for end in release.band(points)]
        return {"values": release(points).tolist(), "rows": release.rows, "limits": limits}
    if release.kind == "naive-bayes":
        return {
            "values": release.predict_proba(points).tolist(),
            "predictions": release.predict(points).tolist(),
            "class_counts": release.counts.tolist(),
            "limits": [end.tolist() for end in release.band(points)],
        }
    if release.kind == "value":
        limits = [] if release.statistic == "bounds" else [np.asarray(end).tolist() for end in release.interval()]
        return {"value": np.asarray(release.value).tolist(), "labels": release.labels, "limits": limits}
    if release.kind == "machine":
        return {
            "values": release(points).tolist(),
            "predictions": release.predict(points).tolist(),
            "mechanism": release.mechanism,
            "widths": np.subtract(*release.band(points)[::-1]).tolist(),
        }
    parts = parts_of(release)
    return {
        "values": first_part(release)(points).tolist(),
        "groups": {name: part(points).tolist() for name, part in parts.items()},
        "bands": {name: [limit.tolist() for limit in part.band(points)] for name, part in parts.items()},
        "counts": {name: [part.count, *part.count_band()] for name, part in parts.items()},
    }


def points_of(box):
    """Where it is asked: a few points inside and both ends; with categories, each of them and one unheard of."""
    if any(isinstance(column, sf.Categorical) for column in box.columns):
        return [[30.0, "F", 1], [55.5, "M", 2], [80.0, "M", 3], [0.0, "F", 3], [110.0, "X", 1], [40.0, "F", 9]]
    unit = np.random.default_rng(4).uniform(size=(7, box.dimension))
    return np.concatenate([from_unit(box, unit), [box.low], [box.high]])


def expectations(release):
    """What must still be true when a later version reads the file."""
    if release.kind in ("value", "marginals", "collected-moments", "collected-model", "table", "components"):
        return {"points": [], **evaluated(release, None), **promises(release)}
    if release.kind == "summary":
        return {"points": [], **asked(release), **promises(release)}
    points = points_of(release.box)
    listed = points if isinstance(points, list) else points.tolist()
    return {"points": listed, **evaluated(release, points), **promises(release)}


def promises(release):
    """What it promises, on what, and with which noise."""
    guarantee, law = release.guarantee, release.law
    return {
        "guarantee": {
            name: getattr(guarantee, name) for name in ("epsilon", "delta", "rho", "mu", "neighbours", "model")
        },
        "assumptions": list(guarantee.assumptions),
        "confidence": guarantee.confidence,
        "max_rows": getattr(guarantee.unit, "max_rows", None),
        "names": list(release.box.names),
        "basis": basis_of(release),
        "noise": None if law is None else [law.kind, law.size, law.deviation],
        "target": [list(pair) for pair in release.target],
    }


def main():
    for name, release in releases():
        if (HERE / f"{name}-v{VERSION}.sfumato").exists():
            continue
        release.save(HERE / f"{name}-v{VERSION}.sfumato")
        text = json.dumps(expectations(release), indent=1, ensure_ascii=False)
        (HERE / f"{name}-v{VERSION}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
