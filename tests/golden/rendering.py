"""What a person sees of each golden release, as text: shared by the test that compares and the script that writes.

Everything goes through the command line and the public API: modules may move, words may not. Pictures are told by what
they draw (axes, words, artists, and a few moments of their numbers), not by how they are painted.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np

import sfumato as sf

HERE = Path(__file__).parent
TEXTS = HERE / "texts"
FILES = {file.stem.removesuffix("-v1"): file for file in sorted(HERE.glob("*.sfumato"))}
# These take longest, or show what others show too: `make test-all` compares them.
SLOW = {"density-matrix", "grouped-density-plane", "laplace", "curve-plane", "curve-space", "naive-bayes-classes"}
SLOW |= {"learner-bernstein", "learner-objective", "learner-output", "machine-bernstein", "machine-objective"}
SLOW |= {"summary-cross", "summary-pairs", "naive-bayes", "curve-private", "density-space", "session-demo"}
SLOW |= {"collected-density-circles", "collected-density-line", "collected-density-subset", "collected-risk-total"}
SLOW |= {"collected-marginals-joint", "concentrated", "density-linear", "density-polynomial", "density-receipt"}
SLOW |= {"learner-prior", "machine-line", "machine-output", "machine-space", "space", "value-covariance"}
SLOW |= {"clipped", "collected-risk-plane", "density-dates", "density-private", "derivative", "gaps", "machine-linear"}
SLOW |= {"person", "session-local", "session-plans", "session-published", "table-lp", "table-rule", "value-histogram"}
SLOW |= {"value-proportions", "value-quantiles-jointly", "value-random", "value-sum", "value-tree"}
SLOW |= {"value-variance-steps"}


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_LONG = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")
_DIGITS = 6
_DATES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00)?")
_BLOCKS = re.compile(r"[▁-▉](?:[▁-▉ ]*[▁-▉])?")  # where a picture has gaps, noise decides
_HEX = re.compile(r"(?<![\w.])(?=\d*[a-f])[0-9a-f]{16,}(?![\w.])")
_SEED = re.compile(r'(?<="seed": )\d+|(?<="fingerprint": ")[0-9a-f]+')
_NUMBER = re.compile(r"(?<![A-Za-z_#])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![A-Za-z_])")
_LISTS = re.compile(r"\[\s*#(?:,\s*#)*\s*\]")
_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'


# --- texts that are the same on every machine ---------------------------------------------------------------


def shortened(text):
    """Numbers of many digits keep six: the last ones are the processor's."""
    return _LONG.sub(lambda found: _short(found[0]), text)


def _short(word):
    mantissa = word.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
    if len(mantissa) <= _DIGITS + 3:
        return word
    number = float(word)
    return "0.0" if abs(number) < 1e-8 else f"{number:.{_DIGITS}g}"


def plain(text):
    """A text without colours, trailing blanks, dates, random names, the version and the name of this folder."""
    text = _ESCAPES.sub("", text).replace(f"sfumato {sf.__version__}", "sfumato VERSION")
    text = _SEED.sub("#", _HEX.sub("#", _DATES.sub("DATE", text))).replace(str(Path.cwd()), ".")
    return shortened("\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n")


def masked(text):
    """The same with # for numbers: noise moves them, and the width of what stands around them."""
    text = _BLOCKS.sub("#", re.sub(r"(?m)^ +(?=[▁-▉])", "  ", plain(text)))
    text = _NUMBER.sub("#", text)
    return _LISTS.sub("[#]", "\n".join(re.sub(r"(?<=\S) +", " ", line) for line in text.splitlines())) + "\n"


# --- the command line ---------------------------------------------------------------------------------------


def _script():
    """What the console script runs, as the project file says."""
    named = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]["sfumato"]
    module, _, function = named.partition(":")
    return getattr(import_module(module), function)


@cache
def _parsers():
    """The parser of the command line is made once: typer makes one for each run, which takes longer than most runs."""
    import typer.main

    return cache(typer.main.get_command)


