"""Functions on lattices of a box: tensor products of polynomials or hats."""
