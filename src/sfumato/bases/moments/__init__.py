"""Smooth queries: cosine moments of records, and coefficients of public functions."""
