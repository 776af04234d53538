"""For any text: a question is read or refused with a ParameterError, and what is read means what Python means by it."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import sfumato as sf
from effort import tries
from sfumato.errors import ParameterError
from sfumato.expressions.grammar import Parser
from sfumato.expressions.points import Written

BOX = sf.Box({"age": (0, 110), "b c": (1, 2), "sex": sf.Categorical(("f", "m")), "stage": sf.Categorical((0, 1))})
SHAPE = (8, 4, 2, 2)
POINTS = np.array([[0.0, 1.0, 0.0, 0.0], [40.5, 1.5, 1.0, 1.0], [110.0, 2.0, 0.0, 1.0]])

NAMES = (
    "age `b` `b c` sex stage mean share variance correlation exp log sqrt abs min max bump between sigmoid and or in"
)
SIGNS = (
    'not lambda nan __class__ 0 1 2.5 1e3 1e400 .5 == != = ** * / + - ( ) , . [ ] { } ^ < > ; : # \\ " ` é а ² \x00 \n'
)
WORDS = [*NAMES.split(" "), *SIGNS.split(" "), '"f"', "'m'"]
words = st.lists(st.sampled_from(WORDS), max_size=40).map(lambda found: " ".join(found))
glued = st.lists(st.sampled_from(WORDS), max_size=40).map("".join)
wrapped = st.tuples(st.sampled_from(["mean(", "exp(", "share(", "(", "-", "2**", "1/", "min(1,"]), st.integers(0, 120))
nested = wrapped.map(lambda pair: pair[0] * pair[1] + "age" + ")" * (pair[1] * pair[0].count("(")))


def attempt(text):
    """Read a text and evaluate it, unless it is refused in the way that everything is refused."""
    try:
        name, parts = Parser(text, BOX, SHAPE).question()
        for part in parts:
            assert 0 <= part.start < part.end <= len(text)
            values = Written(part, BOX.names, text, BOX)(POINTS)
            assert values.shape == (3,) and np.isfinite(values).all()
    except ParameterError as error:
        lines = str(error).split("\n")
        assert len(lines) in (1, 3)  # too long, or with a caret
        return lines[0]
    return name


@tries(400)
@given(st.one_of(st.text(max_size=60), words, glued, nested))
@example("1/" * 300 + "age")
@example("age" + "+1" * 199)
@example("\ud800" * 5)
def test_whatever_is_written_is_read_or_refused(text):
    assert attempt(text)


# --- the same as Python -------------------------------------------------------------------------------------------


def joined(inner):
    """Texts that both grammars take, without brackets where precedence decides."""
    signs = st.sampled_from(["+", "-", "*", "/", "**", " - -", " * -", "**-"])
    return st.one_of(
        st.tuples(inner, signs, inner).map("".join),
        st.tuples(inner, signs, inner, signs, inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
        st.tuples(st.sampled_from(["exp", "abs", "sin", "tanh", "sqrt"]), inner).map(
            lambda pair: f"{pair[0]}({pair[1]})"
        ),
    )


leaves = st.sampled_from(["age", "stage", "2.0", "0.5", "3.0", "1e-3"])
sums = st.recursive(leaves, joined, max_leaves=12)


def python(text):
    """By Python itself; numbers are those of numpy. These texts are our own."""
    for number in ("1e-3", "2.0", "0.5", "3.0"):
        text = text.replace(number, f"N('{number}')")
    known = {name: getattr(np, name) for name in ("exp", "abs", "sin", "tanh", "sqrt")}
    columns = {"age": POINTS[:, 0], "stage": POINTS[:, 3], "N": np.float64}
    return np.broadcast_to(eval(text, {"__builtins__": {}}, {**known, **columns}), (3,))


@tries(300)
@given(sums)
def test_arithmetic_means_what_it_means_in_python(text):
    try:
        _, (part,) = Parser(text, BOX, SHAPE).question()
    except ParameterError as error:
        known = [word for word in ("a power must be", "deep", "no finite number") if word in str(error)]
        if not known:
            raise
        return
    with np.errstate(all="ignore"):
        found = np.broadcast_to(part.value(dict(zip(BOX.names, POINTS.T, strict=True))), (3,))
        np.testing.assert_allclose(found, python(text), rtol=1e-12, equal_nan=True)


@given(st.text(max_size=30), st.integers(1, 5))
def test_any_category_and_any_name_can_be_written(name, many):
    categories = tuple(f"{name}{i}".translate({0: None, ord('"'): None}) for i in range(many + 1))
    column = name.replace("`", "") or "x"
    box = sf.Box({column: sf.Categorical(categories)})
    _, (part,) = Parser(f'share(`{column}` == "{categories[-1]}")', box, (many + 1,)).question()
    assert part.conditions[0].wanted == [categories[-1]]
    assert part.value({column: np.arange(many + 1.0)}).tolist() == [0.0] * many + [1.0]
