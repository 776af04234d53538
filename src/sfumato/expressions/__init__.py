r"""Questions as text: a small grammar for asking a summary, read by hand and never run as code.

``ask(summary, "mean(exp(-(age-40)**2/200))")`` is ``summary.answer`` of that function of the columns that it names.
A text becomes a tree of numbers, columns and a fixed list of functions, and the tree is evaluated with numpy's and
scipy's universal functions on public points, and with nothing else::

    question    = statistic | condition
    statistic   = ("mean" | "variance" | "sd") "(" condition ")"
                | ("covariance" | "correlation") "(" condition "," condition ")"
                | "share" "(" condition ")"
    condition   = comparison { "and" comparison }                  a product, of conditions alone
    comparison  = sum
                | column ("==" | "!=") literal                     a categorical column, and one of its categories
                | column "in" "(" literal { "," literal } ")"
    sum         = product { ("+" | "-") product }
    product     = sign { ("*" | "/") sign }
    sign        = "-" sign | power
    power       = primary [ "**" sign ]                            to the right first, as in Python: -x**2 is -(x**2)
    primary     = number | column | call | "(" condition ")"
    call        = ("exp" | "log" | "sqrt" | "abs" | "sin" | "cos" | "tan" | "tanh" | "sigmoid") "(" condition ")"
                | ("min" | "max") "(" condition { "," condition } ")"
                | "bump" "(" condition "," constant "," constant ")"
                | "between" "(" condition "," constant "," constant [ "," constant ] ")"
    constant    = sum                                              without columns
    column      = identifier | "`" any text but a backquote "`"
    literal     = ["-"] number | '"' text '"' | "'" text "'"
    number      = digits [ "." [ digits ] ] [ exponent ] | "." digits [ exponent ]
    exponent    = ("e" | "E") [ "+" | "-" ] digits

A question without a statistic is a mean. ``bump(x, centre, width)`` is ``exp(-((x - centre) / width)**2 / 2)``, and
``between(x, low, high, softness)`` a range whose edges are those of a normal distribution of that deviation; of a
column they are by default as sharp as the summary can follow, and an end at or beyond the column's bounds is no edge.
Of a circle ``between(hour, 22, 4)`` goes through the bounds; other ranges must end above their beginning.
Conditions are comparisons, ``between``, ``bump``, ``sigmoid`` (or ``logistic``) and what ``and`` makes of them:
numbers from 0 to 1. Questions have at most 2,000 characters and 400 parts, brackets and the like within each other are
at most 50 deep, and a constant power is at most 64.
"""

from sfumato.expressions.question import Question, ask, read

__all__ = ["Question", "ask", "read"]