def command(*args, colours=False, width=120):
    """Run one command on a terminal of this width, or into a pipe; returns status, output and errors."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    settings = {"COLUMNS": str(width), "LINES": "50", "TERM": "xterm", **({"FORCE_COLOR": "1"} if colours else {})}
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch("typer.main.get_command", _parsers()),
        mock.patch("sfumato.cli.output._PATIENCE", 3600.0),  # how fast the machine is, is no part of the text
        mock.patch.object(sys, "argv", ["sfumato", *map(str, args)]),
        mock.patch.object(sys.modules["__main__"], "__package__", None, create=True),  # not "python -m something"
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        for name in () if colours else ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            os.environ.pop(name, None)
        try:
            _script()()
        except SystemExit as left:
            code = left.code
    return code, out.getvalue(), err.getvalue()


def quoted(word):
    """A word of a command line as it is typed."""
    return word if re.fullmatch(r"[\w./:=,+-]+", word) else f"'{word}'"


def transcript(*args, tidy=plain, **settings):
    """A command line, what it printed, and how it ended; refusals are never masked."""
    code, out, err = command(*args, **settings)
    tidy = tidy if code == 0 else plain
    parts = [f"$ sfumato {' '.join(quoted(str(arg)) for arg in args)}\n", tidy(out) if out else ""]
    parts += ["".join(f"! {line}\n" for line in tidy(err).splitlines())] if err else []
    return "".join([*parts, f"= {code}\n\n"])


# --- pictures -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def pictures():
    """Figures are described instead of painted; yields their descriptions as they come."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.backend_bases import FigureCanvasBase
    from matplotlib.figure import Figure

    found = []

    def told(canvas, filename, *_, **settings):
        found.append(described(canvas.figure))
        svg = settings.get("format") == "svg" or str(filename).endswith(".svg")
        content = _SVG if svg else b"picture"
        if hasattr(filename, "write"):
            filename.write(content)
        else:
            Path(filename).write_bytes(content)

    with (
        mock.patch.object(FigureCanvasBase, "print_figure", told),
        mock.patch.object(Figure, "draw_without_rendering"),  # it finds places, and takes its time
    ):
        yield found


def moments(values):
    """How many numbers, their ends and two weighted means: enough to tell them from any others."""
    array = np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan).ravel()
    known = np.isfinite(array)
    if not known.any():
        return f"{array.size} of nothing"
    kept, places = array[known], np.flatnonzero(known)
    numbers = (kept.min(), kept.max(), kept.mean(), np.mean(kept * np.cos(places)))
    size = np.abs(kept).max()
    listed = " ".join(f"{_rounded(number, size):.{_DIGITS}g}" for number in numbers)
    return f"{array.size}: {listed}" + ("" if known.all() else f" ({array.size - kept.size} missing)")


def _rounded(number, size):
    """Rounded to a millionth of the largest: small differences of large numbers are the processor's."""
    if size == 0:
        return 0.0
    return round(float(number), _DIGITS - 1 - int(np.floor(np.log10(size)))) + 0.0


def described(figure):
    """A figure in words and a few numbers."""
    size = " x ".join(f"{inches:.3g}" for inches in figure.get_size_inches())
    lines = [f"figure {size}, {len(figure.axes)} axes"]
    lines += [f"  {what}" for what in _words(figure.texts)]
    lines += [f"  legend {[text.get_text() for text in legend.get_texts()]!r}" for legend in figure.legends]
    for axes in figure.axes:
        lines += _axes(axes)
    return "\n".join(lines) + "\n"


def _words(texts):
    return [f"text {text.get_text()!r}" for text in texts if text.get_text()]


def _axes(axes):
    """One axes: its words, its limits, its artists."""
    from matplotlib.ticker import FixedFormatter

    titles = [axes.get_title(loc) for loc in ("left", "center", "right")]
    lines = [f"  axes {[title for title in titles if title]!r} x {axes.get_xlabel()!r} y {axes.get_ylabel()!r}"]
    lines += [] if axes.axison and axes.get_visible() else ["    hidden"]
    legend = axes.get_legend()
    if legend is not None:
        lines.append(f"    legend {[text.get_text() for text in legend.get_texts()]!r}")
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), FixedFormatter):
            lines.append(f"    {axis.axis_name} ticks {list(axis.get_major_formatter().seq)!r}")
    limits = [f"{limit:.{_DIGITS}g}" for limit in (*axes.get_xlim(), *axes.get_ylim())]
    lines.append(f"    limits {' '.join(limits)}, {axes.get_xscale()} {axes.get_yscale()}")
    lines += [f"    {what}" for what in _words(axes.texts)]
    lines += [f"    {_artist(artist)}" for artist in (*axes.lines, *axes.collections, *axes.images, *axes.patches)]
    return lines


def _artist(artist):
    """One thing that is drawn: its type, its style, its numbers."""
    name = type(artist).__name__.removeprefix("FillBetween")  # as newer versions call some
    if hasattr(artist, "get_xdata"):
        style = f"{artist.get_color()} {artist.get_linestyle()} {artist.get_linewidth():.3g} {artist.get_marker()}"
        return f"{name} {style}; x {moments(artist.get_xdata())}; y {moments(artist.get_ydata())}"
    if hasattr(artist, "get_paths"):
        points = [path.vertices for path in artist.get_paths()]
        colours = [part for part in (_colour(artist.get_facecolor()), _colour(artist.get_edgecolor())) if part]
        told = [f"{name} {' '.join(colours)}; {len(points)} paths"]
        if points:
            x, y = np.concatenate(points).T
            told.append(f"x {moments(x)}; y {moments(y)}")
        if artist.get_array() is not None:
            told.append(f"values {moments(artist.get_array())}")
        if len(artist.get_offsets()) > 1:
            told.append(f"at {moments(artist.get_offsets())}")
        return "; ".join(told)
    if hasattr(artist, "get_array"):
        extent = " ".join(f"{end:.{_DIGITS}g}" for end in artist.get_extent())
        return f"{name} {extent}; values {moments(artist.get_array())}"
    x, y = artist.get_patch_transform().transform_path(artist.get_path()).vertices.T
    return f"{name} {_colour([artist.get_facecolor()])}; x {moments(x)}; y {moments(y)}"


