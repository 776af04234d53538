"""What people's devices reported."""
