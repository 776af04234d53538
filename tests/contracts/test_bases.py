"""Every basis keeps the contract."""

import sfumato as sf
from contracts.basis_contract import BasisContract
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


class TestHat(BasisContract):
    def make(self, degree):
        return Hat(degree)

    def test_plain_data_and_back(self):
        """A collected density names its lattice itself; no other release is made of hats."""
        assert all(basis.to_json()["name"] == "hat" for basis, _ in self.cases())
