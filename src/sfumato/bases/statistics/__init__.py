"""Statistics: what is summed over records, and how noisy sums are read."""
