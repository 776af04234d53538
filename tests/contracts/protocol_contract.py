"""What every protocol of the local model must do. Inherit, and give ``protocol`` and ``records``.

Private randomness is replaced by a fixed stream where two ways of encoding are compared: both must draw alike.
"""

import dataclasses

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.local import Collector
from sfumato.local.wire import pack_report


def same(one, other):
    """Bit for bit the same collectors."""
    return (
        one.reports == other.reports
        and one.rejected == other.rejected
        and all(np.array_equal(values, other._state[name]) for name, values in one._state.items())
        and one._seen.keys() == other._seen.keys()
        and all(np.array_equal(bits, other._seen[key]) for key, bits in one._seen.items())
    )


class ProtocolContract:
    protocol = None
    people = 60
    width = 1

    def records(self):
        raise NotImplementedError

    @property
    def released_on(self):
        """The box of the release: that of the records, unless it is a function of something else."""
        return self.protocol.box

    @property
    def told(self):
        """How many numbers a person's answer has."""
        return self.protocol.channel.told

    @pytest.fixture
    def batch(self):
        return self.protocol.encode_many(self.records(), first_user=5)

    @pytest.fixture
    def filled(self, batch):
        return self.collected(batch)

    @property
    def drawn(self):
        """The same protocol for devices that draw their numbers; None where that is refused."""
        if self.protocol.channel_name in ("likelihood", "loglog"):
            with pytest.raises(ParameterError, match="needs numbers='given'"):
                dataclasses.replace(self.protocol, numbers="drawn")
            return None
        return dataclasses.replace(self.protocol, numbers="drawn")

    def collected(self, batch):
        collector = self.protocol.collector()
        collector.add_batch(batch)
        return collector

    def separate(self, batch):
        """The single reports of a batch."""
        channel = self.protocol.channel
        body = np.frombuffer(batch[30:], dtype=np.uint8)
        if channel.bitwise:
            body = np.unpackbits(body, count=self.people, bitorder="little")
        payloads = body.reshape(self.people, -1)
        return [pack_report(self.protocol.fingerprint, row.tobytes(), None) for row in payloads]

    def test_it_is_public_and_cannot_be_changed(self):
        for field in dataclasses.fields(self.protocol):
            with pytest.raises(AttributeError):
                setattr(self.protocol, field.name, None)
        assert self.protocol.guarantee.model == "local"
        assert self.protocol.guarantee.epsilon == self.protocol.epsilon
        assert self.protocol.guarantee.delta == getattr(self.protocol, "delta", 0.0)

    def test_a_file_gives_the_same_protocol(self, tmp_path):
        self.protocol.save(tmp_path / "p.json")
        loaded = sf.local.load(tmp_path / "p.json")
        assert loaded == self.protocol
        assert loaded.fingerprint == self.protocol.fingerprint
        loaded.save(tmp_path / "q.json")
        assert (tmp_path / "p.json").read_bytes() == (tmp_path / "q.json").read_bytes()

    def test_fingerprints_are_stable_and_tell_seeds_apart(self):
        copy = dataclasses.replace(self.protocol)
        assert copy.fingerprint == self.protocol.fingerprint
        assert len(copy.fingerprint) == 8
        assert dataclasses.replace(self.protocol, seed=123).fingerprint != self.protocol.fingerprint

    def test_sizes_of_reports(self, batch):
        assert len(self.protocol.encode(self.records()[0], user=5)) == 10 + self.width
        if self.drawn is not None:
            assert len(self.drawn.encode(self.records()[0])) == 18 + self.width
        bits = self.protocol.channel.bitwise
        assert len(batch) == 30 + ((self.people + 7) // 8 if bits else self.people * self.width)

    def test_what_is_encoded_is_taken(self, batch):
        collector = self.protocol.collector()
        assert collector.add_batch(batch) == self.people
        assert collector.add(self.protocol.encode(self.records()[0], user=5 + self.people), user=5 + self.people)
        assert collector.reports == self.people + 1
        assert not collector.rejected

    def test_devices_that_draw_their_numbers_are_taken_where_that_was_agreed_on(self):
        if self.drawn is None:
            return
        collector, report = self.drawn.collector(), self.drawn.encode(self.records()[0])
        assert collector.add(report) and not self.protocol.collector().add(report)
        assert collector.reports == 1 and not collector.rejected

    def test_frames_are_taken(self, batch, filled):
        framed = [self.protocol.frame(report, user=5 + i) for i, report in enumerate(self.separate(batch))]
        collector = self.protocol.collector()
        assert collector.add_frames(self.protocol.file_head + b"".join(framed)) == self.people
        assert same(collector, filled)

    def test_batches_that_are_sealed_are_taken_with_the_key_only(self, batch, filled):
        key, collector = bytes(range(32)), self.protocol.collector()
        sealed = self.protocol.encode_many(self.records(), first_user=5, key=key)
        for data, given, reason in (
            (sealed, None, "no key"),
            (batch, key, "not sealed"),
            (sealed, key[1:], "another key"),
        ):
            assert collector.add_batch(data, key=given) == 0
            assert collector.rejected.pop(reason) == 1
        for place in range(0, len(sealed), max(1, len(sealed) // 50)):
            forged = bytearray(sealed)
            forged[place] ^= 16
            assert collector.add_batch(bytes(forged), key=key) == 0
        assert collector.add_batch(sealed, key=key) == self.people

    def test_one_by_one_is_all_at_once(self, batch, filled):
        one = self.protocol.collector()
        for i, report in enumerate(self.separate(batch)):
            assert one.add(report, user=5 + i)
        assert same(one, filled)

    def test_encoding_one_is_encoding_many(self, monkeypatch):
        """With private randomness that is the same for everybody, report by report."""
        size = self.protocol.questions
        monkeypatch.setattr("sfumato.core.sampling.words32", lambda n: np.full(n, 2**31, dtype=np.uint32))
        monkeypatch.setattr("sfumato.core.sampling._words", lambda n: np.full(n, 2**62 + 12345, dtype=np.uint64))
        monkeypatch.setattr("sfumato.core.sampling.discrete_gaussian", lambda n, variance: np.arange(n) % self.told - 2)
        monkeypatch.setattr("sfumato.core.sampling.discrete_laplace", lambda n, scale: np.arange(n) % size - 2)
        records = self.records()
        reports = [self.protocol.encode(record, user=5 + i) for i, record in enumerate(records)]
        assert reports == self.separate(self.protocol.encode_many(records, first_user=5))

    def test_reports_are_random(self, batch):
        """Nobody's report is certain: the same people again send something else (all alike: less than 1e-9)."""
        assert any(self.protocol.encode_many(self.records(), first_user=5) != batch for _ in range(8))

    def test_merging_is_collecting(self, batch, filled):
        reports = self.separate(batch)
        parts = []
        for start in range(0, self.people, 20):
            part = self.protocol.collector()
            part.add_many(reports[start : start + 20], first_user=5 + start)
            parts.append(part)
        a, b, c = parts
        for merged in ((a + b) + c, a + (b + c), (c + a) + b, b + (c + a)):
            assert same(merged, filled)

    def test_a_checkpoint_gives_the_same_collector(self, filled, tmp_path):
        filled.save(tmp_path / "c", 99)
        resumed, position = Collector.resume(tmp_path / "c", self.protocol)
        assert position == 99
        assert same(resumed, filled)
        for mine, theirs in zip(resumed.estimate(), filled.estimate(), strict=True):
            assert mine.tobytes() == theirs.tobytes()

    def test_second_reports_are_refused(self, batch, filled):
        before = {name: values.copy() for name, values in filled._state.items()}
        assert filled.add_batch(batch) == 0
        assert filled.add(self.separate(batch)[0], user=5) is False
        assert filled.rejected == {"second report": self.people + 1}
        assert all(np.array_equal(values, filled._state[name]) for name, values in before.items())

    def test_other_reports_are_rejected(self, batch):
        other = dataclasses.replace(self.protocol, seed=123).collector()
        assert other.add_batch(batch) == 0
        assert other.add(self.separate(batch)[0], user=5) is False
        assert other.rejected == {"another protocol": 2}
        for size in (0, 5, 10, 9 + self.width):
            assert self.protocol.collector().add(self.separate(batch)[0][:size], user=5) is False

    def test_estimates_have_variances(self, filled):
        means, variances = filled.estimate()
        assert means.shape == variances.shape == (self.protocol.estimates,)
        assert np.isfinite(means).all()
        assert (variances > 0).all()

    def test_a_release_promises_what_the_protocol_does(self, filled, tmp_path):
        release = filled.release()
        assert release.guarantee == self.protocol.guarantee
        assert release.box == self.released_on
        release.save(tmp_path / "r.sfumato")
        loaded = sf.load(tmp_path / "r.sfumato")
        assert type(loaded) is type(release)
        for name, values in release.arrays().items():
            assert loaded.arrays()[name].tobytes() == values.tobytes()

    def test_records_of_nobody(self):
        assert self.protocol.collector().add_batch(self.protocol.encode_many(self.records()[:0])) == 0
