"""A mutation check of the trusted core, run by hand: `make mutants`. What survives is explained in docs/mutants.md."""
