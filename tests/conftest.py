"""What holds for every test: small linear algebra on one thread, and hypothesis without chance or clock."""

import os

# Tests run side by side, one process for each core. Threads of a BLAS library beside them wait in loops that take twice
# the processor time of the algebra itself; this must stand before numpy is first imported.
for _threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("sfumato", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("sfumato")
