"""Commands of the local model: make a protocol, encode records, collect reports, simulate, plan."""

from __future__ import annotations

import typer

from sfumato.cli.local import collect, encode, init, plan, simulate
from sfumato.cli.options import examples

app = typer.Typer(
    no_args_is_help=True, help="The local model: people's own devices randomise, nobody is trusted with records."
)
app.command(
    epilog=examples(
        "sfumato local init --kind density --box columns.toml --epsilon 1 --lattice 11 -o protocol.json",
        "sfumato local init --kind smooth-queries --box columns.toml --epsilon 1 --degree 6 --interactions 2",
        "sfumato local init --kind marginals --box columns.toml --epsilon 1 --ways 2 --people 50000",
    )
)(init.init)
app.command(
    epilog=examples(
        "sfumato local encode protocol.json people.csv -o reports.batch",
        "sfumato local encode protocol.json more.parquet --first-user 10000 --batch-key gateway.key -o more.batch",
    )
)(encode.encode)
app.command(
    epilog=examples(
        "sfumato local collect protocol.json reports.bin -o release.sfumato --report release.html",
        "sfumato local collect protocol.json monday.bin tuesday.bin --checkpoint state.ckpt -o release.sfumato",
        "sfumato local collect protocol.json --gateway hospital.batch --batch-key gateway.key -o release.sfumato",
    )
)(collect.collect)
app.command(
    epilog=examples(
        "sfumato local simulate protocol.json open.csv",
        "sfumato local simulate protocol.json --people 1000000",
        "sfumato local simulate protocol.json open.csv --people 100000 --json",
    )
)(simulate.simulate)
app.command(
    epilog=examples(
        "sfumato local plan --kind density --box columns.toml --lattice 11 --epsilon 1 --people 1000000",
        "sfumato local plan --kind marginals --box columns.toml --epsilon 1 --error .01",
        "sfumato local plan --protocol protocol.json --error .01 --json",
    )
)(plan.plan)
