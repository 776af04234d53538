"""Sums are the same on every type of processor, once features are made: four of them are emulated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.processors import sums, write

TESTS = Path(__file__).parents[1]
PLAIN = "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX"  # numpy's names for instructions, new and old


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Passes and features, and what they add up to on this processor."""
    folder = tmp_path_factory.mktemp("passes")
    write(folder)
    return folder, dict(sums(folder, made_here=False))


@pytest.mark.slow
@pytest.mark.parametrize("core", ["Prescott", "Sandybridge", "Haswell", "SkylakeX"])
def test_every_pass_adds_up_to_the_same_bits(core, here):
    """Where an instruction is not there, numpy and OpenBLAS do without, and say so."""
    folder, want = here
    env = dict(os.environ, OPENBLAS_CORETYPE=core, PYTHONPATH=str(TESTS))
    if core == "Prescott":
        env["NPY_DISABLE_CPU_FEATURES"] = PLAIN
    command = [sys.executable, "-W", "ignore", "-m", "contracts.processors", str(folder)]
    said = subprocess.run(command, env=env, cwd=TESTS, capture_output=True, text=True, check=True).stdout
    assert dict(line.split("\t") for line in said.splitlines()) == want
