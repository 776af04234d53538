"""Writes vectors-2.json, of version 2: what a device in another language must compute. docs/wire-format.md quotes it.

Devices out there rely on it: the file of a version is never written anew, a new version gets a file of its own.
Run with ``python tests/unit/local/make_vectors.py``.
"""

import json
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

import sfumato as sf
from sfumato.core.randomizer import OneBit
from sfumato.local.public import public_dither, public_words

FILE = Path(__file__).with_name("vectors-2.json")
USERS = [0, 1, 2, 3, 17, 1000, 2**32, 2**40 - 1]
STREAMS = [0, 1, 2, 3]
# Private words are constant here: an answer above 127/256 is a one, and no bit is flipped.
WORD = 0x7F000000
KEY = bytes(range(32))

PLANE = sf.Box({"age": (0, 110), "bmi": (10, 60)})
SPACE = sf.Box([(0, 1), (-1, 1), (0, 24)])
GROUPS = sf.Box(
    {"smoker": sf.Categorical(["no", "yes"]), "stage": sf.Categorical([1, 2, 3]), "sex": sf.Categorical([0, 1])}
)
BINARY = sf.Box({name: sf.Categorical([0, 1]) for name in "abc"})
NUMBERS = [
    [44.0, 25.0],
    [0.0, 10.0],
    [110.0, 60.0],
    [67.3, 31.25],
    [-5.0, 99.0],
    [None, 20.0],
    [55.5, None],
    [1.0, 59.0],
]
LINES = [[0.5, 0.0, 12.0], [0.0, -1.0, 0.0], [1.0, 1.0, 24.0], [0.3, 0.7, 6.5]] * 2
ROWS = [
    ["yes", 1, 0],
    ["no", 2, 1],
    ["no", 3, 1],
    ["yes", 3, 0],
    [None, 2, 1],
    ["yes", 9, 0],
    ["no", 1, 0],
    ["yes", 2, 1],
]
BITS = [[0, 0, 0], [1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]]

CASES = {
    "density": (sf.local.Density(PLANE, epsilon=1.0, lattice=11, seed=20240229, randomizer="hadamard"), NUMBERS),
    "density of three columns": (
        sf.local.Density(SPACE, epsilon=0.5, lattice=(5, 3, 4), seed=7, randomizer="hadamard"),
        LINES,
    ),
    "density, one point a person": (sf.local.Density(PLANE, epsilon=1.0, lattice=3, seed=7, randomizer="bit"), NUMBERS),
    "smooth queries": (sf.local.SmoothQueries(PLANE, epsilon=1.0, degree=4, seed=7), NUMBERS),
    "smooth queries of two ways": (sf.local.SmoothQueries(GROUPS, epsilon=2.0, degree=2, interactions=2, seed=9), ROWS),
    "marginals": (sf.local.Marginals(GROUPS, epsilon=1.0, ways=2, one_way=0.5, seed=20240229), ROWS),
    "marginals of three ways": (sf.local.Marginals(GROUPS, epsilon=1.0, ways=3, one_way=0.25, seed=5), ROWS),
    "marginals by Chebyshev": (
        sf.local.Marginals(BINARY, epsilon=1.0, ways=3, one_way=0.5, seed=5, randomizer="chebyshev"),
        BITS,
    ),
}  # fmt: skip


def quiet():
    """Private randomness that is the same word again and again."""
    return (
        mock.patch("sfumato.core.sampling.words32", lambda count: np.full(count, WORD, dtype=np.uint32)),
        mock.patch("sfumato.core.sampling._words", lambda count: np.full(count, WORD << 32 | WORD, dtype=np.uint64)),
    )


def public(seed):
    """Public words of some people."""
    users = np.array(USERS, dtype=np.uint64)
    words = {str(stream): public_words(seed, users, stream) for stream in STREAMS}
    return {
        "seed": seed,
        "users": USERS,
        "words": {stream: [f"{word:016x}" for word in found.tolist()] for stream, found in words.items()},
        "dithers": [public_dither(words["0"], place).tolist() for place in (0, 1)],
    }


def case(protocol, records):
    """What devices of some people compute under a protocol."""
    users = list(range(100, 100 + len(records)))
    first, second = quiet()
    with first, second:
        return {
            "protocol": protocol.to_json(),
            "fingerprint": protocol.fingerprint.hex(),
            "users": users,
            "records": records,
            "questions": protocol.asked(np.array(users, dtype=np.uint64)).tolist(),
            "reports": [protocol.encode(row, user=user).hex() for row, user in zip(records, users, strict=True)],
            "with a number of its own": replace(protocol, numbers="drawn").encode(records[0]).hex(),
            "frame": protocol.frame(protocol.encode(records[0], user=100), user=100).hex(),
            "file head": protocol.file_head.hex(),
            "batch": protocol.encode_many(records, first_user=100).hex(),
            "sealed batch": protocol.encode_many(records, first_user=100, key=KEY).hex(),
        }


def vectors():
    """All of them."""
    return {
        "private word": f"{WORD:08x}",
        "flip threshold": {str(epsilon): OneBit(epsilon).threshold for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0)},
        "public": [public(seed) for seed in (0, 7, 20240229, 2**63 - 1)],
        "cases": {name: case(*pair) for name, pair in CASES.items()},
    }


def main():
    """Write the file."""
    FILE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
