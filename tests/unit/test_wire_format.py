"""The page about the wire format is true: its vectors, and a device that was written from it alone.

The device below is plain Python without numpy and without sfumato. Estimates from its reports fail their check by
chance with a probability below 1e-9 each; an error of 3 % of the people in any of them is seen.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import zlib
from decimal import ROUND_CEILING, Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.local.protocol import from_json
from sfumato.local.wire import REASONS

PAGE = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text("utf-8")
VECTORS = [json.loads(line) for line in re.search(r"```json\n(.*?)```", PAGE, re.DOTALL).group(1).splitlines()]
MASK = 2**64 - 1


def vectors(kind):
    found = [row[1:] for row in VECTORS if row[0] == kind]
    assert found
    return found


# --- a device, written from the page ----------------------------------------------------------------------------


class Device:
    """A device that speaks version 2, private steps ``bit`` and ``subset``; what a server and a gateway add to it."""

    def __init__(self, text):
        self.protocol = json.loads(text, object_pairs_hook=self.once)
        assert self.protocol["format"] == "sfumato-protocol" and self.protocol["version"] == 2
        assert self.protocol["randomizer"] in ("bit", "subset", "privunit", "privunit-copies", "gaussian-copies")
        canonical = json.dumps(self.protocol, sort_keys=True, separators=(",", ":"))
        self.fingerprint = hashlib.sha256(canonical.encode()).digest()[:8]
        self.box, self.own = self.protocol["box"], self.protocol["parameters"]
        with localcontext() as context:
            context.prec = 60
            share = Decimal(2**32) / (1 + Decimal(repr(self.protocol["epsilon"])).exp())
            self.threshold = int(share.to_integral_value(ROUND_CEILING))
            self.odds = Decimal(repr(self.protocol["epsilon"])).exp()

    @staticmethod
    def once(pairs):
        assert len(dict(pairs)) == len(pairs), "a key stands twice"
        return dict(pairs)

    def word(self, user, stream):
        x = (
            user * 0x9E3779B97F4A7C15 + self.protocol["seed"] + stream * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15
        ) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        return x ^ (x >> 31)

    @staticmethod
    def below(word, count):
        return ((word >> 32) * count) >> 32

    @staticmethod
    def dither(word, place):
        return ((word >> (16 * place)) & 0xFFFF) / 65536

    @staticmethod
    def within(column, value):
        if column["kind"] == "categorical":
            return column["categories"].index(value) if value in column["categories"] else 0
        low, high = column["low"], column["high"]
        if value is None or math.isnan(value):
            return low / 2 + high / 2
        assert column["kind"] == "interval"
        return min(max(value, low), high)

    def answer(self, record, user):
        values = [self.within(column, value) for column, value in zip(self.box, record, strict=True)]
        kind = {"density": self.density, "smooth-queries": self.smooth, "marginals": self.marginals}
        return kind[self.protocol["kind"]](values, user)

    def density(self, values, user):
        sizes = self.own["lattice"] if isinstance(self.own["lattice"], list) else [self.own["lattice"]] * len(values)
        questions = (1 << (math.prod(sizes) - 1).bit_length()) - 1
        question = self.below(self.word(user, 0), questions)
        cell = 0
        for j, (column, value, size) in enumerate(zip(self.box, values, sizes, strict=True)):
            scaled = min((value - column["low"]) / (column["high"] - column["low"]) * (size - 1), size - 1)
            word = self.word(user, 0 if j < 2 else 1 + j - j % 2)
            cell = cell * size + math.floor(scaled + self.dither(word, j % 2))
        if self.own["randomizer"] == "subset":
            return math.prod(sizes), cell
        assert self.own["randomizer"] == "hadamard"
        return question, (cell & (question + 1)).bit_count() & 1

    def smooth(self, values, user):
        shape = [len(c["categories"]) if c["kind"] == "categorical" else self.own["degree"] for c in self.box]
        ways = self.own["interactions"]
        ways = len(shape) if ways == "full" else min(ways, len(shape))
        if ways == len(shape):
            listed = list(itertools.product(*map(range, shape)))
        else:
            listed = [(0,) * len(shape)]
            for order in range(1, ways + 1):
                for columns in itertools.combinations(range(len(shape)), order):
                    for own in itertools.product(*(range(1, shape[j]) for j in columns)):
                        listed.append(tuple(own[columns.index(j)] if j in columns else 0 for j in range(len(shape))))
        question = self.below(self.word(user, 0), len(listed) - 1)
        product = 1.0
        for column, value, frequency in zip(self.box, values, listed[question + 1], strict=True):
            if column["kind"] == "categorical":
                angle = value * math.pi / (len(column["categories"]) - 1)
            else:
                unit = 2 * ((value - column["low"]) / (column["high"] - column["low"])) - 1
                angle = math.acos(min(max(unit, -1.0), 1.0))
            product *= math.cos(frequency * angle)
        return question, (1 + product) / 2

    def marginals(self, values, user):
        if self.own["randomizer"] == "subset":
            column = self.below(self.word(user, 0), len(self.box))
            return len(self.box[column]["categories"]), values[column]
        bits = [(len(column["categories"]) - 1).bit_length() for column in self.box]
        ways, groups = self.own["ways"], []
        for order in range(1, ways + 1):
            groups.append(
                [
                    tuple(zip(columns, masks, strict=True))
                    for columns in itertools.combinations(range(len(bits)), order)
                    for masks in itertools.product(*(range(1, 2 ** bits[j]) for j in columns))
                ]
            )
        order = 1
        if (self.word(user, 0) >> 32) >= math.floor(self.own["one_way"] * 2**32):
            order = min(2 + self.below(self.word(user, 2), max(1, ways - 1)), ways)
        place = self.below(self.word(user, 1), len(groups[order - 1]))
        chosen = groups[order - 1][place]
        parity = sum((values[j] & mask).bit_count() for j, mask in chosen) & 1
        return sum(map(len, groups[: order - 1])) + place, parity

    def loss(self, record, question):
        """What a person tells of the own loss at a lattice point, before the private step."""
        own, at, scaled = self.own, [], {}
        shape = (
            own["lattice"] if isinstance(own["lattice"], list) else [own["lattice"]] * len(own["parameters"]["columns"])
        )
        for count, column in reversed(list(zip(shape, own["parameters"]["columns"], strict=True))):
            question, i = divmod(question, count)
            t = i / (count - 1) if "bernstein" in own else (1 - math.cos(math.pi * (i + 0.5) / count)) / 2
            at.insert(0, (column["name"], column["low"] + t * (column["high"] - column["low"])))
        for column, value in zip(self.box, record, strict=True):
            v = self.within(column, value)
            number = column["kind"] != "categorical"
            scaled[column["name"]] = (
                2 * ((v - column["low"]) / (column["high"] - column["low"])) - 1 if number else 2.0 * v - 1
            )
        f, y = sum(w * scaled.get(name, 1.0) for name, w in at), scaled[own["response"]]
        told = {"logistic": math.log1p(math.exp(-y * f)), "huber": math.sqrt(1 + (f - y) ** 2) - 1}[own["loss"]]
        return min(1.0, max(0.0, (told - own["range"][0]) / (own["range"][1] - own["range"][0])))

    def vector(self, record):
        """What a linear model's device tells of a record, before the private step."""
        own, values = self.own, [self.within(column, value) for column, value in zip(self.box, record, strict=True)]
        place = [column["name"] for column in self.box].index(own["response"])
        response, kind = values.pop(place), self.box[place]
        z = [own["constant"], *((v - c) / u for v, (c, u) in zip(values, own["scales"], strict=True))]
        length = math.sqrt(sum(x * x for x in z))
        if self.protocol["kind"] == "generalized-linear":
            if kind["kind"] == "categorical":
                return [(2.0 * response - 1) * x / length for x in z]
            z.append(2 * ((response - kind["low"]) / (kind["high"] - kind["low"])) - 1)
            return [x / math.sqrt(sum(x * x for x in z)) for x in z]
        u, rest = [x / length for x in z], []
        if kind["kind"] == "categorical":
            y = 2.0 * response - 1
        else:
            y = (2 * ((response - kind["low"]) / (kind["high"] - kind["low"])) - 1) * own["constant"] / length
            rest = [math.sqrt(1 - y * y)]
        told = [y * x for x in u] + rest
        assert "second_moments" not in own
        pairs = [(i, j) for i in range(len(u)) for j in range(i, len(u))]
        whole = [u[i] * u[j] * (1 if i == j else math.sqrt(2)) for i, j in pairs] + [own["weight"] * x for x in told]
        return [x / math.sqrt(1 + own["weight"] ** 2) for x in whole]

    def kept(self, size):
        with localcontext() as context:
            context.prec = 60
            return max(1, math.floor(Decimal(size) / (1 + self.odds) + Decimal("0.5")))

    def circle(self, user, size):
        places = list(range(size))
        for i in range(self.kept(size)):
            other = i + self.below(self.word(user, 256 + i), size - i)
            places[i], places[other] = places[other], places[i]
        return places

    def turn(self, record, user, drawn=None):
        """A report by the private step ``subset``; the widest column of these tests has 289 items."""
        size, item = self.answer(record, user)
        close, far, kept = math.floor(self.odds * 2**16), 2**16, self.kept(size)
        total = kept * close + (size - kept) * far
        drawn = drawn if drawn is not None else random.SystemRandom().randrange(total)
        assert drawn < total
        place = drawn // close if drawn < kept * close else kept + (drawn - kept * close) // far
        turn = (item - self.circle(user, size)[place]) % size
        wide = 1 if self.protocol["kind"] == "marginals" or size <= 256 else 2
        return bytes([2, 0]) + self.fingerprint + turn.to_bytes(wide, "little")

    def report(self, record, user, private=lambda: int.from_bytes(os.urandom(4), "little")):
        _, bit = self.answer(record, user)
        if isinstance(bit, float):
            bit = int(private() < bit * 2**32)
        bit ^= private() < self.threshold
        head = bytes([2, 0]) + self.fingerprint
        if self.protocol["numbers"] == "drawn":
            head = bytes([2, 1]) + self.fingerprint + user.to_bytes(8, "little")
        return head + bytes([bit])

    def head(self):
        return b"SFMF" + bytes([2, 0, 0, 0]) + self.fingerprint

    def frame(self, message, user):
        """What a server writes; the longest report has 19 bytes."""
        message = message[:20]
        rest = len(message).to_bytes(4, "little") + user.to_bytes(8, "little") + message
        return zlib.crc32(rest).to_bytes(4, "little") + rest

    def batch(self, first, bits, key=None):
        """What a gateway sends."""
        packed = sum(bit << place for place, bit in enumerate(bits))
        head = b"SFMB" + bytes([2, 1 if key is None else 3]) + self.fingerprint + first.to_bytes(8, "little")
        body = head + len(bits).to_bytes(8, "little") + packed.to_bytes((len(bits) + 7) // 8, "little")
        return body if key is None else body + hmac.new(key, body, "sha256").digest()


TEXTS = {name: text for name, text, _ in vectors("protocol")}


def device(protocol):
    return Device(json.dumps(protocol.to_json()))


# --- the vectors ------------------------------------------------------------------------------------------------


def test_the_vectors_are_what_their_snippet_prints(tmp_path):
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert made.returncode == 0, made.stderr
    assert [json.loads(line) for line in made.stdout.splitlines()] == VECTORS


def test_public_words_of_the_device():
    for seed, user, stream, word, below, first, second, laplace in vectors("word"):
        own = Device(json.dumps({**json.loads(TEXTS["density"]), "seed": seed}))
        found = own.word(user, stream)
        assert f"{found:016x}" == word and own.below(found, 127) == below
        assert (own.dither(found, 0), own.dither(found, 1)) == (first, second)
        uniform = ((found >> 11) + 0.5) * 2.0**-53
        assert laplace == pytest.approx((1 if found & 1 else -1) * math.log(uniform), rel=1e-12)


def test_thresholds_of_the_device():
    for epsilon, threshold in vectors("threshold"):
        assert Device(json.dumps({**json.loads(TEXTS["density"]), "epsilon": epsilon})).threshold == threshold


def test_fingerprints():
    for _, text, fingerprint in vectors("protocol"):
        assert hashlib.sha256(text.encode()).digest()[:8].hex() == fingerprint
        assert Device(text).fingerprint.hex() == from_json(json.loads(text)).fingerprint.hex() == fingerprint


def test_a_page_of_protocols_with_awkward_numbers_and_names():
    box = sf.Box({"größe \U0001f600": (-1e-5, 1e16), "ward": sf.Categorical([1, 2.5, 3])})
    protocol = sf.local.SmoothQueries(box, 0.1, seed=3, degree=3)
    text = json.dumps(protocol.to_json(), sort_keys=True, separators=(",", ":"))
    for part in ("gr\\u00f6\\u00dfe \\ud83d\\ude00", '"low":-1e-05', '"high":1e+16', "[1,2.5,3]", '"epsilon":0.1'):
        assert part in text
    assert device(protocol).fingerprint == protocol.fingerprint


def test_reports_of_the_device():
    for name, record, user, question, private, report in vectors("report"):
        own, waiting = Device(TEXTS[name]), list(private)
        assert own.answer(record, user)[0] == question
        assert own.report(record, user, lambda waiting=waiting: waiting.pop(0)).hex() == report and not waiting


def test_circles_and_turns_of_the_device():
    for seed, user, size, kept, places in vectors("circle"):
        own = Device(
            json.dumps({**json.loads(TEXTS["lattice"]), "seed": seed, "epsilon": {5: 0.5, 22: 1.0, 4: 4.0}[size]})
        )
        assert own.kept(size) == kept and own.circle(user, size)[:kept] == places
    for name, record, user, drawn, report in vectors("turn"):
        assert Device(TEXTS[name]).turn(record, user, drawn).hex() == report


def test_vectors_of_the_device():
    for name, record, vector in vectors("vector"):
        found = Device(TEXTS[name]).vector(record)
        assert found == pytest.approx(vector, abs=1e-11) and sum(x * x for x in found) == pytest.approx(1)


def test_losses_of_the_device():
    for name, record, user, question, answer in vectors("loss"):
        own = Device(TEXTS[name])
        assert own.below(own.word(user, 0), math.prod(np.atleast_1d(own.own["lattice"]).tolist())) == question
        assert own.loss(record, question) == pytest.approx(answer, abs=1e-11)


def test_turns_of_the_device_are_taken_and_the_estimates_come_out_right():
    """As above: beyond 6.2 deviations with probability 6e-10."""
    protocol = sf.local.Marginals(sf.Box({"ward": sf.Categorical(list("abcde"))}), 3.0, seed=11, ways=1)
    own, collector, people = device(protocol), protocol.collector(), 6_000
    assert protocol.randomizer == "subset"
    for user in range(people):
        assert collector.add(own.turn(["aabcd"[user % 5]], user), user=user)
    shares, variances = collector.estimate()
    assert (np.abs(shares - [0.4, 0.2, 0.2, 0.2, 0.0]) < 6.2 * np.sqrt(variances)).all()
    assert 6.2 * math.sqrt(variances.max()) < 0.1


def test_a_batch_of_the_device():
    ((name, records, first, batch),) = vectors("batch")
    own = Device(TEXTS[name])
    bits = [own.report(record, first + i, lambda: 2**32 - 1)[-1] for i, record in enumerate(records)]
    assert own.batch(first, bits).hex() == batch
    ((key, sealed),) = vectors("sealed")
    assert own.batch(first, bits, bytes.fromhex(key)).hex() == sealed
    protocol = from_json(json.loads(TEXTS[name]))
    assert protocol.collector().add_batch(bytes.fromhex(batch)) == len(records)
    assert protocol.collector().add_batch(bytes.fromhex(sealed), key=bytes.fromhex(key)) == len(records)


def test_frames_of_the_device():
    for name, message, user, head, frame in vectors("frame"):
        own = Device(TEXTS[name])
        assert own.head().hex() == head
        assert own.frame(bytes.fromhex(message), user).hex() == frame


# --- the device beside the library ------------------------------------------------------------------------------

YESNO = sf.Categorical(["no", "yes"])
BOXES = {
    "plane": sf.Box({"a": (0, 1), "b": (-3, 7)}),
    "space": sf.Box(dict.fromkeys("abcde", (0, 1))),
    "mixed": sf.Box({"a": (0, 1), "b": sf.Categorical(["x", "y", "z"]), "c": (5, 6)}),
    "tables": sf.Box({"a": YESNO, "b": sf.Categorical(list("uvwxy")), "c": YESNO, "d": sf.Categorical([1, 2, 3])}),
}


@pytest.mark.parametrize(
    "protocol",
    [
        sf.local.Density(BOXES["plane"], 1.0, seed=5, lattice=(4, 7), randomizer="hadamard"),
        sf.local.Density(BOXES["space"], 1.0, seed=5, lattice=3, randomizer="hadamard"),
        sf.local.SmoothQueries(BOXES["mixed"], 1.0, seed=5, degree=4),
        sf.local.SmoothQueries(BOXES["mixed"], 1.0, seed=5, degree=4, interactions=2),
        sf.local.Marginals(BOXES["tables"], 1.0, seed=5, ways=3, one_way=0.3),
        sf.local.Marginals(BOXES["tables"], 1.0, seed=5, ways=1, randomizer="hadamard"),
    ],
    ids=lambda protocol: f"{protocol.kind}-{protocol.box.dimension}",
)
def test_the_device_answers_as_the_library_does(protocol):
    own, generator = device(protocol), np.random.default_rng(1)
    users = np.concatenate([np.arange(300), [2**39 + 7]]).astype(np.uint64)
    columns, records = [], []
    for kind in protocol.box.columns:
        if isinstance(kind, sf.Categorical):
            places = generator.integers(0, len(kind.categories), len(users))
            columns.append(places.astype(float))
            records.append([kind.categories[place] for place in places])
        else:
            columns.append(generator.uniform(kind.low, kind.high, len(users)))
            records.append(columns[-1].tolist())
    told = [own.answer(record, int(user)) for record, user in zip(zip(*records, strict=True), users, strict=True)]
    assert [question for question, _ in told] == protocol.asked(users).tolist()
    assert np.allclose([answer for _, answer in told], protocol.answers(np.array(columns), users), atol=1e-12)


def test_the_collector_takes_its_reports_and_the_estimates_come_out_right():
    """Each mass is normal about the truth with this deviation at most: beyond 6.2 of it with probability 6e-10."""
    protocol = sf.local.Density(sf.Box({"age": (0, 90)}), 4.0, seed=11, lattice=4, randomizer="hadamard")
    own, collector, people = device(protocol), protocol.collector(), 60_000
    ages = [(0.0, 30.0, 30.0, 75.0, 15.0, None)[user % 6] for user in range(people)]
    single, framed = 504, 2000  # of them; the others come through a gateway, in batches
    for user, age in enumerate(ages[:single]):
        assert collector.add(own.report([age], user), user=user)
    rows = range(single, framed)
    frames = b"".join(own.frame(own.report([ages[user]], user), user) for user in rows)
    assert collector.add_frames(own.head() + frames) == len(rows)
    for first in range(framed, people, 1000):
        bits = [own.report([ages[user]], user)[-1] for user in range(first, first + 1000)]
        assert collector.add_batch(own.batch(first, bits)) == 1000
    release = collector.release()
    truth = np.array([1.5, 3.0, 1.0, 0.5]) / 6  # the middle, 45, stands in for None
    assert collector.reports == people and not collector.rejected
    assert 6.2 * release.mass_error < 0.03
    assert np.abs(release.masses - truth).max() < 6.2 * release.mass_error


def test_a_report_that_carries_its_number_is_taken():
    box = sf.Box({"age": (0, 90)})
    protocol = sf.local.Density(box, 1.0, seed=11, lattice=4, users=100, numbers="drawn", randomizer="hadamard")
    own, collector = device(protocol), protocol.collector()
    drawn = own.report([30.0], 42)
    assert collector.add(drawn) and collector.add(drawn)  # numbers that are drawn may fall together
    assert collector.add_frames(own.head() + own.frame(drawn, 2**64 - 1)) == 1
    assert not collector.add(bytes([2, 0]) + drawn[2:10] + drawn[18:])
    assert not collector.add(drawn, user=42)
    assert not collector.add(own.report([30.0], 100))
    assert collector.rejected == {"no number": 1, "two numbers": 1, "unknown person": 1}


def test_a_report_that_carries_its_number_is_not_taken_where_numbers_are_given():
    """Its sender could pick the question, and how much the answer counts."""
    protocol = sf.local.Density(sf.Box({"age": (0, 90)}), 1.0, seed=11, lattice=4, users=100, randomizer="hadamard")
    plain = device(protocol).report([30.0], 42)
    chosen = bytes([2, 1]) + plain[2:10] + (42).to_bytes(8, "little") + plain[10:]
    collector = protocol.collector()
    assert not collector.add(chosen) and not collector.add(chosen, user=42)
    assert collector.rejected == {"own number": 2} and collector.add(plain, user=42)


def test_every_reason_on_the_page_is_one_that_the_library_gives():
    table = PAGE.split("## What the collector rejects")[1].split("## Versions")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    reasons = {reason for cell in cells for reason in re.findall(r"`([^`]+)`", cell)}
    source = "".join((Path(sf.__file__).parent / "local" / name).read_text() for name in ("wire.py", "collector.py"))
    assert reasons == REASONS
    said = set(re.findall(r'RejectedError\("([^"]+)"', source)) | set(re.findall(r'rejected\["([^"]+)"\]', source))
    assert reasons - said == {"not sealed", "second report", "damaged"}  # which are said in other words:
    for words in ('"no key" if sealed else "not sealed"', '_without("second report"', "Counter(damaged="):
        assert words in source