def _colour(colours):
    """The different colours of something, in the order in which they come."""
    from matplotlib.colors import to_hex

    return ",".join(dict.fromkeys(to_hex(colour, keep_alpha=True) for colour in colours if len(colour)))


# --- views of a release -------------------------------------------------------------------------------------


def page(text):
    """A page without its pictures and its style, which all pages share."""
    text = re.sub(r"<style\b[^>]*>.*?</style>", "<style/>", text, flags=re.DOTALL)
    text = re.sub(r"(<svg\b[^>]*>).*?</svg>", r"\1PICTURE</svg>", text, flags=re.DOTALL)
    text = re.sub(r"data:image/[a-z+]+;base64,[A-Za-z0-9+/=]+", "PICTURE", text)
    text = re.sub(r"\n\s*\n+", "\n", text)
    return plain(text)


def styles(text):
    """The style of a page."""
    return plain("\n".join(re.findall(r"<style\b[^>]*>(.*?)</style>", text, flags=re.DOTALL)))


def points_csv(box):
    """A few points of a numeric box."""
    shares = np.outer([0.1, 0.4, 1.0], np.ones(box.dimension))
    shares = np.mod(shares + 0.2 * np.arange(box.dimension) * (shares < 1), 1.0001)
    points = np.rint((box.low + shares * (box.high - box.low)) * 8) / 8
    return "\n".join([",".join(box.names), *(",".join(map(str, point)) for point in points.tolist())]) + "\n"


def records_csv(box):
    """New records of any box; one value is missing, one is outside."""
    columns = []
    for column in box.columns:
        if isinstance(column, sf.Categorical):
            columns.append([str(column.categories[i % len(column.categories)]) for i in range(6)])
        else:
            columns.append([f"{column.low + share * (column.high - column.low):g}" for share in np.linspace(0, 1.1, 6)])
    rows = [list(row) for row in zip(*columns, strict=True)]
    rows[2][0] = ""
    return "\n".join([",".join(box.names), *(",".join(row) for row in rows)]) + "\n"


def asked(name, release):
    """Command lines that use a release, one that suits it and others that do not: those are refused in words."""
    file, box = f"{name}.sfumato", release.box
    if all(not isinstance(column, sf.Categorical) for column in box.columns):
        Path("points.csv").write_text(points_csv(box), "utf-8")
        yield "evaluate", file, "points.csv"
        if release.kind not in ("machine", "value", "summary", "table", "components"):
            yield "evaluate", file, "points.csv", "--json", "--include", "noise", "--confidence", "0.5"
    Path("new.csv").write_text(records_csv(box), "utf-8")
    yield "predict", file, "new.csv", "-o", "-", "--certain"
    if release.kind in ("machine", "naive-bayes", "curve"):
        yield "predict", file, "new.csv", "-o", "p.csv"
        yield "predict", file, "new.csv", "-o", "q.csv", "--probability", "--json"
    yield "answer", file, f"mean({box.names[0]})"
    if release.kind == "summary":
        second = f"sd({box.names[0]})", f"share(between({box.names[0]}, 20, 30))"
        yield "answer", file, *second, "--json", "--damping", "balanced"
        yield "answer", file, f"mean({box.names[0]}", "mean(nobody)"


def views(name):
    """The texts about one golden release, by the name of the file that keeps each."""
    release, file = sf.load(FILES[name]), f"{name}.sfumato"
    shutil.copy(FILES[name], file)
    with pictures() as drawn:
        written = transcript("report", file) + transcript("plot", file)
    html = Path(f"{name}.html").read_text("utf-8") if Path(f"{name}.html").exists() else ""
    shown = f"{release!r}\n{release.guarantee!s}\n{release.guarantee!r}\n\n{release._repr_html_()}"
    yield f"{name}.inspect.txt", transcript("inspect", file)
    yield f"{name}.inspect.json.txt", transcript("inspect", file, "--json")
    yield f"{name}.shown.txt", page(shown)
    yield f"{name}.page.html", page(html)
    yield f"{name}.pictures.txt", plain("".join(drawn))
    yield f"{name}.commands.txt", written + "".join(transcript(*line) for line in asked(name, release))


@contextlib.contextmanager
def folder(path):
    """Work in an empty folder: what is printed names files by their last name."""
    path.mkdir(exist_ok=True)
    with contextlib.chdir(path):
        yield


def everything():
    """What makes texts, by name: each takes an empty folder and yields names of files and their texts."""
    from golden.sessions import SESSIONS, prepared

    def of(name):
        def made(path):
            with folder(path):
                yield from views(name)

        return made

    def session(name):
        def made(path):
            with folder(path):
                prepared()
                yield f"session-{name}.txt", "".join(SESSIONS[name]())

        return made

    return {name: of(name) for name in FILES} | {f"session-{name}": session(name) for name in SESSIONS}
