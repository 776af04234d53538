"""Values of any type that a record could hold."""

from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st

floats = st.one_of(st.floats(), st.floats(-3, 3))
anything = st.one_of(
    floats,
    st.integers(),
    st.integers(-(2**1100), 2**1100),
    st.booleans(),
    st.none(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.fractions(),
    st.decimals(),
    st.just(Decimal("sNaN")),
    st.dates(),
    st.lists(st.integers(), max_size=2),
    st.sampled_from([np.float16(3), np.longdouble("1e4000"), np.ma.masked, np.array(2), np.zeros(2), pd.NA, object()]),
)
