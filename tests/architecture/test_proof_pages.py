"""What proof pages cite exists: files, functions, classes, their members, constants.

A page that names code which is gone proves something about code that does not run. A citation is what stands in
back-ticks, outside code blocks, and has the form of a path, of ``owner.member``, of a private name or constant, of a
name of several words, or of a class; where a page says where it is used, every name is one. ``x_i`` and ``delta(eps)``
are formulas.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sfumato"
PAGES = sorted((ROOT / "docs" / "proofs").glob("*.md"))

# Words of the literature and of other libraries' options that have the form of a citation.
NOT_OURS = {"AboveThreshold", "Context.divide", "Context.exp"}

_WORD = r"[a-z][a-z0-9]+"
_PATH = re.compile(r"[\w./-]*\w\.(?:py|md|html)|(?:[a-z_]{3,}/)+")
_MEMBER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_PRIVATE = re.compile(r"__?[A-Za-z][A-Za-z0-9_]+")
_CONSTANT = re.compile(r"[A-Z]{2,}(?:_[A-Z0-9]{2,})+")
_SEVERAL = re.compile(rf"{_WORD}(?:_{_WORD})+")
_CLASS = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+")
_NAME = re.compile(r"[A-Za-z_]\w{3,}")


def quoted(page: str) -> set[str]:
    """What stands in back-ticks, outside code blocks; of a call, the name that is called."""
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    found = {re.sub(r"\s+", " ", part) for part in re.findall(r"`([^`]+)`", text)}
    return {re.sub(r"^([\w.]+)\(.*\)$", r"\1", part) for part in found}


def used(page: str) -> set[str]:
    """What is named where a page says where it is used or enforced."""
    sections = re.findall(r"^## Where [^\n]*\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    return {name for section in sections for name in quoted(section) if _NAME.fullmatch(name)}


@cache
def defined() -> dict[str, set[str]]:
    """For each module and class of the package the names that it defines; under "" all of them, and parameters."""
    names: dict[str, set[str]] = defaultdict(set)
    bases: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        module = path.parent.name if path.stem == "__init__" else path.stem
        _collect(tree, module, module, names, bases)
    for owner in list(bases):
        _inherit(owner, names, bases)
    return names


def _collect(node: ast.AST, owner: str, module: str, names: dict[str, set[str]], bases: dict[str, set[str]]) -> None:
    for child in ast.iter_child_nodes(node):
        inner = owner
        for name in _introduced(child):
            for place in (owner, module, ""):
                names[place].add(name)
        if isinstance(child, ast.ClassDef):
            inner = child.name
            bases[inner] |= {b.id for b in child.bases if isinstance(b, ast.Name)}
        _collect(child, inner, module, names, bases)


def _introduced(node: ast.AST) -> list[str]:
    """The names that a node gives: definitions, assignments, parameters, imports, members of itself."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    if isinstance(node, ast.arg | ast.keyword) and node.arg:
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).split(".")[-1]]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        return [node.value]  # slots, and what options are called
    return []


def _inherit(owner: str, names: dict[str, set[str]], bases: dict[str, set[str]]) -> set[str]:
    for base in bases[owner] - {owner}:
        names[owner] |= _inherit(base, names, bases) if base in names else set()
    return names[owner]


@cache
def files() -> set[str]:
    """The names of all files of the package, its tests and its pages."""
    return {path.name for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*.*")}


def exists(name: str) -> bool:
    """Whether something that a page cites is there; true of what is no citation."""
    names = defined()
    if name in NOT_OURS or hasattr(builtins, name):
        return True
    if _PATH.fullmatch(name):
        return any((folder / name).exists() for folder in (ROOT, SOURCE)) or ("/" not in name and name in files())
    if _MEMBER.fullmatch(name):
        owner, member = name.rsplit(".", 1)
        place = owner.rsplit(".", 1)[-1]  # a variable, such as ``law``, is any of the classes that have the member
        return member in names["" if place.islower() and place not in names else place] or _imports(name)
    if any(form.fullmatch(name) for form in (_PRIVATE, _CONSTANT, _SEVERAL, _CLASS)):
        return name in names[""]
    return True


def _imports(name: str) -> bool:
    """Whether a dotted name is found by importing: ``sf.select``, ``os.urandom``."""
    first, *rest = ("sfumato" if part == "sf" else part for part in name.split("."))
    try:
        found = importlib.import_module(first)
        for part in rest:
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_proof_page_cites_exists(page):
    text = page.read_text()
    missing = {name for name in quoted(text) if not exists(name)}
    missing |= {name for name in used(text) if name not in defined()[""]}
    assert not missing, f"{page.name} cites what is not there: {sorted(missing)}"


GONE = [
    "core/samplings.py", "tests/audit/test_gone.py", "Learner.left_closed", "paid_choice._times", "_round_l2",
    "_CLAMPED", "MAX_ROWS_EVER", "truncate_record", "KernelMachines", "sf.noise.cauchy",
    "calibrate_objectives(objective, privacy)",
]  # fmt: skip
THERE = [
    "core/sampling.py", "tests/audit/test_noise.py", "test_noise.py", "Learner.left_open", "scores._pairs", "_TAPER",
    "truncate_records", "KernelMachine", "sf.noise.laplace", "os.urandom", "calibrate_objective(objective, privacy)",
    "x_i", "delta", "eps_J", "p_acc", "N f(N)", "2 sqrt(K) left_open", "KDE.certificate", "KernelMachine.bases",
]  # fmt: skip


@pytest.mark.parametrize("name", GONE)
def test_negative_control_what_is_gone_is_missed(name):
    (cited,) = quoted(f"As `{name}` says, all is well.")
    assert not exists(cited)


def test_negative_control_a_single_word_that_is_gone_is_missed_where_a_page_says_where_it_is_used():
    page = "## Where it is used\n\n`calibrate`, `calibrated_long_ago`, `recalibrator`.\n\n## How it is tested\n\n`hope`"
    assert {name for name in used(page) if name not in defined()[""]} == {"calibrated_long_ago", "recalibrator"}


@pytest.mark.parametrize("name", THERE)
def test_what_is_there_and_what_is_a_formula_is_not_missed(name):
    (cited,) = quoted(f"As `{name}` says, all is well.")
    assert exists(cited)
