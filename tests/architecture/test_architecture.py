"""The rules of docs/architecture.md, checked on the source itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "sfumato"
FILES = sorted(SRC.rglob("*.py"))

# A module may import from its own layer and from those before it.
LAYERS = [
    {"errors", "_version", "checks", "extras", "harmless", "threads", "values"},
    {"core"},
    {"codec", "laws"},
    {"bases"},
    {"releases", "expressions"},
    {"local"},
    {"plotting", "report"},
    {"accounting", "engines"},
    {"targets"},
    {"pipeline", "noise", "choosing", "tuning"},
    {"boxfile", "demo", "oracles", "sampler", "bounding", "summarizing"},
    {"estimators"},
    {"cli"},
]
RANK = {name: i for i, names in enumerate(LAYERS) for name in names}
# About a thousand that are not blank, a hundred for noise inside an objective, two hundred for the randomizers that run
# on people's own devices, one more door, and sixty for whole numbers beyond 64 bits.
CORE_LINES = 1390
# The one exception to the layers: a release draws itself and writes its own report. It imports its painters inside
# these methods and nowhere else, so that reading a release needs neither them nor matplotlib.
UPWARDS = {"plot": "sfumato.drawing", "report": "sfumato.pages", "_repr_html_": "sfumato.pages"}
UPWARDS_IN = "releases/showing.py"


def name_of(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax, read once for all the rules."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> list[str]:
    """Every module that a file imports, at its top or inside a function."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative import"
            found.append(node.module or "")
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def layer(module: str) -> int | None:
    parts = module.split(".")
    return RANK.get(parts[1]) if parts[0] == "sfumato" and len(parts) > 1 else None


def test_imports_point_downwards():
    for path in FILES:
        if path.parent == SRC and path.stem not in RANK:
            continue
        own = RANK[path.relative_to(SRC).parts[0].removesuffix(".py")]
        too_high = {m for m in imports(path) if (layer(m) or 0) > own}
        if name_of(path) == UPWARDS_IN:
            too_high = {m for m in too_high if not m.startswith(tuple(UPWARDS.values()))}
        assert not too_high, name_of(path)


def test_the_exception_to_the_layers_is_lazy_and_no_wider():
    tree = parsed(SRC / UPWARDS_IN)
    upwards = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module in UPWARDS.values()]
    methods = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    inside = [
        n for name, module in UPWARDS.items() for n in ast.walk(methods[name]) if getattr(n, "module", 0) == module
    ]
    assert len(upwards) == len(inside) == len(UPWARDS)


def test_every_module_has_a_layer():
    assert {f.relative_to(SRC).parts[0].removesuffix(".py") for f in FILES} - {"__init__"} == set(RANK)


def test_the_core_needs_numpy_and_the_standard_library_only():
    allowed = set(sys.stdlib_module_names) | {"numpy", "sfumato"}
    for path in sorted((SRC / "core").glob("*.py")):
        assert {m.split(".")[0] for m in imports(path)} <= allowed, name_of(path)


def test_the_core_is_small_enough_to_read_in_an_hour():
    lines = [line for f in (SRC / "core").glob("*.py") for line in f.read_text().splitlines() if line.strip()]
    assert len(lines) <= CORE_LINES


RANDOM = re.compile(r"np\.random|numpy\.random|^\s*(import|from) (random|secrets)\b|os\.urandom|getrandom", re.M)
# Simulates public noise laws, draws from published densities, makes up the patients of the demo and the records of a
# sensitivity sampler; never sees data.
SIMULATION = {"bases/prediction.py", "releases/uncertainty.py", "releases/distribution.py", "demo.py", "oracles.py"}


def test_randomness_comes_from_one_module():
    assert {name_of(f) for f in FILES if RANDOM.search(f.read_text())} == {"core/sampling.py"} | SIMULATION


def test_simulation_never_sees_private_numbers():
    for name in SIMULATION:
        assert not [m for m in imports(SRC / name) if re.search(r"mechanism|engines|targets|quantize|sampling", m)]


def test_only_the_doors_draw_noise():
    users = {name_of(f) for f in FILES if any(m.startswith("sfumato.core.sampling") for m in imports(f))}
    # A protocol draws the seed of its public randomness, and a number for a device that has none: nothing private.
    assert users == {"core/mechanism.py", "core/selection.py", "core/randomizer.py", "local/protocol.py"}


def test_only_channels_randomise_on_devices():
    users = {name_of(f) for f in FILES if any(m.startswith("sfumato.core.randomizer") for m in imports(f))}
    assert users == {"local/channels.py"}


DEVICE = ("__init__", "protocol", "density", "smooth", "marginals", "wire", "public", "records", "channels", "planning")


