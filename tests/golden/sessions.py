"""Command lines and what they print: help, plans, refusals, and everything that publishes, with # for its numbers.

Each session runs in a folder of its own with the same made-up records. Noise is drawn from a fixed stream, and its
numbers are masked all the same: only words and layout are kept.
"""

# ruff: noqa: E501 - a command line is a line

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from importlib import metadata
from pathlib import Path
from unittest import mock

import numpy as np

import sfumato as sf
from golden.rendering import FILES, command, masked, pictures, plain, styles, transcript

ROWS = 600


def records():
    """A table of made-up people: the older, the more often ill, and the higher the pressure."""
    generator = np.random.default_rng(5)
    age, bmi = generator.uniform(18, 95, ROWS).round(1), generator.normal(27, 4, ROWS).round(1)
    ill = generator.random(ROWS) < 1 / (1 + np.exp(-(age - 55) / 8))
    lines = ["patient,age,bmi,hour,sex,ward,bp,disease,stage"]
    for i, (a, b, d) in enumerate(zip(age, bmi, ill, strict=True)):
        told = f"{i // 2},{a},{b},{i % 24},{'FM'[i % 2]},{i % 3},{90 + 0.7 * a:.1f}"
        lines.append(f"{told},{'yes' if d else 'no'},{int(a // 40)}")
    lines[7], lines[8] = "3,,25,1,F,1,120,yes,0", "3,50,25,1,X,1,,unknown,9"
    return "\n".join(lines) + "\n"


BOX = """[columns.age]
low = 0
high = 110
[columns.bmi]
low = 10
high = 60
[columns.hour]
low = 0
high = 24
kind = "periodic"
[columns.sex]
categories = ["F", "M"]
[columns.disease]
categories = ["no", "yes"]
[columns.bp]
low = 60
high = 220
"""
NUMBERS = "[columns.age]\nlow = 0\nhigh = 110\n[columns.bmi]\nlow = 10\nhigh = 60\n"
GROUPS = '[columns.sex]\ncategories = ["F", "M"]\n[columns.ward]\ncategories = [0, 1, 2]\n'


def prepared():
    """Write the records and the boxes of every session."""
    table = records()
    Path("cohort.csv").write_text(table, "utf-8")
    Path("open.csv").write_text("\n".join(table.splitlines()[:80]) + "\n", "utf-8")
    Path("new.csv").write_text("age,bmi\n30,22.5\n64.5,31\n,20\n200,20\n", "utf-8")
    for name, text in (("columns.toml", BOX), ("numbers.toml", NUMBERS), ("groups.toml", GROUPS)):
        Path(name).write_text(text, "utf-8")


@contextlib.contextmanager
def fixed_noise():
    """The operating system's randomness as a fixed stream."""
    with mock.patch("os.urandom", np.random.default_rng(17).bytes):
        yield


_KNOWN = ("ledger", "box")  # their numbers are not random


def noisy(lines):
    """Transcripts of commands that draw noise: numbers are masked, lines are long enough for any."""
    for words in lines_of(lines):
        yield transcript(*words, tidy=plain if words[0] in _KNOWN else masked, width=250)


def lines_of(text):
    """The words of each command line."""
    return [shlex.split(line) for line in text.strip().splitlines()]


# --- help ---------------------------------------------------------------------------------------------------

_NAMED = re.compile(r"^│ ([a-z][a-z-]*) ", re.MULTILINE)


USAGE = """
--version
densities cohort.csv
density
density cohort.csv --no-such-option
density cohort.csv --epsilon much
statistic
classify cohort.csv --column age:0:110
regress cohort.csv --column age:0:110
predict machine-output.sfumato
answer summary.sfumato
inspect a b
ledger none
local
"""


def usage():
    """What typer says, and says otherwise in other versions: help and wrong use of the command line."""
    yield f"typer {metadata.version('typer')}\n\n"
    yield from (transcript(*words, tidy=unframed) for words in lines_of(USAGE))
    yield from help_of()


