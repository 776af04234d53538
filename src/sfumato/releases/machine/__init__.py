"""Published learners."""
