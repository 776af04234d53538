"""Every basis keeps the contract."""

import numpy as np

import sfumato as sf
from contracts.basis_contract import BasisContract
from sfumato.bases.lattice.chebyshev import LeastSquares
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


class TestHat(BasisContract):
    def make(self, degree):
        return Hat(degree)

    def test_plain_data_and_back(self):
        """A collected density names its lattice itself; no other release is made of hats."""
        assert all(basis.to_json()["name"] == "hat" for basis, _ in self.cases())