def help_of(*words):
    """The help of a command, then that of its own commands."""
    yield transcript(*words, "--help", tidy=unframed)
    _, _, listed = command(*words, "--help")[1].partition("─ Commands ─")
    for name in _NAMED.findall(listed):
        yield from help_of(*words, name)


def unframed(text):
    """A help page without the frames around its parts."""
    text = re.sub(r"[│╭╮╰╯]|─+(?=[╮╯])|─{3,}", "", plain(text))
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


# --- plans --------------------------------------------------------------------------------------------------

PLANS = """
density cohort.csv --column age:0:110 --epsilon 1 --plan
density cohort.csv --column age:0:110 --epsilon 1 --plan --json
density cohort.csv --box numbers.toml --epsilon 1 --delta 1e-6 --bandwidth 12,6 --basis binning:9 --plan
density cohort.csv --column hour:0:24:periodic --by sex=F,M --rho 0.5 --person patient:2 --bandwidth 2 --basis binning:9 --plan
density cohort.csv --column age:0:110 --epsilon 1 --bandwidth 9 --plan --ledger b.db --account clinic
density cohort.csv --column age:0:110 --epsilon 9 --bandwidth 9 --plan --ledger b.db --account clinic
statistic cohort.csv mean age --column age:0:110 --epsilon 1 --plan
statistic cohort.csv count sex --column sex=F,M --epsilon 1 --plan --json
statistic cohort.csv histogram age sex --column age:0:110 --column sex=F,M --bins 5 --epsilon 1 --plan
statistic cohort.csv quantiles age --column age:0:110 --probabilities .1,.9 --epsilon 1 --plan --expected-rows 500
statistic cohort.csv covariance age bmi --box columns.toml --rho 0.5 --plan
statistic cohort.csv bounds age --epsilon 0.1 --plan
classify cohort.csv --label disease=no,yes --column age:0:110 --epsilon 1 --landmarks 5 --plan
classify cohort.csv --label disease=no,yes --box numbers.toml --epsilon 1 --kernel linear --plan --json
classify cohort.csv --label stage=0,1,2 --column age:0:110 --epsilon 1 --delta 1e-6 --landmarks 5 --mechanism objective --plan
classify cohort.csv --method naive-bayes --label disease=no,yes --column age:0:110 --column sex=F,M --epsilon 1 --plan
classify cohort.csv --method naive-bayes --label disease=no,yes --box numbers.toml --epsilon 1 --plan --json
regress cohort.csv --response bp:60:220 --column age:0:110 --epsilon 1 --plan
regress cohort.csv --response bp:60:220 --column age:0:110 --epsilon 1 --plan --json
regress cohort.csv --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --epsilon 1 --plan --expected-rows 600
summarize cohort.csv --box columns.toml --epsilon 1 --degree 4 --interactions 2 --plan
summarize cohort.csv --column age:0:110 --column sex=F,M --epsilon 1 --plan --json
sensitivity plan --gamma 0.05
sensitivity plan --gamma 0.05 --m 1500 --rule pac
sensitivity plan --m 99 --rule exchangeable --json
local plan --kind density --box numbers.toml --lattice 5 --epsilon 1 --people 100000
local plan --kind density --box numbers.toml --randomizer privunit --lattice 5 --epsilon 1 --people 100000 --json
local plan --kind smooth-queries --box numbers.toml --degree 4 --epsilon 1 --error .01
local plan --kind marginals --box groups.toml --epsilon 1 --error .01 --confidence .9
"""


def plans():
    """What to expect: nothing here is random."""
    yield transcript("ledger", "create", "b.db", "clinic", "--epsilon", "3")
    yield from (transcript(*words) for words in lines_of(PLANS))


# --- publishing ---------------------------------------------------------------------------------------------

