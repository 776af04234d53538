"""What summaries say of themselves."""

import numpy as np
import pandas

import sfumato as sf
from sfumato.faces import face_of
from unit.drawing.summary_support import MIXED, WARD, summary

RECORDS = pandas.DataFrame({"age": [40.0, 50.0], "sex": ["F", "M"], "ward": [0, 2], "bmi": [20.0, 30.0]})


def test_words_for_many_columns():
    rows, box = np.full((50, 12), 0.5), sf.Box([(0, 1)] * 12)
    wide = sf.summarize(rows, box, sf.Privacy(epsilon=1.0), degree=2, interactions=2)
    assert dict(face_of(wide).rows())["moments"] == [
        "79: 2 to 2 frequencies along 12 columns; products of up to 2 columns"
    ]
    assert "and 4 more" in dict(face_of(wide).rows())["means"][0]
    assert face_of(wide).title == "a summary of 12 columns"


def test_a_column_without_frequencies_has_no_mean():
    box = sf.Box({"age": (0, 110), "sex": sf.Categorical(("F", "M"))})
    flat = sf.summarize(RECORDS, box, sf.Privacy(epsilon=1.0), degree=1)
    assert "means" not in dict(face_of(flat).rows())
    assert dict(face_of(flat).rows())["answers"][0].startswith("age: no bump within 0.05")


def test_what_to_ask_is_quoted_for_a_shell(tmp_path):
    for box, question in (
        ({"sex": sf.Categorical(("F", "M"))}, """'share(sex == "F")'"""),
        ({"ward": sf.Categorical((0, 1, 2))}, "'share(ward == 0)'"),
        ({"bmi": (10, 60)}, "'share(between(bmi, 22.5, 35))'"),
    ):
        release = sf.summarize(RECORDS, sf.Box(box), sf.Privacy(epsilon=1.0), degree=2)
        assert face_of(release).ask_row(tmp_path / "a b")[1][0].endswith(f"a b' {question}")


def test_what_a_picture_shows_in_words():
    mixed = summary(MIXED, 6, count=200_000)
    assert face_of(mixed).picture_words == (
        "densities of the numeric columns, shares of categories, how they go together, "
        "the error of a bump's mean against its width"
    )
    assert face_of(summary(WARD)).picture_words == "shares of categories"
