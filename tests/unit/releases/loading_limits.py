"""Loads hostile variants of release files under limits: ``python loading_limits.py few|all FILE ...``.

Every field of every file is exchanged for something hostile. Loading may refuse with a FileFormatError or give a
release; anything else, two seconds of processor time, or half a gigabyte more than at the start, is a failure. They are
printed as JSON, with the number of variants that were tried.
"""

import copy
import json
import resource
import signal
import sys
import tempfile
from pathlib import Path

from safetensors import safe_open
from safetensors.numpy import save as pack

import sfumato as sf
from sfumato.errors import FileFormatError

SECONDS, BYTES = 2.0, 512 * 2**20
FEW = (10**30, 2**28)
MANY = (
    *FEW, -1, 0, -(10**30), 10**99, 2**63, 2**20, 0.5, -0.5, 1e308, 1e-308, -1e308, True, None, "", "x" * 40,
    "1e999999999", "9" * 999, [], {}, [2**28], [10**30] * 3, [[1]], {"a": 1},
)  # fmt: skip


def read(path):
    with safe_open(path, framework="numpy") as container:
        return container.metadata()["sfumato"], {key: container.get_tensor(key) for key in container.keys()}  # noqa: SIM118


def places(data, where=()):
    """Every place in a document: of its leaves, its lists and its mappings."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*where, key), value
        yield from places(value, (*where, key))


def put(document, where, value):
    changed = copy.deepcopy(document)
    inside = changed
    for key in where[:-1]:
        inside = inside[key]
    inside[where[-1]] = value
    return changed


def variants(document, values, every):
    """Documents with one entry exchanged, left out, or there twice."""
    for where, old in places(document):
        number = isinstance(old, int | float) and not isinstance(old, bool)
        for value in values:
            if every or number:
                yield where, put(document, where, value)
            if isinstance(old, list) and old and not isinstance(old[0], list | dict):
                yield where, put(document, where, [value] * len(old))
        if isinstance(old, list) and every:
            yield where, put(document, where, old * 2)
            yield where, put(document, where, old * 500)


def too_long(*_):
    raise TimeoutError


def outcome(file):
    """What became of it, in a word; None if all is well."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        sf.load(file)
    except FileFormatError:
        return None
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def main(how, files):
    """Try everything."""
    signal.signal(signal.SIGVTALRM, too_long)
    for name in files:
        sf.load(name)  # imports and caches are not the file's
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    found, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        hostile = Path(folder) / "hostile.sfumato"
        for name in files:
            text, arrays = read(name)
            for where, document in variants(json.loads(text), FEW if how == "few" else MANY, how == "all"):
                hostile.write_bytes(pack(arrays, metadata={"sfumato": json.dumps(document)}))
                tried += 1
                failure = outcome(hostile)
                if failure is not None:
                    found.append([Path(name).stem, [*map(str, where)], failure])
    sys.stdout.write(json.dumps({"tried": tried, "failures": found}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
