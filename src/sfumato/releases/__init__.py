"""The published artefacts: what they are, how sure they are, and the file they travel in."""
