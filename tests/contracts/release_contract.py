"""What every release must do: stay as it is, come back from a file, and hold on to no data.

Inherit, and give ``make()``: a fresh release, and ``answers(release)``: whatever one can ask it, as arrays.
"""

import copy
import dataclasses
import gc
import pickle
import weakref
from collections import Counter

import numpy as np
import pytest

import sfumato as sf
from sfumato.faces import nothing_there
from sfumato.releases.base import Release


class Records(np.ndarray):
    """An array that can be watched until it is gone."""


class ReleaseContract:
    def make(self, data=None):
        raise NotImplementedError

    def answers(self, release):
        raise NotImplementedError

    @pytest.fixture
    def release(self):
        """Made once for each kind: it cannot be changed, as is tested below."""
        kind = type(self)
        if "made" not in vars(kind):
            kind.made = self.make()
        return kind.made

    @pytest.fixture
    def loaded(self, release, tmp_path):
        release.save(tmp_path / "r.sfumato")
        return sf.load(tmp_path / "r.sfumato")

    def test_it_is_a_release_of_a_known_kind(self, release):
        assert isinstance(release, Release)
        assert isinstance(release.kind, str)
        assert isinstance(release.guarantee, sf.Guarantee)
        assert isinstance(release.box, sf.Box)

    def test_attributes_cannot_be_changed(self, release):
        for field in dataclasses.fields(release):
            with pytest.raises(AttributeError):
                setattr(release, field.name, None)
            with pytest.raises(AttributeError):
                delattr(release, field.name)
        with pytest.raises(AttributeError):
            release.guarantee.epsilon = 0.0

    def test_arrays_cannot_be_changed(self, release):
        for values in release.arrays().values():
            with pytest.raises(ValueError, match="read-only"):
                values[...] = 0.0

    def test_answers_do_not_depend_on_what_is_done_to_them(self, release):
        before = [answer.copy() for answer in self.answers(release)]
        for answer in self.answers(release):
            if answer.flags.writeable:
                answer[...] = 0.0
        assert all(map(np.array_equal, before, self.answers(release)))

    def test_asking_twice_gives_the_same(self, release):
        assert all(map(np.array_equal, self.answers(release), self.answers(release)))

    def test_a_file_gives_the_same_answers(self, release, loaded):
        assert type(loaded) is type(release)
        for before, after in zip(self.answers(release), self.answers(loaded), strict=True):
            assert before.tobytes() == after.tobytes()

    def test_a_file_gives_the_same_promise(self, release, loaded):
        assert loaded.guarantee == release.guarantee
        assert str(loaded.guarantee) == str(release.guarantee)
        assert loaded.law == release.law
        assert loaded.target == release.target
        assert loaded.box == release.box

    def test_a_file_gives_the_same_file(self, release, loaded, tmp_path):
        release.save(tmp_path / "one.sfumato")
        loaded.save(tmp_path / "two.sfumato")
        assert (tmp_path / "one.sfumato").read_bytes() == (tmp_path / "two.sfumato").read_bytes()

    def test_what_is_loaded_cannot_be_changed_either(self, loaded):
        self.test_attributes_cannot_be_changed(loaded)
        self.test_arrays_cannot_be_changed(loaded)

    def test_it_holds_on_to_no_data(self):
        data = np.linspace(0, 1, 50).view(Records)
        watched = weakref.ref(data)
        release = self.make(data)
        del data
        if watched() is not None:  # in a circle, maybe; looking for those takes long where much has been made
            gc.collect()
        assert watched() is None
        assert release is not None

    def test_its_bytes_are_its_public_content_only(self, tmp_path):
        """Nothing as large as the data is reachable from it but what its file gives, asked whether anybody is there."""
        release = self.make()
        release.save(tmp_path / "r.sfumato")
        public = sf.load(tmp_path / "r.sfumato")
        nothing_there(public)
        sizes, found = (
            Counter(value.nbytes for value in reachable_arrays(one) if value.nbytes >= 8 * 50)
            for one in (public, release)
        )
        assert found <= sizes

    def test_copies_and_pickles_answer_alike(self, release):
        """A release is public: nothing forbids copying it."""
        answers = self.answers(release)
        for other in (copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))):
            assert all(map(np.array_equal, answers, self.answers(other)))

    def test_text_shows_no_noisy_number(self, release):
        text = repr(release) + str(release)
        for values in release.arrays().values():
            telling = values.ravel()[values.ravel() != 0][:20]  # a nought is everywhere
            assert not any(repr(float(value)) in text for value in telling)


def reachable_arrays(thing, seen=None):
    """Every array that can be reached through attributes and containers."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from reachable_arrays(value, seen)
    elif isinstance(thing, list | tuple | set):
        for value in thing:
            yield from reachable_arrays(value, seen)
    elif hasattr(thing, "__dict__"):
        yield from reachable_arrays(vars(thing), seen)
