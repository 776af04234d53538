"""Every basis keeps the contract."""

import math

import numpy as np
import pytest

import sfumato as sf
from contracts.basis_contract import BasisContract
from sfumato.bases.lattice.chebyshev import LeastSquares, TotalDegree
from sfumato.bases.lattice.hat import Hat


class TestBernstein(BasisContract):
    def make(self, degree):
        return sf.Bernstein(degree)


class TestIteratedBernstein(BasisContract):
    def make(self, degree):
        return sf.Bernstein(degree, 3)


class TestMuchIteratedBernstein(BasisContract):
    def make(self, degree):
        return sf.Bernstein(degree, 9)


class TestStep(BasisContract):
    def make(self, degree):
        return sf.Step(degree)


class TestLeastSquares(BasisContract):
    degrees = (2, 7, (3,), (2, 5), (4, 2, 3))

    def make(self, degree):
        return LeastSquares(degree, 2)

    def test_the_lattice_is_in_the_box_and_has_its_corners(self):
        """It lies within: its points are those of Chebyshev polynomials."""
        for basis, box in self.cases():
            lattice = basis.lattice(box)
            assert lattice.shape == (basis.size(box), box.dimension)
            assert (lattice > box.low).all() and (lattice < box.high).all()
            assert len(np.unique(lattice, axis=0)) == len(lattice)

    def test_corners_are_interpolated(self):
        """They are not: what is exact everywhere is a polynomial of no higher degree."""
        for basis, box in self.cases():
            found = basis.approximate(lambda p: (p**2).sum(axis=1), box)
            corners = np.stack([box.low, box.high])
            assert np.allclose(found(corners), (corners**2).sum(axis=1))


class TestTotalDegree(TestLeastSquares):
    def make(self, degree):
        return TotalDegree(degree, 2)

    def test_values_are_weights_times_coefficients(self):
        """Of coefficients that are settled, or of weights that are."""
        for function, points in self.expansions():
            shape = function.basis.shape(function.box)
            weights = function.weights(points)
            whole = weights[0]
            for own in weights[1:]:
                whole = np.einsum("ma,mb->mab", whole, own).reshape(len(points), -1)
            settled = function.basis.settled(whole.reshape(-1, *shape)).reshape(len(points), -1)
            assert function(points) == pytest.approx(settled @ function.coefficients, abs=1e-12)

    def test_noise_moves_the_function_by_at_most_the_lebesgue_constants(self):
        """By at most the root of how many coefficients there are, times the length of all weights (Cauchy, Schwarz)."""
        for function, points in self.expansions():
            noise = np.sign(np.sin(1.0 + np.arange(len(function.coefficients))))
            moved = function.basis.transform(noise, function.box)
            lengths = math.prod((own**2).sum(axis=1) for own in function.weights(points))
            reach = np.sqrt(lengths * len(noise))
            values = function.basis.evaluate(
                moved, (points - function.box.low) / (function.box.high - function.box.low), function.derivatives
            )
            assert (np.abs(values) <= reach * (1 + 1e-9)).all()


class TestHat(BasisContract):
    def make(self, degree):
        return Hat(degree)

    def test_plain_data_and_back(self):
        """A collected density names its lattice itself; no other release is made of hats."""
        assert all(basis.to_json()["name"] == "hat" for basis, _ in self.cases())
