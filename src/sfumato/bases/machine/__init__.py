"""Learners: kernels, features, losses."""