PUBLISHED = """
density cohort.csv --column age:0:110 --epsilon 50 --bandwidth 9 --report d.html --plot d.png
density cohort.csv --column age:0:110 --epsilon 50 --bandwidth 9 --json --force --ledger b.db --account clinic
density cohort.csv --box numbers.toml --epsilon 50 --bandwidth 12,6 --basis binning:5 -o plane.sfumato
density cohort.csv --column age:0:110 --by sex=F,M --epsilon 50 --bandwidth 12 --basis binning:9 -o by.sfumato
density cohort.csv --column age:0:110 --epsilon 50 --tune-bandwidth 8,16 --basis auto -o t.sfumato --ledger b.db --account clinic
density cohort.csv --column age:0:110 --epsilon 50 --person patient:2 --neighbours add-remove --expected-rows 500 -o p.sfumato
statistic cohort.csv count sex --column sex=F,M --epsilon 50 --report c.html
statistic cohort.csv mean age --column age:0:110 --epsilon 50 --ledger b.db --account clinic
statistic cohort.csv sum age bmi --box columns.toml --epsilon 50 --json
statistic cohort.csv variance age --column age:0:110 --epsilon 50
statistic cohort.csv covariance age bmi --box columns.toml --epsilon 50
statistic cohort.csv histogram age sex --column age:0:110 --column sex=F,M --bins 3 --epsilon 50 --plot h.png
statistic cohort.csv proportions sex --column sex=F,M --epsilon 50 --json
statistic cohort.csv median age --column age:0:110 --epsilon 50
statistic cohort.csv quantiles age --column age:0:110 --probabilities .1,.5,.9 --epsilon 50 --json
statistic cohort.csv bounds age --epsilon 50
classify cohort.csv --label disease=no,yes --column age:0:110 --epsilon 50 --landmarks 5 --report m.html --plot m.png --public-test open.csv
classify cohort.csv --label stage=0,1,2 --box numbers.toml --epsilon 50 --kernel linear -o linear.sfumato --json
classify cohort.csv --label disease=no,yes --column age:0:110 --epsilon 50 --landmarks 5 --loss hinge --C 1 -o hinge.sfumato
classify cohort.csv --method naive-bayes --label disease=no,yes --column age:0:110 --column sex=F,M --epsilon 50 -o nb.sfumato --report nb.html --public-test open.csv
classify cohort.csv --method naive-bayes --label disease=no,yes --box numbers.toml --epsilon 50 -o nb2.sfumato --json
regress cohort.csv --response bp:60:220 --column age:0:110 --epsilon 50 --bandwidth 8 --report r.html
regress cohort.csv --response bp --box columns.toml --column age --epsilon 50 --bandwidth 8 --json --force
regress cohort.csv --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --epsilon 50 -o chao.sfumato
summarize cohort.csv --box columns.toml --column age --column sex --epsilon 50 --degree 4 --report s.html
summarize cohort.csv --column age:0:110 --column ward=0,1,2 --epsilon 50 --degree 4 --json --force
"""


def published():
    """Everything that publishes; the pages' words are those of the golden releases."""
    yield transcript("ledger", "create", "b.db", "clinic", "--epsilon", "1000", "--delta", "1e-6")
    with fixed_noise(), pictures():
        yield from noisy(PUBLISHED)


LEDGERS = """
ledger create b.db clinic --epsilon 3 --delta 1e-6
ledger create b.db clinic --epsilon 3 --delta 1e-6
ledger create b.db other --rho 0.5 --neighbours add-remove --person patient:5 --accountant zcdp --json
ledger show b.db
ledger show b.db --account other
density cohort.csv --column age:0:110 --epsilon 1 --bandwidth 9 --basis binning:9 --ledger b.db --account clinic
statistic cohort.csv mean age --column age:0:110 --epsilon 1.5 --ledger b.db --account clinic
statistic cohort.csv median age --column age:0:110 --epsilon 1 --ledger b.db --account clinic
inspect density.sfumato
ledger show b.db --account clinic
ledger show b.db --account clinic --json
ledger remaining b.db
ledger remaining b.db --account clinic --json
ledger remaining b.db --account nobody
ledger adopt b.db
ledger adopt nothing.db
ledger show
ledger show nothing.db
keys new clinic.pem
keys new clinic.pem
density cohort.csv --column age:0:110 --epsilon 1 --bandwidth 9 --basis binning:9 --key clinic.pem -o signed.sfumato
inspect signed.sfumato --trust clinic.pem.pub
inspect signed.sfumato
inspect density.sfumato --trust clinic.pem.pub
box cohort.csv -o -
box cohort.csv -o mine.toml
box cohort.csv -o mine.toml
box cohort.csv -o more.toml --json
box cohort.csv --box numbers.toml
box cohort.csv --box mine.toml
"""


