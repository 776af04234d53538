"""A model that walked over copies: its file says one thing, and promises what its noise keeps."""

import json
import math

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError, ParameterError
from sfumato.laws import LocalLaw
from sfumato.releases.collected.model import CollectedModel

BOX = sf.Box({"age": (20, 60), "hours": (0, 80), "rich": sf.Categorical(["no", "yes"])})
PAY = sf.Box({"age": (20, 60), "hours": (0, 80), "pay": (0, 9)})
GAUSSIAN = {"copies": "gaussian", "delta": 1e-6}
PROTOCOLS = {
    "pure": sf.local.GeneralizedLinear(BOX, 4.0, "rich", seed=1),
    "gaussian": sf.local.GeneralizedLinear(BOX, 4.0, "rich", seed=1, **GAUSSIAN),
    "gaussian, a number": sf.local.GeneralizedLinear(PAY, 0.5, "pay", "absolute", degree=3, seed=1, **GAUSSIAN),
}


def made(name):
    protocol, generator = PROTOCOLS[name], np.random.default_rng(1)
    last = np.arange(300) % 2
    collector = protocol.collector()
    told = ["no", "yes"] if name != "gaussian, a number" else [0.0, 9.0]
    records = [[*row, told[k]] for row, k in zip(generator.uniform(20, 60, size=(300, 2)), last, strict=True)]
    collector.add_batch(protocol.encode_many(records))
    return collector.release()


@pytest.fixture(params=PROTOCOLS)
def release(request):
    return made(request.param)


def reloaded(release, path, change=lambda document, arrays: None):
    """What a file says after somebody has changed it."""
    release.save(path)
    with safe_open(path, framework="numpy") as container:
        document = json.loads(container.metadata()["sfumato"])
        arrays = {name: container.get_tensor(name) for name in container.keys()}  # noqa: SIM118
    change(document, arrays)
    path.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    return sf.load(path)


def test_a_file_comes_back(release, tmp_path):
    again = reloaded(release, tmp_path / "m.sfumato")
    assert again.fit() == release.fit() and again.reports == 300
    assert (again.guarantee, again.law) == (release.guarantee, release.law)
    assert repr(again) == f"<CollectedModel of 2 columns and {release.answer!r}: {release.guarantee}>"
    with pytest.raises(ValueError, match="read-only"):
        again.weights[0] = 9.0


@pytest.mark.few(10)
@pytest.mark.parametrize(
    ("fields", "arrays"),
    [
        ({"response": "ages"}, {}),
        ({"response": "age"}, {}),
        ({"scales": [[1.0, 2.0]]}, {}),
        ({"scales": [[1.0, 2.0], [1.0, 0.0]]}, {}),
        ({"constant": 0.0}, {}),
        ({"loss": "squared"}, {}),
        ({"reports": 0}, {}),
        ({"more": 1}, {}),
        ({}, {"weights": np.ones(4)}),
        ({}, {"cross_moments": np.ones(2)}),
        ({}, {"other": np.ones(3)}),
    ],
)
@pytest.mark.parametrize("name", ["pure", "gaussian"])
def test_files_that_say_something_else_are_refused(name, fields, arrays):
    release = made(name)
    common = {key: getattr(release, key) for key in ("guarantee", "law", "target", "receipt")}
    CollectedModel.rebuild(common, BOX, release.fields(), release.arrays())
    with pytest.raises(ParameterError):
        CollectedModel.rebuild(common, BOX, {**release.fields(), **fields}, {**release.arrays(), **arrays})
    law = LocalLaw(release.law.randomizer, 4, release.law.deviation)
    with pytest.raises(ParameterError):
        CollectedModel.rebuild({**common, "law": law}, BOX, release.fields(), release.arrays())


# --- promises that the noise does not keep ----------------------------------------------------------------------------


def test_gaussian_noise_cannot_be_called_pure(tmp_path):
    def change(document, arrays):
        document["guarantee"]["delta"] = 0.0

    with pytest.raises(FileFormatError, match="pure except with Gaussian noise"):
        reloaded(made("gaussian"), tmp_path / "m.sfumato", change)


@pytest.mark.parametrize("name", ["gaussian", "gaussian, a number"])
@pytest.mark.parametrize(
    "change",
    [
        {"delta": 1e-300},
        {"delta": 0.999e-6},
        {"delta": 1e-5},
        {"epsilon": 0.999 * 4.0},
        {"epsilon": 1e-9},
        {"epsilon": 50.0},
    ],
    ids=str,
)
def test_the_promise_of_gaussian_noise_is_worked_out_again(name, change, tmp_path):
    def forge(document, arrays):
        document["guarantee"].update(change)

    with pytest.raises(FileFormatError, match="is not that of this promise"):
        reloaded(made(name), tmp_path / "m.sfumato", forge)


@pytest.mark.parametrize(
    "target", [[["degree", "2"]], [["degree", "7"]], [["degree", "one"]], [["degree", "-1"]], []], ids=str
)
def test_the_number_of_gaussian_copies_is_part_of_it(target, tmp_path):
    def forge(document, arrays):
        document["target"] = target

    with pytest.raises(FileFormatError):
        reloaded(made("gaussian"), tmp_path / "m.sfumato", forge)


def test_fewer_reports_do_not_have_this_noise(tmp_path):
    def forge(document, arrays):
        document["content"]["reports"] = 299

    with pytest.raises(FileFormatError, match="is not that of this promise"):
        reloaded(made("gaussian"), tmp_path / "m.sfumato", forge)


@pytest.mark.parametrize("randomizer", ["bit", "privunit", "privunit-copies", "gaussian", ""])
def test_gaussian_noise_cannot_pass_for_that_of_another_randomizer(randomizer, tmp_path):
    def forge(document, arrays):
        document["noise"]["randomizer"] = randomizer

    with pytest.raises(FileFormatError):
        reloaded(made("gaussian"), tmp_path / "m.sfumato", forge)


def test_pure_copies_promise_no_delta_and_are_not_gaussian(tmp_path):
    def delta(document, arrays):
        document["guarantee"]["delta"] = 1e-6

    def gaussian(document, arrays):
        document["noise"]["randomizer"] = "gaussian-copies"

    def both(document, arrays):
        delta(document, arrays), gaussian(document, arrays)

    for change in (delta, gaussian, both):
        with pytest.raises(FileFormatError):
            reloaded(made("pure"), tmp_path / "m.sfumato", change)


@pytest.mark.parametrize("name", ["gaussian", "gaussian, a number"])
def test_what_is_worked_out_again_is_what_the_channel_says(name):
    release, channel = made(name), PROTOCOLS[name].channel
    assert release.law.deviation == pytest.approx(math.sqrt(channel.square / 300), rel=1e-12)
