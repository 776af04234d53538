"""Tables of categorical columns, for the local model."""
