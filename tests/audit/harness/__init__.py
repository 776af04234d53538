"""The audit harness: tools that try to break a privacy claim. Every mechanism must survive them, and every
negative control must be caught by them."""
