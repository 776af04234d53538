"""One liar: how far any single report moves any estimate, hunted over numbers and payloads, against what is stated.

Whatever a device sends in place of its honest report, an estimate moves by ``protocol.influence / people`` at most, if
questions are asked evenly. A liar may have the worst of all public numbers. docs/proofs/randomizers.md, Theorem 8.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.local import channels
from sfumato.local.channels import LaplaceChannel
from sfumato.local.copies import GaussianNumbers, UnitCopies
from sfumato.local.wire import pack_report

BOX = sf.Box({"age": (0, 110), "bmi": (10, 60)})
LINE = sf.Box([(0, 1)])
YESNO = sf.Categorical(["no", "yes"])
GROUPS = sf.Box({"a": YESNO, "b": sf.Categorical(list("uvwxy")), "c": YESNO})
BINARY = sf.Box(dict.fromkeys("abcd", YESNO))
EACH = 40  # people who are asked each question

PROTOCOLS = {
    **{r: sf.local.Density(LINE, 1.0, seed=5, lattice=4, randomizer=r)
       for r in ("hadamard", "bit", "likelihood", "loglog", "laplace", "privunit")},
    "hadamard, sharp": sf.local.Density(LINE, 6.0, seed=5, lattice=5, randomizer="hadamard"),
    "privunit, wide": sf.local.Density(LINE, 3.0, seed=5, lattice=20, randomizer="privunit"),
    "bit, blunt": sf.local.Density(LINE, 0.1, seed=5, lattice=3, randomizer="bit"),
    "likelihood, blunt": sf.local.Density(LINE, 0.1, seed=5, lattice=3, randomizer="likelihood"),
    **{f"moments, {r}": sf.local.SmoothQueries(LINE, 1.0, seed=5, degree=4, randomizer=r)
       for r in ("bit", "likelihood", "loglog", "laplace")},
    "subset": sf.local.Density(LINE, 1.0, seed=5, lattice=4, randomizer="subset"),
    "subset, sharp": sf.local.Density(LINE, 6.0, seed=5, lattice=5, randomizer="subset"),
    "tables by subsets": sf.local.Marginals(GROUPS, 1.0, seed=5, ways=1, randomizer="subset"),
    "linear model": sf.local.LinearModel(
        sf.Box({"a": (0, 1), "b": (0, 1), "y": YESNO}), 1.0, "y", seed=5, weight=0.5),
    "generalized": sf.local.GeneralizedLinear(
        sf.Box({"a": (0, 1), "b": (0, 1), "y": YESNO}), 2.0, "y", seed=5, steps=2),
    "generalized, gaussian": sf.local.GeneralizedLinear(
        sf.Box({"a": (0, 1), "y": YESNO}), 1.0, "y", copies="gaussian", delta=1e-6, seed=5, steps=2),
    **{f"risk, {r}": sf.local.RiskMinimization(
        sf.Box({"a": (0, 1), "y": YESNO}), 1.0, "logistic", sf.Box({"a": (-2, 2)}), lattice=5, degree=2, response="y",
        seed=5, randomizer=r)
       for r in ("bit", "likelihood", "loglog", "laplace")},
    "tables": sf.local.Marginals(GROUPS, 1.0, seed=5, ways=2, one_way=0.5),
    "tables of one column": sf.local.Marginals(GROUPS, 1.0, seed=5, ways=1, randomizer="hadamard"),
    "tables of three": sf.local.Marginals(BINARY, 1.0, seed=5, ways=3, one_way=0.2),
    "tables, chebyshev": sf.local.Marginals(BINARY, 1.0, seed=5, ways=2, one_way=0.5, randomizer="chebyshev"),
}  # fmt: skip


def crowd(protocol):
    """What a collector keeps of people who were asked as evenly as planned, and how many they are."""
    state, generator = protocol.channel.empty(), np.random.default_rng(3)
    if protocol.channel.whole:
        asked, people = np.array([EACH]), EACH
    elif protocol.kind == "marginals" and protocol.randomizer != "subset":
        shares = np.repeat(np.array(protocol._shares) / protocol.walsh.counts, protocol.walsh.counts)
        people = 10**6
        asked = np.rint(people * shares).astype(np.int64)
    else:
        asked, people = np.full(protocol.questions, EACH), EACH * protocol.questions
    if "bits" in state:
        ones = generator.integers(0, asked + 1)
        state["bits"] += np.stack([asked - ones, ones], axis=1)
    else:
        state["asked"] += asked
        state["sums"] += generator.integers(-(2**20), 2**20, size=state["sums"].shape)
    return state, people


def estimates(protocol, state):
    """Everything that is estimated, without shrinkage and clipping."""
    means, _ = protocol.channel.estimate(state)
    if protocol.kind == "density":
        return protocol.masses(state)[0]
    if protocol.kind == "smooth-queries":
        return 2 * means - 1
    if protocol.kind == "generalized-linear":
        return means
    if protocol.kind == "risk":
        return protocol.release(state, 10**6).coefficients
    if protocol.kind == "linear-model":
        return np.concatenate([part.ravel() for part in protocol.moments(means)])
    release = protocol.release(state, 10**6)
    chosen = [(a,) for a in protocol.box.names]
    chosen += [(a, b) for a, b in product(protocol.box.names, repeat=2) if a < b and protocol.ways > 1]
    return np.concatenate([release.table(list(names), raw=True).ravel() for names in chosen])


def payloads(protocol, users):
    """Everything that a person's device can send, or the corners of it."""
    channel = protocol.channel
    if isinstance(channel, LaplaceChannel):
        low, high = -channel._noise, channel.largest
        rows = np.array([*np.full((2, channel.questions), low), *np.where(np.eye(channel.questions) > 0, high, low)])
        return np.ascontiguousarray(rows.astype("<i8")).view(np.uint8).reshape(len(rows), -1)
    if isinstance(channel, GaussianNumbers):
        numbers = np.array([-channel._limit, channel._limit])[np.array(list(product((0, 1), repeat=channel.told)))]
        return np.ascontiguousarray(numbers.astype("<i4")).view(np.uint8).reshape(len(numbers), -1)
    if isinstance(channel, UnitCopies):  # the first copy is what the mean is of
        return np.stack([np.arange(256), np.zeros(256)], axis=1).astype(np.uint8)
    everything = np.arange(256, dtype=np.uint8)
    rows = everything if channel.bitwise else everything[:, None]
    return rows[protocol.valid(rows, np.repeat(users, len(rows)))]


