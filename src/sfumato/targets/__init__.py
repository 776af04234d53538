"""What can be published: each target says what it computes and certifies how far one unit can move it."""