def ledgers():
    """Accounts, receipts, signatures, boxes."""
    with fixed_noise():
        yield from noisy(LEDGERS)


DEMO = """
demo --folder d --epsilon 1
demo --folder d --epsilon 1 --json
demo --folder d --epsilon 1.6
"""


def demo():
    """The demo, without its pictures."""
    with fixed_noise(), pictures():
        yield from noisy(DEMO)


# --- the local model ----------------------------------------------------------------------------------------

LOCAL = """
local init --kind density --box numbers.toml --epsilon 2 --lattice 4 -o d.json
local init --kind smooth-queries --box numbers.toml --epsilon 2 --degree 3 -o s.json --json
local init --kind marginals --box groups.toml --epsilon 2 --people 600 --users 5000 -o m.json
local encode d.json cohort.csv -o d.batch
local encode s.json cohort.csv -o s.batch --first-user 100 --json
local encode m.json cohort.csv -o m.batch
local collect d.json --gateway d.batch -o d.sfumato --report d.html --plot d.png --checkpoint d.ckpt
local collect d.json --gateway d.batch -o d.sfumato --checkpoint d.ckpt --force
local collect s.json --gateway s.batch -o s.sfumato --json
local collect s.json --gateway s.batch -o s.sfumato --force
local collect m.json --gateway m.batch -o m.sfumato
local collect m.json --gateway m.batch d.batch -o m2.sfumato --json
local simulate d.json open.csv --people 500
local simulate s.json --people 500
local simulate m.json cohort.csv --json
local plan --protocol d.json --people 1000
local plan --protocol m.json --error 0.05 --json
local collect d.json
local collect d.json cohort.csv
local collect d.json d.batch
local collect d.json --gateway s.batch
local collect d.json none.bin
local encode d.json groups.toml
local encode m.json new.csv
local encode d.json cohort.csv -o d.batch
local encode d.json cohort.csv -o e.batch --first-user -1
local simulate d.json
local simulate d.json --people 0
local init
local init --kind histogram
local init --kind density
local init --kind density --box numbers.toml
local init --kind density --box numbers.toml --epsilon 0
local init --kind density --box groups.toml --epsilon 1
local init --kind marginals --box numbers.toml --epsilon 1
local init --kind density --box numbers.toml --epsilon 1 --ways 2
local init --kind density --box numbers.toml --epsilon 1 --lattice 1
local init --kind density --box numbers.toml --epsilon 1 --randomizer x
local init --kind smooth-queries --box numbers.toml --epsilon 1 --interactions x
local init --kind density --box numbers.toml --epsilon 1 -o no/p.json
local init --kind density --box numbers.toml --epsilon 1 -o d.json
local plan --kind density
local plan --kind density --box numbers.toml --epsilon 1 --people 5 --error 1
"""


def local():
    """Devices and collectors; what a seed decides is masked too."""
    with fixed_noise(), pictures():
        yield from noisy(LOCAL)


# --- refusals -----------------------------------------------------------------------------------------------

