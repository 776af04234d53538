"""The sensitivity sampler: privacy without a proof, for those who say so (random differential privacy)."""
