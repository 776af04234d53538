"""Public finite families of functions, in which a private function is written before it is perturbed."""
