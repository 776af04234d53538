"""The command that asks a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sfumato.checks import one_of, probability
from sfumato.cli.options import settings
from sfumato.cli.output import facts, printable, screen, show, table, working
from sfumato.cli.reader import load
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.expressions import Question
    from sfumato.releases.summary.answers import Answer

_ROUNDING = 1e-9  # what is smaller, compared with the answer, comes from arithmetic alone

File = Annotated[Path, typer.Argument(metavar="FILE", help="A summary, such as summary.sfumato.", show_default=False)]
Questions = Annotated[
    list[str],
    typer.Argument(
        metavar="QUESTION",
        help='Such as "mean(age)" or "share(between(age, 30, 50))"; one that begins with a minus goes after --.',
        show_default=False,
    ),
]
Confidence = Annotated[float, typer.Option(help="Of each error, by itself.")]
Damping = Annotated[
    str,
    typer.Option(
        metavar="none|balanced", help="Balanced trades a little approximation for less noise, up to 4 columns."
    ),
]


def answer(
    ctx: typer.Context, file: File, questions: Questions, confidence: Confidence = 0.95, damping: Damping = "none"
) -> None:
    """Answer smooth questions from a summary: no record is read, nothing is spent.

    Ask for mean, variance, sd, covariance, correlation or share of an expression:
    + - * / ** exp log sqrt abs sin cos tan tanh sigmoid min max,
    bump(x, centre, width), between(x, low, high[, softness]),
    and for categories sex == "F", sex != "F", sex in ("F", "M"); 'and' joins them.
    A column whose name is no single word goes in backquotes.
    """
    with working(ctx, "answering"):
        found = answered(ctx, file, questions, confidence, damping)
    show_answers(ctx, file, found)


class Told(NamedTuple):
    """A question, its answer, and what is to be said about both."""

    question: Question
    answer: Answer
    notes: tuple[str, ...]

    @property
    def approximation(self) -> float:
        """How much the basis misses, without what comes from arithmetic alone."""
        answer = self.answer
        size = max(abs(answer.value), answer.error, self.question.reach)
        return answer.approximation if answer.approximation > _ROUNDING * size else 0.0


def answered(ctx: typer.Context, file: Path, questions: Sequence[str], confidence: float, damping: str) -> list[Told]:
    """Read and answer all questions, or refuse one with a caret under what is wrong."""
    from sfumato.bases.moments.quadrature import LARGEST_TENSOR
    from sfumato.expressions import read

    probability("confidence", confidence)
    one_of("damping", damping, ("none", "balanced"))
    summary = load_summary(ctx, file)
    found = []
    for text in questions:
        try:
            question = read(text, summary)
            if damping == "balanced" and len(question.columns) > LARGEST_TENSOR:
                many = len(question.columns)
                raise ParameterError(f"--damping balanced needs at most {LARGEST_TENSOR} columns, {text!r} has {many}")
            one = question.answer(confidence, damping)
        except ParameterError as error:
            raise pointed(ctx, error) from None
        found.append(Told(question, one, ()))
    return [Told(told.question, told.answer, notes(told, damping)) for told in found]


def load_summary(ctx: typer.Context, path: Path) -> Any:
    """Load a release, refusing one that is no summary."""
    from sfumato.faces import face_of

    release = load(ctx, path)
    if "answer" not in face_of(release).serves:
        raise ParameterError(
            f"{path}: a release of kind {release.kind!r}, questions need a summary; 'sfumato summarize' makes one"
        )
    return release


def pointed(ctx: typer.Context, error: ParameterError) -> ParameterError:
    """Print the question with its caret, and return the error without them: it fits one line."""
    reason, _, picture = str(error).partition("\n")
    if picture and not settings(ctx).json:
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        for line in picture.split("\n"):
            console.print(Text(printable(line)), soft_wrap=True)
    return type(error)(reason)


def notes(told: Told, damping: str) -> tuple[str, ...]:
    """What keeps an answer from being a good one."""
    from sfumato.bases.moments.quadrature import LARGEST_TENSOR
    from sfumato.releases.summary.quality import together

    question, error, missed = told.question, told.answer.error, told.approximation
    nothing = "the summary says nothing about it, the error is as large as everything the answer could be"
    lost = not error < question.reach
    if missed <= error - missed:
        return (nothing,) if lost else ()
    rough = f"this question is not smooth enough for this summary: {_brief(missed)} of its error is approximation"
    most = together(question.summary)
    if most < len(question.columns):
        cure = f"it is about {len(question.columns)} columns at once, and the summary has products of {most}"
    else:
        cure = "ask with wider bumps or softer edges, or of a summary of higher degree"
        if damping == "none" and len(question.columns) <= LARGEST_TENSOR:
            cure += ", or try --damping balanced"
    return (f"{rough}; {cure}", *([nothing] if lost else []))


def show_answers(ctx: typer.Context, file: Path, found: Sequence[Told]) -> None:
    """Print one answer in full, several as a table."""
    data = {"file": str(file), "answers": [_data(told) for told in found]}
    parts = _one(found[0]) if len(found) == 1 else _several(found)
    show(ctx, data, *parts)


def _one(told: Told) -> list[Any]:
    from sfumato.faces.words import rounded

    answer = told.answer
    low, high = answer.interval()
    limits = f"   {rounded(low, answer.error)} to {rounded(high, answer.error)} (confidence {answer.confidence:g})"
    rows = [
        (f"error ({_percent(answer)})", [_brief(answer.error)]),
        ("noise sd", [_brief(answer.noise_sd)]),
        ("approximation", [_missed(told)]),
        *_edge_rows(told),
        ("about", [_about(told)]),
    ]
    value = Text.assemble("  ", (rounded(answer.value, answer.error), "bold cyan"), limits)
    return [Text(printable(told.question.text.strip()), style="bold"), "", value, "", facts(rows), *_warnings(told)]


def _about(told: Told) -> str:
    softly = ", counted with softened edges" if told.answer.softness else ""
    return f"the records themselves, brought into the box{softly}; not a population"


def _edge_rows(told: Told) -> list[tuple[str, list[str]]]:
    """How soft the edges are, and what is known of the share within the sharp ones."""
    if not told.answer.softness:
        return []
    widths = ", ".join(f"{name} {_brief(width)}" for name, width in told.answer.softness.items())
    rows = [("edges", [f"softened, deviation: {widths}; a record at an edge counts by half"])]
    return [*rows, *([] if told.answer.sharp is None else [("sharp edges", [_sharp_words(told.answer)])])]


def _sharp_words(answer: Answer) -> str:
    """What is known of the share within the sharp edges."""
    assert answer.sharp is not None
    low, high = answer.sharp
    if low <= 0 and high >= 1:
        return "this summary does not tell how many of the records lie within them; a histogram would"
    limits = f"{math.floor(1e3 * low) / 1e3:.3f} to {math.ceil(1e3 * high) / 1e3:.3f}"
    return f"{limits} of the records lie within them (confidence {answer.confidence:g})"


def _several(found: Sequence[Told]) -> list[Any]:
    from sfumato.faces.words import rounded

    head = ["question", "value", f"error ({_percent(found[0].answer)})", "noise sd", "approximation"]
    rows = [
        [
            told.question.text.strip(),
            rounded(told.answer.value, told.answer.error),
            _brief(told.answer.error),
            _brief(told.answer.noise_sd),
            _missed(told),
        ]
        for told in found
    ]
    parts: list[Any] = [table(head, rows, head[1:])]
    for told in found:
        about = f"{told.question.text.strip()}: "
        edges = "; ".join(f"{name}: {lines[0]}" for name, lines in _edge_rows(told))
        parts += [*(["", _line(Text(printable(about + edges)))] if edges else []), *_warnings(told, about)]
    return parts


def _warnings(told: Told, head: str = "") -> list[Any]:
    parts: list[Any] = []
    for note in told.notes:
        parts += ["", _line(Text(f"WARNING: {printable(head)}{note}", style="yellow"))]
    return parts


def _line(words: Text) -> Any:
    """In a pipe a sentence stays one line; on a terminal its lines stand below each other."""
    return Padding(words, (0, 0, 0, 2)) if screen().is_terminal else Text("  ") + words


def _data(told: Told) -> dict[str, Any]:
    answer = told.answer
    low, high = answer.interval()
    return {
        "question": told.question.text,
        "statistic": told.question.statistic,
        "columns": list(told.question.columns),
        "value": answer.value,
        "error": answer.error,
        "low": low,
        "high": high,
        "confidence": answer.confidence,
        "noise_sd": answer.noise_sd,
        "approximation": answer.approximation,
        "approximation_known": answer.known,
        "softness": dict(answer.softness),
        "sharp": None if answer.sharp is None else {"low": answer.sharp[0], "high": answer.sharp[1]},
        "warnings": list(told.notes),
    }


def _missed(told: Told) -> str:
    size = _brief(told.approximation) if told.approximation else "none"
    return f"{size}, as far as public points show" if told.answer.known == "seen" else size


def _percent(answer: Answer) -> str:
    return f"{100 * answer.confidence:.10g} %"


def _brief(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "unknown"
