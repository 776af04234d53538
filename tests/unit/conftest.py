"""One profile for every hypothesis test here: the same examples in every run, and no clock."""

from hypothesis import settings

settings.register_profile("sfumato", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("sfumato")
