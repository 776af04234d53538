"""Published densities."""
