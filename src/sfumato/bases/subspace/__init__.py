"""Principal components: second moments of columns, at once or times directions, and how far a record moves them."""
