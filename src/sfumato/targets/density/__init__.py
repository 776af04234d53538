"""Densities as targets."""
