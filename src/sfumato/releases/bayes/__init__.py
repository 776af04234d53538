"""Published naive Bayes classifiers."""
