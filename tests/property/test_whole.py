"""Whole numbers in two limbs against Python's own, which have no end."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opening import numbers_of, wide
from sfumato.core import mechanism
from sfumato.core.certificate import Certificate
from sfumato.core.mechanism import Private, publish
from sfumato.core.privacy import Privacy
from sfumato.core.whole import Wide, map_counts

MOST = 2**101 - 2**64
# Near powers of two and halfway between doubles, where carrying and rounding are decided.
near = st.builds(lambda e, odd, by, sign: sign * (odd * 2**e + by), st.integers(0, 70), st.integers(1, 2**30),
                 st.integers(-3, 3), st.sampled_from([1, -1]))  # fmt: skip
halfway = st.builds(lambda m, e, by: (2 * m + 1) * 2**e + by, st.integers(-(2**53), 2**53), st.integers(0, 46),
                    st.integers(-1, 1))  # fmt: skip
numbers = st.one_of(st.integers(-MOST, MOST), near, halfway, st.integers(-10, 10))
words = st.integers(-(2**63), 2**63 - 1)
counts = st.one_of(st.integers(0, 2**10), st.integers(0, 2**62))


@given(st.lists(numbers, min_size=1, max_size=5), st.data())
def test_sums_are_exact(first, data):
    second = data.draw(st.lists(st.one_of(numbers, words), min_size=len(first), max_size=len(first)))
    found = wide(first) + wide(second)
    assert numbers_of(found).tolist() == [a + b for a, b in zip(first, second, strict=True)]
    assert ((found._low >= 0) & (found._low < 2**48)).all()


@given(st.lists(numbers, min_size=1, max_size=5))
def test_doubles_are_rounded_once(exact):
    """As Python rounds integers: to the nearest, halves to the even one."""
    assert wide(exact).doubles().tobytes() == np.array([float(number) for number in exact]).tobytes()


@given(st.lists(words, min_size=1, max_size=5))
def test_64_bits_become_the_doubles_that_they_were(exact):
    given = np.array(exact, dtype=np.int64)
    assert Wide(given).doubles().tobytes() == given.astype(np.float64).tobytes()


@given(st.lists(numbers, min_size=1, max_size=4), st.integers(-30, 5), st.data())
def test_the_door_publishes_value_plus_noise_rounded_once(sums, exponent, data):
    """A function of the sum alone: not of limbs, nor of how value and noise share it."""
    certificate = Certificate("l1", 2**20, "replace", "proved", "rounding", exponent)
    wanted = np.array([float(number) * 2.0**exponent for number in sums])
    for _ in range(2):
        noise = data.draw(st.lists(words, min_size=len(sums), max_size=len(sums)))
        private = Private(wide([a - b for a, b in zip(sums, noise, strict=True)]), certificate)
        with patch.object(mechanism, "draw", lambda law, noise=noise: np.array(noise, dtype=np.int64)):
            assert publish(private, Privacy(epsilon=1.0))[0].tobytes() == wanted.tobytes()


@given(st.lists(counts, min_size=6, max_size=6), st.lists(st.integers(-(2**20), 2**20), min_size=18, max_size=18))
def test_maps_of_counts_are_exact(exact, entries):
    """Signed tables too, such as those of moments; in one piece or digit by digit."""
    table = np.array(entries, dtype=np.int64).reshape(6, 3)
    gain = max(1, int(np.abs(table).sum(axis=1).max()))
    wanted = [sum(c * int(t) for c, t in zip(exact, column, strict=True)) for column in table.T]
    for given_counts in (np.array(exact, dtype=np.int64), Wide(np.array(exact, dtype=np.int64))):
        assert numbers_of(map_counts(lambda x: x @ table, given_counts, gain)).tolist() == wanted
    many = [count * 2**12 for count in exact]  # as many steps as a response has
    found = map_counts(lambda x: x @ table, wide(many), gain)
    assert numbers_of(found).tolist() == [number * 2**12 for number in wanted]
