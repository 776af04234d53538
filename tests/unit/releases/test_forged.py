"""A file that claims more than its public parameters give is refused; what cannot be worked out again says so."""

import copy
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.core.certificate import SAME_PLACES
from sfumato.core.objective import Objective, calibrate_objective
from sfumato.errors import FileFormatError
from sfumato.local import density, generalized, marginals, risk
from sfumato.local import smooth as questions
from sfumato.releases import io

GOLDEN = Path(__file__).parents[2] / "golden"
ROWS = np.linspace(0, 1, 60)
LINE, PLANE = sf.Box({"t": (0.0, 1.0)}), sf.Box({"a": (0, 1), "b": (0, 1)})
PAIR = (np.stack([ROWS, ROWS[::-1]], axis=1), np.where(ROWS > 0.4, "yes", "no"))
SICK = {"response": "ill", "classes": ["no", "yes"]}
LOOSE = sf.Privacy(epsilon=5.0)


def machine(loss="logistic", mechanism="output", privacy=LOOSE, basis=None, **more):
    target = sf.KernelMachine(loss, sf.RBF(0.5), 1.0, mechanism=mechanism, **{**SICK, **more})
    return sf.release(target, PAIR, PLANE, privacy, basis=basis or sf.Landmarks(9))


def smooth(z):
    return -1 / (1 + np.exp(z))


def bent(z):
    return np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2


OWN = sf.UserLoss(smooth, bent, 1.0, 0.25, name="mine")
IDENTITY = sf.BlackBox(lambda data: lambda p: p[:, 0], sensitivity=9.0, range=(0, 1))
PERSON = sf.Privacy(epsilon=5.0, unit=sf.Person("who", 2))
MADE = {
    "output": machine,
    "output, persons": lambda: machine(privacy=sf.Privacy(epsilon=5.0, neighbours="add-remove"), expected_rows=60),
    "objective": lambda: machine(mechanism="objective"),
    "gaussian objective": lambda: machine(mechanism="objective", privacy=sf.Privacy(epsilon=5.0, delta=1e-5)),
    "huber": lambda: machine(sf.SmoothedHuber(0.5), "objective"),
    "smoothed hinge": lambda: machine(sf.SmoothedHinge(0.25), "objective"),
    "user loss": lambda: machine(OWN, "objective"),
    "learner on a lattice": lambda: machine("hinge", basis=sf.Bernstein(3)),
    "gaps": lambda: sf.release(
        sf.PriestleyChao(0.2, response="y", range=(0, 1)), (ROWS[:, None], ROWS), LINE, sf.Privacy(epsilon=1.0)
    ),
    "zero-sum": lambda: sf.release(sf.KDE(0.2), ROWS[:, None], LINE, sf.Privacy(epsilon=1.0), noise="zero-sum"),
    "clipped": lambda: sf.release(IDENTITY, ROWS[:, None], LINE, sf.Privacy(epsilon=1.0), basis=sf.Bernstein(3)),
}
ENFORCED = [
    *("density-v1", "density-linear-v1", "density-private-v1", "density-matrix-v1", "density-polynomial-v1"),
    *("grouped-density-v1", "curve-v1", "naive-bayes-v1", "naive-bayes-normal-v1", "value-mean-v1"),
    *("value-histogram-v1", "value-bounds-v1", "summary-v1", "summary-pairs-v1", "summary-cross-v1"),
    *("table-v1", "value-variance-steps-v1", "value-tree-v1", "learner-prior-v1"),
    *("components-v1", "components-products-v1"),
]


def read(path):
    with safe_open(path, framework="numpy") as container:
        return json.loads(container.metadata()["sfumato"]), {k: container.get_tensor(k) for k in container.keys()}  # noqa: SIM118


@pytest.fixture(params=[*ENFORCED, *MADE])
def proved(request, tmp_path):
    """The document and arrays of a release whose certificate follows from public parameters."""
    if request.param in MADE:
        MADE[request.param]().save(tmp_path / "made.sfumato")
        return read(tmp_path / "made.sfumato")
    return read(GOLDEN / f"{request.param}.sfumato")


