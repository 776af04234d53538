"""Sums are the same on every type of processor, once features are made: four of them are emulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.processors import sums, write

TESTS = Path(__file__).parents[1]
CORES = ["Prescott", "Sandybridge", "Haswell", "SkylakeX"]
ARITHMETIC = """
import hashlib
import numpy as np
values = np.random.default_rng(1).normal(size=(300, 300))
print(hashlib.sha256((values @ values.T).tobytes() + np.exp(values).tobytes()).hexdigest())
"""
PLAIN = "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX"  # numpy's names for instructions, new and old


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Passes and features, and what they add up to on this processor."""
    folder = tmp_path_factory.mktemp("passes")
    write(folder)
    return folder, dict(sums(folder, made_here=False))


def said_on(core, *command):
    """What a command prints; where an instruction is not there, numpy and OpenBLAS do without, and say so."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    env = dict(os.environ, OPENBLAS_CORETYPE=core, PYTHONPATH=path)
    if core == "Prescott":
        env["NPY_DISABLE_CPU_FEATURES"] = PLAIN
    command = [sys.executable, "-W", "ignore", *command]
    return subprocess.run(command, env=env, cwd=TESTS, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_every_pass_adds_up_to_the_same_bits(core, here):
    folder, want = here
    said = said_on(core, "-m", "contracts.processors", str(folder))
    assert dict(line.split("\t") for line in said.splitlines()) == want


def test_negative_control_plain_arithmetic_tells_processors_apart():
    """Or nothing was emulated."""
    if "avx2" not in (info.read_text() if (info := Path("/proc/cpuinfo")).exists() else ""):
        pytest.skip("this processor is itself a plain one")
    assert len({said_on(core, "-c", ARITHMETIC) for core in CORES}) > 2
