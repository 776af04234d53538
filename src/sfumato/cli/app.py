"""The application: its commands, its global options, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import sfumato as sf
from sfumato.cli import (
    answer,
    box,
    classify,
    demo,
    density,
    evaluate,
    inspect,
    keys,
    ledger,
    local,
    pictures,
    predict,
    regress,
    sensitivity,
    statistic,
    summarize,
    synthesize,
)
from sfumato.cli.failures import INTERRUPTED, USAGE, exit_code, named, report_failure, words
from sfumato.cli.options import Settings, examples, globals_first
from sfumato.errors import ParameterError, SfumatoError


class Commands(TyperGroup):
    """The commands, with errors of one line; ``main`` is what the console script and tests call."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run one command and leave with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            result = super().main(globals_first(given), *rest, **extra)
            code = result if isinstance(result, int) else 0
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except (SfumatoError, OSError) as error:
            report_failure(words(error), "--json" in given)
            code = exit_code(error)
        except Exception as error:
            code = _usage(error, "--json" in given)
        if code == INTERRUPTED:  # which some versions of typer return and others raise
            report_failure("interrupted", "--json" in given)
        sys.exit(code)


class Command(TyperCommand):
    """One command; what it refuses names the option, where the library named a parameter."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except ParameterError as error:
            params = [*self.params, *ctx.find_root().command.params]
            raise named(error, {option for param in params for option in param.opts}) from None


def _usage(error: Exception, as_json: bool) -> int:
    """Report a wrong use of the command line; anything else is a defect and keeps its traceback."""
    # Some versions of typer bring click along, others hide it: its errors are known by their method.
    message = getattr(error, "format_message", None)
    if message is None:
        raise error
    if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
        return 0
    ctx = getattr(error, "ctx", None)
    hint = "" if ctx is None else f" (see '{ctx.command_path} --help')"
    report_failure(f"{message().rstrip('.')}{hint}", as_json)
    return int(getattr(error, "exit_code", USAGE))


# Tracebacks with local variables would print private data: typer's pretty ones stay off.
app = typer.Typer(
    cls=Commands,
    name="sfumato",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {sf.__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples("sfumato demo", "sfumato inspect demo/age.sfumato", "sfumato ledger show demo/budget.db --json")
)
def options(
    ctx: typer.Context,
    ledger: Annotated[str | None, typer.Option(metavar="PATH", help="The ledger that pays.")] = None,
    account: Annotated[str | None, typer.Option(metavar="NAME", help="The account in it.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")] = False,
    multiline: Annotated[
        bool, typer.Option("--multiline", help="Cells of CSV files may span lines, and every quote is closed.")
    ] = False,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="Sign what is published with this key.")] = None,
    trust: Annotated[
        list[Path] | None, typer.Option(metavar="PUB", help="Read only releases that this key has signed; repeatable.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="memory|dask|spark", help="What adds records up; docs/scaling.md.")
    ] = "memory",
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Of the Dask cluster.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="Of the Spark cluster.")] = None,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Publish functions of private data under differential privacy, and read what others published.

    The options --ledger, --account, --key, --trust, --json, --multiline, --engine, --scheduler and --master may stand
    anywhere on the line.
    """
    ctx.obj = Settings(ledger, account, json, multiline, key, tuple(trust or ()), engine, scheduler, master)


