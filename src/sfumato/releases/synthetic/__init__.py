"""Synthetic tables as releases."""
