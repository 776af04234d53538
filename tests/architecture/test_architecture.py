"""The rules of docs/architecture.md, checked on the source itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "sfumato"
FILES = sorted(SRC.rglob("*.py"))

# A module may import from its own layer and from those before it, at its top or inside a function.
LAYERS = [
    {
        "errors",
        "_version",
        "bits",
        "checks",
        "dates",
        "extras",
        "harmless",
        "instants",
        "steps",
        "threads",
        "upwards",
        "values",
    },
    {"core"},
    {"codec", "laws"},
    {"bases"},
    {"releases"},
    {"expressions", "faces"},
    {"accounting", "engines", "oracles"},
    {"targets"},
    {"pipeline", "noise", "selection", "paid_choice", "rehearsal"},
    {"boxfile", "demo", "sampler", "bounds", "subspace", "summary", "synthetic", "local"},
    {"drawing", "pages", "estimators"},
    {"cli"},
]
RANK = {name: i for i, names in enumerate(LAYERS) for name in names}
# About a thousand that are not blank, a hundred for noise inside an objective, two hundred and twenty for the
# randomizers that run on people's own devices, one more door, sixty for whole numbers beyond 64 bits, ninety for
# choosing several values at once, twenty for noise in blocks,
# thirty for noise of sum zero, and thirty for copies of a vector with Gaussian noise.
CORE_LINES = 1605
# Modules of one room that make each other, inside functions: a basis makes expansions, which hold a basis; a protocol
# makes its collector, which restores it from a checkpoint.
COMPANIONS = [
    {"bases.base", "bases.lattice.expansion"},
    {
        f"local.{name}"
        for name in (
            "protocol",
            "density",
            "linear",
            "marginals",
            "smooth",
            "risk",
            "generalized",
            "collector",
            "checkpoints",
        )
    },
]


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
        assert not too_high, name_of(path)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


@cache
def needs() -> dict[str, set[str]]:
    """The modules of the package that each one runs, at its top or inside a function; annotations run nothing."""
    every = {module_of(path) for path in FILES}
    found = {}
    for path in FILES:
        typing = [n for n in parsed(path).body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
        unused = {id(n) for part in typing for n in ast.walk(part)}
        named = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and id(node) not in unused:
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import) and id(node) not in unused:
                named |= {alias.name for alias in node.names}
        own = {name.removeprefix("sfumato.") for name in named if name.startswith("sfumato.")}
        found[module_of(path)] = (own & every) - {module_of(path)}
    return found


def test_no_room_needs_itself_through_others():
    rooms: dict[str, set[str]] = {}
    for module, others in needs().items():
        room = module.partition(".")[0]
        rooms.setdefault(room, set()).update({other.partition(".")[0] for other in others} - {room})
    TopologicalSorter(rooms).prepare()


def test_no_module_needs_itself_through_others():
    def known_as(module: str) -> str:
        return next((min(group) for group in COMPANIONS if module in group), module)

    graph: dict[str, set[str]] = {}
    for module, others in needs().items():
        room = module.partition(".")[0]  # what a room's own front shows of it is no need of the room
        kept = {known_as(other) for other in others if other != room or "." not in module}
        graph.setdefault(known_as(module), set()).update(kept - {known_as(module)})
    TopologicalSorter(graph).prepare()


def test_releases_reach_upwards_by_name_only():
    """A release draws itself, writes its page and answers questions: the package says who does it."""
    assert "UPWARDS" in (SRC / "releases" / "summary" / "summary.py").read_text()
    users = {name_of(f) for f in FILES if "sfumato.upwards" in imports(f)}
    assert {user.partition("/")[0] for user in users} == {"__init__.py", "releases"}


THIRD = {
    "faces": {"numpy"},
    "drawing": {"numpy", "matplotlib"},
    "pages": {"jinja2", "markupsafe"},
}


def brought(path: Path) -> set[str]:
    """What a file brings in that is neither ours nor of the standard library, also by ``need``."""
    named = {module.partition(".")[0] for module in imports(path)}
    named |= set(re.findall(r"""need\(["'](\w+)""", path.read_text()))
    return named - set(sys.stdlib_module_names) - {"sfumato", "__future__"}


def test_each_library_has_one_room():
    """Faces say what there is to draw; one room draws, one lays pages out, one speaks to a terminal."""
    for path in FILES:
        room, found = path.relative_to(SRC).parts[0], brought(path)
        assert found <= THIRD.get(room, found), name_of(path)
        assert "matplotlib" not in found or room == "drawing", name_of(path)
        assert not found & {"jinja2", "markupsafe"} or room == "pages", name_of(path)
        assert not found & {"rich", "typer"} or room == "cli", name_of(path)


