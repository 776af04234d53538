"""Public randomness: SplitMix64 to the bit, the same on every device, and even."""

import math

import numpy as np
import pytest

from sfumato.local.public import (
    public_below,
    public_circles,
    public_dither,
    public_laplace,
    public_normals,
    public_uniform,
    public_words,
    some_normals,
)

MANY = np.arange(200_000, dtype=np.uint64)


def splitmix(seed, user, stream=0):
    """The same in whole numbers, as docs/wire-format.md says it."""
    word = (seed + stream * 0xD1342543DE82EF95 + (user + 1) * 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def test_person_by_person_it_is_the_published_generator():
    """The first outputs of SplitMix64 with seed 0, and with seed 1234567, as published."""
    zero = public_words(0, np.arange(3, dtype=np.uint64)).tolist()
    assert zero == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    other = public_words(1234567, np.arange(2, dtype=np.uint64)).tolist()
    assert other == [6457827717110365317, 3203168211198807973]


@pytest.mark.parametrize("seed", [0, 1, 2**53 - 1, 2**63 - 1])
@pytest.mark.parametrize("stream", [0, 1, 2, 31])
def test_it_agrees_with_whole_numbers(seed, stream):
    users = [0, 1, 2, 12345, 2**32, 2**48 - 1]
    found = public_words(seed, np.array(users, dtype=np.uint64), stream).tolist()
    assert found == [splitmix(seed, user, stream) for user in users]


def test_persons_are_left_as_they_are():
    users = np.arange(5, dtype=np.uint64)
    words = public_words(3, users)
    before = words.copy()
    public_below(words, 7), public_dither(words, 1), public_uniform(words), public_laplace(words)
    assert users.tolist() == [0, 1, 2, 3, 4]
    assert words.tolist() == before.tolist()


def test_seeds_and_streams_are_different():
    words = [public_words(seed, MANY[:1000], stream) for seed in (1, 2) for stream in (0, 1, 2)]
    assert len(np.unique(np.concatenate(words))) == 6000


@pytest.mark.parametrize("count", [1, 3, 127, 2**20])
def test_whole_numbers_below(count):
    words = public_words(5, MANY[:1000])
    found = public_below(words, count)
    assert found.dtype == np.int64
    assert found.tolist() == [(word >> 32) * count >> 32 for word in words.tolist()]
    assert found.min() >= 0
    assert found.max() < count


def test_questions_are_asked_evenly():
    counts = np.bincount(public_below(public_words(7, MANY), 127), minlength=127)
    assert ((counts - len(MANY) / 127) ** 2).sum() * 127 / len(MANY) < 126 + 7 * math.sqrt(2 * 126)


def test_dithers_are_sixteen_bits_of_the_lower_half():
    word = np.array([0xFFFFFFFF_80004000], dtype=np.uint64)
    assert public_dither(word, 0).tolist() == [0.25]
    assert public_dither(word, 1).tolist() == [0.5]
    assert public_dither(np.array([2**64 - 1], dtype=np.uint64), 0)[0] < 1.0


def test_dithers_and_questions_do_not_depend_on_each_other():
    words = public_words(7, MANY)
    numbers = np.stack([public_dither(words, 0), public_dither(words, 1), public_below(words, 127)])
    correlations = np.corrcoef(numbers)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 6.5 / math.sqrt(len(MANY))


def test_uniform_numbers_are_even_and_have_logarithms():
    assert public_uniform(np.array([0], dtype=np.uint64))[0] == 2.0**-54
    assert abs(public_uniform(public_words(3, MANY)).mean() - 0.5) < 6.5 * math.sqrt(1 / 12 / len(MANY))


def test_laplace_numbers():
    found = public_laplace(public_words(3, MANY))
    assert abs(found.mean()) < 6.5 * math.sqrt(2 / len(MANY))
    assert found.var() == pytest.approx(2.0, abs=6.5 * math.sqrt(20 / len(MANY)))
    assert np.mean(np.abs(found) > 1) == pytest.approx(math.exp(-1), abs=6.5 * 0.5 / math.sqrt(len(MANY)))
    assert np.isfinite(public_laplace(np.array([0, 1, 2**64 - 1], dtype=np.uint64))).all()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_normal_numbers(count):
    found = public_normals(3, MANY[:50_000], count)
    assert found.shape == (50_000, count)
    assert np.abs(found.mean(axis=0)).max() < 6.5 / math.sqrt(50_000)
    assert found.var(axis=0) == pytest.approx(np.ones(count), abs=6.5 * math.sqrt(2 / 50_000))
    if count > 1:
        assert np.abs(np.corrcoef(found.T)[np.triu_indices(count, 1)]).max() < 6.5 / math.sqrt(50_000)
    assert np.array_equal(found[7:8], public_normals(3, MANY[7:8], count))


def test_circles_are_the_beginning_of_a_shuffle():
    """Every place once; and the first ones evenly: each of 6 within six deviations of 20,000 people."""
    people = np.arange(20_000, dtype=np.uint64)
    found = public_circles(5, people, 6, 2)
    assert found.shape == (6, 20_000) and (np.sort(found, axis=0) == np.arange(6)[:, None]).all()
    for row in found[:2]:
        assert np.abs(np.bincount(row, minlength=6) - 20_000 / 6).max() < 6 * math.sqrt(20_000 * 5 / 36)
    pairs = np.bincount(found[0] * 6 + found[1], minlength=36).reshape(6, 6)
    assert (np.diag(pairs) == 0).all()
    assert np.abs(pairs[~np.eye(6, dtype=bool)] - 20_000 / 30).max() < 6 * math.sqrt(20_000 / 30)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_some_normals_are_those_of_the_whole_sequence(count):
    people, starts = np.array([0, 3, 2**40], dtype=np.uint64), np.array([0, 7, 20])
    whole = public_normals(9, people, 40)
    expected = np.stack([row[start : start + count] for row, start in zip(whole, starts, strict=True)])
    assert np.array_equal(some_normals(9, people, starts, count), expected)
