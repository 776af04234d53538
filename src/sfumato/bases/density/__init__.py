"""Densities on lattices: kernels, binning, reconstruction, prediction."""
