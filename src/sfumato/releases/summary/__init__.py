"""Published summaries, which answer questions."""