def loaded(tmp_path, document, arrays):
    (tmp_path / "forged.sfumato").write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
    return sf.load(tmp_path / "forged.sfumato")


def weakened(document, factor):
    """The noise and what it was calibrated for, both scaled down: the file agrees with itself."""
    forged = copy.deepcopy(document)
    noise = forged["noise"]
    bound = noise["certificate"]["bound"] / factor
    whole = noise["certificate"]["exponent"] is not None and noise["certificate"]["norm"] != "l2"
    noise["certificate"]["bound"] = int(bound) if whole else bound
    power = 2 if noise["kind"] == "gaussian" else 1
    scale = Fraction(noise["scale"]) / Fraction(factor) ** power
    if noise["certificate"]["exponent"] is None:  # a finer grid, where rounding costs no more than before
        noise["exponent"], scale = noise["exponent"] - 10, scale * 2 ** (10 * power)
    noise["scale"] = str(scale + (5 if noise["kind"] == "gaussian" else 0))
    return forged


def coarser(law, bits):
    """The same deviation in steps of another grid."""
    law["exponent"] += bits
    power = 2 * bits if law["kind"] == "gaussian" and "certificate" in law else bits
    law["scale"] = str(Fraction(law["scale"]) / Fraction(2) ** power)


def test_the_files_load_as_they_are(proved, tmp_path):
    assert loaded(tmp_path, *proved).law.certificate.known in ("proved", "enforced")


@pytest.mark.few(20)
@pytest.mark.parametrize("factor", [2, 1.01])
def test_a_certificate_and_noise_scaled_down_together_are_refused(proved, factor, tmp_path):
    document, arrays = proved
    with pytest.raises(FileFormatError):
        loaded(tmp_path, weakened(document, Fraction(factor)) if factor == 2 else weakened(document, 1.01), arrays)


@pytest.mark.few(15)
def test_a_larger_unit_is_refused(proved, tmp_path):
    document, arrays = proved
    if document["content"].get("origin", {}).get("name") == "clipped":
        pytest.skip("a range holds for everybody")
    document["guarantee"]["unit"] = {"column": "who", "max_rows": 2}
    public = "records" if document["kind"] in ("table", "components") else "rows"
    if public in document["content"]:
        document["content"][public] = None
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


@pytest.mark.few(15)
def test_a_stronger_relation_is_refused(proved, tmp_path):
    """Replacing a record is more than adding one: noise for the second does not serve the first."""
    document, arrays = proved
    if document["guarantee"]["neighbours"] == "replace":
        pytest.skip("it is the stronger one")
    document["guarantee"]["neighbours"] = document["noise"]["certificate"]["relation"] = "replace"
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


@pytest.mark.few(20)
@pytest.mark.parametrize("bits", [8, 60])
def test_a_coarser_grid_needs_more_noise(proved, bits, tmp_path):
    """Rounding moves neighbours up to a step further apart: noise that is small beside a step hides nothing."""
    document, arrays = proved
    coarser(document["noise"], bits)
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


@pytest.mark.few(15)
def test_a_finer_grid_is_as_good(proved, tmp_path):
    document, arrays = proved
    if document["noise"]["certificate"]["exponent"] is not None:
        pytest.skip("these numbers are on a grid already")
    coarser(document["noise"], -4)
    assert loaded(tmp_path, document, arrays).law.certificate.known in ("proved", "enforced")


@pytest.mark.few(14)
@pytest.mark.parametrize("known", ["stated", "sampled", "proved", "enforced"])
def test_how_a_bound_is_known_cannot_be_exchanged(proved, known, tmp_path):
    document, arrays = proved
    certificate = document["noise"]["certificate"]
    if certificate["known"] == known:
        pytest.skip("it is known that way")
    certificate["known"] = known
    if known == "sampled":
        certificate["confidence"] = document["guarantee"]["confidence"] = 0.9
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


# --- learners ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["objective", "gaussian objective", "huber", "smoothed hinge", "user loss"])
def objective(request, tmp_path):
    MADE[request.param]().save(tmp_path / "made.sfumato")
    return read(tmp_path / "made.sfumato")


