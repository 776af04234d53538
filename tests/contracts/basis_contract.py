"""What every basis on a lattice must do. Inherit, and give ``bases`` in one, two and three dimensions."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.bases.lattice.bernstein import basis_from_json
from sfumato.bases.lattice.expansion import Expansion
from sfumato.bases.unit import from_unit
from sfumato.errors import ParameterError

BOXES = {
    1: sf.Box({"t": (-3.0, 5.0)}),
    2: sf.Box({"age": (0, 110), "bmi": (10, 60)}),
    3: sf.Box([(0, 1), (-1, 1), (100, 200)]),
}


class BasisContract:
    """Checks for one basis class; ``make(degree)`` builds a member."""

    degrees = (1, 2, 7, (3,), (2, 5), (4, 1, 3))

    def make(self, degree):
        raise NotImplementedError

    def cases(self):
        """Every member with every box it fits."""
        for degree, (dimension, box) in itertools.product(self.degrees, BOXES.items()):
            if isinstance(degree, int) or len(degree) == dimension:
                yield self.make(degree), box

    def expansions(self):
        generator = np.random.default_rng(17)
        for basis, box in self.cases():
            coefficients = generator.normal(size=basis.size(box))
            points = from_unit(box, generator.uniform(size=(11, box.dimension)))
            yield Expansion(basis, box, coefficients), points

    def test_the_lattice_is_in_the_box_and_has_its_corners(self):
        for basis, box in self.cases():
            lattice = basis.lattice(box)
            assert lattice.shape == (basis.size(box), box.dimension)
            assert basis.size(box) == math.prod(basis.shape(box))
            assert (lattice.min(axis=0) == box.low).all()
            assert (lattice.max(axis=0) == box.high).all()
            assert len(np.unique(lattice, axis=0)) == len(lattice)

    def test_constants_are_reproduced(self):
        """A partition of unity, also for the iterated weights."""
        for function, points in self.expansions():
            constant = Expansion(function.basis, function.box, np.full(len(function.coefficients), 4.25))
            assert constant(points) == pytest.approx(np.full(len(points), 4.25), abs=1e-12)

    def test_corners_are_interpolated(self):
        for function, _ in self.expansions():
            box, shape = function.box, function.basis.shape(function.box)
            tensor = function.coefficients.reshape(shape)
            for corner in itertools.product((0, 1), repeat=box.dimension):
                point = np.where(corner, box.high, box.low)[None, :]
                index = tuple(n - 1 if c else 0 for n, c in zip(shape, corner, strict=True))
                assert function(point)[0] == pytest.approx(tensor[index], abs=1e-12)

    def test_values_are_weights_times_coefficients(self):
        for function, points in self.expansions():
            value = function.coefficients.reshape(function.basis.shape(function.box))
            value = np.broadcast_to(value, (len(points), *value.shape))
            for weights in function.weights(points):
                value = np.einsum("mk,mk...->m...", weights, value)
            assert function(points) == pytest.approx(value, abs=1e-12)

    def test_it_is_linear_in_the_coefficients(self):
        for function, points in self.expansions():
            other = np.arange(len(function.coefficients), dtype=float)
            both = Expansion(function.basis, function.box, 2 * function.coefficients - 3 * other)
            parts = 2 * function(points) - 3 * Expansion(function.basis, function.box, other)(points)
            assert both(points) == pytest.approx(parts, abs=1e-9)

    def test_plain_data_and_back(self):
        for basis, box in self.cases():
            again = basis_from_json(basis.to_json())
            assert again == basis
            assert type(again) is type(basis)
            assert again.shape(box) == basis.shape(box)

    def test_norming_nodes_see_the_largest_value_up_to_their_factor(self):
        generator = np.random.default_rng(3)
        for basis, degree in self.axes():
            nodes, factor = basis.norming_nodes(degree)
            assert ((nodes >= 0) & (nodes <= 1)).all()
            assert 1.0 <= factor < 1.1
            fine = np.linspace(0, 1, 40 * degree + 1)
            for _ in range(20):
                coefficients = generator.normal(size=degree + 1)
                everywhere, seen = (
                    np.abs(self.along(basis, degree, points) @ coefficients).max() for points in (fine, nodes)
                )
                assert everywhere <= seen * factor * (1 + 1e-12)

    def test_the_lebesgue_constant_bounds_the_sum_of_weights(self):
        for basis, degree in self.axes():
            constant = basis.lebesgue_constant(degree)
            fine = np.linspace(0, 1, 40 * degree + 1)
            assert constant >= 1.0
            assert np.abs(self.along(basis, degree, fine)).sum(axis=1).max() <= constant * (1 + 1e-12)

    def test_noise_moves_the_function_by_at_most_the_lebesgue_constants(self):
        for function, points in self.expansions():
            noise = np.sign(np.sin(1.0 + np.arange(len(function.coefficients))))
            moved = Expansion(function.basis, function.box, function.coefficients + noise)
            reach = math.prod(function.basis.lebesgue_constant(k) for k in function.basis.degrees(function.box))
            assert np.abs(moved(points) - function(points)).max() <= reach * (1 + 1e-9)

    def test_integrals_of_the_axis_add_up(self):
        for basis, degree in self.axes():
            whole = basis.axis_integral(degree, 0.0, 1.0)
            parts = basis.axis_integral(degree, 0.0, 0.3) + basis.axis_integral(degree, 0.3, 1.0)
            assert whole.shape == (degree + 1,)
            assert parts == pytest.approx(whole, abs=1e-14)
            assert whole.sum() == pytest.approx(1.0, abs=1e-12)

    def test_degrees_below_one_are_refused(self):
        for degree in (0, -1, (2, 0)):
            with pytest.raises(ParameterError, match="degree"):
                self.make(degree)

    def test_degrees_of_another_dimension_are_refused(self):
        with pytest.raises(ParameterError, match="degree"):
            self.make((2, 3)).shape(BOXES[1])

    def test_a_lattice_too_large_is_refused(self):
        with pytest.raises(ParameterError, match="lower degree"):
            self.make(2000).shape(BOXES[3])

    def test_it_is_immutable_and_hashable(self):
        basis = self.make(3)
        with pytest.raises(AttributeError):
            basis.degree = 4
        assert hash(basis) == hash(self.make(3))

    def axes(self):
        """One basis and degree for each degree in use."""
        for degree in sorted({k for d in self.degrees for k in ((d,) if isinstance(d, int) else d)} | {23}):
            yield self.make(degree), degree

    @staticmethod
    def along(basis, degree, points):
        """The weights of the lattice values at points of one axis."""
        values, transform = basis.axis_values(degree, points), basis.axis_transform(degree)
        return values if transform is None else values @ transform
