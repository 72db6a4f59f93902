# Two commands do everything on a machine with only Python and make:
#   make demo    make its own environment, run the embedded demo
#   make test    lint, types, all tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: demo test lint types unit bench docs clean help

help:
	@echo "make demo | test | lint | types | unit | bench | docs | clean"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP)%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(STAMP)report
	$(BIN)/provenmf demo --output demo-result

test: lint types unit

lint: $(STAMP)test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)test
	$(BIN)/mypy src/provenmf

unit: $(STAMP)test
	$(THREADS) $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile

bench: $(STAMP)test
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script --quick || exit 1; done

docs: $(STAMP)docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site demo-result .pytest_cache .mypy_cache .ruff_cache
