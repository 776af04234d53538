"""Every basis keeps the contract."""

import sfumato as sf
from contracts.basis_contract import BasisContract


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