# Of each publishing command: how it begins, and what is wrong with the rest.
REFUSED = {
    "density cohort.csv --epsilon 1": """
        --column age
        --column age:110:0
        --column age:0:110 --column age:0:110
        --column weight:0:200

        --column age:0:110 --by sex
        --column age:0:110 --by sex=F
        --column age:0:110 --by race=F,M
        --column age:0:110 --person patient
        --column age:0:110 --person someone:3
        --column age:0:110 --bandwidth wide
        --column age:0:110 --bandwidth 2,3
        --column age:0:110 --bandwidth 500
        --column age:0:110 --bandwidth -1
        --column age:0:110 --bandwidth 3 --tune-bandwidth 2,4
        --column age:0:110 --tune-bandwidth 2,x
        --column age:0:110 --tune-bandwidth 2
        --column age:0:110 --tune-bandwidth 2,4 --by sex=F,M
        --column age:0:110 --tune-bandwidth 2,4 --plan
        --column age:0:110 --tune-bandwidth 2,4 --tune-share 2
        --column age:0:110 --basis spline:3
        --column age:0:110 --basis binning:1
        --column age:0:110 --basis binning:2.5
        --column age:0:110 --basis binning:3,3
        --column age:0:110 --basis split:9:1,1
        --column age:0:110 --basis bernstein:9:2 --by sex=F,M
        --column age:0:110 --post soft
        --column age:0:110 --missing guess
        --column age:0:110 --expected-rows 0
        --column age:0:110 --neighbours all
        --column age:0:110 --delta 2
        --column age:0:110 --rho 1
        --column age:0:110 --plot picture.gif
        --column age:0:110 -o no/where.sfumato
        --column age:0:110 -o .
        --column age:0:110 -o cohort.csv --force
        --column age:0:110 --report density.sfumato
        --column age:0:110 --ledger b.db
        --column age:0:110 --ledger b.db --account clinic
        --column age:0:110 --key none.pem
        --column sex --box columns.toml
        --box nothing.toml""",
    "statistic cohort.csv --epsilon 1": """
        meen age --column age:0:110
        mean
        mean age
        mean age age --column age:0:110
        mean sex --column sex=F,M
        proportions age --column age:0:110
        proportions sex --column sex=F
        median --column age:0:110 --column bmi:10:60
        quantiles age --column age:0:110:periodic
        mean --column age:0:110 --bins 5
        histogram --column age:0:110 --bins 0
        histogram --column age:0:110 --bins 2.5
        histogram --column age:0:110 --bins few
        histogram --column age:0:110 --bins 3,3
        quantiles --column age:0:110 --probabilities half
        quantiles --column age:0:110 --probabilities 2
        mean --column age:0:110 --probabilities .5
        mean --column age:0:110 --interval none
        median --column age:0:110 --interval paid
        mean --column age:0:110 --missing guess
        mean --column age:0:110 --confidence 1
        mean --column age:0:110 --plan --expected-rows 0
        mean --column age:0:110 --person nobody:2
        mean --column age:0:110 -o cohort.csv --force
        bounds
        bounds age bmi
        bounds age --column age:0:110
        bounds age --bins 3
        bounds age --missing none
        bounds height
        meen age --column age:0:110 --json""",
    "classify cohort.csv --epsilon 1": """
        --column age:0:110 --label disease
        --column age:0:110 --label disease=yes
        --column age:0:110 --label disease=yes,
        --column age:0:110 --label sick=yes,no
        --label disease=no,yes
        --label disease=no,yes --column age
        --label disease=no,yes --column weight:0:200
        --label ward=0,1 --column ward:0:1
        --label disease=no,yes --column age:0:110 --loss squared
        --label disease=no,yes --column age:0:110 --kernel cubic
        --label disease=no,yes --column age:0:110 --gamma 0
        --label disease=no,yes --column age:0:110 --gamma 1 --kernel linear
        --label disease=no,yes --column age:0:110 --C strong
        --label disease=no,yes --column age:0:110 --C 0
        --label disease=no,yes --column age:0:110 --C 1e12
        --label disease=no,yes --column age:0:110 --mechanism both
        --label disease=no,yes --column age:0:110 --mechanism objective --loss hinge
        --label disease=no,yes --column age:0:110 --mechanism objective --person patient:2
        --label disease=no,yes --column age:0:110 --mechanism objective --C 1e6
        --label disease=no,yes --column age:0:110 --landmarks 0
        --label disease=no,yes --column age:0:110 --landmarks 5000
        --label disease=no,yes --column age:0:110 --landmarks 5 --kernel linear
        --label disease=no,yes --column age:0:110 --public-test cohort.csv
        --label disease=no,yes --column age:0:110 --public-test columns.toml
        --label disease=no,yes --column age:0:110 --public-test none.csv
        --label disease=no,yes --column age:0:110 --method forest
        --label disease=no,yes --column age:0:110 --method naive-bayes --kernel linear
        --label disease=no,yes --column age:0:110 --method naive-bayes --landmarks 3
        --label disease=no,yes --column age:0:110 --likelihood normal
        --label disease=no,yes --column sex=F,M --method naive-bayes --likelihood odd""",
    "regress cohort.csv --epsilon 1": """
        --column age:0:110 --response bp
        --column age:0:110 --response bp:220:60
        --column age:0:110 --response bp:60:220:integer
        --column age:0:110 --response sex --box columns.toml
        --column age:0:110 --response hour --box columns.toml
        --column age:0:110 --response pulse:0:200
        --response bp:60:220
        --response bp:60:220 --column bp:60:220
        --response bp:60:220 --box columns.toml --column sex
        --response bp:60:220 --column age:0:110 --bandwidth 0
        --response bp:60:220 --column age:0:110 --bandwidth wide
        --response bp:60:220 --column age:0:110 --method loess
        --response bp:60:220 --column age:0:110 --gap 4
        --response bp:60:220 --column age:0:110 --method priestley-chao
        --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --gap 0
        --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --rows 600
        --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --column bmi:10:60
        --response bp:60:220 --column age:0:110 --method priestley-chao --bandwidth 8 --neighbours add-remove
        --response bp:60:220 --column age:0:110 --column bmi:10:60 --column hour:0:24 --column patient:0:500""",
    "summarize cohort.csv --box columns.toml": """

        --epsilon 1 --rho 1
        --epsilon -1
        --epsilon 1 --degree x
        --epsilon 1 --degree 3,4
        --epsilon 1 --degree 2000
        --epsilon 1 --smoothness 0
        --epsilon 1 --degree 4 --smoothness 3
        --epsilon 1 --interactions some
        --epsilon 1 --interactions 0
        --epsilon 1 --noise loud
        --epsilon 1 --noise gaussian
        --rho 1 --noise laplace
        --epsilon 1 --person nobody:2
        --epsilon 1 --column weight:0:9
        --epsilon 1 --column age --column age
        --epsilon 1 -o no/where.sfumato""",
    "": """
        density nothing.csv --column age:0:110 --epsilon 1
        density cohort.txt --column age:0:110 --epsilon 1
        density cohort.csv --column age:0:110
        inspect nothing.sfumato
        inspect cohort.csv
        inspect value-mean-v1.sfumato --confidence 2
        inspect value-mean-v1.sfumato --trust none.pub
        evaluate density-v1.sfumato points.csv --outside ignore
        evaluate density-v1.sfumato points.csv --group F
        evaluate density-v1.sfumato points.csv --include all
        evaluate density-v1.sfumato points.csv --confidence 2
        evaluate density-v1.sfumato far.csv
        evaluate density-v1.sfumato far.csv --outside clip
        evaluate density-v1.sfumato far.csv --outside clip -o values.csv
        evaluate density-v1.sfumato far.csv --outside clip -o values.json --json
        evaluate density-v1.sfumato nothing.csv
        evaluate density-v1.sfumato points.csv -o no/where.csv
        evaluate grouped-density-v1.sfumato points.csv --group X
        evaluate grouped-density-v1.sfumato points.csv --group F
        evaluate value-mean-v1.sfumato points.csv
        plot density-v1.sfumato -o picture.gif
        plot density-v1.sfumato -o no/picture.png
        plot density-v1.sfumato --confidence 2
        plot density-v1.sfumato --group F
        report density-v1.sfumato -o no/page.html
        report density-v1.sfumato -o density-v1.sfumato
        report density-v1.sfumato --confidence 2
        predict machine-output-v1.sfumato nothing.csv
        predict machine-output-v1.sfumato points.csv
        predict machine-output-v1.sfumato new.csv --probability
        predict machine-output-v1.sfumato new.csv --certain --confidence 1
        predict machine-output-v1.sfumato new.csv -o new.csv --force
        predict machine-linear-v1.sfumato new.csv --certain
        predict machine-linear-v1.sfumato new.csv --probability
        predict machine-output-v1.sfumato new.csv --json -o -
        answer summary-v1.sfumato age --confidence 2
        answer summary-v1.sfumato age --damping jackson
        answer summary-v1.sfumato mean(agee)
        answer summary-v1.sfumato age.__class__
        answer summary-v1.sfumato log(age)
        answer summary-v1.sfumato 'sex == "X"'
        answer summary-v1.sfumato 'sex == "X"' --json
        answer summary-v1.sfumato 'share(between(age, 30, 50) and sex == "F")' 'correlation(age, age)' 'exp(-age/20)'
        answer nothing.sfumato age
        sensitivity plan
        sensitivity plan --gamma 2
        sensitivity plan --gamma 0.05 --m 10
        sensitivity plan --m 500 --rule none
        ledger create b.db x
        ledger create b.db x --epsilon 1 --rho 1
        ledger create b.db x --epsilon 0
        ledger create b.db x --epsilon 1 --accountant mine
        ledger create b.db x --epsilon 1 --person patient
        ledger create no/b.db x --epsilon 1
        demo --folder cohort.csv
        demo --epsilon 0
        box nothing.csv""",
}


