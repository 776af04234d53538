"""Synthetic tables: what is summed for them, and the rows that follow."""
