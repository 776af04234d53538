"""Channels: what the collector adds up, what it makes of it, and which payloads a device could have sent."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from sfumato.core.randomizer import Codebook, LikelihoodBit, LogLog, OneBit
from sfumato.errors import ParameterError
from sfumato.local.channels import (
    CHANNELS,
    BitChannel,
    LaplaceChannel,
    LikelihoodChannel,
    LogLogChannel,
    SubsetChannel,
    UnitChannel,
    cover_chances,
    unit_gain,
    unit_moments,
)
from sfumato.local.public import public_circles

USERS = np.arange(40, dtype=np.uint64)
ASKED = np.arange(40) % 3


def answers_for(channel, count=40):
    generator = np.random.default_rng(1)
    if channel.name == "subset":
        return np.arange(count) % channel.questions
    values = generator.uniform(size=(count, channel.questions) if channel.whole else count)
    return np.eye(channel.questions)[np.arange(count) % channel.questions] if channel.name == "privunit" else values


@pytest.fixture(params=CHANNELS)
def channel(request):
    return CHANNELS[request.param](1.0, 3, 5)


# --- all of them ------------------------------------------------------------------------------------------------


def test_there_are_these():
    assert set(CHANNELS) == {"bit", "likelihood", "loglog", "laplace", "privunit", "subset"}


def test_what_is_kept_is_whole_numbers(channel):
    state = channel.empty()
    assert {name: values.shape for name, values in state.items()} == channel.shapes()
    channel.add(state, channel.send(answers_for(channel), USERS), ASKED, USERS)
    assert all(values.dtype == np.int64 for values in state.values())
    assert any(values.any() for values in state.values())


def test_what_a_device_sends_is_valid_and_fits(channel):
    payload = channel.send(answers_for(channel), USERS)
    assert payload.dtype == np.uint8
    assert payload.shape == ((40,) if channel.bitwise else (40, channel.width))
    assert channel.valid(payload).all()
    assert channel.width == (24 if channel.name == "laplace" else 1)


def test_reports_can_be_added_in_any_grouping(channel):
    payload = channel.send(answers_for(channel), USERS)
    whole, parts, backwards = channel.empty(), channel.empty(), channel.empty()
    channel.add(whole, payload, ASKED, USERS)
    for part in (slice(0, 1), slice(1, 17), slice(17, 40)):
        channel.add(parts, payload[part], ASKED[part], USERS[part])
    channel.add(backwards, payload[::-1], ASKED[::-1], USERS[::-1])
    for name, values in whole.items():
        assert np.array_equal(values, parts[name])
        assert np.array_equal(values, backwards[name])


def test_estimates_have_a_variance_each(channel):
    state = channel.empty()
    channel.add(state, channel.send(answers_for(channel), USERS), ASKED, USERS)
    means, variances = channel.estimate(state)
    assert means.shape == variances.shape == (3,)
    assert np.isfinite(means).all()
    assert (variances > 0).all()


def test_variances_fall_as_people_come(channel):
    few, many = channel.empty(), channel.empty()
    payload = channel.send(answers_for(channel), USERS)
    channel.add(few, payload, ASKED, USERS)
    for _ in range(4):
        channel.add(many, payload, ASKED, USERS)
    if channel.name == "subset":  # variances depend on the shares, of which more is known
        assert (channel.estimate(many)[1] <= channel.estimate(few)[1] / 4).all()
    else:
        assert channel.estimate(many)[1] == pytest.approx(channel.estimate(few)[1] / 4)


# --- one bit ----------------------------------------------------------------------------------------------------


def test_bits_are_counted_by_question():
    channel, state = BitChannel(1.0, 3, 5), {"bits": np.zeros((3, 2), dtype=np.int64)}
    channel.add(state, np.array([1, 0, 1, 1], dtype=np.uint8), np.array([0, 0, 2, 2]), USERS[:4])
    assert state["bits"].tolist() == [[1, 1], [0, 0], [0, 2]]


def test_an_estimate_undoes_the_flips():
    """With a share q flipped, the share of ones is q + (1 - 2 q) times the mean."""
    channel, randomizer = BitChannel(1.0, 3, 5), OneBit(1.0)
    q, count = float(randomizer.flip_probability), 10**9
    ones = np.rint([(q + (1 - 2 * q) * mean) * count for mean in (0.0, 0.25, 1.0)]).astype(np.int64)
    means, variances = channel.estimate({"bits": np.stack([count - ones, ones], axis=1)})
    assert means == pytest.approx([0.0, 0.25, 1.0], abs=1e-8)
    assert variances == pytest.approx(np.full(3, 1 / (4 * math.tanh(0.5) ** 2 * count)), rel=1e-6)


def test_a_question_nobody_was_asked_has_no_answer():
    for channel in (BitChannel(1.0, 3, 5), LikelihoodChannel(1.0, 3, 5), LogLogChannel(1.0, 3, 5)):
        state = channel.empty()
        channel.add(state, channel.send(np.full(20, 0.9), USERS[:20]), np.full(20, 1), USERS[:20])
        means, variances = channel.estimate(state)
        assert means[0] == means[2] == 0.5
        assert variances[0] == pytest.approx(20 * variances[1])


def test_bits_are_noughts_and_ones():
    for channel in (BitChannel(1.0, 3, 5), LikelihoodChannel(1.0, 3, 5)):
        assert channel.valid(np.array([0, 1, 2, 255], dtype=np.uint8)).tolist() == [True, True, False, False]


def test_private_bits_are_flipped_and_numbers_are_rounded_first(monkeypatch):
    channel = BitChannel(1.0, 3, 5)
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.full(count, 2**31, dtype=np.uint32))
    assert channel.send(np.array([0, 1, 1], dtype=np.uint8), USERS[:3]).tolist() == [0, 1, 1]
    assert channel.send(np.array([0.0, 0.49, 0.51, 1.0]), USERS[:4]).tolist() == [0, 0, 1, 1]
    monkeypatch.setattr("sfumato.core.sampling.words32", lambda count: np.zeros(count, dtype=np.uint32))
    assert channel.send(np.array([0, 1, 1], dtype=np.uint8), USERS[:3]).tolist() == [1, 0, 0]


# --- public numbers ---------------------------------------------------------------------------------------------


def test_a_likelihood_bit_adds_its_public_number_or_nothing():
    channel, state = LikelihoodChannel(1.0, 2, 5), LikelihoodChannel(1.0, 2, 5).empty()
    public = channel._public(USERS[:3])
    channel.add(state, np.array([1, 0, 1], dtype=np.uint8), np.array([0, 0, 1]), USERS[:3])
    assert state["asked"].tolist() == [2, 1]
    assert state["sums"] / 2**20 == pytest.approx([public[0], public[2]], abs=2**-20)
    assert channel.estimate(state)[0] == pytest.approx([public[0], 2 * public[2]], abs=1e-5)
    inner = LikelihoodBit(1.0).inner
    assert np.std(channel._public(np.arange(50_000, dtype=np.uint64))) == pytest.approx(math.sqrt(2) / inner, rel=0.05)


def test_a_named_draw_is_added():
    channel, state = LogLogChannel(1.0, 2, 5), LogLogChannel(1.0, 2, 5).empty()
    public = channel._public(USERS[:2])
    assert public.shape == (2, 16)
    channel.add(state, np.array([[3], [15]], dtype=np.uint8), np.array([1, 1]), USERS[:2])
    assert state["sums"] / 2**20 == pytest.approx([0.0, public[0, 3] + public[1, 15]], abs=2**-19)
    assert channel.estimate(state)[0][1] == pytest.approx((public[0, 3] + public[1, 15]) / 2, rel=1e-3)


def test_only_draws_that_there_are_can_be_named():
    named = np.array([[0], [15], [16], [255]], dtype=np.uint8)
    assert LogLog(1.0).tries == 16
    assert LogLogChannel(1.0, 2, 5).valid(named).tolist() == [True, True, False, False]


# --- whole answers ----------------------------------------------------------------------------------------------


def laplace_payload(rows):
    return np.array(rows, dtype="<i8").view(np.uint8).reshape(len(rows), -1)


def test_noisy_numbers_are_added_in_steps():
    channel, state = LaplaceChannel(1.0, 2, 5), LaplaceChannel(1.0, 2, 5).empty()
    channel.add(state, laplace_payload([[65536, -131072], [0, 65536]]), ASKED[:0], USERS[:2])
    means, variances = channel.estimate(state)
    assert means.tolist() == [0.5, -0.5]
    assert variances == pytest.approx(np.full(2, (2 * 2.0**2 + 0.25) / 2))  # each question has half of epsilon


def test_numbers_that_no_device_sends_are_not_valid():
    channel = LaplaceChannel(1.0, 2, 5)
    noise = 20 * 2 * 65536  # twenty times the scale: a device sends more with probability 2e-9, and then cuts it
    high = noise + 65536
    rows = [[0, high], [-noise, 0], [0, high + 1], [-noise - 1, 0], [2**63 - 1, 0], [-(2**63), 0]]
    assert channel.valid(laplace_payload(rows)).tolist() == [True, True, False, False, False, False]
    assert channel.largest == high


def test_a_unit_vector_needs_two_questions():
    with pytest.raises(ParameterError, match="takes 2 to 1,024 questions"):
        UnitChannel(1.0, 1, 5)


def test_directions_are_public_unit_vectors():
    channel = UnitChannel(1.0, 3, 5)
    found = channel._directions(USERS[:4])
    assert found.shape == (4, 256, 3)
    assert np.linalg.norm(found, axis=2) == pytest.approx(np.ones((4, 256)))
    assert np.array_equal(found[2:3], channel._directions(USERS[2:3]))


def test_people_are_taken_a_few_at_a_time(monkeypatch):
    """Codebooks are large: of 1,000 questions, only those of four people are held at once."""
    blocks = []

    def zeros(self, users):
        blocks.append(len(users))
        return np.zeros((len(users), 256, self.questions))

    monkeypatch.setattr(UnitChannel, "_directions", zeros)
    UnitChannel(1.0, 1000, 5).send(np.zeros((5, 1000)), USERS[:5])
    assert blocks == [4, 1]


@pytest.mark.parametrize("questions", [2, 3, 7, 36, 121])
def test_the_collector_makes_the_named_direction_only_and_the_same_bits(questions):
    channel = UnitChannel(1.0, questions, 12345)
    users, names = USERS * np.uint64(2**33) + np.uint64(1), (np.arange(40) * 13 % 256).astype(np.uint8)
    named = channel._directions(users)[np.arange(40), names]
    assert np.array_equal(named, channel._named(users, names))


@pytest.mark.few(1)
@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_what_a_named_direction_keeps_of_a_vector(dimension):
    """Against a simulation of codebooks; 20,000 of them know it to half a percent."""
    randomizer, generator = Codebook(2.0), np.random.default_rng(1)
    first = 2 * generator.beta((dimension - 1) / 2, (dimension - 1) / 2, size=(20_000, randomizer.size)) - 1
    nearest = np.sort(first, axis=1)[:, -randomizer.near :].sum(axis=1).mean()
    close, far = randomizer.weights
    chance = (close - far) / (randomizer.near * close + (randomizer.size - randomizer.near) * far)
    assert unit_gain(randomizer, dimension) == pytest.approx(nearest * chance, rel=0.01)


@pytest.mark.parametrize(("epsilon", "size", "near"), [(1.0, 256, 64), (0.001, 256, 64), (8.0, 256, 1), (2.0, 4, 3)])
def test_moments_of_a_named_direction_in_space_are_those_of_even_numbers(epsilon, size, near):
    """A coordinate of an even direction in three dimensions is even in [-1, 1]: order statistics in closed form."""
    randomizer = Codebook(epsilon, size, near)
    ranks = np.arange(size, 0, -1)  # of the largest, the second largest, ...
    means = 2 * ranks / (size + 1) - 1
    squares = 4 * ranks * (ranks + 1) / ((size + 1) * (size + 2)) - 4 * ranks / (size + 1) + 1
    weights = np.where(np.arange(size) < near, *randomizer.weights)
    expected = weights @ means / weights.sum(), weights @ squares / weights.sum()
    assert unit_moments(randomizer, 3) == pytest.approx(expected, rel=1e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("dimension", [2, 7, 35, 1024])
def test_moments_of_a_named_direction_are_those_by_the_law_of_a_coordinate(dimension):
    randomizer = Codebook(1.0)
    half = (dimension - 1) / 2
    edges = np.linspace(0, 1, 200_001)
    values = 2 * beta.ppf((edges[1:] + edges[:-1]) / 2, half, half) - 1
    chance = binom.cdf(63, 255, 1 - (edges[1:] + edges[:-1]) / 2)
    close, far = randomizer.weights
    total = 64 * close + 192 * far
    expected = [
        256 * ((close - far) * np.mean(values**power * chance) + far * np.mean(values**power)) / total
        for power in (1, 2)
    ]
    assert unit_moments(randomizer, dimension) == pytest.approx(expected, rel=1e-5)


# --- subsets ----------------------------------------------------------------------------------------------------


def test_a_turn_is_added_to_the_items_that_it_covers():
    channel, state = SubsetChannel(0.5, 7, 5), None
    (randomizer,) = channel._randomizers
    for turn in range(7):
        state = channel.empty()
        channel.add(state, np.array([[turn]], dtype=np.uint8), ASKED[:0], USERS[:1])
        places = public_circles(5, USERS[:1], 7, randomizer.kept)[: randomizer.kept, 0]
        assert set(np.flatnonzero(state["sums"])) == {(place + turn) % 7 for place in places.tolist()}
        assert state["sums"].max() == 1 and state["asked"].tolist() == [1]


def test_groups_are_told_by_different_people():
    channel = SubsetChannel(1.0, 9, 5, (3, 2, 4))
    asked = np.arange(40) % 3
    sent = channel.send(channel.starts[asked], USERS)
    state = channel.empty()
    channel.add(state, sent, asked, USERS)
    assert state["asked"].tolist() == [14, 13, 13] and not channel.whole
    assert [part.sum() for part in np.split(state["sums"], [3, 5])] == [
        count * randomizer.kept for count, randomizer in zip((14, 13, 13), channel._randomizers, strict=True)
    ]
    assert channel.possible(state)
    state["sums"][0] += 1
    assert not channel.possible(state)


def test_turns_of_many_items_take_two_bytes():
    channel = SubsetChannel(3.0, 1000, 5)
    sent = channel.send(np.arange(40) * 20, USERS)
    assert channel.width == 2 and sent.shape == (40, 2)
    assert channel.valid(sent).all() and channel.turns(sent).max() > 255
    assert not channel.valid(np.array([[0xE8, 0x03]], dtype=np.uint8)).any()  # 1000


@pytest.mark.parametrize(("epsilon", "size"), [(0.5, 4), (1.0, 22), (4.0, 22), (2.0, 2), (1.0, 121)])
def test_what_a_turn_keeps_of_an_item(epsilon, size):
    """Chances of covering are those of 200,000 reports; variances are exact for their mean over items."""
    channel = SubsetChannel(epsilon, size, 5)
    (randomizer,) = channel._randomizers
    own, other = cover_chances(randomizer)
    assert own + (size - 1) * other == pytest.approx(randomizer.kept)
    people, item = 40_000, size // 2
    users, state = np.arange(people, dtype=np.uint64), channel.empty()
    channel.add(state, channel.send(np.full(people, item), users), ASKED[:0], users)
    found = state["sums"] / people
    expected = np.where(np.arange(size) == item, own, other)
    assert np.abs(found - expected).max() < 6.5 * 0.5 / math.sqrt(people)
    shares, variances = channel.estimate(state)
    assert (np.abs(shares - (np.arange(size) == item)) < 6.5 * np.sqrt(variances)).all()
    mean, largest = channel.expected()
    assert mean <= largest and variances.max() * people <= largest * (1 + 1e-12)


def test_nobody_in_a_group_says_that_all_items_are_alike():
    shares, variances = SubsetChannel(1.0, 4, 5).estimate(SubsetChannel(1.0, 4, 5).empty())
    assert shares.tolist() == [0.25] * 4 and (variances > 0).all()
