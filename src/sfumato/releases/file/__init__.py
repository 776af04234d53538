"""The file of a release: container, signature, certificates worked out again."""
