"""Learners as targets."""
