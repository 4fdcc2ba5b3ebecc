# Every target sets up what it needs: an environment in .venv, and the packages of one extra, once.
# A second run costs nothing until pyproject.toml changes.

PYTHON ?= python3
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Neighbouring tests go to one process: they share kernels to compile, and fixtures.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal
# Run compiled as all tests are, as plain Python, and with the bounds of arrays checked: each kernel is called by these.
KERNEL_TESTS := tests/kernels tests/chain/inference tests/lattice/test_inference.py
WHEEL_TEST := build/wheel-test

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test browser-test bounds fuzz soak lint bench docs site api reproduce wheel clean distclean

help:  ## show this list
	@echo "Usage: make TARGET [PYTHON=python3.12] [ARGS='more arguments for the command behind it']"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## learn to hyphenate English words, and show what was learnt
	$(BIN)/hedgerow demo $(ARGS)

test: $(VENV)/.dev  ## run the tests, then those of the kernels again as plain Python
	$(PYTEST) --ignore tests/browser $(ARGS)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -p tests.kernel_calls $(KERNEL_TESTS)

# Playwright drives the system's Chromium, or what HEDGEROW_CHROMIUM names, or its own. Tests that find none are skipped.
browser-test: $(VENV)/.browser  ## open reports in a browser: no complaint, no request, filters, clicks, contrast
	@command -v chromium > /dev/null || [ -n "$$HEDGEROW_CHROMIUM" ] || { mkdir -p build; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    { apt-get update && apt-get install -y --no-install-recommends chromium; } > build/chromium.log 2>&1; fi; \
	  command -v chromium > /dev/null || echo "There is no Chromium, and none could be installed (build/chromium.log tells" \
	    "why, if it was tried): tests that need one are skipped. HEDGEROW_CHROMIUM names a Chromium elsewhere."; }
	$(BIN)/python -m pytest -n 0 tests/browser $(ARGS)

# Not optimised: that takes more than half of the time of compiling, and bounds are checked all the same. What is not optimised
# is not kept on disk, so that the tests of the cache are left to `make test`.
bounds: $(VENV)/.dev  ## run the tests of the kernels with the bounds of arrays checked, which compiled kernels do not do
	NUMBA_OPT=0 NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/bounds $(PYTEST) $(KERNEL_TESTS) --ignore tests/kernels/test_jit.py

# Bounds are checked where files are forged, and what is compiled so has a folder of its own. 10⁶ inputs in all, in less than an
# hour on two idle cores; FUZZ and FORGED take fewer: make fuzz FUZZ="--readers 1000 --api 100" FORGED="--each 10" KEPT="--each 1"
FUZZ ?= --readers 840000 --api 18000
FORGED ?= --each 10000
KEPT ?= --each 50
BOUNDED := NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/python
fuzz: $(VENV)/.dev  ## forge 10,000 model files of every kind, checkpoints, and hostile inputs: make fuzz ARGS="--seed 7"
	$(BIN)/python -m tests.fuzz.inputs $(FUZZ) $(ARGS) & inputs=$$!; \
	$(BOUNDED) -m tests.codec.mutants $(FORGED) $(ARGS); files=$$?; \
	$(BOUNDED) -m tests.codec.kept $(KEPT) $(ARGS); kept=$$?; \
	wait $$inputs && [ $$files = 0 ] && exit $$kept

soak: $(VENV)/.dev  ## ten minutes of eight threads that predict and one that refits: memory stays flat
	$(BIN)/python -m tests.fuzz.soak --minutes 10 $(ARGS)

lint: $(VENV)/.dev  ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev  ## measure against CRFsuite and LightGBM, and feature induction against the iterations between its rounds
	$(BIN)/python benchmarks/linear_vs_crfsuite.py $(ARGS)
	$(BIN)/python benchmarks/tree_vs_lightgbm.py $(ARGS)
	$(BIN)/python benchmarks/feature_induction.py

docs: $(VENV)/.dev  ## run every piece of code in README.md and docs/, and follow their links
	$(PYTEST) tests/project/test_docs.py $(ARGS)

# Everything lies in one folder there, so that addresses are short. What a page or script left as it was is not done again.
site: $(VENV)/.site  ## build the documentation site in site/: pages, reference, gallery; a warning is an error
	mkdir -p build/site
	cp -rp website/. docs/. CHANGELOG.md CONTRIBUTING.md SECURITY.md build/site
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet $(ARGS) build/site site

reproduce: $(VENV)/.dev  ## redo a table or figure of the papers: make reproduce NAME=thesis-3.5, or NAME=all QUICK=1
	$(BIN)/hedgerow reproduce $(NAME) $(if $(QUICK),--quick) $(ARGS)

api: $(VENV)/.dev  ## write tests/project/api.txt anew, after a change of the public API that is meant
	$(BIN)/python -m tests.project.api

wheel: $(VENV)/.dev  ## build the sdist, from it the wheel, and one with compiled kernels; test the wheel, installed by itself
	rm -rf dist $(WHEEL_TEST)
	$(BIN)/python -m build --outdir dist
	@ls dist/*-py3-none-any.whl > /dev/null || { echo "The wheel is not pure Python."; exit 1; }
	mkdir -p $(WHEEL_TEST)
	tar -xzf dist/*.tar.gz -C $(WHEEL_TEST) --strip-components 1
	rm -rf $(WHEEL_TEST)/src
	$(PYTHON) -m venv $(WHEEL_TEST)/.venv
	$(WHEEL_TEST)/$(PIP) install --quiet "$$(ls dist/*.whl)[dev]"
	cd $(WHEEL_TEST) && $(BIN)/python -c "import hedgerow; assert 'site-packages' in hedgerow.__file__"
	$(WHEEL_TEST)/$(BIN)/python release/platform_wheel.py dist/*-py3-none-any.whl
	cd $(WHEEL_TEST) && $(PYTEST) $(ARGS)

clean:  ## remove what was built, and the caches
	rm -rf build dist site demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove the environment too
	rm -rf $(VENV)

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
	  echo "hedgerow needs Python 3.11 or newer, and '$(PYTHON)' is not that."; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# .demo holds what the demo needs, .dev what tests, checks and benchmarks need, .browser what tests in a browser need,
# .site what the documentation site needs.
$(VENV)/.demo $(VENV)/.dev $(VENV)/.browser $(VENV)/.site: $(VENV)/.%: $(VENV)/.made pyproject.toml
	$(PIP) install --quiet --editable '.[$*]'
	@touch $@