app.command(epilog=examples("sfumato demo", "sfumato demo --folder /tmp/demo --epsilon 0.5"))(demo.demo)
app.command(
    epilog=examples(
        "sfumato statistic cohort.csv mean age --column age:0:110 --epsilon 1",
        "sfumato statistic cohort.csv histogram age sex --column age:0:110 --column sex=F,M --bins 20 --epsilon 1",
        "sfumato statistic cohort.csv quantiles age --box columns.toml --probabilities .1,.5,.9 --epsilon 1 --plan",
        "sfumato statistic cohort.csv bounds age --epsilon 0.1 --ledger budget.db --account clinic-2026",
    )
)(statistic.statistic)
app.command(
    epilog=examples(
        "sfumato density cohort.csv --column age:0:110 --epsilon 1 -o age.sfumato --report age.html",
        "sfumato density visits.parquet --column hour:0:24:periodic --by sex=F,M --bandwidth 0.5 --epsilon 1",
        "sfumato density cohort.csv --box columns.toml --epsilon 1 --ledger budget.db --account clinic-2026",
    )
)(density.density)
app.command(
    epilog=examples(
        "sfumato classify cohort.csv --label disease=no,yes --column age:0:110 --column bmi:10:60 --epsilon 1",
        "sfumato classify cohort.csv --label stage=0,1,2 --box columns.toml --kernel linear --epsilon 1 --delta 1e-6",
        "sfumato classify cohort.csv --label disease --box columns.toml --epsilon 1 --public-test open.csv --plan",
        "sfumato classify cohort.csv --method naive-bayes --label disease=no,yes --column age:0:110 --column sex=F,M "
        "--epsilon 1",
    )
)(classify.classify)
app.command(
    epilog=examples(
        "sfumato regress cohort.csv --response bp:60:220 --column age:0:110 --epsilon 1 --report curve.html",
        "sfumato regress cohort.csv --response bp --box columns.toml --column age --column bmi --epsilon 1 --plan",
        "sfumato regress cohort.csv --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 5 "
        "--epsilon 1",
    )
)(regress.regress)
app.command(
    epilog=examples(
        "sfumato summarize cohort.csv --box columns.toml --epsilon 1 -o summary.sfumato",
        "sfumato summarize cohort.csv --column age:0:110 --column sex=F,M --epsilon 1 --degree 8 --report summary.html",
        "sfumato summarize cohort.csv --box columns.toml --interactions 2 --epsilon 1 --delta 1e-6 --plan",
    )
)(summarize.summarize)
app.command(
    epilog=examples(
        "sfumato synthesize cohort.csv --box columns.toml --epsilon 1 --label ill --rows 10000 --data made-up.parquet",
        "sfumato synthesize cohort.csv --box columns.toml --epsilon 1 --shares means=0.7,norm=0.3 --report table.html",
        "sfumato synthesize cohort.csv --box columns.toml --epsilon 1 --label ill --expected-rows 20000 --plan",
    )
)(synthesize.synthesize)
app.command(
    epilog=examples(
        'sfumato answer summary.sfumato "mean(exp(-(age-40)**2/200))"',
        "sfumato answer summary.sfumato 'share(between(age, 30, 50) and sex == \"F\")' 'correlation(age, bmi)'",
        'sfumato answer summary.sfumato "sd(log(1 + bmi))" --damping balanced --json',
    )
)(answer.answer)
app.command(
    epilog=examples(
        "sfumato predict model.sfumato new.csv -o predictions.csv",
        "sfumato predict model.sfumato new.parquet --probability --certain",
    )
)(predict.predict)
app.command(epilog=examples("sfumato inspect age.sfumato", "sfumato inspect age.sfumato --trust clinic.pem.pub"))(
    inspect.inspect
)
app.command(
    epilog=examples(
        "sfumato evaluate age.sfumato points.csv -o values.csv",
        "printf 'age\\n30\\n60\\n' | sfumato evaluate age.sfumato -",
    )
)(evaluate.evaluate)
app.command(epilog=examples("sfumato plot age.sfumato", "sfumato plot age.sfumato -o age.pdf"))(pictures.plot)
app.command(epilog=examples("sfumato report age.sfumato -o age.html"))(pictures.report)
app.command(epilog=examples("sfumato box cohort.csv -o columns.toml", "sfumato box cohort.parquet -o -"))(box.box)
app.add_typer(keys.app, name="keys")
app.add_typer(ledger.app, name="ledger")
app.add_typer(sensitivity.app, name="sensitivity")
app.add_typer(local.app, name="local")
for group in (app, keys.app, ledger.app, sensitivity.app, local.app):
    for command in group.registered_commands:
        command.cls = Command
