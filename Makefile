# Two commands do everything on a machine with only Python and make:
#   make demo    make its own environment, run the embedded demo
#   make test    lint, types, all tests
# `make help` lists the others.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed-
LOWEST := $(VENV)-lowest
WHEEL  := $(VENV)-wheel
PLUGS  := $(VENV)-plugs
FUZZ_SECONDS ?= 1800
FUZZ_FIRST ?= 100000
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1
PYTEST := $(THREADS) $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile
# A short run that still meets every dependency: arrays, sparse arrays, kernels, files, estimators.
SHORT  := tests/unit/linalg tests/unit/io tests/unit/methods/separable tests/unit/methods/poisson \
	tests/unit/cli/test_commands.py tests/unit/test_records.py tests/unit/test_odd_arrays.py tests/unit/test_imports.py

.PHONY: demo test lint types unit fuzz bench docs wheel lowest plugs coverage clean help

help:
	@echo "make demo      own environment; topics, communities and parts without a download"
	@echo "make test      lint, types, all tests"
	@echo "make lint | types | unit     one of the three"
	@echo "make lowest    a short run of the tests with the lowest stated versions"
	@echo "make wheel     build the wheel, install it elsewhere, try it from outside the tree"
	@echo "make plugs     results in HyperSpy, cdlib and BERTopic, installed for this"
	@echo "make coverage  all tests, and the lines that none of them reaches"
	@echo "make fuzz      hostile input for some minutes"
	@echo "make bench     side-by-side tables at small sizes"
	@echo "make docs      the documentation, warnings are errors"
	@echo "make clean     remove what the others made"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP)%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(STAMP)plot
	$(BIN)/provenmf demo --output demo-result

test: lint types unit

lint: $(STAMP)test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)test
	$(BIN)/mypy src/provenmf

unit: $(STAMP)test
	$(PYTEST)

coverage: $(STAMP)test
	$(PYTEST) --cov=provenmf --cov-report=term-missing:skip-covered --cov-report=xml

lowest: pyproject.toml
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt \
		--editable ".[all]" pytest pytest-xdist hypothesis
	$(THREADS) $(LOWEST)/bin/python -m pytest -q --numprocesses=2 --dist=loadfile $(SHORT)

wheel: | $(BIN)/python
	rm -rf dist $(WHEEL)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet dist/*.whl
	cd $(WHEEL) && bin/python -P $(CURDIR)/.ci/smoke.py

# BERTopic's embeddings are not needed here, so it comes without their packages.
plugs:
	test -x $(PLUGS)/bin/python || $(PYTHON) -m venv $(PLUGS)
	$(PLUGS)/bin/python -m pip install --quiet --editable ".[export,files]" pytest polars hyperspy cdlib hdbscan umap-learn plotly
	$(PLUGS)/bin/python -m pip install --quiet --no-deps bertopic
	$(THREADS) $(PLUGS)/bin/python -m pytest -q tests/plugs

fuzz: $(STAMP)test
	$(THREADS) $(BIN)/python tests/adversarial/fuzz.py --seconds $(FUZZ_SECONDS) --first $(FUZZ_FIRST)

# Those with a small size; the others need data or hours.
BENCHMARKS := $(subst /,.,$(basename $(shell grep -l -e --quick benchmarks/*/*.py)))
bench: $(STAMP)test
	for script in $(BENCHMARKS); do echo "== $$script"; $(BIN)/python -m $$script --quick || exit 1; done

docs: $(STAMP)docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LOWEST) $(WHEEL) $(PLUGS) build dist site demo-result \
		.pytest_cache .mypy_cache .ruff_cache .coverage coverage.xml
