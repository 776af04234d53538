"""Write the texts that ``test_texts.py`` compares with: ``python tests/golden/write_texts.py [NAME...]``.

Run it when words, layout or pictures are meant to change, and read what ``git diff`` says: it is the change that people
will see.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.rendering import TEXTS, everything


def main(names):
    TEXTS.mkdir(exist_ok=True)
    kept = set()
    for source, texts in everything().items():
        if names and source not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for file, text in texts(Path(folder)):
                (TEXTS / file).write_text(text, "utf-8")
                kept.add(file)
        print(source)
    if not names:
        for file in TEXTS.iterdir():
            if file.name not in kept:
                file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
