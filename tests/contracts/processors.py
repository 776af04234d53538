"""What every pass adds up to, printed: ``python -m contracts.processors FOLDER`` on a processor that is emulated.

The passes, and the features that were made for them, are read from a folder: features are made once, elsewhere.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from pathlib import Path

from contracts.folding import SUMMING, passes_of, table
from opening import numbers_of
from sfumato.engines.totals import Totals
from sfumato.engines.workers import FramePart, features, fold


def write(folder):
    """Passes with what they are folded over."""
    for name in SUMMING:
        for place, one in enumerate(passes_of(name)):
            part = FramePart(table(), dict(zip(one.box.names, one.box.columns, strict=True)))
            over = part if one.features is None else features(part, one.features, 1000)
            (folder / f"{name} {place}").write_bytes(pickle.dumps((one, part, over)))


def sums(folder, made_here):
    """A word for what each of them adds up to."""
    for path in sorted(folder.iterdir()):
        one, part, over = pickle.loads(path.read_bytes())
        answer = fold(part if made_here else over, one)
        assert not answer.trouble
        totals = Totals.received(answer.limbs, answer.rows, one.size, one.largest)
        word = hashlib.sha256(repr((answer.rows, answer.mark, numbers_of(totals._whole()).tolist())).encode())
        yield path.name, word.hexdigest()[:16]


if __name__ == "__main__":
    for name, word in sums(Path(sys.argv[1]), "here" in sys.argv):
        print(f"{name}\t{word}")
