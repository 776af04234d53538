"""Write the golden files: ``python tests/golden/make_golden.py``.

Run it once for each new version of the file format, under a new name, and commit what it writes. Never overwrite a
file that a released version has written: the point of these files is that they are old.

Nothing here is private or random: the coefficients are those of a formula, in place of noisy ones.
"""

import json
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.bases.expansion import Expansion
from sfumato.core.calibration import calibrate
from sfumato.core.certificate import Certificate

HERE = Path(__file__).parent
VERSION = 1


def function(basis, box, privacy, smoothness=None, noise="auto"):
    """A release whose coefficients are known."""
    size = basis.size(box)
    stated = Certificate("linf", 0.1, privacy.neighbours, "stated", "bernstein", None, ("fit is what it was",))
    law, guarantee = calibrate(stated.for_unit(privacy), size, privacy, noise)
    return sf.FunctionRelease(
        guarantee=guarantee,
        law=law,
        target=(("target", "black box"), ("stated sensitivity", "0.1"), ("note", "für später")),
        expansion=Expansion(basis, box, np.sin(np.arange(size)) * 10),
        smoothness=smoothness,
    )


def releases():
    """One release of every flavour, small."""
    plane = sf.Box({"age": (0, 110), "bmi": (10, 60)})
    line = sf.Box([sf.Periodic(0, 24)])
    yield "pure", function(sf.Bernstein((3, 4), 3), plane, sf.Privacy(epsilon=1.0))
    yield (
        "person",
        function(
            sf.Step(5),
            line,
            sf.Privacy(epsilon=1 / 3, delta=1e-6, neighbours="add-remove", unit=sf.Person("patient", 4)),
            sf.Hoelder(0.5, 2.0),
        ),
    )
    smooth = function(sf.Bernstein(6, 2), sf.Box({"t": sf.Integer(1, 9)}), sf.Privacy(rho=0.25), sf.Smooth(4, 2.5))
    yield "concentrated", smooth
    yield "derivative", smooth.derivative("t")
    yield (
        "laplace",
        function(sf.Bernstein(2), sf.Box([(-1, 1), (-2, 2)], max_norm=1.5), sf.Privacy(epsilon=2.0), noise="laplace"),
    )


def expectations(release):
    """What must still be true when a later version reads the file."""
    unit = np.random.default_rng(4).uniform(size=(7, release.box.dimension))
    points = np.concatenate([release.box.from_unit(unit), [release.box.low], [release.box.high]])
    guarantee = release.guarantee
    return {
        "points": points.tolist(),
        "values": release(points).tolist(),
        "guarantee": {
            name: getattr(guarantee, name) for name in ("epsilon", "delta", "rho", "mu", "neighbours", "model")
        },
        "assumptions": list(guarantee.assumptions),
        "confidence": guarantee.confidence,
        "max_rows": getattr(guarantee.unit, "max_rows", None),
        "names": list(release.box.names),
        "basis": repr(release.basis),
        "noise": [release.law.kind, release.law.size, release.law.deviation],
        "target": [list(pair) for pair in release.target],
    }


def main():
    for name, release in releases():
        release.save(HERE / f"{name}-v{VERSION}.sfumato")
        text = json.dumps(expectations(release), indent=1, ensure_ascii=False)
        (HERE / f"{name}-v{VERSION}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
