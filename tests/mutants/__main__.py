"""Run each mutant of the trusted core against the quick tests of its module: ``python -m mutants [module ...]``.

One process imports everything and collects the tests of a module once; for each mutant it forks, exchanges the code of
what the mutant changed, and runs the tests until one fails. One fork at a time, with limits on processor time and
memory, so that nothing else on the machine notices. Survivors that docs/mutants.md names, in backquotes, are explained.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import os
import pickle
import resource
import signal
import sys
import time
import types
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from mutants.changes import Mutant, mutants

ROOT = Path(__file__).parents[2]
EXPLAINED = ROOT / "docs" / "mutants.md"
# Quick tests that look at a module besides its own in tests/unit/core.
TESTS = {
    "mechanism": ["unit/core/test_objective.py", "property/test_whole.py"],
    "selection": [],
    "jointly": [],
    "sampling": [],
    "calibration": ["unit/core/test_jointly.py"],
    "gaussian": [],
    "certificate": [],
    "quantize": ["unit/core/test_mechanism.py"],
    "whole": ["property/test_whole.py"],
    "objective": [],
    "randomizer": [],
    "privacy": ["unit/core/test_calibration.py"],
    "neighbours": ["unit/core/test_privacy.py", "unit/core/test_certificate.py"],
    "box": ["property/test_box.py"],
}
OPTIONS = ["-o", "addopts=--import-mode=importlib", "-p", "no:terminal", "-p", "no:cacheprovider", "-m", "not slow"]
SECONDS = 5  # of processor time, or three times what the tests take
MEMORY = 4 * 2**30
PLAIN = (bool, int, float, str, tuple, dict, type(None), Fraction, Decimal)


# --- exchanging the code of a living module ---------------------------------------------------------------------------


def exchange(module: types.ModuleType, mutant: Mutant) -> None:
    """Let a module, and all that has imported from it, behave as the mutant."""
    fresh = types.ModuleType(module.__name__)
    exec(mutant.code, vars(fresh))
    for name, new in vars(fresh).items():
        old = vars(module)[name]
        if isinstance(new, type) and new.__module__ == module.__name__:
            for inside, value in vars(new).items():
                if _exchanged(vars(old).get(inside), value) and not inside.startswith("__"):
                    setattr(old, inside, value)
        elif _exchanged(old, new) and not name.startswith("__"):
            for other in [m for m in list(sys.modules.values()) if vars(m).get(name) is old]:
                setattr(other, name, new)
    for other in [m for m in list(sys.modules.values()) if m.__name__.startswith("sfumato.")]:
        for cached in [value for value in vars(other).values() if isinstance(value, functools._lru_cache_wrapper)]:
            cached.cache_clear()


def _exchanged(old: object, new: object) -> bool:
    """Exchange the code of a function, however wrapped; say whether it is a constant that has changed instead."""
    # What a decorator makes may be a function too, with code that is the same for all that it decorates.
    inner = next((name for name in ("fget", "func", "__func__", "__wrapped__") if hasattr(old, name)), None)
    if inner is not None:
        return _exchanged(getattr(old, inner), getattr(new, inner))
    if isinstance(old, types.FunctionType):
        assert isinstance(new, types.FunctionType)
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
    return isinstance(new, PLAIN) and old != new


# --- running ----------------------------------------------------------------------------------------------------------


class Check:
    """A pytest plugin: instead of running the collected tests once, it runs them on every mutant of one module."""

    def __init__(self, name: str, part: str, verbose: bool, explained: str) -> None:
        self.name, self.part, self.verbose, self.explained = name, part, verbose, explained
        self.file = ROOT / "src" / "sfumato" / "core" / f"{name}.py"
        self.survivors: list[Mutant] = []
        self.count = {"killed": 0, "survived": 0, "timeout": 0}

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """A failure is a failure: hypothesis need not look for a simpler one."""
        settings.register_profile("mutants", settings.default, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run all tests once, unchanged; then fork for each mutant. Tests that killed one come first for the next.

        Where none has yet, those come first that take little time.
        """
        module = importlib.import_module(f"sfumato.core.{self.name}")
        assert Path(str(module.__file__)) == self.file, f"another sfumato is installed: {module.__file__}"
        taken = {}
        for place, test in enumerate(session.items):
            start = time.process_time()
            assert failing(session, session.items[place : place + 2], 1) is None, f"fails without any change: {test}"
            taken[test] = time.process_time() - start
        tests = sorted(session.items, key=lambda test: taken[test])
        allowed = max(SECONDS, 3 * math.ceil(sum(taken.values())))
        for mutant in mutants(self.file.read_text(), str(self.file), lambda name: self.part in name):
            outcome, place = run(session, tests, module, mutant, allowed)
            self.count[outcome] += 1
            killer = "" if place is None else tests[place].nodeid
            if place is not None:
                tests.insert(0, tests.pop(place))
            if outcome == "survived":
                self.survivors.append(mutant)
            explained = f"`{mutant.name}`" in self.explained
            if self.verbose or (outcome == "survived") != explained:
                say(f"  {self.name}.py:{mutant.line} `{mutant.name}` {outcome} {killer}{' (explained)' * explained}")
        return True


def failing(session: pytest.Session, tests: list[pytest.Item], most: int | None = None) -> int | None:
    """The place of the first test that fails, of all or of so many."""
    for place, test in enumerate(tests[:most]):
        after = tests[place + 1] if place + 1 < len(tests) else session  # what the session shares is kept
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=after)
        if session.testsfailed:
            return place
    return None


def run(
    session: pytest.Session, tests: list[pytest.Item], module: types.ModuleType, mutant: Mutant, seconds: int
) -> tuple[str, int | None]:
    """Run the tests in a process of their own: what became of the mutant, and by which test."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(20 * seconds)  # one that waits for ever takes no processor time
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        place: int | None = None
        outcome = "killed"  # by an exception, as if at import
        try:
            exchange(module, mutant)
            place = failing(session, tests)
            outcome = "survived" if place is None else "killed"
        finally:
            try:
                os.write(writing, pickle.dumps((outcome, place)))
            finally:  # whatever happens, also without memory: a fork never goes on as its parent
                os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM)
    return pickle.loads(answer) if answer else ("timeout" if late else "killed", None)


def say(text: str) -> None:
    """Whatever pytest captures."""
    os.write(OUT, f"{text}\n".encode())


OUT = os.dup(1)


def main() -> int:
    """Check the modules that are asked for, all of them by default; say which survivors nobody has explained."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", default=list(TESTS), metavar="module", help="of sfumato.core")
    parser.add_argument("--part", default="", help="only mutants whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="say of each mutant which test killed it")
    asked = parser.parse_args()
    text = EXPLAINED.read_text() if EXPLAINED.exists() else ""
    unexplained = 0
    say("| module | mutants | killed | timeouts | survived, explained | survived |\n|---|---|---|---|---|---|")
    for name in asked.modules:
        check = Check(name, asked.part, asked.verbose, text)
        files = [str(ROOT / "tests" / path) for path in (f"unit/core/test_{name}.py", *TESTS[name])]
        if pytest.main([*OPTIONS, *files], plugins=[check]):
            sys.exit(f"{name}: its tests could not be collected, or fail without any change; run them")
        left = [mutant for mutant in check.survivors if f"`{mutant.name}`" not in text]
        killed, late, total = check.count["killed"], check.count["timeout"], sum(check.count.values())
        say(f"| {name} | {total} | {killed} | {late} | {len(check.survivors) - len(left)} | {len(left)} |")
        unexplained += len(left)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