def largest_move(protocol, user):
    """The farthest that any estimate moves between any two reports of one person, times the people."""
    state, people = crowd(protocol)
    users, found = np.array([user], dtype=np.uint64), []
    asked = np.zeros(0, dtype=np.int64) if protocol.channel.whole else protocol.asked(users)
    for payload in payloads(protocol, users):
        mine = {name: values.copy() for name, values in state.items()}
        protocol.channel.add(mine, payload[None], asked, users)
        found.append(estimates(protocol, mine))
    return float(np.ptp(np.array(found), axis=0).max()) * (people + 1)


def extreme_words(seed, users, stream=0):
    """Public words whose Laplace numbers are as large as can be; upwards and downwards in turn."""
    return np.full(len(users), stream % 2, dtype=np.uint64)


@pytest.mark.few(4)
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_nobody_moves_an_estimate_further_than_stated(protocol):
    moves = [largest_move(protocol, user) for user in range(1 if protocol.channel_name == "privunit" else 12)]
    assert max(moves) <= protocol.influence * (1 + 2 / EACH)


@pytest.mark.parametrize(
    "name",
    ["likelihood", "loglog", "likelihood, blunt", "moments, likelihood", "moments, loglog", "risk, likelihood"],
)
def test_nor_does_the_worst_number_that_anybody_can_have(name, monkeypatch):
    protocol = PROTOCOLS[name]
    monkeypatch.setattr(channels, "public_words", extreme_words)
    moved = largest_move(protocol, 3)
    assert 0.9 * protocol.influence <= moved <= protocol.influence * (1 + 2 / EACH)


SHARP = ["hadamard", "bit", "laplace", "bit, blunt", "moments, bit", "moments, laplace", "tables of one column",
         "tables, chebyshev", "tables", "hadamard, sharp", "subset", "subset, sharp", "tables by subsets", "risk, bit",
         "risk, laplace", "generalized, gaussian"]  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SHARP)
