"""Measurements against peers, in the same run: ``make bench``, or ``python -m benchmarks noise`` for one."""
