"""What people read about a release (terminal, JSON, page, card, picture) is what it was, word for word.

``python tests/golden/write_texts.py`` writes the texts anew where they are meant to change.
"""

from difflib import unified_diff

import pytest

from golden.rendering import SLOW, TEXTS, everything

SOURCES = everything()
CASES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SOURCES]


@pytest.mark.parametrize("source", CASES)
def test_texts_are_what_they_were(source, tmp_path):
    changed = []
    for file, text in SOURCES[source](tmp_path):
        kept = (TEXTS / file).read_text("utf-8")
        if text.startswith("typer ") and text.splitlines()[0] != kept.splitlines()[0]:
            pytest.skip("another version of typer, which says it otherwise")
        if text != kept:
            changed += unified_diff(kept.splitlines(), text.splitlines(), f"kept/{file}", f"now/{file}", "", "", 1, "")
    assert not changed, "\n".join(changed[:200])


def test_every_text_has_a_source():
    """No file is left over from a release or a session that is no more."""
    named = {file.name.partition(".")[0] for file in TEXTS.iterdir()}
    assert named == set(SOURCES)