def refusals():
    """What is wrong with a command line, in one line each; and a few that are right."""
    for name in ("density", "grouped-density", "value-mean", "machine-output", "machine-linear", "summary"):
        shutil.copy(FILES[name], ".")
    Path("points.csv").write_text("age\n30\n", "utf-8")
    Path("far.csv").write_text("age\n300\n", "utf-8")
    for start, rest in REFUSED.items():
        for line in rest.removeprefix("\n").split("\n"):
            yield transcript(*shlex.split(f"{start} {line}"))


TERMINAL = (
    *("density", "curve", "machine-output", "naive-bayes", "value-histogram", "value-random", "summary"),
    *("collected-density", "collected-marginals"),
)


def terminal():
    """One release of each kind on a terminal, in its colours."""
    for name in TERMINAL:
        shutil.copy(FILES[name], f"{name}.sfumato")
        yield transcript("inspect", f"{name}.sfumato", colours=True, tidy=lambda text: text.replace("\x1b", "^"))


def style():
    """The style of the pages, which all of them share."""
    found = []
    for name in ("density-receipt", "value-random", "collected-summary"):
        with pictures():
            sf.load(FILES[name]).report("page.html")
        found.append(styles(Path("page.html").read_text("utf-8")))
    yield from dict.fromkeys(found)


