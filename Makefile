# Everything runs in environments that this file makes; the machine needs Python (>= 3.11) and make only.
PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
PEER := .venv-diffprivlib
BIN := $(VENV)/bin

.PHONY: help demo test test-slow test-all check mutants format bench reproduce clean

help:  ## say what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

# pip's wheels are built anew whenever the project file changes
$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[all,test,check]"
	touch $@

demo: $(VENV)/ready  ## publish a curve, a map and a classifier of a simulated clinic into demo/
	$(BIN)/sfumato demo --folder demo

# each of the two workers keeps to its part of the list, so that what a module's tests share is made once
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal --durations 10

test: $(VENV)/ready  ## the tests (some three minutes on two cores)
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/ready  ## the slow ones
	$(PYTEST) -m slow

test-all: $(VENV)/ready  ## the tests and the slow ones, collected once
	$(PYTEST)

check: $(VENV)/ready  ## lint, types, architecture
	$(BIN)/ruff check src tests examples benchmarks
	$(BIN)/ruff format --check src tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/architecture

# by hand: an hour of one processor for all of the core, minutes for one module
mutants: $(VENV)/ready  ## break the trusted core on purpose, see that tests notice: make mutants ONLY="mechanism whole"
	PYTHONPATH=tests nice -n 5 $(BIN)/python -m mutants $(ONLY)

format: $(VENV)/ready  ## put the code into shape
	$(BIN)/ruff check --fix src tests examples benchmarks
	$(BIN)/ruff format src tests examples benchmarks

$(BENCH)/ready: pyproject.toml Makefile
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[all,dask,postgres,spark,tight]" "opendp>=0.16" KDEpy scikit-learn
	touch $@

# diffprivlib needs an older scikit-learn than the others
$(PEER)/ready: Makefile
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check "diffprivlib==0.6.6" "scikit-learn==1.6.1"
	touch $@

bench: $(BENCH)/ready $(PEER)/ready  ## measure against peers, in an environment of its own
	$(BENCH)/bin/python -m benchmarks

reproduce: $(VENV)/ready  ## reproduce a published figure: make reproduce WHAT=bernstein-fig1
	$(BIN)/python -m benchmarks.reproduce $(WHAT)

clean:  ## remove the environments and caches
	rm -rf $(VENV) $(BENCH) $(PEER) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