def test_what_is_stated_is_no_larger_than_it_must_be(name):
    protocol = PROTOCOLS[name]
    assert max(largest_move(protocol, user) for user in range(40)) >= 0.9 * protocol.influence


def test_numbers_that_are_not_cut_would_be_caught(monkeypatch):
    """Version 1: Laplace numbers up to 37, and a sender who picked the number. Negative control."""
    monkeypatch.setattr(channels, "public_words", extreme_words)
    monkeypatch.setattr("sfumato.local.public.TAIL", 1000)
    for name in ("likelihood", "loglog"):
        assert largest_move(PROTOCOLS[name], 3) > 1.5 * PROTOCOLS[name].influence


def test_noise_that_is_not_cut_would_be_caught(monkeypatch):
    """Version 1 let a device claim noise of 200 times its scale. Negative control."""
    stated = PROTOCOLS["laplace"].influence
    monkeypatch.setattr(channels, "TAIL", 200)
    assert largest_move(PROTOCOLS["laplace"], 3) > 5 * stated


# --- the table of docs/local.md ---------------------------------------------------------------------------------

PAGE = (
    (Path(__file__).parents[2] / "docs" / "local.md").read_text("utf-8").partition("## Liars")[2].partition("\n## ")[0]
)
ROWS = {row[0]: row[1:] for row in re.findall(r"^\| `\"(\w+)\"`[^|]*\| ([\d,.]+) \| ([\d,.]+) \|", PAGE, re.M)}


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.parametrize("randomizer", ["hadamard", "subset", "privunit", "bit", "likelihood", "loglog", "laplace"])
def test_the_table_of_liars_is_true(randomizer):
    """The worst number exactly; the mean of 20,000 numbers (200 codebooks) to 3 %, eight deviations of the mean."""
    protocol = sf.local.Density(BOX, epsilon=1.0, lattice=11, seed=1, randomizer=randomizer)
    worst, usual = map(number, ROWS[randomizer])
    assert worst == pytest.approx(protocol.influence, rel=0.01)
    channel, users = protocol.channel, np.arange(20_000, dtype=np.uint64)
    reach = channel.reach
    if randomizer == "likelihood":
        reach = 2 * np.abs(channel._public(users)).mean()
    elif randomizer == "loglog":
        reach = np.ptp(channel._public(users), axis=1).mean() / channel._kept
    elif randomizer == "privunit":
        reach = np.ptp(channel._directions(users[:200]), axis=1).max(axis=1).mean() * channel.reach / 2
    assert usual == pytest.approx(protocol.pull(reach), rel=0.03)
    assert sf.local.plan(protocol, people=1000).liar == protocol.influence / 1000


def test_the_table_of_other_protocols_is_true():
    found = re.findall(r"^\|[^|`]*\| `\"(\w+)\"`[^|]*\| ([\d,.]+) \|$", PAGE, re.M)
    moments = [sf.local.SmoothQueries(BOX, 1.0, degree=6, randomizer=name) for name, _ in found[:4]]
    eight = sf.Box({f"c{i}": YESNO for i in range(8)})
    tables = [sf.local.Marginals(eight, 1.0, randomizer=name) for name, _ in found[4:6]]
    six = sf.Box({**{f"c{i}": (0, 1) for i in range(6)}, "y": YESNO})
    assert len(found) == 7
    for protocol, (_, told) in zip([*moments, *tables, sf.local.LinearModel(six, 1.0, "y")], found, strict=True):
        assert number(told) == pytest.approx(protocol.influence, rel=0.01)


@pytest.mark.parametrize("randomizer", ["likelihood", "loglog"])
def test_nobody_can_pick_a_number_with_these(randomizer):
    """A sender who picked one moved a mass by 601 or 295 over the people; Hadamard's is 3."""
    protocol = PROTOCOLS[randomizer]
    collector = protocol.collector()
    assert not collector.add(pack_report(protocol.fingerprint, b"\x01", 12345))
    assert collector.rejected == {"own number": 1}
    with pytest.raises(ParameterError, match="needs numbers='given'"):
        sf.local.Density(LINE, 1.0, lattice=4, randomizer=randomizer, numbers="drawn")