def releases_in_code():
    """What the objects themselves say: plans, boxes, grants."""
    box, privacy = sf.Box({"age": (0, 110), "sex": sf.Categorical(["F", "M"])}), sf.Privacy(epsilon=1.0)
    line = sf.Box({"age": (0, 110)})
    targets = {
        "density": (sf.KDE(9.0), line),
        "groups": (sf.KDE(9.0, by="sex"), box),
        "mean": (sf.Statistic("mean", "age"), line),
        "quantiles": (sf.Statistic("quantiles", "age"), line),
        "curve": (sf.NadarayaWatson(9.0, response="bp", range=(60, 220)), line),
        "machine": (sf.KernelMachine("logistic", sf.RBF(0.5), 2.0, response="ill", classes=["no", "yes"]), line),
        "bayes": (sf.NaiveBayes("ill", ["no", "yes"]), box),
        "summary": (sf.CosineMoments(4), box),
    }
    for name, (target, own) in targets.items():
        plan = sf.plan(target, own, privacy, 1000)
        yield f"{name}\n{target!r}\n{target.describe()!r}\n{plain(str(plan))}\n{plain(repr(plan))}\n"
    for one in (box, privacy, sf.Privacy(rho=0.5, unit=sf.Person("p", 3)), sf.sampler_plan(0.05)):
        yield f"{one!r}\n{one!s}\n"


SESSIONS = {
    "help": usage,
    "plans": plans,
    "published": published,
    "ledgers": ledgers,
    "demo": demo,
    "local": local,
    "refusals": refusals,
    "terminal": terminal,
    "style": style,
    "code": releases_in_code,
}
