"""The application as a whole: help, version, global options, exit codes, interrupts, missing extras."""

import json
import signal
import subprocess
import sys
import time
from threading import Event

import pytest
import typer
from typer.testing import CliRunner

from sfumato import __version__, errors
from sfumato.cli.app import app
from sfumato.cli.failures import exit_code, words
from sfumato.cli.options import globals_first
from sfumato.errors import ParameterError

COMMANDS = [
    "demo",
    "density",
    "classify",
    "regress",
    "predict",
    "inspect",
    "evaluate",
    "plot",
    "report",
    "box",
    "ledger create",
    "ledger show",
]
COMMANDS += ["ledger remaining"]


def test_version(sfumato):
    assert sfumato("--version").out == f"sfumato {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(sfumato, command):
    result = sfumato(*command.split(), "--help")
    assert result.code == 0
    assert "Examples:" in result.out and f"sfumato {command}" in result.out


@pytest.mark.parametrize("args", [[], ["ledger"]])
def test_without_a_command_the_help_is_shown(sfumato, args):
    result = sfumato(*args)
    assert result.code == 0 and "Usage" in result.out and result.err == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["inspect"], "Missing argument 'FILE' (see 'sfumato inspect --help')"),
        (["inspect", "a", "b"], "nexpected extra argument"),
        (["demo", "--nonsense"], "--nonsense"),
        (["demo", "--epsilon", "much"], "--epsilon"),
        (["demo", "--ledger"], "--ledger needs a value"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(sfumato, args, message):
    sfumato(*args).failed(2, message)


@pytest.mark.parametrize("args", [["--json", "nonsense"], ["inspect", "--json"], ["inspect", "nothing", "--json"]])
def test_errors_as_json(sfumato, args):
    result = sfumato(*args)
    assert result.code in (2, 3) and result.out == ""
    assert list(json.loads(result.err)) == ["error"]


@pytest.mark.parametrize(
    ("args", "moved"),
    [
        (["ledger", "show", "--json"], ["--json", "ledger", "show"]),
        (["show", "--ledger", "b.db", "x"], ["--ledger", "b.db", "show", "x"]),
        (["show", "--account=a b"], ["--account=a b", "show"]),
        (["show", "--", "--json"], ["show", "--", "--json"]),
        (["show", "--accounts", "x"], ["show", "--accounts", "x"]),
        ([], []),
    ],
)
def test_global_options_may_stand_anywhere(args, moved):
    assert globals_first(args) == moved


def test_a_global_option_needs_its_value():
    with pytest.raises(ParameterError, match="--account needs a value"):
        globals_first(["show", "--account"])


CODES = {
    "ParameterError": 2,
    "ParameterTypeError": 2,
    "OutsideBoxError": 2,
    "RehearsalError": 2,
    "SchemaError": 2,
    "FileFormatError": 3,
    "LedgerError": 4,
    "BudgetExceededError": 5,
    "MissingFileError": 3,
}
ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.SfumatoError)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_exit_codes(error):
    assert exit_code(error("no")) == CODES.get(error.__name__, 1)


def test_words_of_system_errors():
    assert words(FileNotFoundError(2, "No such file or directory", "x.csv")) == "x.csv: No such file or directory"
    assert words(OSError(28, "No space left on device")) == "No space left on device"
    assert words(OSError("odd")) == "odd"


@pytest.fixture
def failing(monkeypatch):
    """Make ``sfumato inspect`` fail in a given way."""

    def fail(error, *args):
        def load(path):
            raise error

        import sfumato as sf

        monkeypatch.setattr(sf, "load", load, raising=False)
        return CliRunner().invoke(app, ["inspect", "x.sfumato", *args])

    return fail


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_an_interrupt_is_130(failing, error):
    result = failing(error)
    assert result.exit_code == 130 and result.output == "error: interrupted\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BudgetExceededError("x"), 5),
        (errors.MissingExtraError("x"), 1),
        (PermissionError(13, "Permission denied", "x"), 1),
    ],
)
def test_other_errors_of_a_command(failing, error, code):
    assert failing(error).exit_code == code
    assert json.loads(failing(error, "--json").stderr)["error"].startswith("x")


def test_an_error_is_one_line_whatever_it_says(failing):
    result = failing(errors.FileFormatError("one\ntwo\x1b[2J"))
    assert result.stderr == "error: one two\N{REPLACEMENT CHARACTER}[2J\n"


def test_a_defect_is_not_hidden(failing):
    assert isinstance(failing(ZeroDivisionError("defect")).exception, ZeroDivisionError)


def test_a_traceback_shows_no_values():
    # Typer's own tracebacks would print local variables, private data among them.
    code = (
        "import sys, sfumato as sf\n"
        "def load(path):\n    secret = 'hidden' + 'value'\n    raise ZeroDivisionError\n"
        "sf.load = load\n"
        "sys.argv = ['sfumato', 'inspect', 'x']\n"
        "from sfumato.cli.main import run\nrun()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "ZeroDivisionError" in result.stderr and "hiddenvalue" not in result.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("module", ["typer", "rich"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_without_typer_or_rich_one_line_says_what_to_install(module, flags):
    code = f"import sys; sys.modules[{module!r}] = None\nfrom sfumato.cli.main import run\nrun()"
    command = [sys.executable, "-c", code, "inspect", "x", *flags]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1
    message = json.loads(result.stderr)["error"] if flags else result.stderr.removeprefix("error: ").strip()
    assert message == f"{module} is not installed; pip install 'sfumato[cli]'"


def test_the_console_script_points_here():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"sfumato": "sfumato.cli.main:run"}
    extras = project["optional-dependencies"]
    assert {*extras["cli"], *extras["ledger"]} <= set(extras["all"])


def test_help_needs_nothing_heavy(shell):
    code = (
        "import sys; from sfumato.cli.app import app\n"
        "print([m for m in ('numpy', 'scipy', 'pyarrow', 'sqlalchemy', 'matplotlib') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_ctrl_c_in_the_middle_of_work(tmp_path):
    command = [sys.executable, "-m", "sfumato.cli", "demo", "--folder", str(tmp_path)]
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # in the background it is not
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heard)
    deadline = time.monotonic() + 30
    while not (tmp_path / "budget.db").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert err == "error: interrupted\n" and out == ""


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_traceback(curve, tmp_path):
    (tmp_path / "points.csv").write_text("age\n" + "50\n" * 50_000)
    command = f"{sys.executable} -m sfumato.cli evaluate {curve} points.csv | head -n 2"
    result = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.stdout.count("\n") == 2 and "Traceback" not in result.stderr


def test_on_a_terminal_work_is_announced_and_leaves_nothing_behind(sfumato, curve, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sfumato.cli.output._PATIENCE", 0.0)
    result = sfumato("plot", curve, "-o", "picture.png")
    assert result.code == 0 and "drawing" in result.err and "drawing" not in result.out
    quiet = sfumato("plot", curve, "-o", "picture.png", "--json")
    assert quiet.code == 0 and quiet.err == ""


def test_the_bar_of_the_demo_counts_to_its_end(monkeypatch, capsys):
    from sfumato.cli.demo import _STEPS, _progress

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sfumato.cli.output._PATIENCE", 0.0)
    with _progress(quiet=False) as step:
        for number in range(_STEPS):
            step(f"step {number}")
        Event().wait(0.3)
    assert f"step {_STEPS - 1}" in capsys.readouterr().err
    with _progress(quiet=True) as step:
        step("unseen")
    assert capsys.readouterr().err == ""