@pytest.mark.few(5)
@pytest.mark.parametrize("name", ["lipschitz", "curvature", "norm"])
def test_an_objective_for_another_loss_is_refused(objective, name, tmp_path):
    """A flatter loss, or shorter features, would need less noise."""
    document, arrays = objective
    told = document["content"]["objective"]
    told["objective"][name] /= 2
    told["law"]["scale"] = str(Fraction(told["law"]["scale"]) / 2)
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


@pytest.mark.few(15)
def test_shorter_features_than_the_kernel_has_are_refused(proved, tmp_path):
    document, arrays = proved
    if document["kind"] != "machine":
        pytest.skip("no features")
    document["content"]["norm"] /= 2
    with pytest.raises(FileFormatError):
        loaded(tmp_path, weakened(document, 2), arrays)


@pytest.mark.parametrize("bits", [1, 60])
def test_a_coarser_grid_of_the_noise_inside_is_refused(objective, bits, tmp_path):
    """The noise at the door pays for what rounding b to its grid leaves open."""
    document, arrays = objective
    coarser(document["content"]["objective"]["law"], bits)
    with pytest.raises(FileFormatError, match="too coarse"):
        loaded(tmp_path, document, arrays)


def test_another_split_of_the_grant_is_refused(tmp_path):
    """More noise inside is on a coarser grid, and what that leaves open is not in the certificate."""
    MADE["objective"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    inside = document["content"]["objective"]
    inside["epsilon"] /= 4
    needed = calibrate_objective(Objective(**inside["objective"]), sf.Privacy(epsilon=inside["epsilon"]))
    inside["law"] |= {"exponent": needed.exponent, "scale": str(needed.scale)}
    with pytest.raises(FileFormatError, match="shared out"):
        loaded(tmp_path, document, arrays)


def test_a_whitening_that_makes_features_shorter_is_refused(tmp_path):
    """On a lattice the bound is as large as the features are long."""
    MADE["learner on a lattice"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    for factor in (10**5, 1.001):
        with pytest.raises(FileFormatError, match="whitening"):
            loaded(tmp_path, weakened(document, factor), arrays | {"whitening": arrays["whitening"] / factor})


@pytest.mark.parametrize("name", ["output", "learner on a lattice"])
def test_landmarks_that_no_caller_could_give_are_refused(name, tmp_path):
    MADE[name]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    with pytest.raises(FileFormatError, match="outside the box"):
        loaded(tmp_path, document, arrays | {"landmarks": arrays["landmarks"] + 1e-3})


def test_more_directions_than_landmarks_are_refused(tmp_path):
    MADE["learner on a lattice"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    few = {key: arrays[key][:2] for key in ("landmarks", "whitening")}
    with pytest.raises(FileFormatError, match="do not fit"):
        loaded(tmp_path, document, arrays | few)


@pytest.fixture
def regression(tmp_path):
    target = sf.KernelMachine("squared", sf.RBF(0.5), 1.0, mechanism="output", response="y", range=(-1, 1))
    release = sf.release(target, (PAIR[0], np.linspace(-1, 1, 60)), PLANE, LOOSE, basis=sf.Landmarks(9))
    release.save(tmp_path / "made.sfumato")
    return read(tmp_path / "made.sfumato")


def test_a_squared_loss_with_a_private_number_of_rows_is_refused(regression, tmp_path):
    """Its slope has no bound then, and the library refuses to make such a release."""
    document, arrays = regression
    document["guarantee"]["neighbours"] = document["noise"]["certificate"]["relation"] = "add-remove"
    with pytest.raises(FileFormatError, match="public number of rows"):
        loaded(tmp_path, document, arrays)


def test_a_squared_loss_for_persons_is_refused(regression, tmp_path):
    document, arrays = regression
    document["guarantee"]["unit"] = {"column": "who", "max_rows": 1}
    for told in (document["guarantee"], document["noise"]["certificate"]):
        told["assumptions"].append(SAME_PLACES)
    with pytest.raises(FileFormatError, match="public number of rows"):
        loaded(tmp_path, document, arrays)


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_a_loss_that_objective_noise_cannot_serve_is_refused(loss, tmp_path):
    MADE["objective"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    document["content"] |= {"loss": loss, "learner": document["content"]["learner"] | {"loss": {"name": loss}}}
    with pytest.raises(FileFormatError, match="bounded slope"):
        loaded(tmp_path, document, arrays)


def test_objective_noise_on_a_lattice_is_refused(tmp_path):
    MADE["objective"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    document["content"]["basis"] = {"name": "bernstein", "degree": 2, "order": 1}  # as many points as directions
    with pytest.raises(FileFormatError, match="lattice"):
        loaded(tmp_path, document, arrays)


@pytest.mark.parametrize("error", [AssertionError(), OSError("x"), RuntimeError("x"), KeyError("x"), StopIteration()])
def test_whatever_goes_wrong_with_a_file_is_one_error(error, tmp_path, monkeypatch):
    MADE["clipped"]().save(tmp_path / "made.sfumato")

    def fails(*_):
        raise error

    monkeypatch.setattr(sf.FunctionRelease, "rebuild", fails)
    with pytest.raises(FileFormatError, match=r"not a valid sfumato release \(.+\)"):
        sf.load(tmp_path / "made.sfumato")


def test_a_loss_by_another_name_is_refused(tmp_path):
    MADE["huber"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    document["content"]["loss"] = "logistic"
    with pytest.raises(FileFormatError, match="in one place"):
        loaded(tmp_path, document, arrays)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", ["loss", "C", "rows"])
@pytest.mark.parametrize("value", [None, -1, 0, "x", [], {"name": "huber"}, {"name": "logistic", "width": 2.0}])
def test_a_broken_learner_is_refused(name, value, tmp_path):
    machine().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    document["content"]["learner"][name] = value
    with pytest.raises(FileFormatError):
        loaded(tmp_path, document, arrays)


@pytest.mark.parametrize("name", ["output", "objective"])
def test_a_learner_that_does_not_tell_what_it_follows_from_is_read_as_stated(name, tmp_path):
    MADE[name]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    del document["content"]["learner"]
    release = loaded(tmp_path, weakened(document, 2) if name == "output" else document, arrays)
    assert release.law.certificate.known == "stated"
    assert "is stated by the caller" in str(release.guarantee)
    assert ("curvature 0.25 are stated by the caller" in str(release.guarantee)) == (name == "objective")
    release.save(tmp_path / "again.sfumato")
    assert sf.load(tmp_path / "again.sfumato").guarantee == release.guarantee


def test_a_learner_that_tells_nothing_says_that_its_strength_is_stated_too(tmp_path):
    """A stronger quadratic term would need less noise."""
    MADE["objective"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    del document["content"]["learner"]
    document["content"]["objective"]["objective"]["strength"] = 1e12
    assert "the strength 1e+12 of the quadratic term" in str(loaded(tmp_path, document, arrays).guarantee)


def test_a_learner_that_tells_nothing_says_that_it_assumes_few_records(tmp_path):
    privacy = sf.Privacy(epsilon=5.0, delta=1e-5, neighbours="add-remove")
    machine(mechanism="objective", privacy=privacy, expected_rows=60).save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    del document["content"]["learner"]
    document["guarantee"]["assumptions"] = document["noise"]["certificate"]["assumptions"] = []
    release = loaded(tmp_path, document, arrays)
    assert "at most 64 times as many records as were expected" in str(release.guarantee)
    release.save(tmp_path / "again.sfumato")
    assert sf.load(tmp_path / "again.sfumato").guarantee == release.guarantee


# --- functions of the caller's -----------------------------------------------------------------------------------


@pytest.mark.parametrize("known", ["proved", "enforced"])
@pytest.mark.parametrize("name", ["pure-v1", "laplace-v1", "concentrated-v1"])
def test_a_stated_sensitivity_stays_stated(known, name, tmp_path):
    document, arrays = read(GOLDEN / f"{name}.sfumato")
    document["noise"]["certificate"] |= {"known": known, "assumptions": []}
    document["guarantee"]["assumptions"] = []
    release = loaded(tmp_path, document, arrays)
    assert release.law.certificate.known == "stated"
    assert "is stated by the caller" in release.guarantee.assumptions[0]


def test_a_narrower_range_than_the_noise_is_for_is_refused(tmp_path):
    MADE["clipped"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    document["content"]["origin"]["range"] = [0.0, 2.0]
    with pytest.raises(FileFormatError, match="smaller than"):
        loaded(tmp_path, document, arrays)


def test_persons_that_are_replaced_in_their_places_are_told(tmp_path):
    frame = {"who": np.arange(60) // 2, "t": ROWS}
    stated = sf.BlackBox(lambda data: lambda p: p[:, 0], sensitivity=0.1)
    import pandas as pd

    release = sf.release(stated, pd.DataFrame(frame), LINE, PERSON, basis=sf.Bernstein(3))
    release.save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    assert SAME_PLACES in loaded(tmp_path, document, arrays).guarantee.assumptions
    for told in (document["guarantee"], document["noise"]["certificate"]):
        told["assumptions"].remove(SAME_PLACES)
    with pytest.raises(FileFormatError, match="rests on"):
        loaded(tmp_path, document, arrays)


def test_persons_of_a_function_that_tells_nothing_are_replaced_in_their_places(tmp_path):
    MADE["clipped"]().save(tmp_path / "made.sfumato")
    document, arrays = read(tmp_path / "made.sfumato")
    del document["content"]["origin"]
    document["guarantee"]["unit"] = {"column": "who", "max_rows": 3}
    release = loaded(tmp_path, document, arrays)
    assert SAME_PLACES in release.guarantee.assumptions
    release.save(tmp_path / "again.sfumato")
    assert sf.load(tmp_path / "again.sfumato").guarantee == release.guarantee


@pytest.mark.parametrize("name", ["gaps", "clipped", "output", "objective", "user loss"])
def test_what_is_told_comes_back(name, tmp_path):
    release = MADE[name]()
    release.save(tmp_path / "made.sfumato")
    again = sf.load(tmp_path / "made.sfumato")
    assert again.guarantee == release.guarantee
    assert again.law == release.law
    again.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "made.sfumato").read_bytes()


# --- what devices reported --------------------------------------------------------------------------------------------

COLLECTED = sorted(path.stem for path in GOLDEN.glob("collected-*.sfumato"))
EVERY = {name for own in io._COLLECTED.values() for name in own}


def test_randomizers_of_each_kind_are_those_that_its_protocol_can_have():
    made = {
        "collected-density": density.RANDOMIZERS,
        "marginals": marginals.RANDOMIZERS,
        "summary": questions.RANDOMIZERS,
        "collected-risk": risk.RANDOMIZERS,
        "collected-moments": (sf.local.LinearModel(sf.Box({"x": (0, 1), "y": (0, 1)}), 1.0, "y").channel_name,),
        "collected-model": tuple(f"{copies}-copies" for copies in generalized.COPIES),
    }
    assert {kind: {*own} for kind, own in io._COLLECTED.items()} == {
        kind: {*own} - {"auto"} for kind, own in made.items()
    }


@pytest.mark.parametrize("name", COLLECTED)
def test_reports_of_another_kinds_randomizer_are_refused(name, tmp_path):
    document, arrays = read(GOLDEN / f"{name}.sfumato")
    assert loaded(tmp_path, document, arrays).law.randomizer in io._COLLECTED[document["kind"]]
    for randomizer in sorted({*EVERY, "auto", "laplaces", ""} - {*io._COLLECTED[document["kind"]]}):
        document["noise"]["randomizer"] = randomizer
        with pytest.raises(FileFormatError, match="randomizer"):
            loaded(tmp_path, document, arrays)


@pytest.mark.parametrize("name", [name for name in COLLECTED if not name.startswith("collected-model")])
def test_what_devices_report_has_no_delta(name, tmp_path):
    document, arrays = read(GOLDEN / f"{name}.sfumato")
    document["guarantee"]["delta"] = 1e-6
    with pytest.raises(FileFormatError, match="pure except with Gaussian noise"):
        loaded(tmp_path, document, arrays)