def test_nothing_asks_a_release_of_which_kind_it_is():
    """What a kind says, draws and serves is in its face, and what it does in its class."""
    kinds = re.compile(r"isinstance\([^()]*,[^()]*(Release|CollectedDensity)\b")
    assert not [name_of(f) for f in FILES if kinds.search(f.read_text())]


def test_every_module_has_a_layer():
    assert {f.relative_to(SRC).parts[0].removesuffix(".py") for f in FILES} - {"__init__"} == set(RANK)


def test_the_page_names_every_folder_and_each_of_its_sections_fits_a_screen():
    page = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w/]+)`", page))
    folders = {path.parent.relative_to(SRC) for path in FILES if path.parent != SRC}
    assert not {str(folder) for folder in folders if str(folder) not in named and folder.name not in named}
    long = {section.partition("\n")[0]: len(section.splitlines()) for section in page.split("\n## ")}
    assert max(long.values()) <= 50, long


def test_the_core_needs_numpy_and_the_standard_library_only():
    allowed = set(sys.stdlib_module_names) | {"numpy", "sfumato"}
    for path in sorted((SRC / "core").glob("*.py")):
        assert {m.split(".")[0] for m in imports(path)} <= allowed, name_of(path)


def test_the_core_is_small_enough_to_read_in_an_hour():
    lines = [line for f in (SRC / "core").glob("*.py") for line in f.read_text().splitlines() if line.strip()]
    assert len(lines) <= CORE_LINES


RANDOM = re.compile(r"np\.random|numpy\.random|^\s*(import|from) (random|secrets)\b|os\.urandom|getrandom", re.M)
# Simulates public noise laws, draws from published densities and measures, makes up the patients of the demo and the
# records of a sensitivity sampler; never sees data.
SIMULATION = {
    "bases/density/prediction.py",
    "releases/rows.py",
    "releases/synthetic/program.py",
    "releases/synthetic/rows.py",
    "releases/uncertainty.py",
    "releases/density/distribution.py",
    "demo.py",
    "oracles.py",
}


def test_randomness_comes_from_one_module():
    assert {name_of(f) for f in FILES if RANDOM.search(f.read_text())} == {"core/sampling.py"} | SIMULATION


def test_simulation_never_sees_private_numbers():
    for name in SIMULATION:
        assert not [m for m in imports(SRC / name) if re.search(r"mechanism|engines|targets|quantize|sampling", m)]


def test_only_the_doors_draw_noise():
    users = {name_of(f) for f in FILES if any(m.startswith("sfumato.core.sampling") for m in imports(f))}
    # A protocol draws the seed of its public randomness, and a number for a device that has none: nothing private.
    doors = {f"core/{door}.py" for door in ("mechanism", "selection", "jointly", "randomizer")}
    assert users == {*doors, "local/protocol.py"}


def test_only_channels_randomise_on_devices():
    users = {name_of(f) for f in FILES if any(m.startswith("sfumato.core.randomizer") for m in imports(f))}
    assert users == {"local/channels.py", "local/copies.py"}


DEVICE = ("__init__", "protocol", "density", "smooth", "marginals", "linear", "risk", "wire",
          "public", "generalized", "copies",
          "records", "channels", "planner")  # fmt: skip


@pytest.mark.parametrize("name", [*(f"local/{name}" for name in DEVICE), "bases/smooth_losses"])
def test_devices_need_numpy_and_the_standard_library_only(name):
    """At the top of a module; what a collector needs for a release is imported where it is needed."""
    tree = parsed(SRC / f"{name}.py")
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
paper = ("likelihood", "loglog", "laplace")
made = [sf.local.Density(numbers, epsilon=1.0, lattice=3, randomizer=r)
        for r in ("auto", "subset", "hadamard", "bit", *paper, "privunit")]
made += [sf.local.SmoothQueries(numbers, epsilon=1.0, degree=3, randomizer=r) for r in ("bit", *paper)]
made += [sf.local.Marginals(groups, epsilon=1.0, ways=w, randomizer=r)
         for w, r in ((2, "auto"), (2, "hadamard"), (2, "chebyshev"), (1, "subset"))]
plane, rich = sf.Box({"x": (0, 1), "y": (0, 1)}), sf.Box({"x": (0, 1), "y": sf.Categorical([0, 1])})
made += [sf.local.LinearModel(box, 1.0, "y", second_moments=m)
         for box in (plane, rich) for m in (None, [[.5, 0], [0, .5]])]
made += [sf.local.GeneralizedLinear(box, 1.0, "y", loss, degree=2, algorithm=a, **copies)
         for box, loss in ((plane, "absolute"), (rich, "hinge"), (rich, "logistic")) for a in (4, 5)
         for copies in ({"copies": "privunit"}, {"copies": "gaussian", "delta": 1e-6})]
weights = sf.Box({"x": (-1, 1)})
made += [sf.local.RiskMinimization(plane, 1.0, loss, weights, lattice=5, degree=2, response="y", randomizer=r)
         for loss in ("logistic", "squared", "huber", "smoothed-hinge") for r in ("bit", *paper)]
from sfumato.local.protocol import from_json
made = [one for protocol in made for one in (protocol, from_json(protocol.to_json()))]
for protocol in made:
    record = [0.0] * protocol.box.dimension
    collector = protocol.collector()
    assert collector.add(protocol.encode(record, user=3), user=3)
    assert collector.add_batch(protocol.encode_many([record]))
    protocol.fingerprint, protocol.guarantee, protocol.file_head
heavy = ["scipy", "pyarrow", "narwhals", "safetensors", "pandas", "polars", "sklearn", "sfumato.releases"]
print([m for m in heavy if m in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_one_reader_asks_a_container_for_an_array():
    """numpy lets one gap decide how other values are read: ``values.column`` asks it only where the type decides."""
    assert {name_of(f) for f in FILES if re.search(r"__array__\(", f.read_text())} == {"values.py"}
    asked = {name_of(f) for f in FILES if re.search(r"\.to_numpy\(", f.read_text())}
    public = {"bases/points.py", "cli/predict.py"}  # new points, which nobody promised anything
    assert asked == {"engines/columns.py", "engines/cells.py", "values.py"} | public  # of doubles and of places


def test_private_vectors_are_opened_by_the_door_only():
    opened = {name_of(f) for f in FILES if re.search(r"\._values\b", f.read_text())}
    assert opened == {"core/mechanism.py"}
    noisy = {name_of(f) for f in FILES if re.search(r"draw_objective\(", f.read_text())}
    assert noisy == {"core/mechanism.py", "targets/machine/machine.py"}
    doors = {name_of(f) for f in FILES if re.search(r"core\.mechanism import .*\bpublish\b", f.read_text())}
    assert doors - {"noise.py"} == {"pipeline.py", "targets/machine/descent.py", "targets/subspace.py"}
    limbs = {name_of(f) for f in FILES if re.search(r"\._(high|low)\b", f.read_text())}
    assert limbs == {"core/whole.py"}
    doubles = {name_of(f) for f in FILES if re.search(r"\.doubles\(\)", f.read_text())}
    assert doubles == {
        "core/mechanism.py",
        "engines/totals.py",
        "targets/machine/solver.py",
    }  # a solver's sums are no release
    opened = {name_of(f) for f in FILES if re.search(r"(\.wide\(\)|\.counts\(|halves\.open\()", f.read_text())}
    targets = (
        "bounds",
        "density/density",
        "machine/descent",
        "machine/examples",
        "moments",
        "nadaraya_watson",
        "naive_bayes",
        "subspace",
        "tables",
    )
    assert opened == {"engines/totals.py", *(f"targets/{name}.py" for name in (*targets, "statistic"))}


def test_sums_are_sent_by_workers_only():
    """Packed they are no longer sealed."""
    packing = {name_of(f) for f in FILES if re.search(r"\.(packed|unpacked|received)\(", f.read_text())}
    assert packing == {"engines/totals.py", "engines/workers.py", "engines/clusters.py"}


def test_all_that_is_sent_to_workers_catches_everything():
    """Or holds nothing that could fail because of a value."""
    files = [SRC / "engines" / f"{name}.py" for name in ("workers", "shuffle", "contents")]
    every = [one for file in files for one in functions(file)]
    guarded = {one.name for one in every if "guarded" in map(ast.unparse, one.decorator_list)}
    assert {"asked", "fold", "fold_all", "features", "added", "split", "chosen", "contents_of_parts"} <= guarded
    sent = set(re.findall(r"self\._call\((\w+)", (SRC / "engines" / "dask.py").read_text()))
    assert sent == {"fold", "features", "added", "split", "bundle", "chosen", "contents_of_parts", "FramePart"}


def test_no_pickle_no_stubs_no_large_files():
    for path in FILES:
        text = path.read_text()
        pickling = re.search(r"\bimport (pickle|marshal|shelve|dill)\b|\beval\(|\bexec\(", text)
        assert not pickling, name_of(path)
        assert not re.search(r"NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b", text), name_of(path)
        assert text.count("\n") <= 600, name_of(path)


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
