"""Commands about sampled sensitivities. Sampling itself needs code; planning it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import sfumato as sf
from sfumato.cli.options import examples
from sfumato.cli.output import facts, show, table
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.sampler.plans import SamplerPlan

app = typer.Typer(no_args_is_help=True, help="Plan a sensitivity sampler: random differential privacy without a proof.")

_RULES = {
    "dkw": "Rubinstein and Aldà (2017): one confidence for the sampling and the pair together",
    "exchangeable": "the same promise from far fewer pairs: a new pair is as likely as any other to be the largest",
    "pac": "one sampling serves all later pairs, but in a share rho of samplings nothing holds",
}


@app.callback()
def group() -> None:
    """Keep ``plan`` a word of its own: a lone command would take the group's place."""


@app.command(
    epilog=examples(
        "sfumato sensitivity plan --gamma 0.05",
        "sfumato sensitivity plan --gamma 0.05 --rule exchangeable",
        "sfumato sensitivity plan --m 500",
        "sfumato sensitivity plan --gamma 0.1 --m 1000 --json",
    )
)
def plan(
    ctx: typer.Context,
    gamma: Annotated[
        float | None, typer.Option(metavar="G", help="How often the sampled bound may fall short; finds the least m.")
    ] = None,
    m: Annotated[
        int | None, typer.Option("--m", metavar="M", help="How many pairs to sample; alone, finds the least gamma.")
    ] = None,
    rho: Annotated[
        float | None, typer.Option(metavar="R", help="For the sampling itself; the best one if left out.")
    ] = None,
    rule: Annotated[str, typer.Option(metavar="dkw|exchangeable|pac", help="How the bound follows.")] = "dkw",
) -> None:
    """Say how many pairs of neighbours to sample for how much confidence. Nothing is sampled, read or spent."""
    if gamma is None and m is None:
        raise ParameterError("give --gamma G (how often the bound may fall short), --m M (how many pairs), or both")
    made = sf.sampler_plan(gamma, m, rho, rule)
    others = {name: _other(gamma, m, rho, name) for name in _RULES if name != rule} | {rule: made}
    ordered = {name: others[name] for name in _RULES}
    told = [
        ("m", [f"{made.m:,} pairs of neighbouring tables to sample"]),
        ("k", [_taken(made)]),
        ("gamma", [f"{made.gamma:.6g}: how often a new random pair may be further apart"]),
        ("rho", [_rho_words(made)]),
        ("means", [meaning(made)]),
        ("gives", ["RANDOM differential privacy, not differential privacy: releases, files and ledgers say so"]),
        ("in code", [_code(made)]),
    ]
    rows = [_row(name, found, name == rule) for name, found in ordered.items()]
    compared = table(("rule", "m", "k", "gamma", "rho", "what it is"), rows, ("m", "k"))
    data = {**_data(made), "random": True, "meaning": meaning(made)}
    data["compared"] = [{"rule": n, "error": f} if isinstance(f, str) else _data(f) for n, f in ordered.items()]
    show(ctx, data, Text(f"A sampler plan, rule {rule}.", style="bold"), "", facts(told), "", compared)


def _other(gamma: float | None, m: int | None, rho: float | None, rule: str) -> SamplerPlan | str:
    """What another rule would make of the same question; why not, if it has no answer."""
    try:
        return sf.sampler_plan(gamma, m, None if rule == "exchangeable" else rho, rule)
    except ParameterError as error:
        return str(error)


def _taken(made: SamplerPlan) -> str:
    if made.k == made.m:
        return f"{made.k:,}: the bound is the largest of their distances"
    return f"{made.k:,}: the bound is distance {made.k:,} of {made.m:,}, counted from the smallest"


def _rho_words(made: SamplerPlan) -> str:
    if made.rho is None:
        return "none: this rule needs no part of its own for the sampling"
    if made.rule == "pac":
        return f"{made.rho:.6g}: the share of samplings that may fail altogether"
    return f"{made.rho:.6g}: the part of gamma that the sampling itself may use up"


def meaning(made: SamplerPlan) -> str:
    """A plan in a sentence."""
    far = "are further apart than the bound, and for those nothing is promised"
    if made.rule == "pac":
        return (
            f"In all but {100 * (made.rho or 0):.4g} % of samplings, at most {100 * made.gamma:.4g} % of all pairs "
            f"that the oracle draws {far}."
        )
    return (
        f"Of pairs that the oracle draws, at most {100 * made.gamma:.4g} % (over the sampling too) {far}. It speaks of "
        "one pair, and of none that the oracle would not draw."
    )


def _code(made: SamplerPlan) -> str:
    return f"sf.sample_sensitivity(target, oracle, n, gamma={made.gamma!r}, m={made.m}, rule={made.rule!r})"


def _row(name: str, found: SamplerPlan | str, asked: bool) -> tuple[str, ...]:
    named = f"{name} *" if asked else name
    if isinstance(found, str):
        return named, "-", "-", "-", "-", found
    part = "-" if found.rho is None else f"{found.rho:.4g}"
    return named, f"{found.m:,}", f"{found.k:,}", f"{found.gamma:.4g}", part, _RULES[name]


def _data(made: SamplerPlan) -> dict[str, Any]:
    return {"rule": made.rule, "m": made.m, "k": made.k, "gamma": made.gamma, "rho": made.rho}
