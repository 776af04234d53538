"""The command that says what a collection will give, or how many people it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.local.protocols import (
    Copies,
    Degree,
    Delta,
    Interactions,
    Kind,
    Lattice,
    Loss,
    Parameter,
    Public,
    Randomizer,
    Range,
    Response,
    Ridge,
    Scale,
    Steps,
    Ways,
    load_protocol,
    parameters_of,
    protocol_data,
    protocol_of,
    protocol_words,
    range_of,
    scales_of,
    shape_of,
)
from sfumato.cli.options import BoxFile, Epsilon
from sfumato.cli.output import facts, show, table, working
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.local.planner import LocalPlan


def plan(
    ctx: typer.Context,
    kind: Kind = None,
    box: BoxFile = None,
    epsilon: Epsilon = None,
    protocol: Annotated[
        Path | None, typer.Option(metavar="JSON", help="Instead of --kind, --box and --epsilon: a protocol.")
    ] = None,
    people: Annotated[int | None, typer.Option(metavar="N", help="How many report: what error does that give?")] = None,
    error: Annotated[float | None, typer.Option(metavar="E", help="The largest error: how many people for it?")] = None,
    lattice: Lattice = None,
    degree: Degree = None,
    interactions: Interactions = None,
    ways: Ways = None,
    response: Response = None,
    scale: Scale = None,
    public: Public = None,
    loss: Loss = None,
    parameter: Parameter = None,
    copies: Copies = None,
    delta: Delta = None,
    steps: Steps = None,
    ridge: Ridge = None,
    range: Range = None,
    randomizer: Randomizer = None,
    confidence: Annotated[float, typer.Option(help="That no estimate is further off.")] = 0.95,
) -> None:
    """Say how far off estimates will be, or how many people it takes. Nobody is asked anything."""
    if (people is None) == (error is None):
        raise ParameterError("give --people N (how many report), or --error E (how far off it may be), one of them")
    shape = shape_of(lattice, degree, interactions, ways, randomizer)
    chosen = kind == "marginals" or (kind == "density" and shape["lattice"] is None)
    linear = {"response": response, "scales": scales_of(scale), "public": public}
    risk = {"loss": loss, "parameters": parameters_of(parameter), "ridge": ridge, "range": range_of(range)}
    walked = {"copies": copies, "delta": delta, "steps": steps}
    given = {**shape, **linear, **risk, **walked, "people": people if chosen else None}
    if protocol is not None:
        if kind is not None or box is not None or epsilon is not None or any(v is not None for v in given.values()):
            raise ParameterError("give --protocol, or --kind with --box and --epsilon, not both")
        spoken = load_protocol(protocol)
    else:
        spoken = protocol_of(kind, box, epsilon, given)
    asked = {"people": people} if error is None else {"error": error}
    with working(ctx, "predicting errors"):
        made = sf.local.plan(spoken, confidence=confidence, **asked)
        others = _other_epsilons(made, asked)
    _show(ctx, made, others)


def _show(ctx: typer.Context, made: LocalPlan, others: list[LocalPlan]) -> None:
    """A plan, and what was asked for at other epsilons."""
    rows = [
        ("collects", [f"{made.protocol.kind}: {protocol_words(made.protocol)}"]),
        ("guarantee", [str(made.protocol.guarantee)]),
        ("randomizer", [made.randomizer]),
        ("people", [f"{made.people:,}"]),
        ("deviation", [f"{made.deviation:.4g} of each estimate"]),
        ("largest error", [f"{made.error:.4g} of any, with confidence {made.confidence:g}"]),
        ("one liar", [f"moves an estimate by {made.liar:.2g} at most"]),
    ]
    told = [(f"{o.protocol.epsilon:g}", f"{o.people:,}", f"{o.deviation:.3g}", f"{o.error:.3g}") for o in others]
    head = ("epsilon", "people", "deviation", "largest error")
    data = {**protocol_data(made.protocol), **_plan_data(made), "compared": [_plan_data(other) for other in others]}
    text = Text("A plan: nobody was asked anything, nothing was spent.", style="bold")
    show(ctx, data, text, "", facts(rows), "", table(head, told, head))


def _other_epsilons(made: LocalPlan, asked: dict[str, Any]) -> list[LocalPlan]:
    found, own = [], made.protocol.epsilon
    for epsilon in sorted({own / 4, own / 2, own, 2 * own, 4 * own}):
        try:
            protocol = replace(made.protocol, epsilon=epsilon)
            found.append(sf.local.plan(protocol, confidence=made.confidence, **asked))
        except ParameterError:  # not every randomizer serves every epsilon
            continue
    return found


def _plan_data(made: LocalPlan) -> dict[str, Any]:
    return {
        "epsilon": made.protocol.epsilon,
        "people": made.people,
        "deviation": made.deviation,
        "error": made.error,
        "confidence": made.confidence,
        "liar": made.liar,
        "variances": dict(made.variances),
    }
