"""Cards for notebooks: nothing that was named is code."""

import pandas

import sfumato as sf

EVIL = "<script>alert(1)</script>"


def test_the_column_that_tells_groups_apart_is_escaped():
    data = pandas.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], EVIL: ["a", "b"] * 2})
    box = sf.Box({"age": (0, 10), EVIL: sf.Categorical(("a", "b"))})
    release = sf.release(sf.KDE(2.0, by=EVIL), data, box, sf.Privacy(epsilon=1.0), basis=sf.Binning(5))
    card = release._repr_html_()
    assert EVIL not in card and "records by &lt;script&gt;" in card
