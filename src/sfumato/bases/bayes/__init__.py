"""Naive Bayes: what each column of a record adds."""