@pytest.mark.parametrize("name", DEVICE)
def test_devices_need_numpy_and_the_standard_library_only(name):
    """At the top of a module; what a collector needs for a release is imported where it is needed."""
    tree = parsed(SRC / "local" / f"{name}.py")
    found = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {module.split(".")[0] for module in found} <= set(sys.stdlib_module_names) | {"numpy", "sfumato"}
    assert not [module for module in found if module.startswith(("sfumato.releases", "sfumato.engines"))]


def test_encoding_a_report_brings_in_nothing_heavy():
    code = """
import sys
import sfumato as sf
numbers = sf.Box({"x": (0, 1)})
groups = sf.Box({"a": sf.Categorical([0, 1]), "b": sf.Categorical(["x", "y"])})
made = [sf.local.Density(numbers, epsilon=1.0, lattice=3, randomizer=r)
        for r in ("hadamard", "bit", "likelihood", "loglog", "laplace", "privunit")]
made += [sf.local.SmoothQueries(numbers, epsilon=1.0), sf.local.Marginals(groups, epsilon=1.0)]
for protocol in made:
    record = [0.0] * protocol.box.dimension
    collector = protocol.collector()
    assert collector.add(protocol.encode(record, user=3), user=3)
    assert collector.add_batch(protocol.encode_many([record]))
    protocol.fingerprint, protocol.guarantee
heavy = ["scipy", "pyarrow", "narwhals", "safetensors", "pandas", "polars", "sklearn", "sfumato.releases"]
print([m for m in heavy if m in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_private_vectors_are_opened_by_the_door_only():
    opened = {name_of(f) for f in FILES if re.search(r"\._values\b", f.read_text())}
    assert opened == {"core/mechanism.py"}
    noisy = {name_of(f) for f in FILES if re.search(r"draw_objective\(", f.read_text())}
    assert noisy == {"core/mechanism.py", "targets/machine.py"}
    limbs = {name_of(f) for f in FILES if re.search(r"\._(high|low)\b", f.read_text())}
    assert limbs == {"core/whole.py"}
    doubles = {name_of(f) for f in FILES if re.search(r"\.doubles\(\)", f.read_text())}
    assert doubles == {"core/mechanism.py"}
    counted = {name_of(f) for f in FILES if re.search(r"(counts|tallies|halves)\.open\(\)", f.read_text())}
    assert counted == {f"targets/{name}.py" for name in ("density", "naive_bayes", "smoother", "statistic")}


def test_no_pickle_no_stubs_no_large_files():
    for path in FILES:
        text = path.read_text()
        pickling = re.search(r"\bimport (pickle|marshal|shelve|dill)\b|\beval\(|\bexec\(", text)
        assert not pickling, name_of(path)
        assert not re.search(r"NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b", text), name_of(path)
        assert text.count("\n") <= 400, name_of(path)


def functions(path: Path) -> list[ast.FunctionDef]:
    return [n for n in ast.walk(parsed(path)) if isinstance(n, ast.FunctionDef)]


def test_functions_are_short():
    for path in FILES:
        lengths = [(f.name, f.end_lineno - f.lineno + 1) for f in functions(path)]
        assert not [one for one in lengths if one[1] > 60], name_of(path)


CERTIFYING = {
    "certificate",
    "certified",
    "certify_sum",
    "certify_masses",
    "certify_columns",
    "certify_learner",
    "for_unit",
}


def test_certificates_are_short_and_name_their_proof():
    for path in FILES:
        for node in functions(path):
            if node.name not in CERTIFYING or node.decorator_list:
                continue
            assert node.end_lineno - node.lineno + 1 <= 20, (name_of(path), node.name)
            pages = re.findall(r"([a-z-]+\.md)", ast.get_docstring(node) or "")
            assert pages, (name_of(path), node.name)
            assert all((ROOT / "docs" / "proofs" / page).exists() for page in pages), (name_of(path), pages)


def test_every_proof_page_that_the_source_names_exists():
    for path in FILES:
        for page in re.findall(r"docs/(?:proofs/)?[a-z-]+\.md", path.read_text()):
            assert (ROOT / page).exists(), f"{name_of(path)} names {page}"


def test_import_is_lazy():
    heavy = ["numpy", "scipy", "pyarrow", "narwhals", "safetensors", "pandas", "polars", "matplotlib", "sklearn"]
    code = f"import sys, sfumato; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_reading_a_release_needs_no_engine():
    code = "import sys, sfumato; sfumato.load; print([m for m in sys.modules if m.startswith('sfumato.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not re.search(r"sfumato\.(engines|targets|pipeline|core\.sampling|core\.mechanism)", loaded)
